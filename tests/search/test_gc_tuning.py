"""The collector looks less often for a while, and then as before."""

from __future__ import annotations

import gc

import pytest

from rmqlab_tools.gc_tuning import gc_tuning


class _Stopped(Exception):
    pass


@pytest.fixture(autouse=True)
def as_python_starts():
    """Nothing is set apart, and the collector looks as often as usual: conftest.py and Spark's workers change both."""
    threshold = gc.get_threshold()
    gc.unfreeze()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*threshold)
    gc.freeze()


def test_all_is_as_before_afterwards_also_when_the_work_fails():
    before = gc.get_threshold()

    def work():
        with gc_tuning(), gc_tuning():
            raise _Stopped

    with pytest.raises(_Stopped):
        work()
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0


def test_a_collector_that_is_off_stays_off():
    gc.disable()
    try:
        with gc_tuning():
            assert not gc.isenabled()
    finally:
        gc.enable()
