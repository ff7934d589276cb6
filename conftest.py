"""Examples of integrations are run where their libraries are installed."""

from importlib.util import find_spec

INTEGRATIONS = {
    "river": "src/eigenstream/integrations/river",
    "distributed": "src/eigenstream/integrations/dask",
    "torch": "src/eigenstream/integrations/torch",
    "pyspark": "src/eigenstream/integrations/spark",
}
collect_ignore = [path for library, path in INTEGRATIONS.items() if find_spec(library) is None]
if find_spec("torch") is None:
    collect_ignore += [f"src/eigenstream/learners/arrays/{name}.py" for name in ("torch", "recording")]
if find_spec("dask") is None:
    collect_ignore.append("src/eigenstream/learners/arrays/dask.py")
collect_ignore += [
    f"tests/{name}.py" for name in ("kill_and_resume", "kill_at_calls", "kill_timetable", "power_cuts")
]
"""Programs of their own, which import their neighbours."""
if find_spec("pyspark") is None:
    collect_ignore.append("tests/spark_session.py")
