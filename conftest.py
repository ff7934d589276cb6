"""Examples of integrations are run where their libraries are installed."""

from importlib.util import find_spec

INTEGRATIONS = {
    "river": "src/eigenstream/integrations/river",
    "distributed": "src/eigenstream/integrations/dask",
    "torch": "src/eigenstream/integrations/torch",
    "pyspark": "src/eigenstream/integrations/spark",
}
collect_ignore = [path for library, path in INTEGRATIONS.items() if find_spec(library) is None]
collect_ignore.append("tests/power_cuts.py")  # a program of its own, which imports its neighbour
if find_spec("pyspark") is None:
    collect_ignore.append("tests/spark_session.py")
