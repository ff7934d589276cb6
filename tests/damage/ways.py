"""Ways of damage: random changes to the bytes of a file."""

import re

ABSURD = [
    b"0",
    b"-1",
    b"-9223372036854775808",
    b"2147483648",
    b"99999999999",
    b"1" + b"0" * 30,
    b"1e400",
    b"NaN",
]


def damaged(rng, content, head):
    """The content after one to three random changes; half of them within the first ``head`` bytes."""
    for _ in range(rng.integers(1, 4)):
        content = DAMAGES[rng.integers(len(DAMAGES))](rng, content, head)
    return content


def a_place(rng, content, head):
    """A place to change; one in two is in the head."""
    return int(rng.integers(max(min(head, len(content)) if rng.random() < 0.5 else len(content), 1)))


def flipped(rng, content, head):
    changed = bytearray(content)
    if changed:
        changed[a_place(rng, content, head)] ^= 1 << rng.integers(8)
    return bytes(changed)


def overwritten(rng, content, head):
    at = a_place(rng, content, head)
    some = rng.bytes(rng.integers(1, 9)) if rng.random() < 0.5 else bytes([rng.choice([0, 255])]) * 4
    return content[:at] + some + content[at + len(some) :]


def truncated(rng, content, head):
    return content[: a_place(rng, content, head)]


def inserted(rng, content, head):
    at = a_place(rng, content, head)
    return content[:at] + rng.bytes(rng.integers(1, 20)) + content[at:]


def deleted(rng, content, head):
    at = a_place(rng, content, head)
    return content[:at] + content[at + rng.integers(1, 20) :]


def duplicated(rng, content, head):
    at, to = a_place(rng, content, head), a_place(rng, content, head)
    return content[:to] + content[at : at + rng.integers(1, 200)] + content[to:]


def with_absurd_number(rng, content, head):
    """One of the numbers written in the head (JSON, or the dictionary of NPY) is another."""
    numbers = list(re.finditer(rb"-?\d+", content[:head]))
    if not numbers:
        return flipped(rng, content, head)
    number = numbers[rng.integers(len(numbers))]
    return content[: number.start()] + ABSURD[rng.integers(len(ABSURD))] + content[number.end() :]


DAMAGES = [flipped, overwritten, truncated, inserted, deleted, duplicated, with_absurd_number]
