"""Causal effects: how often intervals hold the true effect, over simulated data sets.

Rows are drawn from networks whose effects are known; the credible set at a Bayes factor of 20 and the 95 % interval of
the effect are computed for each data set. ``python -m benchmarks.effects`` prints a Markdown table; ``--data-sets N``
has more or fewer than 200 of each kind.
"""

import argparse
import warnings

import numpy as np
import pandas as pd

from credibn import CredibnWarning, learn
from credibn.examples import example_network, sample_example

PAIRS = (("sprinkler", 500, "Rain", "WetGrass"), ("sprinkler", 500, "Cloudy", "WetGrass"))


def true_effect(name: str, cause: str, outcome: str) -> float:
    """P(outcome = yes | do(cause = yes)) - P(outcome = yes | do(cause = no)) in an example network."""
    network = example_network(name)
    nothing = pd.DataFrame({outcome: ["yes"]})  # a target is no evidence
    yes, no = (network.predict_proba(nothing, outcome, do={cause: state})["yes"].iloc[0] for state in ("yes", "no"))
    return float(yes - no)


def numbers(n_rows: int, seed: int) -> pd.DataFrame:
    """A confounded effect of 0.5: z causes x and y, x causes y."""
    random = np.random.default_rng(seed)
    z = random.normal(size=n_rows)
    x = z + random.normal(size=n_rows)
    return pd.DataFrame({"z": z, "x": x, "y": 0.5 * x + z + random.normal(size=n_rows)})


def line(what: str, n_rows: int, truth: float, answers: list[tuple[float, float, float]]) -> str:
    """A line of the table, from the interval and the mean of each data set."""
    low, high, mean = np.array(answers).T
    held = np.mean((low <= truth) & (truth <= high))
    return f"| {what} | {n_rows} | {truth:.3f} | {mean.mean():.3f} | {held:.1%} | {(high - low).mean():.2f} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data-sets", type=int, default=200)
    n_sets = parser.parse_args().data_sets
    warnings.simplefilter("ignore", CredibnWarning)
    print("| effect | rows | truth | mean | intervals that hold it | width |\n|---|---|---|---|---|---|")
    for name, n_rows, cause, outcome in PAIRS:
        answers = []
        for seed in range(n_sets):
            table = sample_example(name, n_rows, seed)
            found = learn(table, n_threads=1, posterior_share=False)
            if len(set(table[cause].to_pylist())) < 2:
                continue
            effect = found.effects(table, cause=cause, outcome=outcome, change=("no", "yes"), state="yes")
            answers.append((*effect.interval, effect.mean))
        print(line(f"{name}: {cause} on {outcome}", n_rows, true_effect(name, cause, outcome), answers), flush=True)
    answers = []
    for seed in range(n_sets):
        frame = numbers(300, seed)
        effect = learn(frame, n_threads=1, posterior_share=False).effects(frame, cause="x", outcome="y")
        answers.append((*effect.interval, effect.mean))
    print(line("numbers: x on y, with a common cause", 300, 0.5, answers), flush=True)


if __name__ == "__main__":
    main()
