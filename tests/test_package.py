import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import eigenstream

ROOT = Path(__file__).parents[1]


def run_python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_importing_loads_next_to_nothing():
    code = """
import sys, json
before = set(sys.modules)
import eigenstream
print(json.dumps(sorted(set(sys.modules) - before)))
"""
    loaded = json.loads(run_python(code))
    heavy = {"numba", "sklearn", "scipy", "numpy", "matplotlib", "click", "rich"}
    assert heavy.isdisjoint(name.split(".")[0] for name in loaded)
    assert len(loaded) <= 15


HEAVY = {"numba", "sklearn", "scipy", "numpy", "matplotlib", "pandas", "bokeh", "pyarrow", "rich", "torch"}
"""Libraries that take long to load."""


def loaded_by(*arguments):
    """Top-level modules that a command has loaded when it is done."""
    code = f"""
import sys
from eigenstream.cli import main
main({list(arguments)!r}, prog_name="eigenstream", standalone_mode=False)
print("LOADED", *sorted({{name.split(".")[0] for name in sys.modules}}))
"""
    return set(run_python(code).split("LOADED", 1)[1].split())


@pytest.mark.parametrize("command", [(), ("run",), ("watch",), ("reproduce",), ("export",)])
def test_help_loads_nothing_heavy(command):
    assert loaded_by(*command, "--help").isdisjoint(HEAVY)


def test_running_and_watching_load_no_more_than_they_need(tmp_path):
    source = tmp_path / "x.csv"
    source.write_text("a,b,c\n" + "1,2,3\n2,1,4\n0,5,2\n" * 30)
    for command in ("run", "watch"):
        loaded = loaded_by(command, str(source))
        assert "numpy" in loaded
        unused = {"numba", "sklearn", "matplotlib", "pandas", "bokeh", "torch", "prometheus_client"}
        assert loaded.isdisjoint(unused)
    assert "scipy" not in loaded_by("run", str(source))


def test_vocabulary_needs_neither_numba_nor_scikit_learn():
    code = """
import sys, eigenstream
eigenstream.offline.solve([[1.0, 2.0]], eigenstream.InputOutput(0.1))
eigenstream.theory, eigenstream.streams, eigenstream.metrics, eigenstream.calibrate_alpha
print({"numba", "sklearn"} & set(sys.modules))
"""
    assert run_python(code).strip() == "set()"


def test_without_numba_everything_but_gaps_and_the_network_works():
    code = """
import sys
sys.modules["numba"] = None
import numpy as np
from click.testing import CliRunner
from eigenstream import OnlineAdaptivePCA
from eigenstream.cli import main
X = np.random.default_rng(0).standard_normal((300, 3)) * [5, 1, 1]
print(OnlineAdaptivePCA().fit(X).n_components_)
for options in ({"solver": "network"}, {"missing": "impute"}):
    try:
        OnlineAdaptivePCA(**options).fit(X[:1])
    except ImportError as error:
        print(error)
print(CliRunner().invoke(main, ["run", "--rows", ":100", "--missing", "impute"]).output)
"""
    says = run_python(code)
    assert says.startswith("1\n")
    assert says.count("need Numba: pip install 'eigenstream[network]' or 'eigenstream[gaps]'") == 3, says
    assert "Traceback" not in says


def test_jobs_and_the_page_load_no_model_and_no_server():
    code = """
import sys, eigenstream
eigenstream.jobs.Job, eigenstream.live.Page, eigenstream.sinks.open_sink, eigenstream.sources.open
print({"numba", "sklearn", "bokeh", "tornado"} & set(sys.modules))
"""
    assert run_python(code).strip() == "set()"


def test_every_public_name_resolves():
    for name in eigenstream.__all__:
        assert getattr(eigenstream, name) is not None
        assert name in dir(eigenstream)
    assert eigenstream.__version__.count(".") == 2
    with pytest.raises(AttributeError, match="nothing_like_it"):
        _ = eigenstream.nothing_like_it


def test_spark_is_loaded_only_when_used_and_named_where_it_lacks():
    code = """
import sys, eigenstream, eigenstream.estimators.persistence
assert "pyspark" not in sys.modules
sys.modules["pyspark"] = None
try:
    import eigenstream.integrations.spark
except ImportError as error:
    print(error)
"""
    assert run_python(code).strip() == "to use eigenstream in Spark, pip install 'eigenstream[spark]'"


def test_module_is_the_command_line():
    shown = subprocess.run(
        [sys.executable, "-m", "eigenstream", "--version"], capture_output=True, text=True, check=True
    )
    assert eigenstream.__version__ in shown.stdout


def test_the_version_is_the_same_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == eigenstream.__version__
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest[1] == eigenstream.__version__
    assert f"version: {eigenstream.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def instructions():
    """The instructions of the container file, in order: (name, argument)."""
    text = (ROOT / "Containerfile").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [tuple(line.split(maxsplit=1)) for line in lines]


def test_the_container_watches_as_somebody_who_is_not_root():
    given = instructions()
    assert [argument.split()[0] for name, argument in given if name == "FROM"] == ["python:3.12-slim"] * 2
    last = dict(given)
    assert last["USER"] not in ("root", "0")
    for name, argument in given:
        if name == "COPY" and not argument.startswith("--from"):
            assert all((ROOT / source).exists() for source in argument.split()[:-1])


def test_the_container_serves_metrics_where_its_health_is_checked():
    from eigenstream.cli import main

    last = dict(instructions())
    command, *arguments = json.loads(last["ENTRYPOINT"])
    assert (command, arguments[0]) == ("eigenstream", "watch")
    context = main.commands["watch"].make_context("watch", [*arguments[1:], "x.csv"])
    assert str(context.params["metrics"]) == last["EXPOSE"]
    assert context.params["metrics_host"] == "0.0.0.0"
    assert f":{last['EXPOSE']}/metrics" in last["HEALTHCHECK"]
    _, _, checked = last["HEALTHCHECK"].partition("CMD ")
    compile(json.loads(checked)[-1], "HEALTHCHECK", "exec")
    default = main.commands["watch"].make_context("watch", ["x.csv"]).params
    assert (default["metrics"], default["metrics_host"]) == (None, "127.0.0.1")
