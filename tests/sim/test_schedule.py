"""Choice points and schedules."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmqlab.errors import BadInput
from rmqlab.scenario.schedule import (
    Chooser,
    Schedule,
    ScheduledChooser,
    SeededChooser,
)
from tests.proof.fixed_chooser import FixedChooser

QUESTIONS = st.lists(st.tuples(st.sampled_from(["delay a", "delay b", "first queue"]), st.integers(2, 5)), max_size=30)


def ask(chooser: Chooser, questions: list[tuple[str, int]]) -> list[int]:
    return [chooser.choose(label, n) for label, n in questions]


@given(QUESTIONS, st.integers(0, 1000))
def test_a_written_schedule_replays_exactly(questions: list[tuple[str, int]], seed: int) -> None:
    first = SeededChooser(seed)
    answers = ask(first, questions)
    text = Schedule.of(first.made, "s").to_json()
    again = ScheduledChooser(Schedule.from_json(text))
    assert ask(again, questions) == answers
    assert Schedule.of(again.made, "s").to_json() == text
    assert ask(SeededChooser(seed), questions) == answers


def test_nominal_and_fixed_choices() -> None:
    assert ask(Chooser(), [("x", 3), ("y", 2)]) == [0, 0]
    assert ask(FixedChooser({"y": 6}), [("x", 3), ("y", 4)]) == [0, 2]


def test_a_schedule_of_another_run_is_refused_with_the_reason() -> None:
    schedule = Schedule.from_json('{"format": "rmqlab-schedule/1", "choices": [[1, "delay a", 2]]}')
    chooser = ScheduledChooser(schedule)
    chooser.choose("first queue", 4)
    with pytest.raises(BadInput, match=r"choice 1 .*'delay a'.*asks 'delay b' with options 0\.\.3"):
        chooser.choose("delay b", 4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ('{"format": "other"}', '"format" must be'),
        ('{"format": "rmqlab-schedule/1", "choices": [[1, 2, 3]]}', r"choices\[0\] is \[1, 2, 3\]"),
        ('{"format": "rmqlab-schedule/1", "choices": [[0, "a", -1]]}', r"choices\[0\]"),
    ],
)
def test_bad_schedule_text_names_the_place(text: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        Schedule.from_json(text, "my.json")
