"""Which doctests can run: those of an integration only where its library is installed."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("torch") else ["src/eigenstream/integrations/torch"]
