"""Averaged prediction against the single best network: log loss and accuracy of a class column, cross-validated.

``python -m benchmarks.prediction`` runs five folds of each data set at Bayes factors 20 and 150 and prints a Markdown
table; names select data sets; ``--long`` adds those whose sets are large. In each fold the structures are learned from
the other four (BIC), the parameters are posterior means, and the class of each row is predicted from all its other
columns: by the best network (the first class's representative), and averaged over the credible set. The states of each
column are those of the whole table, so that all folds agree on them. Each run has a process of its own.

Asserted: probabilities sum to 1, and the averaged log loss is at most the average of the networks' own log losses
(Jensen's inequality), on the heaviest networks of each fold.
"""

import argparse
import dataclasses
import json
import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.runs import data_folder, in_own_process, timed
from credibn import AveragedModel, average_models, learn, read_data
from credibn.errors import CredibnWarning
from credibn.models import fit_network

BAYES_FACTORS = (20, 150)
LONG_RUNS = {("hepatitis", 150)}
N_FOLDS = 5
N_COMPARED = 30
# The class column of each data set: by its name where it is called class, for parkinsons the diagnosis.
TARGETS = {"tictactoe": "Class", "wine": "class", "voting": "Class", "hepatitis": "CLASS"}
LONG = {"parkinsons": "status"}


def losses(probabilities: pd.DataFrame, truth: pd.Series) -> np.ndarray:
    """Minus the log probability of the true class of each row."""
    assert np.allclose(probabilities.sum(axis=1), 1.0, rtol=0, atol=1e-9), "probabilities do not sum to 1"
    columns = probabilities.columns.get_indexer(truth)
    return -np.log(probabilities.to_numpy()[np.arange(len(truth)), columns])


def first_networks(model: AveragedModel, chosen: slice) -> AveragedModel:
    """Return a model of some of the networks only."""
    weights = model.weights[chosen] / model.weights[chosen].sum()
    mixture = dataclasses.replace(model.mixture, networks=model.mixture.networks[chosen].copy(), weights=weights)
    return dataclasses.replace(model, mixture=mixture)


def check_jensen(model: AveragedModel, rows: pd.DataFrame, target: str) -> None:
    few = first_networks(model, slice(0, N_COMPARED))
    each = [
        losses(first_networks(few, slice(at, at + 1)).predict_proba(rows, target), rows[target])
        for at in range(few.n_networks)
    ]
    averaged = losses(few.predict_proba(rows, target), rows[target])
    assert (averaged <= few.weights @ np.array(each) + 1e-9).all(), "the average does worse than its parts on average"


def run_one(name: str, target: str, bayes_factor: float) -> dict[str, Any]:
    table = pd.read_csv(data_folder() / f"{name}.csv", dtype=str)
    states = {column: sorted(table[column].unique()) for column in table}
    fold_of = np.random.default_rng(0).permutation(len(table)) % N_FOLDS
    found_losses: dict[str, list[np.ndarray]] = {"best": [], "averaged": []}
    hits: dict[str, list[np.ndarray]] = {"best": [], "averaged": []}
    classes, used, shares, seconds = [], [], [], []
    for fold in range(N_FOLDS):
        training, rows = table[fold_of != fold], table[fold_of == fold]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CredibnWarning)  # columns that are constant in a fold
            data = read_data(training, state_names=states)
        found = learn(data, bayes_factor=bayes_factor)
        assert found.complete
        best = fit_network(found.classes()[0].representative, data)
        model = average_models(found, data, max_classes=1_000_000)
        answers = {"best": best.predict_proba(rows, target)}
        answers["averaged"], spent = timed(lambda model=model, rows=rows: model.predict_proba(rows, target))
        for kind, probabilities in answers.items():
            found_losses[kind].append(losses(probabilities, rows[target]))
            hits[kind].append((probabilities.idxmax(axis=1) == rows[target]).to_numpy())
        check_jensen(model, rows, target)
        classes.append(found.n_classes)
        used.append(model.n_classes_used)
        shares.append(model.share)
        seconds.append(spent)
    return {
        "rows": len(table),
        "classes": float(np.mean(classes)),
        "used": float(np.mean(used)),
        "share": float(min(shares)),
        "seconds": float(np.sum(seconds)),
        **{f"{kind} loss": float(np.concatenate(parts).mean()) for kind, parts in found_losses.items()},
        **{f"{kind} accuracy": float(np.concatenate(parts).mean()) for kind, parts in hits.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--long", action="store_true", help="also the data sets with large credible sets")
    options = parser.parse_args()
    targets = TARGETS | (LONG if options.long else {})
    print(
        "| data | class column | rows | BF | classes | used | share | log loss, best | averaged | accuracy, best "
        "| averaged | predict s |"
    )
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for name in options.names or targets:
        for bayes_factor in BAYES_FACTORS:
            if (name, bayes_factor) in LONG_RUNS and not options.long:
                continue
            target = (TARGETS | LONG)[name]
            answer = in_own_process(
                "benchmarks.prediction", {"name": name, "target": target, "bayes_factor": bayes_factor}
            )
            print(
                f"| {name} | {target} | {answer['rows']} | {bayes_factor} | {answer['classes']:.1f} | "
                f"{answer['used']:.1f} | {answer['share']:.3f} | {answer['best loss']:.4f} | "
                f"{answer['averaged loss']:.4f} | {answer['best accuracy']:.3f} | {answer['averaged accuracy']:.3f} | "
                f"{answer['seconds']:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    if len(sys.argv) == 2 and sys.argv[1].startswith("{"):
        print(json.dumps(run_one(**json.loads(sys.argv[1]))))
    else:
        main()
