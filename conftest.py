"""Examples of integrations are run where their libraries are installed."""

from importlib.util import find_spec

INTEGRATIONS = {name: f"src/eigenstream/integrations/{name}" for name in ("river", "torch")}
collect_ignore = [path for library, path in INTEGRATIONS.items() if find_spec(library) is None]
