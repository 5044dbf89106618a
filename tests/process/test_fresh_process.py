"""What a Python process that has just started imports, prints and takes, seen from outside."""

import subprocess
import sys
from pathlib import Path

import pytest

import strategies


def run_python(script):
    """Run a script in a process of its own, and return the words that it prints; it may not write errors."""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=240)
    assert done.stderr == ""
    return done.stdout.split()


LIBRARIES = {"duckdb", "jinja2", "matplotlib", "networkx", "numpy", "pandas", "polars", "pyarrow", "pyscipopt", "scipy"}


def test_import_loads_no_library():
    heavy = LIBRARIES | {"sklearn", "typer", "rich"}
    assert heavy.isdisjoint(run_python("import sys, credibn; print(*sys.modules)"))


def modules_of_command(*words):
    """Run the script ``credibn``, and return the modules that are imported when it ends."""
    script = (
        "import atexit, sys; from credibn_command import main; sys.argv = ['credibn', *sys.argv[1:]];"
        "atexit.register(lambda: print('modules', *sys.modules)); main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *words], capture_output=True, text=True, check=True, timeout=240
    )
    return set(done.stdout.rpartition("modules ")[2].split())


def test_help_loads_no_library_and_no_command():
    modules = modules_of_command("--help")
    assert {"credibn", "credibn.cli.app", "typer"} <= modules
    assert (LIBRARIES | {"pydantic", "rich"}).isdisjoint(modules)
    assert {name for name in modules if name.startswith("credibn.")} == {
        "credibn.cli",
        "credibn.cli.app",
        "credibn.cli.values",
    }


def test_learning_from_a_small_file_loads_what_it_needs(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,b\n" + "0,0\n1,1\n" * 20)
    options = ["--threads", "1", "--bayes-factor", "20", "--score", "bic", "--only", "a", "--only", "b"]
    modules = modules_of_command("learn", str(path), *options)
    assert {"credibn.cli.learn", "duckdb", "numpy"} <= modules
    spared = LIBRARIES - {"duckdb", "numpy"}
    assert spared.isdisjoint(modules)
    assert {"filelock", "numpy.ma", "numpy.random", "pydantic", "rich", "sklearn"}.isdisjoint(modules)
    assert {"credibn.report", "credibn.models", "credibn.cli.models", "credibn.cli.results"}.isdisjoint(modules)
    assert {"credibn.data.frames", "credibn.data.summary", "credibn.scores.text_files"}.isdisjoint(modules)
    assert {"credibn.factored", "credibn.search.distribution", "credibn.search.exploration"}.isdisjoint(modules)


def test_a_stage_is_found_without_an_import_of_its_own():
    assert (
        run_python("import credibn; print(credibn.scores.BIC is credibn.BIC, 'learn' in dir(credibn))") == ["True"] * 2
    )


def test_import_is_silent_and_starts_no_thread():
    assert run_python("import threading, credibn; print(threading.active_count())") == ["1"]


def test_ibis_is_not_imported_by_reading():
    script = "import sys, credibn, numpy; credibn.read_data(numpy.eye(2)); print(*sys.modules)"
    assert "ibis" not in run_python(script)


@pytest.mark.slow
def test_figures_leave_pyplot_alone():
    script = (
        "import sys, credibn; from credibn.examples import sample_asia; from credibn.report import overview;"
        "overview(credibn.learn(sample_asia()));"
        "print(*(name in sys.modules for name in ('matplotlib', 'matplotlib.pyplot')))"
    )
    assert run_python(script) == ["True", "False"]


@pytest.mark.slow
def test_a_page_is_written_without_remarks_on_standard_error(tmp_path):
    """matplotlib remarks on a folder for its settings that it cannot make; the page does not need it."""
    script = (
        "import os; os.environ['MPLCONFIGDIR'] = '/proc/none';"
        "import credibn; from credibn.examples import sample_asia; from credibn.report import write_learning_page;"
        f"write_learning_page(credibn.learn(sample_asia()), {str(tmp_path / 'page.html')!r})"
    )
    assert run_python(script) == []
    assert (tmp_path / "page.html").exists()


@pytest.mark.slow
def test_scoring_stays_near_its_estimate_of_memory():
    """Columns of thirteen different arities make thousands of different prior masses for BDeu."""
    script = f"""
import resource, sys, numpy as np
sys.path.insert(0, {str(Path(strategies.__file__).parent)!r})
import strategies
from credibn import score_parent_sets
rng = np.random.default_rng(0)
arities = tuple(range(2, 15))
codes = np.column_stack([rng.integers(0, a, 300) for a in arities])
table = strategies.CodedTable(codes, arities, rng.integers(1, 440, 300))
data = table.dataset()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
score_parent_sets(data, score="bdeu", engine="table", n_threads=1, max_parents=6)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""
    (taken,) = run_python(script)
    assert float(taken) < 300  # MiB
