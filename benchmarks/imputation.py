"""Gaps in the data: how close imputing, dropping rows and an own state come to the edges of the full table.

Values of sampled tables are removed completely at random. For each pair of variables, the probability that it is joined
is compared with that from the full table: the mean and the largest absolute difference over all pairs, averaged over
data sets; the same for directed edges. ``python -m benchmarks.imputation`` prints a Markdown table; ``--data-sets N``
has more than five of each kind.
"""

import argparse
import warnings

import numpy as np
import pandas as pd

from credibn import CredibleSet, CredibnWarning, ImputedResult, impute_and_learn, learn
from credibn.examples import sample_example

SHARES = 0.1, 0.2, 0.3
TABLES = ("sprinkler", 500), ("asia", 1000)


def edges_of(result: CredibleSet | ImputedResult) -> np.ndarray:
    """The probability of each directed edge, rows parents."""
    if isinstance(result, ImputedResult):
        return result.edges_by_table.mean(axis=(0, 1))
    return result.averages().parent_sets.edges


def differences(found: np.ndarray, truth: np.ndarray) -> tuple[float, float, float]:
    """The mean and the largest difference of joined pairs, and the mean of directed edges."""
    upper, ordered = np.triu_indices(len(truth), 1), ~np.eye(len(truth), dtype=bool)
    joined = np.abs((found + found.T) - (truth + truth.T))[upper]
    return float(joined.mean()), float(joined.max()), float(np.abs(found - truth)[ordered].mean())


def compare(name: str, n_rows: int, share: float, seed: int) -> dict[str, tuple[float, float, float]]:
    """The differences from the full table for each way to handle gaps."""
    table = sample_example(name, n_rows, seed).to_pandas()
    gapped = table.mask(np.random.default_rng(1000 + seed).random(table.shape) < share)
    ways: dict[str, CredibleSet | ImputedResult] = {"impute": impute_and_learn(gapped, seed=seed, n_threads=1)}
    for missing in ("drop", "state"):
        ways[missing] = learn(gapped, missing=missing, n_threads=1, posterior_share=False)
    truth = edges_of(learn(table, n_threads=1, posterior_share=False))
    return {way: differences(edges_of(result), truth) for way, result in ways.items()}


def main() -> None:
    """Print a line for each table and share of gaps."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data-sets", type=int, default=5)
    n_sets = parser.parse_args().data_sets
    warnings.simplefilter("ignore", CredibnWarning)
    print("| table | gaps | way | joined | largest | directed |\n|---|---|---|---|---|---|")
    for name, n_rows in TABLES:
        for share in SHARES:
            frame = pd.DataFrame([compare(name, n_rows, share, seed) for seed in range(n_sets)])
            for way in ("impute", "drop", "state"):
                joined, largest, directed = np.array(frame[way].tolist()).mean(axis=0)
                print(
                    f"| {name}, {n_rows} rows | {share:.0%} | {way} | {joined:.3f} | {largest:.2f} | {directed:.3f} |"
                )


if __name__ == "__main__":
    main()
