"""Averages from their definitions: every network of a set looked at one by one, for tests of the exact averages."""

from collections import defaultdict
from itertools import combinations

import numpy as np


def adjacency(masks):
    """Networks as parent masks -> arrays with [k, parent, child] true for an edge."""
    k, n, _ = masks.shape
    octets = np.ascontiguousarray(masks, dtype="<u8").view(np.uint8).reshape(k, n, -1)
    return np.unpackbits(octets, axis=2, count=n, bitorder="little").astype(bool).transpose(0, 2, 1)


def paths(edges):
    """The transitive closure of each network."""
    reached = edges.copy()
    for v in range(edges.shape[1]):
        reached |= reached[:, :, v, None] & reached[:, None, v, :]
    return reached


def all_networks(credible):
    """Every network as edges, its score and the number of its class."""
    edges, scores, classes = [], [], []
    class_of = credible.rows.class_of
    at = 0
    sizes = [item.size for item in credible.classes()]
    for masks, batch_scores in credible.networks_masks(4096):
        edges.append(adjacency(masks))
        scores.append(batch_scores)
        at += len(masks)
    classes = np.repeat(np.arange(len(sizes)), sizes) if class_of is None else class_of
    assert at == credible.n_networks == len(classes)
    return np.concatenate(edges), np.concatenate(scores), classes


def weights_of(scores, classes=None, log_prior=None):
    """Weights of networks: uniform over networks, or over the classes given, or with a log prior."""
    logs = np.array(scores, dtype=float)
    if log_prior is not None:
        logs += log_prior
    if classes is not None:
        logs -= np.log(np.bincount(classes))[classes]
    masses = np.exp(logs - logs.max())
    return masses / masses.sum()


def v_structures(edges):
    """The triples (a, b, child) of one network with a < b, both parents of child and not joined."""
    joined = edges | edges.T
    for child in range(len(edges)):
        for a, b in combinations(np.flatnonzero(edges[:, child]).tolist(), 2):
            if not joined[a, b]:
                yield a, b, child


def averages(edges, weights):
    """Probabilities of edges, paths, blankets, v-structures and parent sets over weighted networks."""
    n = edges.shape[1]
    blankets = np.zeros((n, n))
    triples, parent_sets = defaultdict(float), defaultdict(float)
    for network, weight in zip(edges, weights, strict=True):
        blanket = network | network.T
        for a, b, child in v_structures(network):
            triples[a, b, child] += weight
            blanket[a, b] = blanket[b, a] = True
        blankets += weight * blanket
        for v in range(n):
            parent_sets[v, tuple(np.flatnonzero(network[:, v]).tolist())] += weight
    return {
        "edges": np.einsum("k,kpc->pc", weights, edges),
        "paths": np.einsum("k,kpc->pc", weights, paths(edges)),
        "blankets": blankets,
        "v_structures": dict(triples),
        "parent_sets": dict(parent_sets),
    }
