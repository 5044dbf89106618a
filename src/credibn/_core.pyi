from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Candidates = tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.uint64], int]
Watch = Callable[[float], bool] | None

def plan_scoring(
    codes: NDArray[np.uint16],
    arities: NDArray[np.int64],
    weights: NDArray[np.int64],
    is_bdeu: bool,
    parameter: float,
    epsilon: float,
    allowed: NDArray[np.uint8],
    required: NDArray[np.uint8],
    max_parents: NDArray[np.int64],
    edge_costs: NDArray[np.float64],
) -> tuple[NDArray[np.int64], float]: ...
def prune_set_costs(
    set_costs: Sequence[NDArray[np.float64]],
    n: int,
    epsilon: float,
    allowed: NDArray[np.uint8],
    required: NDArray[np.uint8],
    max_parents: NDArray[np.int64],
    edge_costs: NDArray[np.float64],
    floors: NDArray[np.float64],
    size_penalties: NDArray[np.float64],
    allowance: float,
    n_threads: int,
    watch: Watch,
) -> Candidates | None: ...

class DiscreteProblem:
    def __init__(
        self,
        codes: NDArray[np.uint16],
        arities: NDArray[np.int64],
        weights: NDArray[np.int64],
        is_bdeu: bool,
        parameter: float,
        epsilon: float,
        allowed: NDArray[np.uint8],
        required: NDArray[np.uint8],
        max_parents: NDArray[np.int64],
        edge_costs: NDArray[np.float64],
        rules: Sequence[str],
    ) -> None: ...
    def descent_weights(self) -> NDArray[np.float64]: ...
    def run_descent_tasks(self, first: int, last: int, watch: Watch) -> Candidates | None: ...
    def join_descent(
        self,
        nodes: NDArray[np.int32],
        costs: NDArray[np.float64],
        masks: NDArray[np.uint64],
        n_local_scores: int,
        n_threads: int,
        watch: Watch,
    ) -> Candidates | None: ...
    def table_weights(self) -> NDArray[np.float64]: ...
    def run_table_tasks(
        self, first: int, last: int, watch: Watch
    ) -> tuple[NDArray[np.float64], NDArray[np.uint32]] | None: ...
    def join_table(
        self, costs: NDArray[np.float64], cells: NDArray[np.uint32], n_threads: int, watch: Watch
    ) -> Candidates | None: ...

def class_forms(
    masks: NDArray[np.uint64], rank: NDArray[np.int64]
) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64]]: ...
def are_canonical(masks: NDArray[np.uint64], rank: NDArray[np.int64]) -> NDArray[np.uint8]: ...
def group_by_class(masks: NDArray[np.uint64]) -> NDArray[np.int64]: ...
def group_choices_by_class(
    offsets: NDArray[np.int64],
    masks: NDArray[np.uint64],
    choices: NDArray[np.uint32],
    n_threads: int,
    watch: Watch,
) -> NDArray[np.int64]: ...

class ClassMembers:
    def __init__(self, masks: NDArray[np.uint64]) -> None: ...
    def next(self, limit: int) -> tuple[NDArray[np.uint64], NDArray[np.int64]]: ...

def average_structure(
    offsets: NDArray[np.int64],
    masks: NDArray[np.uint64],
    choices: NDArray[np.uint32],
    weights: NDArray[np.float64],
    are_classes: bool,
) -> tuple[
    NDArray[np.int64],
    NDArray[np.uint64],
    NDArray[np.float64],
    NDArray[np.float64],
    NDArray[np.float64],
    NDArray[np.float64],
    NDArray[np.int64],
    NDArray[np.float64],
]: ...
def average_ancestors(
    offsets: NDArray[np.int64],
    masks: NDArray[np.uint64],
    choices: NDArray[np.uint32],
    weights: NDArray[np.float64],
    are_classes: bool,
) -> NDArray[np.float64]: ...
def average_causes(
    offsets: NDArray[np.int64],
    masks: NDArray[np.uint64],
    choices: NDArray[np.uint32],
    weights: NDArray[np.float64],
    are_classes: bool,
) -> tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.float64], NDArray[np.float64]]: ...
def sample_members(masks: NDArray[np.uint64], seed: int) -> NDArray[np.uint64]: ...
def search_subsets(
    offsets: NDArray[np.int64],
    costs: NDArray[np.float64],
    masks: NDArray[np.uint64],
    is_open: NDArray[np.uint8],
    collection: Collection,
    by_class: bool,
    max_bytes: int | None,
    n_threads: int,
    seconds: float | None,
    watch: Callable[[float], bool] | None,
) -> tuple[float, dict[str, int]]: ...
def subset_search_size(
    offsets: NDArray[np.int64], costs: NDArray[np.float64], masks: NDArray[np.uint64], is_open: NDArray[np.uint8]
) -> tuple[int, int | None]: ...

class CountedNetworks:
    @property
    def outcome(self) -> Literal["complete", "too_large", "stopped"]: ...
    @property
    def is_empty(self) -> bool: ...
    @property
    def bound(self) -> int: ...
    @property
    def best(self) -> int: ...
    @property
    def limit(self) -> int: ...
    @property
    def n_states(self) -> int: ...
    @property
    def n_class_states(self) -> int: ...
    def count_up_to(self, limit: int) -> NDArray[np.uint64]: ...
    def classes_up_to(self, limit: int) -> NDArray[np.uint64] | None: ...
    def weigh(self, step: float) -> tuple[float, NDArray[np.float64]]: ...
    def sample(self, random: NDArray[np.float64], step: float) -> tuple[NDArray[np.uint32], NDArray[np.int64]]: ...

class NetworkCounter:
    def __init__(
        self,
        offsets: NDArray[np.int64],
        costs: NDArray[np.int64],
        masks: NDArray[np.uint64],
        best: int,
        width: int,
        with_classes: bool,
        max_bytes: int,
    ) -> None: ...
    @property
    def bytes(self) -> int: ...
    def add_whole(
        self,
        chosen: NDArray[np.int64],
        ends: NDArray[np.int64],
        lowers: NDArray[np.int64],
        reduced: NDArray[np.int64],
        max_steps: int,
        searches_order: bool,
        watch: Callable[[float], bool] | None,
    ) -> tuple[Literal["complete", "too_large", "stopped"], NDArray[np.int64], float]: ...
    def add(
        self,
        chosen: NDArray[np.int64],
        ends: NDArray[np.int64],
        lowers: NDArray[np.int64],
        reduced: NDArray[np.int64],
        max_steps: int,
        n_threads: int,
        watch: Callable[[float], bool] | None,
    ) -> list[tuple[Literal["complete", "too_large", "stopped"], NDArray[np.int64]]]: ...
    def count(
        self, unexplored: int | None, is_stopped: bool, watch: Callable[[float], bool] | None
    ) -> CountedNetworks: ...

class NetworksInOrder:
    def __init__(self, counted: CountedNetworks) -> None: ...
    def take(self, count: int) -> tuple[NDArray[np.uint32], NDArray[np.int64]]: ...

def masses_up_to(counted: CountedNetworks, limits: NDArray[np.int64], step: float) -> NDArray[np.float64]: ...
def masses_without(counted: CountedNetworks, left_out: NDArray[np.uint8], step: float) -> NDArray[np.float64]: ...
def n_entries(counted: CountedNetworks) -> int: ...
def lower_limit(
    counted: CountedNetworks, limit: int, max_bytes: int, watch: Callable[[float], bool] | None
) -> CountedNetworks: ...

DiagramArrays = tuple[
    NDArray[np.int32],
    NDArray[np.uint32],
    NDArray[np.uint32],
    NDArray[np.uint32],
    NDArray[np.uint32],
    NDArray[np.int32],
]

def diagram_arrays(counted: CountedNetworks, of_classes: bool) -> DiagramArrays | None: ...
def counted_of_arrays(
    offsets: NDArray[np.int64],
    costs: NDArray[np.int64],
    masks: NDArray[np.uint64],
    limit: int,
    networks: DiagramArrays,
    classes: DiagramArrays | None,
    max_bytes: int,
    watch: Callable[[float], bool] | None,
) -> CountedNetworks: ...
def network_scores(
    offsets: NDArray[np.int64], scores: NDArray[np.float64], choices: NDArray[np.uint32], n_threads: int = 1
) -> NDArray[np.float64]: ...
def networks_in_order(scores: NDArray[np.float64], choices: NDArray[np.uint32]) -> bool: ...

class Collection:
    def __init__(
        self,
        n: int,
        size_words: int,
        width: float,
        tie: float,
        max_entries: int | None,
        max_networks: int | None,
        max_bytes: int | None,
    ) -> None: ...
    def update_incumbent(self, cost: float, network: NDArray[np.uint32] | None = None) -> None: ...
    def limit(self) -> float: ...
    def best(self) -> float: ...
    def is_truncated(self) -> bool: ...
    def is_full(self) -> bool: ...
    def count(self) -> int: ...
    def truncate(self, limit: float) -> None: ...
    def leave_out_class(self, cost: float) -> None: ...
    def least_class_left_out(self) -> float: ...
    def generation(self) -> int: ...
    def take(self, choices: NDArray[np.uint32], costs: NDArray[np.float64], sizes: NDArray[np.uint64]) -> None: ...
    def networks_from(self, first: int) -> tuple[NDArray[np.uint32], NDArray[np.float64], NDArray[np.uint64]]: ...
    def incumbent(self) -> NDArray[np.uint32] | None: ...
    def finish(
        self, n_threads: int, watch: Watch
    ) -> tuple[NDArray[np.uint32], NDArray[np.float64], NDArray[np.uint64], float]: ...

class SearchProblem:
    def __init__(self, offsets: NDArray[np.int64], costs: NDArray[np.float64], masks: NDArray[np.uint64]) -> None: ...
    def find_network(
        self, order: NDArray[np.int64], seed: int, effort: int, watch: Watch = None
    ) -> tuple[NDArray[np.uint32], float] | None: ...
    def rounding(self) -> float: ...
    def ranks_along(self, network: NDArray[np.uint32]) -> list[int]: ...
    def add_cluster_cut(self, nodes: Sequence[int], k: int) -> int: ...
    def separate_cluster_cuts(
        self, values: NDArray[np.float64], max_k: int, max_cuts: int, least: float
    ) -> list[int]: ...
    def separate_diverse_cuts(
        self,
        points: NDArray[np.float64],
        counts: NDArray[np.uint8],
        ids: NDArray[np.int64],
        max_k: int,
        max_found: int,
        max_cuts: int,
        max_cosine: float,
        least: float,
    ) -> list[int]: ...
    def cut(self, id: int) -> tuple[NDArray[np.uint32], NDArray[np.int32], int]: ...
    def entries(
        self, ids: NDArray[np.int64], positions: NDArray[np.int64], by_column: bool = False
    ) -> tuple[list[list[tuple[int, float]]], NDArray[np.float64]]: ...
    def bound(
        self, ids: NDArray[np.int64], dual_values: NDArray[np.float64], alive: NDArray[np.uint8]
    ) -> tuple[float, float, NDArray[np.float64]]: ...
    def search_depth_first(
        self,
        collection: Collection,
        ids: NDArray[np.int64],
        dual_values: NDArray[np.float64],
        alive: NDArray[np.uint8],
        rank: Sequence[int],
        by_class: bool,
        limit: float | None,
        max_steps: int | None,
        first: int,
        last: int | None,
        n_threads: int,
        watch: Watch,
        above: float = ...,
        up_to: float = ...,
    ) -> tuple[bool, int, float] | None: ...
    def count_tasks(
        self,
        collection: Collection,
        ids: NDArray[np.int64],
        dual_values: NDArray[np.float64],
        alive: NDArray[np.uint8],
        rank: Sequence[int],
        by_class: bool,
        limit: float,
    ) -> int: ...
    def cut_definitions(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...
    def make_cuts(self, definitions: NDArray[np.int64]) -> list[int]: ...

def sum_networks(
    offsets: NDArray[np.int64],
    scores: NDArray[np.float64],
    masks: NDArray[np.uint64],
    with_marginals: bool,
    cause: int | None,
    watch: Watch,
) -> tuple[float, NDArray[np.float64] | None, NDArray[np.float64] | None, NDArray[np.float64] | None] | None: ...
def network_sum_rounding(n: int) -> float: ...
def network_sum_bytes(n: int, with_marginals: bool) -> int: ...
