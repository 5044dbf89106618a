"""The options: one definition of each, real signatures, and errors whose fields say what they are about."""

import doctest
import inspect
import pickle
import sys
from dataclasses import FrozenInstanceError
from types import SimpleNamespace

import numpy as np
import pytest
import typer

import credibn
from credibn import (
    CredibleNetworks,
    CredibnError,
    estimate_scoring,
    exact_posterior,
    k_best_networks,
    learn,
    options,
    read_data,
    score_parent_sets,
)
from credibn._run.progress import watching
from credibn.cli.app import app
from credibn.errors import CredibnWarning, Option, OptionError, Phrase, TimeLimitError
from credibn.learning import all_credible
from credibn.options import Limits, ReadOptions, ScoreOptions, SearchOptions

ROWS = np.array([[0, 0], [0, 0], [1, 1], [1, 1]])
GAP = ("bayes_factor", "epsilon", "ratio", "share")
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
        (exact_posterior, options_of(ReadOptions, ScoreOptions, Limits, without=(*COUNTS, "keep_counts"))),
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
    for command in ("learn", "kbest", "optimum", "posterior"):
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
            "k_best_networks() takes no epsilon: it finds the k best; give only k, or use learn",
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


@pytest.mark.parametrize(
    ("word", "ours"),
    [
        ("n_jobs", "n_threads"),
        ("blacklist", "forbidden_edges"),
        ("whitelist", "required_edges"),
        ("max_indegree", "max_parents"),
        ("scoring_method", "score"),
        ("iss", "equivalent_sample_size"),
        ("timeout", "time_limit"),
        ("verbose", "progress"),
        ("n_thread", "n_threads"),
        ("Max_Parents", "max_parents"),
    ],
)
def test_words_of_other_packages_are_answered_with_ours(word, ours):
    for function in (learn, k_best_networks):
        with pytest.raises(OptionError, match=rf"takes no {word}: did you mean {ours}( or|\?)"):
            function(np.zeros((4, 2)), **{word: 1})


def test_a_word_of_another_package_names_only_options_that_the_function_has():
    with pytest.raises(OptionError, match=r"score_parent_sets\(\) takes no timeout: help"):
        score_parent_sets(np.zeros((4, 2)), timeout=1)


def test_every_word_of_another_package_stands_for_an_option_of_learn():
    names = set(inspect.signature(learn).parameters)
    assert set(options._WORDS_OF_OTHERS.values()) - names <= {"encoding"}
    assert not names & set(options._WORDS_OF_OTHERS)


@pytest.mark.parametrize("name", ["BDeu", "bdeu", "BDEU", "bde", "BDeuScore"])
def test_the_name_of_a_score_may_be_written_as_elsewhere(name):
    table = np.arange(40).reshape(20, 2) % 3
    found = learn(table, score=name, equivalent_sample_size=2)
    assert found.score_table.provenance["score"] == "bdeu"
    assert found.settings["score"] == "bdeu"


def test_an_unknown_score_is_answered_with_the_nearest():
    with pytest.raises(OptionError, match=r"unknown score 'gausian-bic': did you mean 'gaussian-bic'"):
        learn(np.zeros((4, 2)), score="gausian-bic")


def test_progress_takes_true_and_false_and_nothing_else_but_functions(capsys):
    table = np.arange(40).reshape(20, 2) % 3
    assert learn(table, progress=True).n_networks == learn(table, progress=False).n_networks
    assert capsys.readouterr().err == ""  # nobody watches
    with pytest.raises(OptionError, match="progress is 'yes'; give True, False, or a function"):
        learn(table, progress="yes")


def test_a_bar_appears_by_default_where_somebody_watches_after_two_seconds(monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with watching(None) as unasked, watching(True) as asked, watching(False) as none:
        assert 1.0 < unasked._begins - asked._begins < 2.0
        assert none is None
    monkeypatch.setattr("sys.stderr.isatty", lambda: False)
    with watching(None) as unasked:
        assert unasked is None
    notebook = type("ZMQInteractiveShell", (), {})()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: notebook))
    with watching(None) as unasked:
        assert unasked is not None
