"""The commands with fitted networks: ``predict``, ``fit`` and ``sample``."""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from credibn._base.text import byte_text, printable
from credibn._run.memory import usable_bytes
from credibn.cli.files import check_destination, check_table_destination, deliver, note_incomplete, open_result
from credibn.cli.options import (
    AsJsonOption,
    PriorName,
    PriorOption,
    ReadFlags,
    ResultArgument,
    TableFlags,
    TableOutOption,
    columns_of_result,
    grouped,
    output,
)
from credibn.credible import CredibleSet
from credibn.data.new_rows import HandleUnknown, read_other_columns
from credibn.effects.effect import sampling_sentence
from credibn.errors import OptionError, TooLargeError
from credibn.graphs.formats import parse_model_string
from credibn.models import AveragedModel, average_models, fit_network, read_network, write_network
from credibn.scores.constraints import position_of

if TYPE_CHECKING:  # these take a while to import: the other commands do not wait for them
    from networkx import DiGraph
    from pandas import DataFrame


_Training = Annotated[
    str | None,
    typer.Option(
        "--data",
        metavar="TABLE",
        help="The table of 'learn', if RESULT has no counts. It is read as 'learn' read it, unless options say "
        "otherwise.",
    ),
]
_New = Annotated[str, typer.Argument(metavar="NEW", help="New rows: CSV, TSV or Parquet.")]
_Target = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Variable to predict from the others; may be repeated."),
]
_Proba = Annotated[bool, typer.Option("--proba", help="The probability of each state, in columns NAME=STATE.")]
_Do = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE", help="Variable that is set from outside, and to what; may be repeated. Needs --data."
    ),
]
_Impute = Annotated[bool, typer.Option("--impute", help="Fill in missing values instead.")]
_IgnoreExtra = Annotated[
    bool, typer.Option("--ignore-extra", help="Allow columns in NEW that RESULT does not know; --impute keeps them.")
]
_HandleUnknown = Annotated[
    HandleUnknown,
    typer.Option(help="A category that the table of 'learn' does not have: refuse it, or take the cell as missing."),
]
_OtherData = Annotated[
    bool, typer.Option("--allow-other-data", help="Fit the parameters to a TABLE other than that of 'learn'.")
]
_Share = Annotated[float, typer.Option(metavar="P", help="Share of the posterior weight of RESULT to use.")]
_TableOrResult = Annotated[
    str, typer.Argument(metavar="DATA", help="A table, as for 'learn'; or a RESULT alone, which holds its counts.")
]
_Structure = Annotated[
    str | None,
    typer.Argument(
        metavar="STRUCTURE",
        help="A RESULT, for its most probable class; a network file; or a model string such as '[A][B|A]'.",
    ),
]
_Method = Annotated[
    Literal["posterior-mean", "maximum-likelihood"],
    typer.Option(metavar="NAME", help="How parameters are fitted: posterior-mean or maximum-likelihood."),
]
_Size = Annotated[
    float | None,
    typer.Option(
        "--ess", metavar="A", help="Equivalent sample size of the prior; by default that of RESULT's score, or 1."
    ),
]
_Network = Annotated[Path, typer.Argument(metavar="NETWORK", help="Network file, such as .bif.")]
_NetworkOut = Annotated[
    Path, output("--out", "-o", metavar="FILE", help="Network file to write, such as .bif or .xdsl.")
]
_BYTES_OF_A_CELL = 64
"""While rows are drawn, labelled and written."""
_Rows = Annotated[int, typer.Option("--rows", "-n", metavar="N", help="How many rows.")]
_Seed = Annotated[int, typer.Option(metavar="S", help="The same seed gives the same rows.")]


@grouped
def predict(
    result: ResultArgument,
    new: _New,
    reading: ReadFlags,
    data: _Training = None,
    target: _Target = None,
    proba: _Proba = False,
    do: _Do = None,
    impute: _Impute = False,
    ignore_extra: _IgnoreExtra = False,
    handle_unknown: _HandleUnknown = "error",
    allow_other_data: _OtherData = False,
    share: _Share = 0.99,
    prior: PriorOption = "networks",
    out: TableOutOption = None,
    as_json: AsJsonOption = False,
) -> None:
    """Predict variables of new rows, or impute their missing values, averaged over the networks of a result."""
    if bool(target) is impute:
        given = "both were given" if impute else "neither was given"
        raise OptionError(f"give either --target NAME or --impute; {given}")
    if impute and proba:
        raise OptionError("--proba was given with --impute, which fills in states; leave it out, or give --target")
    if impute and do:
        raise OptionError(
            "--do was given with --impute, which fills in rows as they are; leave it out, or give --target"
        )
    check_table_destination(out)
    found = open_result(result)
    for name in target or []:
        position_of(found.names, name, "target")  # an unknown one is refused before the work
    if data is None and (reading != ReadFlags() or allow_other_data):
        raise OptionError("options for reading a table were given without --data; give the table too")
    table: Any = data if reading == ReadFlags() else reading.read(str(data), columns_of_result(found))
    values = _values_set(do or [], found.names)
    model = average_models(found, table, share=share, prior=prior, do=values, allow_other_data=allow_other_data)
    options: dict[str, Any] = {"ignore_extra": ignore_extra, "handle_unknown": handle_unknown}
    if values:
        options["do"] = {
            name: _number(value) if model.states[position_of(model.names, name)] is None else value
            for name, value in values.items()
        }
    answer = _answer(model, new, target or [], proba, options)
    facts = {"share": model.share, "n_networks": model.n_networks, "n_classes": model.n_classes_used}
    if model.n_sampled:
        facts |= {"n_sampled": model.n_sampled, "standard_error": model.standard_error}
    if not as_json:
        networks = "1 network" if model.n_networks == 1 else f"{model.n_networks:,} networks"
        typer.echo(f"averaged over {networks}, {100 * model.share:.4g} % of the posterior of the result", err=True)
        if model.n_sampled:
            typer.echo(sampling_sentence(model.n_sampled, model.standard_error, "each probability"), err=True)
        note_incomplete(found)
    deliver(answer, {**facts, "targets": target, "complete": found.complete}, out, as_json, is_data=impute)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise OptionError.refusing("do", text, "give a number") from None


def _values_set(specs: list[str], names: Sequence[str]) -> dict[str, str]:
    """Return what ``--do`` sets, and to what; names and states may have signs of equality too."""
    values: dict[str, str] = {}
    for spec in specs:
        ways = [(spec[:at], spec[at + 1 :]) for at, sign in enumerate(spec) if sign == "="]
        name, value = next((way for way in ways if way[0] in names), (ways or [("", "")])[0])
        if not ways or name in values:
            raise OptionError(f"--do is {spec!r:.80}; give NAME=VALUE, once for each variable")
        values[name] = value
    return values


def _answer(model: AveragedModel, new: str, targets: list[str], proba: bool, options: dict[str, Any]) -> "DataFrame":
    """Return the predictions of these targets, or without one the rows with their missing cells filled."""
    if not targets:
        return _filled(model, new, options)
    if not proba:
        predicted: Any = model.predict(new, targets, **options)
        return predicted  # type: ignore[no-any-return]
    for name in targets:
        if model.states[model.names.index(name)] is None:
            raise OptionError(f"target {name!r} is continuous and has no states: leave out --proba to get its mean")
    answer = model.predict_proba(new, targets, **options)
    pairs: list[Any] = answer.columns.to_list()  # of a target and its state
    return answer.set_axis([f"{name}={'(missing)' if state is None else state}" for name, state in pairs], axis=1)


def _filled(model: AveragedModel, new: str, options: dict[str, Any]) -> "DataFrame":
    """Return the rows with their missing cells filled, and all columns of the table in its order."""
    frame = model.impute(new, **options)
    names, others = read_other_columns(new, model.names)
    for name in others.column_names:
        frame[name] = others.column(name).to_pandas()
    return frame[[*names, *(name for name in model.names if name not in names)]]


@grouped
def fit(
    data: _TableOrResult,
    reading: TableFlags,
    out: _NetworkOut,
    structure: _Structure = None,
    method: _Method = "posterior-mean",
    equivalent_sample_size: _Size = None,
    prior: PriorOption = "networks",
    as_json: AsJsonOption = False,
) -> None:
    """Fit the parameters of one network to a categorical table, and write it to a network file."""
    check_destination(out)
    if structure is None and not _is_result(data):
        raise OptionError(f"{printable(data)!r} is not a result; give DATA and STRUCTURE, or a RESULT alone")
    if structure is None and reading != TableFlags():
        raise OptionError("options for reading a table were given with a result alone; give the table too")
    graph, known_size, found = _structure(structure or data, prior)
    counted = found if structure is None else reading.read(data, "discrete")
    size = known_size if equivalent_sample_size is None else equivalent_sample_size
    network = fit_network(graph, counted, method=method.replace("-", "_"), equivalent_sample_size=size)
    write_network(network, out)
    if as_json:
        facts = {
            "n_variables": network.n_variables,
            "n_edges": network.graph.number_of_edges(),
            "n_parameters": network.n_parameters,
            "out": str(out),
        }
        typer.echo(json.dumps(facts))
    else:
        typer.echo(
            f"{network.n_parameters:,} parameters of {network.n_variables:,} variables written to {printable(str(out))}"
        )


def _structure(text: str, prior: PriorName) -> tuple["DiGraph", float, CredibleSet | None]:
    """Return the network that the words of a command name, the sample size of its score, and the result it is of."""
    if text.lstrip().startswith("["):
        return parse_model_string(text), 1.0, None
    path = Path(text)
    if _is_result(text):
        found = open_result(path)
        if columns_of_result(found) != "discrete":
            raise OptionError(
                f"{path} was learned with a score for continuous columns, but network files hold categories only; "
                "learn again with --discretise"
            )
        return found.most_probable_class(prior).representative, _sample_size(found), found
    if not os.path.exists(path) and not path.suffix:
        raise OptionError(
            f"{text!r} is neither a file nor a model string; give a result, a network file, or a string such as "
            "'[A][B|A]'"
        )
    return read_network(path).graph, 1.0, None


def _is_result(text: str) -> bool:
    return os.path.isdir(text) or text.lower().endswith(".credibn")


def _sample_size(found: CredibleSet) -> float:
    size = found.score_table.provenance.get("equivalent_sample_size")
    return float(size) if isinstance(size, int | float) and 0 < size <= sys.float_info.max else 1.0


def sample(
    network: _Network,
    n_rows: _Rows = 1000,
    seed: _Seed = 0,
    out: TableOutOption = None,
    as_json: AsJsonOption = False,
) -> None:
    """Draw rows from a network file."""
    check_table_destination(out)
    source = read_network(network)
    needed, usable = _BYTES_OF_A_CELL * n_rows * len(source.names), usable_bytes()
    if needed > usable:
        raise TooLargeError(
            f"{n_rows:,} rows of {len(source.names)} variables need about {byte_text(needed)}, and {byte_text(usable)} "
            "can be used; draw fewer at a time, with other seeds"
        )
    drawn = source.sample(n_rows, seed)
    deliver(drawn, {"n_variables": len(drawn.columns), "seed": seed}, out, as_json, is_data=True)
