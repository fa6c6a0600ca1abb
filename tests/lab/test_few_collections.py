"""The collector looks less often for a while, and then as before."""

from __future__ import annotations

import gc

import pytest

from rmqlab.lab.few_collections import OBJECTS, few_collections


class _Stopped(Exception):
    pass


def test_all_is_as_before_afterwards_also_when_the_work_fails():
    before = gc.get_threshold()

    def work():
        with few_collections():
            assert gc.get_threshold() == (OBJECTS, *before[1:])
            assert gc.get_freeze_count() > 0
            with few_collections():
                assert gc.get_threshold() == (OBJECTS, *before[1:])
            assert gc.get_freeze_count() > 0, "the inner one ended the outer one"
            raise _Stopped

    with pytest.raises(_Stopped):
        work()
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0


def test_garbage_is_still_collected():
    class Ring:
        left = 0

        def __init__(self):
            self.me = self
            Ring.left += 1

        def __del__(self):
            Ring.left -= 1

    with few_collections():
        for _ in range(4 * OBJECTS):
            Ring()
        assert Ring.left <= 2 * OBJECTS


def test_a_collector_that_is_off_stays_off():
    gc.disable()
    try:
        with few_collections():
            assert not gc.isenabled()
            assert gc.get_freeze_count() == 0
    finally:
        gc.enable()
