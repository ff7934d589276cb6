"""Examples of integrations are run where their libraries are installed."""

from importlib.util import find_spec

INTEGRATIONS = {
    "river": "src/eigenstream/integrations/river",
    "distributed": "src/eigenstream/integrations/dask",
}
collect_ignore = [path for library, path in INTEGRATIONS.items() if find_spec(library) is None]
