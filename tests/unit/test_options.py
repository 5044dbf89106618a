"""The options: one definition of each, real signatures, and errors whose fields say what they are about."""

import doctest
import inspect
import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
import typer

import credibn
from credibn import CredibleNetworks, CredibnError, estimate_scoring, exact_posterior, k_best_networks, learn, read_data
from credibn.cli.app import app
from credibn.errors import CredibnWarning, Option, OptionError, Phrase, TimeLimitError
from credibn.learning import all_credible
from credibn.options import Limits, ReadOptions, ScoreOptions, SearchOptions

ROWS = np.array([[0, 0], [0, 0], [1, 1], [1, 1]])
GAP = ("bayes_factor", "epsilon", "ratio")
COUNTS = ("max_networks", "max_classes")
SHELL_ONLY = {
    "numeric",
    "categorical",
    "edge_penalty",
    "data",
    "scores",
    "k",
    "classes",
    "out",
    "as_json",
    "total",
    "help",
}
"""Parameters of the commands that search which are no option of a group."""


def options_of(*groups, without=()):
    return {name: getattr(group(), name) for group in groups for name in group.names() if name not in without}


@pytest.mark.parametrize(
    ("function", "options"),
    [
        (learn, options_of(ReadOptions, ScoreOptions, SearchOptions, Limits)),
        (k_best_networks, options_of(ReadOptions, ScoreOptions, SearchOptions, Limits, without=GAP + COUNTS)),
        (credibn.k_best_classes, options_of(ReadOptions, ScoreOptions, SearchOptions, Limits, without=GAP + COUNTS)),
        (exact_posterior, options_of(ReadOptions, ScoreOptions, Limits, without=COUNTS)),
        (credibn.score_parent_sets, options_of(ReadOptions, ScoreOptions)),
        (estimate_scoring, options_of(ReadOptions, ScoreOptions)),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_signatures_show_every_option_with_its_default(function, options):
    parameters = inspect.signature(function).parameters
    assert {name: parameters[name].default for name in options} == options
    assert not [p for p in parameters.values() if p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]


def test_the_shell_and_the_library_call_an_option_the_same():
    commands = typer.main.get_command(app).commands
    known = options_of(ReadOptions, ScoreOptions, SearchOptions, Limits)
    for command in ("learn", "kbest", "posterior"):
        assert {parameter.name for parameter in commands[command].params} - SHELL_ONLY <= known.keys()


def test_doctest_sees_through_the_wrapper():
    assert [test.name for test in doctest.DocTestFinder().find(all_credible) if test.examples] == [
        "credibn.learning.all_credible.learn"
    ]


@pytest.mark.parametrize(
    ("function", "name", "message"),
    [
        (learn, "bayes_facter", "learn() takes no bayes_facter: did you mean bayes_factor?"),
        (learn, "threads", "learn() takes no threads: did you mean n_threads?"),
        (learn, "xyz", "learn() takes no xyz: help(learn) lists the options"),
        (read_data, "weight", "read_data() takes no weight: did you mean weights?"),
        (
            k_best_networks,
            "epsilon",
            "k_best_networks() takes no epsilon: it finds the k best; give k only, or use learn",
        ),
    ],
)
def test_an_unknown_keyword_gets_the_nearest_name(function, name, message):
    with pytest.raises(TypeError) as refused:
        function(ROWS, **{name: 1})
    assert str(refused.value) == message
    assert isinstance(refused.value, OptionError)
    assert refused.value.option == name
    assert str(pickle.loads(pickle.dumps(refused.value))) == message


def test_the_estimator_says_what_became_of_temporal_order():
    with pytest.raises(OptionError, match="takes no temporal_order: it is called tiers, as in learn"):
        CredibleNetworks(temporal_order=[["a"], ["b"]])
    assert "tiers" in CredibleNetworks(tiers=[["a"], ["b"]]).get_params()


@pytest.mark.parametrize(
    ("make", "option", "value"),
    [
        (lambda: Limits(max_networks=0), "max_networks", 0),
        (lambda: Limits(time_limit=-1), "time_limit", -1),
        (lambda: Limits(memory_limit="4X"), "memory_limit", "4X"),
        (lambda: Limits(n_threads=0), "n_threads", 0),
        (lambda: SearchOptions(unit="dags"), "unit", "dags"),
        (lambda: SearchOptions(bayes_factor=0.5), "bayes_factor", 0.5),
        (lambda: SearchOptions(ratio=0.5), "ratio", 0.5),
        (lambda: SearchOptions(bayes_factor=3, ratio=2), "bayes_factor", 3),
        (lambda: SearchOptions(posterior_share="yes"), "posterior_share", "yes"),
        (lambda: ReadOptions(missing="ignore"), "missing", "ignore"),
        (lambda: ReadOptions(missing_values="NA"), "missing_values", "NA"),
        (lambda: read_data(ROWS, weights="n"), "weights", "n"),
        (lambda: learn(ROWS, max_parents={"nobody": 1}), "max_parents", "nobody"),
    ],
)
def test_an_error_knows_its_option_and_value(make, option, value):
    with pytest.raises(OptionError) as refused:
        make()
    again = pickle.loads(pickle.dumps(refused.value))
    assert (again.option, str(again)) == (option, str(refused.value))
    assert again.value == refused.value.value == value


def test_groups_are_frozen_and_can_be_read_twice():
    scoring = ScoreOptions(forbidden_edges=iter([("a", "b")]))
    assert scoring.forbidden_edges == [("a", "b")]
    assert scoring.given() == {"forbidden_edges": [("a", "b")]}
    with pytest.raises(FrozenInstanceError):
        scoring.score = "aic"


def test_a_phrase_words_what_it_holds():
    fix = Phrase("raise {}", Option("time_limit"))
    error = TimeLimitError("too late ({!r}); {}", "{x}", fix)
    warning = CredibnWarning("the share is unknown: {}", error)

    def shout(option):
        return option.name.upper()

    assert str(warning) == "the share is unknown: too late ('{x}'); raise time_limit"
    assert warning.worded(shout) == "the share is unknown: too late ('{x}'); raise TIME_LIMIT"


def test_a_message_without_details_keeps_its_braces():
    assert str(CredibnError("write {'a': 1}")) == "write {'a': 1}"
