"""Averages over credible sets: counted by class against listed network by network, in one run, with equal answers.

``python -m benchmarks.averaging`` prints, for each set, the seconds for all structural averages but paths, for paths,
and for edge probabilities alone by listing every network as an array (where there are at most twenty million).
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.runs import data_folder, timed
from credibn import CredibleSet, learn

SETS = [
    ("wine", 150, 26_153),
    ("hepatitis", 20, 87_169),
    ("hepatitis", 150, 5_591_502),
    ("alarm", 20, 123_566),
    ("alarm", 150, 6_763_458),
    ("sponge", 150, 8_817_939),
    ("hailfinder100", 20, 33_318_144),
    ("hailfinder100", 150, 735_148_848),
]
MOST_LISTED = 20_000_000


def weights_by_batch(found: CredibleSet) -> Iterator[tuple[NDArray[np.uint64], NDArray[np.float64]]]:
    for masks, scores in found.networks_masks(1 << 14):
        yield masks, np.exp(scores - found.optimal_score)


def edges_by_listing(found: CredibleSet) -> NDArray[np.float64]:
    n = len(found.names)
    sums, total = np.zeros((n, n)), 0.0
    for masks, weights in weights_by_batch(found):
        octets = masks.astype("<u8").view(np.uint8).reshape(len(masks), n, -1)
        bits = np.unpackbits(octets, axis=2, count=n, bitorder="little")  # network, child, parent
        sums += np.tensordot(weights, bits, axes=1).T
        total += weights.sum()
    return sums / total


def main() -> None:
    columns = ("data", "BF", "networks", "classes", "averages s", "paths s", "listing s", "ratio", "difference")
    print(f"pandas {pd.__version__} is imported")  # not a part of the first average
    print("".join(f"{column:>15}" for column in columns))
    for name, bayes_factor, n_networks in SETS:
        found = learn(data_folder() / f"{name}.csv", bayes_factor=bayes_factor)
        assert found.n_networks == n_networks, f"{name} {bayes_factor}: {found.n_networks} networks"
        edges, seconds = timed(found.edge_probabilities)
        _, path_seconds = timed(found.ancestor_probabilities)
        shown = [f"{seconds:.3f}", f"{path_seconds:.3f}"]
        if n_networks <= MOST_LISTED:
            listed, listing_seconds = timed(lambda found=found: edges_by_listing(found))
            difference = float(np.abs(edges.to_numpy() - listed).max())
            assert difference < 1e-9, f"{name} {bayes_factor}: edge probabilities differ by {difference}"
            shown += [f"{listing_seconds:.2f}", f"{listing_seconds / seconds:.0f}", f"{difference:.1e}"]
        cells = (name, bayes_factor, f"{n_networks:,}", f"{found.n_classes:,}", *shown)
        print("".join(f"{cell:>15}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
