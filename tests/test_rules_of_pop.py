"""The rules of POP: their laws, and what of them is whose version's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmqlab.rules import RULES
from rmqlab.rules_of_pop import RETRY

NEW = RULES["5.5.0"]
QUEUES = st.integers(1, 20)


@given(st.integers(0, 99), QUEUES, st.booleans())
def test_a_pop_looks_at_every_queue_once(start, queues, retry_first):
    order = NEW.pop_order(start, queues, retry_first)
    assert sorted(order) == [RETRY, *range(queues)]
    assert order.index(RETRY) == (0 if retry_first else queues)
    assert order[1 if retry_first else 0] == start % queues


@given(QUEUES, st.integers(1, 8), st.integers(-1, 8))
def test_members_that_share_have_every_queue(queues, members, share):
    cids = [f"C{number}" for number in range(members)]
    shares = [NEW.pop_share(cid, range(queues), cids, share, NEW.allocate) for cid in cids]
    if share <= 0 or share >= members - 1:
        assert shares == [None] * members
    else:
        assert {queue for queues_of_member in shares for queue in queues_of_member} == set(range(queues))


def test_a_stranger_gets_no_queue():
    assert NEW.pop_share("X", [0, 1], ["A", "B", "C"], 1, NEW.allocate) == []


@given(st.lists(st.booleans(), min_size=1))
def test_only_the_first_waiter_is_asked(wants):
    asked = []

    def want(waiter):
        asked.append(waiter)
        return wants[waiter]

    waiters = range(len(wants))
    assert NEW.waiter_to_wake(waiters, want) == (0 if wants[0] else None)
    assert set(asked) == {0}


@given(st.integers(-1, 9), st.integers(-1, 9))
def test_a_pop_never_goes_back(committed, buffered):
    assert NEW.pop_offset(committed, buffered) == max(committed, buffered)


@pytest.mark.parametrize(
    ("version", "topic", "group", "woken"),
    [
        ("5.3.3", "%RETRY%G_T", "G", None),
        ("5.3.3", "%RETRY%G+T", "G", ("T", None, False)),
        ("5.5.0", "%RETRY%G_T", "G", ("T", "G", True)),
        ("5.5.0", "%RETRY%G+T", "G", ("T", "G", True)),
        ("5.5.0", "%RETRY%G", "G", None),
        ("5.5.0", "%RETRY%G_T", None, None),
        ("5.5.0", "%RETRY%G_T", " ", None),
        ("5.5.0", "T", None, ("T", None, False)),
    ],
)
def test_who_hears_of_a_message_that_comes_again(version, topic, group, woken):
    assert RULES[version].woken_by(topic, group) == woken


def test_4_8_0_has_no_pop():
    assert [rules.has_pop for rules in RULES.values()] == [False, True, True]
