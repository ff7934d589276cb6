"""The content of a file, to be compared with that of another; of a bank, its models in whatever order."""

from pathlib import Path
from tempfile import TemporaryDirectory

from eigenstream.keyed import is_bank, open_bank


def content(path):
    """Bytes of a file; of a bank its position and the model of each key."""
    if not is_bank(path):
        return Path(path).read_bytes()
    bank = open_bank(path)
    try:
        with TemporaryDirectory() as folder:
            one, found = Path(folder, "one"), {"position": bank.position_}
            for key in list(bank.keys()):
                bank.model(key).save(one)
                found[key] = one.read_bytes()
        return found
    finally:
        bank.close()
