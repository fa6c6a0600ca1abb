from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmqlab.protocol import pull_sys_flag


@given(st.lists(st.booleans(), min_size=5, max_size=5))
@pytest.mark.row("S-59")
def test_five_answers_in_one_number(answers):
    flag = pull_sys_flag.build_sys_flag(*answers)
    assert [
        pull_sys_flag.has_commit_offset_flag(flag),
        pull_sys_flag.has_suspend_flag(flag),
        pull_sys_flag.has_subscription_flag(flag),
        pull_sys_flag.has_class_filter_flag(flag),
        pull_sys_flag.has_lite_pull_flag(flag),
    ] == answers
    assert flag == sum(1 << bit for bit, answer in enumerate(answers) if answer)


def test_a_slave_is_asked_without_the_commit_bit():
    assert pull_sys_flag.clear_commit_offset_flag(0b10111) == 0b10110
