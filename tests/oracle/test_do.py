"""Predictions in which variables are set from outside: against cutting edges in every credible network by hand."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from credibn import average_models, fit_network, learn
from credibn.errors import OptionError
from profiles import examples
from test_effects import networks_with_weights, oracle_descendants, random_categories, random_numbers


def answer_by_hand(model, table, evidence, target, do):
    """P(target | evidence, do) in one fitted network, by adding up its joint distribution without the edges cut."""
    states = {name: sorted(table[name].unique()) for name in table}
    totals = dict.fromkeys(states[target], 0.0)
    probability = {name: model.probabilities(name) for name in table}
    for cell in itertools.product(*states.values()):
        values = dict(zip(states, cell, strict=True))
        if any(values[name] != value for name, value in {**evidence, **do}.items()):
            continue
        joint = 1.0
        for name in table:
            if name not in do:
                joint *= probability[name](values)
        totals[values[target]] += joint
    return np.array(list(totals.values())) / sum(totals.values())


class ByHand:
    """A network's conditional probabilities, looked up by name."""

    def __init__(self, network, table):
        self.fitted = fit_network(network, table, equivalent_sample_size=1.0)

    def probabilities(self, name):
        v = self.fitted.names.index(name)
        local = self.fitted.local_models[v]
        states = self.fitted.states

        def probability(values):
            place = [states[p].index(values[self.fitted.names[p]]) for p in local.parents]
            return local.probabilities[(*place, states[v].index(values[name]))]

        return probability


@given(seed=st.integers(0, 10**6), n_set=st.integers(1, 2))
@examples(2)
def test_setting_categories_is_the_average_over_all_credible_networks(seed, n_set):
    table = random_categories(seed, 50)
    rng = np.random.default_rng(seed)
    target, *others = rng.permutation(table.columns).tolist()
    do = {name: rng.choice(sorted(table[name].unique())) for name in others[:n_set]}
    evidence = {name: rng.choice(sorted(table[name].unique())) for name in others[n_set : n_set + 1]}
    found = learn(table, bayes_factor=20, posterior_share=False)
    model = average_models(found, table, share=1.0, do=list(do))
    row = pd.DataFrame([{**evidence, **dict.fromkeys(do, "not read")}]) if evidence else pd.DataFrame([do])
    got = model.predict_proba(row, target, do=do).to_numpy()[0]
    expected = sum(
        weight * answer_by_hand(ByHand(network, table), table, evidence, target, do)
        for weight, network in networks_with_weights(found)
    )
    np.testing.assert_allclose(got, expected, atol=1e-9)


@given(seed=st.integers(0, 10**6))
@examples(2)
def test_setting_numbers_is_the_average_over_all_credible_networks(seed):
    table = random_numbers(seed, 30, 3)
    found = learn(table, bayes_factor=20, posterior_share=False)
    model = average_models(found, table, share=1.0, do=["v0"])
    got = model.predict(pd.DataFrame({"v2": [0.3]}), "v1", do={"v0": 0.7}).iloc[0]
    expected = 0.0
    for weight, network in networks_with_weights(found):
        fitted = fit_network(network, table)
        slopes, means, variances = np.zeros((3, 3)), np.zeros(3), np.zeros(3)
        for v, local in enumerate(fitted.local_models):
            if v == 0:
                means[v], variances[v] = 0.7, 1e-12
                continue
            slopes[list(local.continuous_parents), v] = local.coefficients
            means[v], variances[v] = local.intercepts, local.variances
        through = np.linalg.inv(np.eye(3) - slopes)
        mean, covariance = means @ through, through.T @ np.diag(variances) @ through
        gain = np.linalg.solve(covariance[np.ix_([0, 2], [0, 2])], covariance[[0, 2], 1])
        expected += weight * (mean[1] + gain @ (np.array([0.7, 0.3]) - mean[[0, 2]]))
    assert got == pytest.approx(expected, rel=1e-5)


def test_prediction_without_evidence_agrees_with_the_effect():
    """P(y | do(x)): networks in which y does not descend from x say P(y); smoothing differs by the prior's rows."""
    table = random_categories(11, 2000)
    found = learn(table, bayes_factor=20, posterior_share=False)
    effect = found.effects(table, cause="v0", outcome="v2")
    model = average_models(found, table, share=1.0, do=["v0"])
    rows = pd.DataFrame({"v0": ["s0"]})
    for state in ("s0", "s1"):
        predicted = model.predict_proba(rows, "v2", do={"v0": state})
        np.testing.assert_allclose(predicted.iloc[0], effect.do.loc[state], atol=0.01)


def test_a_single_network_may_set_anything():
    table = random_categories(3)
    network = next(iter(learn(table).networks()))
    fitted = fit_network(network, table)
    child = next(name for name in table if list(network.predecessors(name)))
    parent = next(iter(network.predecessors(child)))
    nothing = pd.DataFrame({parent: ["s0"]})  # a target is not evidence
    set_child = fitted.predict_proba(nothing, parent, do={child: "s0"})
    np.testing.assert_allclose(set_child, fitted.predict_proba(nothing, parent))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"do": {"v1": "s0"}}, "does not tell what setting 'v1' does"),
        ({"do": {"v0": "s9"}}, "the states of 'v0' are s0, s1"),
        ({"do": {"v9": "s0"}}, "unknown variable in do 'v9'"),
        ({"do": ["v0"]}, r"do is \['v0'\]; give the value of each variable that is set"),
        ({"do": {"v0": "s0"}, "target": "v0"}, "both a target and in do"),
    ],
)
def test_what_cannot_be_set_is_refused(options, message):
    table = random_categories(3)
    model = average_models(learn(table), table, do=["v0"])
    with pytest.raises(OptionError, match=message):
        model.predict_proba(table, options.pop("target", "v2"), **options)


def test_pgmpy_says_the_same_of_the_weighted_networks():
    inference = pytest.importorskip("pgmpy.inference")
    table = random_categories(8, 80)
    found = learn(table, bayes_factor=20, posterior_share=False)
    model = average_models(found, table, share=1.0, do=["v0"])
    expected = np.zeros(2)
    for weight, network in model.weighted_networks():
        if "v2" in oracle_descendants(network.graph, "v0"):
            asked = inference.CausalInference(network.to_pgmpy())
            parents = list(network.graph.predecessors("v0"))
            answer = asked.query(variables=["v2"], do={"v0": "s1"}, adjustment_set=parents, show_progress=False)
        else:  # pgmpy refuses to ask
            answer = inference.VariableElimination(network.to_pgmpy()).query(["v2"], show_progress=False)
        expected += weight * np.array([answer.get_value(v2=state) for state in ("s0", "s1")])
    predicted = model.predict_proba(pd.DataFrame({"v0": ["s0"]}), "v2", do={"v0": "s1"})
    np.testing.assert_allclose(predicted.iloc[0], expected, atol=1e-9)


def test_dowhy_estimates_the_effect_in_each_weighted_network():
    dowhy = pytest.importorskip("dowhy")
    table = random_numbers(5, 200, 3)
    found = learn(table, bayes_factor=20, posterior_share=False)
    effect = found.effects(table, cause="v0", outcome="v2", pseudo_rows=1e-9)
    total = 0.0
    for weight, network in average_models(found, table, share=1.0, do=["v0"]).weighted_networks():
        if "v2" not in oracle_descendants(network.graph, "v0"):
            continue
        asked = dowhy.CausalModel(table, "v0", "v2", graph=network.graph)
        estimand = asked.identify_effect(proceed_when_unidentifiable=True)
        total += weight * asked.estimate_effect(estimand, method_name="backdoor.linear_regression").value
    assert effect.mean == pytest.approx(total, rel=0.05)
