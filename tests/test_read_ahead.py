from threading import Event

import pytest

from eigenstream.jobs.waiting import STEPS, ReadAhead


def test_the_same_items_in_the_same_order():
    assert list(ReadAhead(range(1000))) == list(range(1000))
    assert list(ReadAhead([])) == []


def test_what_goes_wrong_is_raised_where_it_would_have_been():
    def items():
        yield 1
        yield 2
        raise ValueError("the third")

    ahead = ReadAhead(items())
    assert [next(ahead), next(ahead)] == [1, 2]
    for _ in range(2):
        with pytest.raises(ValueError, match="the third"):
            next(ahead)


def test_no_further_ahead_than_allowed():
    made, far = [], Event()

    def items():
        for i in range(100):
            made.append(i)
            if len(made) > STEPS:
                far.set()
            yield i

    ahead = ReadAhead(items())
    assert far.wait(10)  # it does read ahead, ...
    assert len(made) == STEPS + 1  # ... one more waits for room
    assert next(ahead) == 0
    assert list(ahead) == list(range(1, 100))
