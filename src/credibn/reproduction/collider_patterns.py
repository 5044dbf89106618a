"""The paper's |M|: networks told apart by skeleton and all colliders, shielded ones too.

A pattern is the skeleton and the parents of each node that has two or more. Networks are listed.
"""

import numpy as np

from credibn.credible import CredibleSet

__all__ = ["count_collider_patterns"]

_AT_ONCE = 4096


def count_collider_patterns(credible_set: CredibleSet, *, most_networks: int = 5_000_000) -> int | None:
    """Return the number of collider patterns in a credible set; None where it has more networks than may be listed.

    Examples
    --------
    >>> from credibn import learn
    >>> x = np.arange(80) // 40
    >>> count_collider_patterns(learn(np.column_stack([x, x])))
    1
    """
    if credible_set.n_networks > most_networks:
        return None
    patterns = set[bytes]()
    for masks, _ in credible_set.networks_masks(_AT_ONCE):
        count, n, _ = masks.shape
        octets = np.ascontiguousarray(masks, dtype="<u8").view(np.uint8).reshape(count, n, -1)
        parents = np.unpackbits(octets, axis=2, count=n, bitorder="little")
        skeleton = parents | parents.transpose(0, 2, 1)
        colliders = parents * (parents.sum(axis=2, keepdims=True) >= 2)
        keys = np.packbits(np.concatenate([skeleton, colliders], axis=1).reshape(count, -1), axis=1)
        patterns.update(key.tobytes() for key in keys)
    return len(patterns)
