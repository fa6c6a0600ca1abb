"""The table that renews itself."""

from __future__ import annotations

import io

import pytest

from rmqlab.errors import BadInput
from rmqlab_tools.cli.printing import Printer
from rmqlab_tools.doctor.diagnosis import diagnose
from rmqlab_tools.doctor.history import SnapshotHistory
from rmqlab_tools.doctor.watch import PIPE_WIDTH, table, watch
from tests.doctor.conftest import NOW, M, look

SAME = [M("A"), M("B")]
DIFFERENT = [M("A", {"T": "tagA"}), M("B", {"T": "tagB"})]


def on(stream):
    return Printer(stream).console(PIPE_WIDTH)


class Scripted:
    """A doctor that sees the given looks."""

    def __init__(self, looks):
        self.history, self.diagnosis, self._looks, self.waited = SnapshotHistory(), None, iter(looks), []

    def look(self):
        seen = next(self._looks)
        if isinstance(seen, BadInput):
            raise seen
        self.history.saw(seen)
        self.diagnosis = diagnose(seen, None, self.history)
        return self.diagnosis

    def wait(self, seconds):
        self.waited.append(seconds)


def test_a_fault_that_comes_and_goes_is_seen_and_decides_the_status():
    looks = [look(SAME), look(DIFFERENT, at=NOW + 1_000), look(SAME, at=NOW + 2_000)]
    doctor, out, seen = Scripted(looks), io.StringIO(), []
    assert watch(doctor, 10, 3, on(out), seen.append) == 3
    assert doctor.waited == [10, 10]
    assert [one.status for one in seen] == [0, 3, 0]
    assert out.getvalue().count("at risk") == 1


def test_a_cluster_that_dies_and_comes_back():
    looks = [look(SAME), BadInput("no name server answers at x:1"), look(SAME, at=NOW + 2_000)]
    out, seen = io.StringIO(), []
    assert watch(Scripted(looks), 10, 3, on(out), seen.append) == 4
    assert ": no name server answers at x:1\n" in out.getvalue()
    assert out.getvalue().count("healthy") == 2
    assert len(seen) == 2
    with pytest.raises(BadInput):
        watch(Scripted([BadInput("no name server answers at x:1")]), 10, 1, on(out))


def test_a_healthy_cluster_ends_with_0():
    assert watch(Scripted([look(SAME)]), 10, 1, on(io.StringIO())) == 0


def test_of_many_groups_the_worst_are_shown():
    seen = look(DIFFERENT, group="bad")
    for number in range(5):
        name = f"good{number}"
        seen.groups[name] = look(SAME, group=name).groups[name]
    made = table(diagnose(seen), most=2)
    assert made.row_count == 2
    assert made.caption == "4 more groups are not shown: none of them is worse"
