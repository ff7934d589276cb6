"""The public names and signatures are those of ``tests/public_interface.txt``.

A change of the interface is meant, or a mistake. If it is meant, see ``docs/compatibility.md``, then renew
the file with ``python -m tests.test_public_interface`` and commit both.
"""

import inspect
from pathlib import Path

import eigenstream

SNAPSHOT = Path(__file__).with_name("public_interface.txt")
RENEW = "run `python -m tests.test_public_interface` if the change is meant"


def interface():
    """One line per public name: its signature, and for a class its own members."""
    lines = []
    for name in eigenstream.__all__:
        thing = getattr(eigenstream, name)
        if inspect.ismodule(thing):
            public = getattr(thing, "__all__", None) or [n for n in vars(thing) if not n.startswith("_")]
            for inner in sorted(public):
                found = getattr(thing, inner)
                if getattr(found, "__module__", "").startswith("eigenstream"):
                    lines += described(f"{name}.{inner}", found)
        else:
            lines += described(name, thing)
    return lines


def described(name, thing):
    if not callable(thing):
        return [name]
    lines = [f"{name}{signature(thing)}"]
    if not inspect.isclass(thing):
        return lines
    for member in sorted(dir(thing)):
        if member.startswith("_"):
            continue
        found = inspect.getattr_static(thing, member)
        if isinstance(found, classmethod | staticmethod):
            found = found.__func__
        if inspect.isgetsetdescriptor(found) or type(found).__module__.startswith("sklearn"):
            continue
        home = getattr(found, "__module__", "") if callable(found) else "eigenstream"
        if home and home.startswith("eigenstream"):
            lines.append(f"{name}.{member}{signature(found) if inspect.isfunction(found) else ''}")
    return lines


def signature(thing):
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return "(...)"
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in found.parameters.values()]
    return str(inspect.Signature(bare))


def test_the_interface_is_the_one_that_was_agreed():
    expected, found = SNAPSHOT.read_text().splitlines(), interface()
    gone = sorted(set(expected) - set(found))
    new = sorted(set(found) - set(expected))
    assert not gone, f"gone from the interface: {gone} (new: {new}); {RENEW}"
    assert not new, f"new in the interface: {new}; {RENEW}"


if __name__ == "__main__":
    SNAPSHOT.write_text("".join(f"{line}\n" for line in interface()))
