"""Random data of all shapes with random options, the same for the same seed: for the soak.

Adversarial cases try the rounding of every stage: deterministic columns, skewed counts of up to 2^32 - 1 rows,
equivalent sample sizes over 600 orders of magnitude, nearly collinear numbers, and epsilon exactly at the gap between
two networks. Their truth is known to 50 digits.
"""

import math
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from credibn import AIC, BIC, BDeu, Dataset, EdgeLogOdds, EdgePenalty

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

import exact_costs
from strategies import CodedTable

__all__ = ["ENGINES", "KINDS", "SECONDS", "Case", "random_case"]

KINDS = {"small": 0.56, "numbers": 0.12, "mixed": 0.07, "medium": 0.09, "wide": 0.06, "adversarial": 0.1}
"""The kinds of cases, and how often each is drawn."""
MOST_ROWS = 2**32 - 1
ENGINES = ("dynamic_programming", "integer_program")
SECONDS = 5.0
"""The time limit of one search: an answer that a limit cut short is checked for what it claims."""


@dataclass
class Case:
    """One run: what is handed to `learn`, and the truth where brute force knows it (`costs`: to 50 digits)."""

    kind: str
    data: pd.DataFrame | Dataset
    options: dict[str, Any]
    truth: CodedTable | None = None
    costs: Any = None
    k: int | None = None
    constraints: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        shape = self.data.shape if isinstance(self.data, pd.DataFrame) else repr(self.data)
        return f"{self.kind}: {shape}, {self.options}" + (f", k={self.k}" if self.k else "")

    @property
    def n_columns(self) -> int:
        return self.data.shape[1] if isinstance(self.data, pd.DataFrame) else self.data.n_variables


# ----------------------------------------------------------------- random data


def random_codes(rng: np.random.Generator, n: int, n_rows: int, most_states: int) -> np.ndarray:
    """Columns of codes: independent, skewed, constant, copies, noisy functions of those before."""
    columns = list[np.ndarray]()
    for v in range(n):
        arity = int(rng.integers(2, most_states + 1))
        kind = rng.choice(["plain", "plain", "skewed", "constant", "copy", "noisy", "xor"])
        if kind == "constant" and rng.random() < 0.7:
            kind = "plain"
        if kind == "constant":
            columns.append(np.zeros(n_rows, dtype=np.int64))
        elif kind == "skewed":
            columns.append(np.minimum(rng.geometric(0.7, n_rows) - 1, arity - 1))
        elif kind == "plain" or v == 0:
            columns.append(rng.integers(0, arity, n_rows))
        else:
            source = columns[int(rng.integers(v))]
            if kind == "xor" and v > 1:
                source = source + columns[int(rng.integers(v))]
            noise = rng.random(n_rows) < (0.0 if kind == "copy" else rng.choice([0.05, 0.3]))
            columns.append(np.where(noise, rng.integers(0, arity, n_rows), source % arity))
    return np.column_stack(columns)


def recoded(codes: np.ndarray) -> tuple[np.ndarray, tuple[int, ...]]:
    """The same with the states that occur only, as reading finds them."""
    pairs = [np.unique(column, return_inverse=True) for column in codes.T]
    return np.column_stack([which for _, which in pairs]), tuple(len(seen) for seen, _ in pairs)


def discrete_data(
    rng: np.random.Generator, codes: np.ndarray
) -> tuple[pd.DataFrame | Dataset, dict[str, Any], CodedTable]:
    """Codes, or text that is to be read, perhaps with weights or missing values; and the table that it stands for."""
    if rng.random() < 0.5:
        plain, arities = recoded(codes)
        table = CodedTable(plain, arities, rng.integers(1, int(rng.choice([2, 20])), len(codes)))
        return table.dataset(), {}, table
    weights = np.ones(len(codes), dtype=np.int64)
    frame = pd.DataFrame({f"v{v}": [f"s{code:03d}" for code in column] for v, column in enumerate(codes.T.tolist())})
    options: dict[str, Any] = {}
    kind = rng.choice(["plain", "plain", "weights", "drop", "state"])
    if kind == "weights":
        weights = rng.integers(1, 20, len(codes))
        frame["weight"] = weights
        options["weights"] = "weight"
    if kind in ("drop", "state"):
        is_missing = rng.random(codes.shape) < 0.05
        is_missing[0] = False  # one row is left, and one state
        frame = frame.mask(pd.DataFrame(is_missing, columns=frame.columns))
        options["missing"] = kind
        codes = np.where(is_missing, 1000, codes) if kind == "state" else codes[~is_missing.any(axis=1)]
        weights = weights[: len(codes)]
    plain, arities = recoded(codes)
    return frame, options, CodedTable(plain, arities, weights)


def random_constraints(rng: np.random.Generator, table: CodedTable) -> dict[str, Any]:
    """Feasible constraints in positions, none at constant columns."""
    order = [v for v in rng.permutation(table.n).tolist() if table.arities[v] > 1]
    options: dict[str, Any] = {}
    if len(order) < 2 or rng.random() < 0.5:
        return options
    forward = [(a, b) for k, a in enumerate(order) for b in order[k + 1 :]]
    required = {forward[int(rng.integers(len(forward)))]} if rng.random() < 0.3 else set()
    edges = [*forward, *((b, a) for a, b in forward)]
    chosen = rng.choice(len(edges), min(len(edges), int(rng.integers(0, 4))), replace=False).tolist()
    options["forbidden_edges"] = sorted({edges[k] for k in chosen} - required)
    options["required_edges"] = sorted(required)
    if rng.random() < 0.3:
        cut = int(rng.integers(len(order) + 1))
        options["tiers"] = [order[:cut], order[cut:]]
    if rng.random() < 0.4:
        options["max_parents"] = int(rng.integers(1, 4))
    return {name: value for name, value in options.items() if value}


def named(constraints: dict[str, Any]) -> dict[str, Any]:
    """The constraints with names instead of positions."""
    edges = {
        name: [(f"v{a}", f"v{b}") for a, b in constraints[name]]
        for name in ("forbidden_edges", "required_edges")
        if name in constraints
    }
    tiers = {"tiers": [[f"v{v}" for v in tier] for tier in constraints["tiers"]]} if "tiers" in constraints else {}
    return constraints | edges | tiers


def random_prior(rng: np.random.Generator, n: int) -> Any:
    kind = rng.choice(["none", "none", "none", "penalty", "odds"])
    if kind == "penalty":
        return EdgePenalty(float(rng.exponential(2.0)))
    if kind == "odds":
        odds = rng.normal(size=(n, n)) * rng.choice([0.5, 5.0])
        np.fill_diagonal(odds, 0.0)
        return EdgeLogOdds(odds)
    return None


def random_case(rng: np.random.Generator, kind: str | None = None, n_threads: int = 1) -> Case:
    kind = kind or str(rng.choice(list(KINDS), p=list(KINDS.values())))
    make = {"small": small_case, "medium": medium_case, "wide": wide_case, "adversarial": adversarial_case}
    case = make.get(kind, numbers_case)(rng, kind)
    case.options |= {"time_limit": SECONDS, "n_threads": n_threads}
    if kind == "adversarial":
        return case
    largest = 1e6 if case.n_columns < 6 else 3.0
    case.options["bayes_factor"] = float(rng.choice([1.0, 2.0, 20.0, 150.0, largest]))
    limit = rng.choice(["none", "none", "networks", "classes", "k_networks", "k_classes"])
    if limit == "networks":
        case.options["max_networks"] = int(rng.integers(1, 200))
    elif limit == "classes":
        case.options["max_classes"] = int(rng.integers(1, 50))
    elif limit.startswith("k_"):
        case.k = int(rng.integers(1, 100))
        case.options["kind"] = str(limit)
        del case.options["bayes_factor"]
    elif kind in ("medium", "wide"):
        case.options["max_networks"] = 2_000
    return case


def small_case(rng: np.random.Generator, kind: str) -> Case:
    n = int(rng.choice([1, 2, 3, 3, 4, 4, 4, 4, 5], p=[0.05, 0.1, 0.15, 0.15, 0.15, 0.15, 0.1, 0.1, 0.05]))
    n_rows = int(rng.choice([1, 2, 10, 40, 200, 1000]))
    codes = random_codes(rng, n, n_rows, int(rng.choice([2, 3, 5, 12, 60])))
    data, options, truth = discrete_data(rng, codes)
    constraints = random_constraints(rng, truth)
    options |= named(constraints) | {"score": random_score(rng), "prior": random_prior(rng, n)}
    options["engine"] = str(rng.choice(["auto", *ENGINES]))
    return Case(kind, data, options, truth, constraints=constraints)


def random_score(rng: np.random.Generator) -> Any:
    return [BIC(), AIC(), BDeu(1.0), BDeu(float(rng.choice([0.01, 10.0])))][int(rng.integers(4))]


def medium_case(rng: np.random.Generator, kind: str) -> Case:
    n, n_rows = int(rng.integers(6, 11)), int(rng.choice([20, 100, 500, 5000]))
    data, options, truth = discrete_data(rng, random_codes(rng, n, n_rows, int(rng.choice([2, 3, 6]))))
    options |= named(random_constraints(rng, truth)) | {"score": [BIC(), BDeu(1.0)][int(rng.integers(2))]}
    return Case(kind, data, options)


def wide_case(rng: np.random.Generator, kind: str) -> Case:
    n, n_rows = int(rng.integers(12, 61)), int(rng.choice([5, 30, 100]))
    data, options, _ = discrete_data(rng, random_codes(rng, n, n_rows, int(rng.choice([2, 4, 60]))))
    return Case(kind, data, options | {"max_parents": int(rng.integers(0, 3)), "score": BIC()})


def numbers_case(rng: np.random.Generator, kind: str) -> Case:
    n, n_rows = int(rng.integers(1, 6)), int(rng.choice([2, 12, 60, 500]))
    values = rng.normal(size=(n_rows, n)) @ rng.normal(size=(n, n)) * 10.0 ** rng.integers(-6, 7)
    frame = pd.DataFrame(values, columns=[f"v{v}" for v in range(n)])
    score = str(rng.choice(["gaussian-bic", "bge"]))
    if kind == "mixed":
        score = "conditional-gaussian-bic"
        frame["v0"] = np.where(rng.random(n_rows) < 0.5, "a", "b")
    if rng.random() < 0.1:
        frame["v0"] = frame["v0"].iloc[0]
    return Case(kind, frame, {"score": score})


# ----------------------------------------------------------------- adversarial data


def adversarial_case(rng: np.random.Generator, kind: str) -> Case:
    data: pd.DataFrame | Dataset
    options: dict[str, Any] = {"engine": str(rng.choice(["auto", *ENGINES]))}
    shape = rng.choice(["deterministic", "skewed", "plain", "collinear"])
    if shape == "collinear":
        values = collinear_numbers(rng)
        data = pd.DataFrame(values, columns=[f"v{v}" for v in range(values.shape[1])])
        options["score"] = "gaussian-bic"
        costs = exact_costs.gaussian_bic_costs(values)
    else:
        table = {"deterministic": deterministic_table, "skewed": skewed_table, "plain": plain_table}[shape](rng)
        score = [BIC(), AIC(), BDeu(1.0), BDeu(10.0 ** rng.uniform(-300, 300))][int(rng.integers(4))]
        options |= {"score": score, "prior": EdgePenalty(rng.exponential(2.0)) if rng.random() < 0.15 else None}
        data, costs = table.dataset(), exact_costs.discrete_costs(table, score, options["prior"])
    options["epsilon"] = epsilon_at_a_gap(rng, costs)
    return Case(kind, data, options, costs=costs)


def epsilon_at_a_gap(rng: np.random.Generator, costs: Any) -> float:
    """The gap of a random network, rounded, or the next double below or above it."""
    _, by_gap = exact_costs.gaps(costs)
    steps = sorted({gap for gap, _ in by_gap})
    epsilon = float(steps[int(rng.integers(min(len(steps), 40)))])
    return max(0.0, float(rng.choice([epsilon, math.nextafter(epsilon, 0.0), math.nextafter(epsilon, math.inf)])))


def deterministic_table(rng: np.random.Generator) -> CodedTable:
    """A few distinct rows, with states that never occur: most columns follow from others, some are constant."""
    n, n_distinct = int(rng.integers(2, 5)), int(rng.integers(1, 5))
    arities = tuple(rng.choice([2, 2, 3, 4, 60], n).tolist())
    codes = np.column_stack([rng.integers(0, min(arity, 4), n_distinct) for arity in arities])
    return CodedTable(codes, arities, random_weights(rng, n_distinct))


def skewed_table(rng: np.random.Generator) -> CodedTable:
    """Nearly all rows are the same, up to the most rows that can be counted."""
    n = int(rng.integers(2, 5))
    codes = np.array([[cell >> v & 1 for v in range(n)] for cell in range(1 << n)])
    weights = rng.integers(1, int(10.0 ** rng.uniform(0.5, 4)), len(codes))
    weights[0] = int(rng.choice([MOST_ROWS - weights[1:].sum(), 10.0 ** rng.uniform(5, 9)]))
    return CodedTable(codes, (2,) * n, weights)


def plain_table(rng: np.random.Generator) -> CodedTable:
    codes, arities = recoded(random_codes(rng, int(rng.integers(2, 5)), int(rng.choice([5, 40, 200])), 3))
    return CodedTable(codes, arities, np.ones(len(codes), dtype=np.int64))


def random_weights(rng: np.random.Generator, n_rows: int) -> np.ndarray:
    """Counts of all magnitudes that add up to at most the most rows."""
    return np.maximum(1, (2.0 ** rng.uniform(0, 32, n_rows) / n_rows).astype(np.int64))


def collinear_numbers(rng: np.random.Generator) -> np.ndarray:
    """Columns of which one nearly equals another, the difference down to a millionth of a standard deviation."""
    n, n_rows = int(rng.integers(2, 5)), int(rng.choice([8, 20, 60]))
    values = rng.normal(size=(n_rows, n))
    values[:, 1] = values[:, 0] + 10.0 ** rng.uniform(-6, -1) * rng.normal(size=n_rows)
    return values * 10.0 ** rng.integers(-3, 4, n) + rng.choice([0.0, 100.0], n)
