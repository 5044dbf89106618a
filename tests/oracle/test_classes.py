"""Equivalence classes in the compiled core, against their definitions."""

import math
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from credibn import _core

N_CLASSES = {1: 1, 2: 2, 3: 11, 4: 185, 5: 8782}
"""Known numbers of classes (Gillispie & Perlman 2002); 1,067,825 on 6 nodes."""


def to_masks(dags):
    n = len(dags[0])
    masks = np.zeros((len(dags), n, -(-n // 64)), dtype=np.uint64)
    for k, dag in enumerate(dags):
        for child, parents in enumerate(dag):
            for parent in parents:
                masks[k, child, parent // 64] |= np.uint64(1 << parent % 64)
    return masks


def members_of(words):
    mask = sum(int(word) << 64 * k for k, word in enumerate(words))
    return tuple(v for v in range(mask.bit_length()) if mask >> v & 1)


def to_dags(masks):
    return [tuple(members_of(words) for words in row) for row in masks]


def identity(n):
    return np.arange(n, dtype=np.int64)


def forms(dags, rank=None):
    """Canonical members, CPDAGs as in the oracle, and sizes."""
    n = len(dags[0])
    rank = identity(n) if rank is None else np.array(rank, dtype=np.int64)
    canonical, compelled, undirected, sizes = _core.class_forms(to_masks(dags), rank)
    cpdags = [
        (oracle.edges_of(above), {frozenset(edge) for edge in oracle.edges_of(beside)})
        for above, beside in zip(to_dags(compelled), to_dags(undirected), strict=True)
    ]
    for beside in to_dags(undirected):
        assert oracle.edges_of(beside) == {(u, v) for v, u in oracle.edges_of(beside)}
    return to_dags(canonical), cpdags, [sum(int(word) << 64 * k for k, word in enumerate(row)) for row in sizes]


def size_of(dag):
    return forms([dag])[2][0]


def listed(dag, limit=1000):
    members, found = _core.ClassMembers(to_masks([dag])), []
    while len(batch := members.next(limit)[0]):
        assert len(batch) <= limit
        found += to_dags(batch)
    assert members.next(limit)[0].shape == (0, *to_masks([dag]).shape[1:])
    return found


def random_dag(rng, n, n_parents):
    """Each node has up to n_parents parents, before it in a random order."""
    order, dag = rng.permutation(n), [()] * n
    for k, v in enumerate(order):
        chosen = rng.permutation(order[:k])[: rng.integers(0, n_parents + 1)]
        dag[v] = tuple(sorted(chosen.tolist()))
    return tuple(dag)


def random_chordal(rng, n, width):
    """A network without v-structures on a connected graph: each new node joins part of a clique."""
    label = rng.permutation(n).tolist()
    cliques, parents = [[0]], {0: []}
    for v in range(1, n):
        clique = cliques[rng.integers(len(cliques))]
        chosen = rng.permutation(clique)[: rng.integers(1, width + 1)].tolist()
        parents[v] = chosen
        cliques.append([*chosen, v])
    dag = [()] * n
    for v, above in parents.items():
        dag[label[v]] = tuple(sorted(label[p] for p in above))
    return tuple(dag)


def complete(nodes):
    """Parent sets of a clique, in the order given."""
    return {v: tuple(sorted(nodes[:k])) for k, v in enumerate(nodes)}


def dag_of(n, parents):
    return tuple(tuple(parents.get(v, ())) for v in range(n))


seeds = st.integers(0, 2**32 - 1)


# ----------------------------------------------------------------- all networks on up to five nodes


@pytest.mark.parametrize("n", N_CLASSES)
def test_groups_are_the_classes(n):
    dags = oracle.all_dags(n)
    first_seen = {}
    expected = [first_seen.setdefault(oracle.markov_key(dag), len(first_seen)) for dag in dags]
    assert len(first_seen) == N_CLASSES[n]
    assert _core.group_by_class(to_masks(dags)).tolist() == expected


@pytest.mark.parametrize("n", N_CLASSES)
def test_forms_of_every_member(n):
    """CPDAG, size and canonical member are those of the definition, whichever member is given."""
    rank = np.random.default_rng(n).permutation(n)
    for members in oracle.all_classes(n) if n < 5 else oracle.all_classes(n)[::7]:
        expected = oracle.canonical_member(members, rank)
        canonical, cpdags, sizes = forms(members, rank)
        assert expected in members
        assert canonical == [expected] * len(members)
        assert cpdags == [oracle.cpdag(members)] * len(members)
        assert sizes == [len(members)] * len(members)


@pytest.mark.parametrize("n", [4, 5])
def test_sizes_of_all_classes(n):
    classes = oracle.all_classes(n)
    assert forms([members[0] for members in classes])[2] == [len(members) for members in classes]


@pytest.mark.parametrize("rank", [*permutations(range(4)), (0, 1, 2, 3, 4), (4, 3, 2, 1, 0), (2, 4, 1, 0, 3)])
def test_each_class_has_one_canonical_member_without_wrong_covered_edge(rank):
    n = len(rank)
    dags = oracle.all_dags(n)
    is_canonical = _core.are_canonical(to_masks(dags), np.array(rank, dtype=np.int64)).astype(bool)
    groups = _core.group_by_class(to_masks(dags))
    assert sorted(groups[is_canonical]) == list(range(N_CLASSES[n]))
    for dag in (dag for dag, is_it in zip(dags, is_canonical, strict=True) if is_it):
        for turned in oracle.covered_reversals(dag):
            ((u, v),) = oracle.edges_of(dag) - oracle.edges_of(turned)
            assert rank[u] < rank[v]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_listing_every_class(n):
    for members in oracle.all_classes(n) if n < 5 else oracle.all_classes(n)[::7]:
        found = listed(members[-1], limit=3)
        assert len(found) == len(members)
        assert set(found) == set(members)
        assert found[0] == oracle.canonical_member(members, range(n))
        assert found == listed(members[0])


# ----------------------------------------------------------------- six nodes


@given(seed=seeds)
def test_classes_on_six_nodes(seed):
    rng = np.random.default_rng(seed)
    dag = random_dag(rng, 6, 5)
    rank = rng.permutation(6)
    members = sorted(oracle.class_of(dag))
    canonical, cpdags, sizes = forms([dag], rank)
    assert sizes == [len(members)]
    assert cpdags == [oracle.cpdag(members)]
    assert canonical == [oracle.canonical_member(members, rank)]
    assert sorted(listed(dag)) == members
    assert len({oracle.markov_key(member) for member in members}) == 1


@pytest.mark.slow
def test_all_classes_on_six_nodes():
    networks = oracle.all_networks_of_six()
    assert len(networks) == 3_781_503
    keys = oracle.markov_keys_of_six(networks)
    order = np.lexsort(keys.T)
    keys, masks = keys[order], networks[order].astype(np.uint64)[:, :, np.newaxis]
    is_new = np.append(True, (keys[1:] != keys[:-1]).any(axis=1))
    starts = np.flatnonzero(is_new)
    assert len(starts) == 1_067_825
    sizes = _core.class_forms(masks[starts], identity(6))[3]
    assert np.array_equal(sizes[:, 0], np.diff(np.append(starts, len(masks))))
    assert np.array_equal(_core.group_by_class(masks), np.cumsum(is_new) - 1)


# ----------------------------------------------------------------- larger graphs


@given(seed=seeds, n=st.integers(7, 10), n_parents=st.integers(1, 4))
def test_random_networks(seed, n, n_parents):
    rng = np.random.default_rng(seed)
    dag, rank = random_dag(rng, n, n_parents), rng.permutation(n)
    members = sorted(oracle.class_of(dag))
    given_one = members[rng.integers(len(members))]
    canonical, cpdags, sizes = forms([dag, given_one], rank)
    assert sizes == [len(members)] * 2
    assert cpdags == [oracle.cpdag(members)] * 2
    assert canonical == [oracle.canonical_member(members, rank)] * 2
    assert _core.are_canonical(to_masks(members), np.array(rank)).tolist() == [m == canonical[0] for m in members]
    assert sorted(listed(given_one, limit=7)) == members


@given(seed=seeds, n=st.integers(8, 14), width=st.integers(2, 6))
def test_random_chordal_graphs_are_counted(seed, n, width):
    dag = random_chordal(np.random.default_rng(seed), n, width)
    edges = frozenset(frozenset(edge) for edge in oracle.edges_of(dag))
    assert size_of(dag) == oracle.count_orientations(frozenset(range(n)), edges)


@given(seed=seeds)
def test_small_chordal_graphs_are_listed(seed):
    dag = random_chordal(np.random.default_rng(seed), 7, 3)
    found = listed(dag)
    assert len(found) == size_of(dag)
    assert set(found) == oracle.class_of(dag)


@given(seed=seeds, n=st.sampled_from([70, 130, 200]))
def test_wide_masks_hold_the_same_graph(seed, n):
    """A small network whose nodes are spread over several words."""
    rng = np.random.default_rng(seed)
    dag = random_dag(rng, 9, 3)
    place = np.sort(rng.permutation(n)[:9]).tolist()
    wide = dag_of(n, {place[v]: tuple(place[p] for p in parents) for v, parents in enumerate(dag)})
    rank = rng.permutation(n)
    canonical, ((compelled, undirected),), (size,) = forms([wide], rank)
    expected, (small_cpdag,), (small_size,) = forms([dag], np.argsort(np.argsort(rank[place])))

    def spread(small):
        return [tuple(place[p] for p in parents) for parents in small]

    assert size == small_size
    assert compelled == {(place[a], place[b]) for a, b in small_cpdag[0]}
    assert undirected == {frozenset(place[v] for v in edge) for edge in small_cpdag[1]}
    assert [canonical[0][v] for v in place] == spread(expected[0])
    assert [[row[v] for v in place] for row in listed(wide)] == [spread(row) for row in listed(dag)]


@pytest.mark.parametrize("n", [2, 20, 21, 25, 64, 70, 255])
def test_a_clique_has_n_factorial_members(n):
    assert size_of(dag_of(n, complete(list(range(n))))) == math.factorial(n)


@pytest.mark.parametrize("n", [2, 3, 25, 64, 65, 130, pytest.param(255, marks=pytest.mark.slow)])
def test_a_tree_has_n_members(n):
    rng = np.random.default_rng(n)
    path = dag_of(n, {v: (v - 1,) for v in range(1, n)})
    star = dag_of(n, dict.fromkeys(range(n - 1), (n - 1,)))
    tree = dag_of(n, {v: (int(rng.integers(v)),) for v in range(1, n)})
    for dag in (path, star, tree):
        assert size_of(dag) == n
        found = listed(dag)
        assert len(found) == len(set(found)) == n
        assert [members for members in found if members == dag] == [dag]


def test_a_star_into_its_centre_is_alone():
    star = dag_of(130, {0: tuple(range(1, 130))})
    assert forms([star]) == ([star], [(oracle.edges_of(star), set())], [1])
    assert listed(star) == [star]


def test_disjoint_cliques_multiply_beyond_a_word():
    parents = {}
    for start in range(0, 60, 12):
        parents |= complete(list(range(start, start + 12)))
    assert size_of(dag_of(60, parents)) == math.factorial(12) ** 5 > 2**64
    sizes = forms([dag_of(60, parents), dag_of(60, {1: (0,)})])[2]
    assert sizes == [math.factorial(12) ** 5, 2]


@pytest.mark.parametrize(("left", "shared", "right"), [(3, 1, 4), (10, 5, 9), (30, 12, 25), (70, 3, 60)])
def test_two_cliques_that_overlap(left, shared, right):
    """An AMO is an order of one clique, of the other, or of both where the shared nodes come first."""
    a, s, b = left, shared, right
    n = a + s + b
    parents = complete(list(range(a + s))) | complete(list(range(a, n)))
    for v in range(a, a + s):
        parents[v] = tuple(range(v))
    dag = dag_of(n, parents)
    f = math.factorial
    # First clique first: (a + s)! orders, and the rest of the second follows in b! ways; the same for the second; both
    # count the orders that start with the shared nodes.
    assert size_of(dag) == f(a + s) * f(b) + f(b + s) * f(a) - f(s) * f(a) * f(b)


def test_a_long_strip_of_triangles():
    """Graphs that are neither trees nor cliques, counted by the oracle's recursion."""
    n = 24
    strip = dag_of(n, {v: tuple(range(max(0, v - 2), v)) for v in range(n)})
    edges = frozenset(frozenset(edge) for edge in oracle.edges_of(strip))
    assert size_of(strip) == oracle.count_orientations(frozenset(range(n)), edges)


@pytest.mark.parametrize("n", [100, 200])
def test_large_chordal_graphs_are_listed_and_counted_alike(n):
    """Small chordal graphs side by side, the sizes multiplied; none of them in one word only."""
    rng = np.random.default_rng(n)
    parts, parents, expected = np.array_split(rng.permutation(n), n // 8), {}, 1
    for part in parts:
        dag, place = random_chordal(rng, len(part), 3), part.tolist()
        parents |= {place[v]: tuple(sorted(place[p] for p in above)) for v, above in enumerate(dag)}
        expected *= size_of(dag)
    whole = dag_of(n, parents)
    assert size_of(whole) == expected
    some = to_dags(_core.ClassMembers(to_masks([whole])).next(500)[0])
    assert len(set(some)) == 500
    assert set(_core.group_by_class(to_masks([whole, *some]))) == {0}


def test_more_graphs_than_are_remembered():
    """One graph under many labellings, each a new entry of the memory of counts, which is emptied on the way."""
    rng = np.random.default_rng(0)
    dag = random_chordal(rng, 12, 3)
    matrix = np.array([[p in parents for p in range(12)] for parents in dag])
    labels = rng.permuted(np.tile(np.arange(12), (70_000, 1)), axis=1)
    masks = (matrix[labels[:, :, np.newaxis], labels[:, np.newaxis, :]] << np.arange(12)).sum(axis=2).astype(np.uint64)
    sizes = _core.class_forms(masks[:, :, np.newaxis], identity(12))[3]
    assert set(sizes[:, 0].tolist()) == {len(oracle.class_of(dag))}


# ----------------------------------------------------------------- the border


def masks_of_three(**changes):
    masks = np.array([[[0], [1], [2]]], dtype=np.uint64)
    for child, mask in changes.items():
        masks[0, int(child[1]), 0] = mask
    return masks


@pytest.mark.parametrize(
    ("masks", "message"),
    [
        (masks_of_three(v0=4), "cycle"),
        (masks_of_three(v1=3), "own child"),
        (masks_of_three(v1=8), "unknown node"),
        (np.zeros((1, 3, 2), dtype=np.uint64), "one word for every 64"),
        (np.zeros((1, 65, 1), dtype=np.uint64), "one word for every 64"),
        (np.zeros((1, 0, 0), dtype=np.uint64), "1 to 255"),
        (np.zeros((1, 256, 4), dtype=np.uint64), "1 to 255"),
    ],
)
def test_wrong_networks_are_refused(masks, message):
    rank = identity(masks.shape[1])
    for call in (
        lambda: _core.class_forms(masks, rank),
        lambda: _core.are_canonical(masks, rank),
        lambda: _core.group_by_class(masks),
        lambda: _core.ClassMembers(masks),
    ):
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.parametrize("rank", [[0, 1], [0, 1, 1], [0, 1, 3], [-1, 0, 1], [0, 1, 2, 3]])
def test_wrong_ranks_are_refused(rank):
    for call in (_core.class_forms, _core.are_canonical):
        with pytest.raises(ValueError, match="rank"):
            call(masks_of_three(), np.array(rank, dtype=np.int64))


def test_wrong_types_are_refused():
    masks = masks_of_three()
    for wrong in (masks.astype(np.int64), masks[0], masks[:, :, 0], None, np.asfortranarray(np.zeros((2, 3, 2)))):
        with pytest.raises(TypeError):
            _core.group_by_class(wrong)
    with pytest.raises(TypeError):
        _core.class_forms(masks, np.arange(3, dtype=np.int32))
    with pytest.raises(TypeError):
        _core.ClassMembers(masks[0])


def test_no_networks_are_no_work():
    masks = np.zeros((0, 3, 1), dtype=np.uint64)
    assert [array.shape for array in _core.class_forms(masks, identity(3))] == [(0, 3, 1)] * 3 + [(0, 1)]
    assert _core.group_by_class(masks).shape == (0,)


@pytest.mark.parametrize("limit", [0, -1])
def test_a_listing_needs_a_positive_limit(limit):
    with pytest.raises(ValueError, match="limit"):
        _core.ClassMembers(masks_of_three()).next(limit)


def test_a_listing_shared_by_threads_gives_each_member_once():
    members = _core.ClassMembers(to_masks([dag_of(8, complete(list(range(8))))]))
    with ThreadPoolExecutor(4) as pool:
        batches = list(pool.map(lambda _: members.next(97)[0], range(420)))
    found = np.concatenate(batches)
    assert len(found) == len(np.unique(found[:, :, 0], axis=0)) == math.factorial(8)


@pytest.mark.parametrize("limit", [1, 2, 7, 1000])
def test_several_classes_are_listed_one_after_another(limit):
    dags = [dag_of(4, {1: (0,), 2: (1,)}), dag_of(4, {}), dag_of(4, {2: (0, 1), 3: (2,)}), dag_of(4, {3: (0,)})]
    members, found, origins = _core.ClassMembers(to_masks(dags)), [], []
    masks, of_class = members.next(limit)
    while len(of_class):
        found += to_dags(masks)
        origins += of_class.tolist()
        masks, of_class = members.next(limit)
    assert found == [member for dag in dags for member in listed(dag)]
    assert origins == [k for k, dag in enumerate(dags) for _ in listed(dag)]


def test_pairs_of_edges_are_independent():
    """Components take turns: 2^m members for m separate edges."""
    dag = dag_of(20, {2 * k + 1: (2 * k,) for k in range(10)})
    found = listed(dag, limit=100)
    assert len(found) == len(set(found)) == size_of(dag) == 2**10
    assert all(oracle.markov_key(member) == oracle.markov_key(dag) for member in found)
