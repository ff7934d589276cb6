"""Build the reference into build/docs with pdoc."""

import warnings
from importlib.util import find_spec
from pathlib import Path

import pdoc

import eigenstream

OUT = Path(__file__).parent.parent / "build" / "docs"
MORE = [
    f"eigenstream.{name}"
    for name in ("bank", "integrations.dask", "integrations.river", "live", "running", "sinks")
]
if find_spec("pyspark"):  # too large to be part of every setup
    MORE.append("eigenstream.integrations.spark")

if __name__ == "__main__":
    warnings.simplefilter("error")  # a name or a link that does not resolve is a mistake
    for name in eigenstream.__all__:
        getattr(eigenstream, name)  # pdoc looks only at what is already there; our names are lazy
    pdoc.render.configure(docformat="numpy")
    pdoc.pdoc("eigenstream", *MORE, output_directory=OUT)
    print(f"open {OUT / 'index.html'}")
