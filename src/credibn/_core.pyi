from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Candidates = tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.uint64], int]
Watch = Callable[[float], bool] | None

def score_discrete(
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
    engine: str,
    rules: Sequence[str],
    n_threads: int,
    watch: Watch,
) -> Candidates | None: ...
def parent_limits(
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
) -> NDArray[np.int64]: ...
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
def class_forms(
    masks: NDArray[np.uint64], rank: NDArray[np.int64]
) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64]]: ...
def are_canonical(masks: NDArray[np.uint64], rank: NDArray[np.int64]) -> NDArray[np.uint8]: ...
def group_by_class(masks: NDArray[np.uint64]) -> NDArray[np.int64]: ...

class ClassMembers:
    def __init__(self, masks: NDArray[np.uint64]) -> None: ...
    def next(self, limit: int) -> tuple[NDArray[np.uint64], NDArray[np.int64]]: ...

def search_subsets(
    offsets: NDArray[np.int64],
    costs: NDArray[np.float64],
    masks: NDArray[np.uint64],
    width: float,
    tie: float,
    by_class: bool,
    max_rows: int | None,
    max_networks: int | None,
    max_bytes: int | None,
    size_words: int,
    n_threads: int,
    watch: Callable[[float], bool] | None,
) -> tuple[NDArray[np.uint32], NDArray[np.float64], NDArray[np.uint64], float, bool, float, dict[str, int]]: ...
def subset_search_size(
    offsets: NDArray[np.int64], costs: NDArray[np.float64], masks: NDArray[np.uint64]
) -> tuple[int, int]: ...
