"""What notebook 13 and its tasks say, sentence by sentence."""

from __future__ import annotations

from zipfile import ZipFile

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed: ./lab test installs it")

from rmqlab.lab.cluster_times import stored_times
from rmqlab.lessons.checks_13 import ALONE, LIMIT_S, NEEDED, PLACE, STORE_GIB, TOO_MANY, WORKERS
from tests.proof.bench.cluster_times import CONNECT, ROUNDS
from rmqlab.spark.session import package_archive

LESSON = "13_cluster"
SETTING = (
    "The audit of notebook 11 read a small commit log on this machine.",
    "Spark's promise is that the same job runs where the data is.",
    "The same command at each address, in a process of its own.",
    "CPU seconds, of all processes together.",
    "The start is counted as if all of it came one after the other",
    "It holds if each byte costs the same in the large store as it did in the small one",
    "None of this was measured.",
    "What the picture leaves out: all workers read from somewhere.",
    "What gives less to all workers together decides the time",
    "Count the session and the first job on both sides, and take the medians.",
    "From how many GiB on are WORKERS workers sooner done than one core alone?",
    "Take what the data cost at most, scale it to the store",
)


@pytest.fixture(scope="module")
def times():
    return stored_times()


def test_nothing_else_is_claimed(unproved):
    assert unproved == []


@pytest.mark.claim(
    "Not one line.",
    "The address decides, and the three addresses gave the same answer, to the last lost message.",
    "Nothing but an address changed.",
    "one big file is read by many, and the lost messages were the same at each place.",
)
def test_each_place_gave_the_same_answer(times):
    """As stored; what runs just now stands beside it in the lesson, and strict comparison keeps it equal."""
    assert len(times.answers) == 3
    assert len({(messages, lost, digest) for _, _, _, messages, lost, digest in times.answers}) == 1
    assert len({address for _, address, *_ in times.answers}) == 3


@pytest.mark.claim("the recorded store, and the group that lost most of its messages there.")
def test_the_job_is_a_group_that_lost_more_than_half(times):
    (found,) = {(messages, lost) for _, _, _, messages, lost, _ in times.answers}
    assert found[1] > found[0] / 2


@pytest.mark.claim(
    "The data was audited in nine rounds; its figure is the median, and in brackets stand the bounds: from "
    "round to round it swung by a third.",
    "The data is the smallest part here.",
    "Over Connect the session costs least",
    "What was measured is a store of about a million messages.",
)
def test_where_the_time_goes(times):
    assert ROUNDS == 9
    assert {one.swing for one in times.places} == {0.33}
    assert all(one.spent.high < min(one.session, one.first) for one in times.places if one.name != CONNECT)
    assert times.place(CONNECT).spent.high < times.place(CONNECT).first
    assert min(times.places, key=lambda one: one.session).name == CONNECT
    assert 900_000 < times.messages < 1_200_000


@pytest.mark.claim("Its bounds overlap: whether it costs more at one place than at another, these rounds do not tell.")
def test_the_data_costs_as_much_at_each_place_as_far_as_the_rounds_tell(times):
    assert max(one.spent.low for one in times.places) < min(one.spent.high for one in times.places)


@pytest.mark.claim(
    "So this small store is done sooner on one core.",
    "A cluster pays from the size on where the data outweighs the start.",
    "Twice the workers, half the time for the data.",
    "The dotted line is what no worker takes away.",
    "A small store needs no cluster.",
)
def test_a_small_store_is_done_sooner_on_one_core(times):
    alone, shared = times.sizing(ALONE, 0.5), times.sizing(PLACE, 0.5)
    assert alone.seconds(1).high < shared.seconds(WORKERS).low
    for gib in (1.0, 64.0):
        one = times.sizing(PLACE, gib)
        rest = one.place.fixed
        assert one.seconds(2).median - rest == pytest.approx((one.seconds(1).median - rest) / 2)


@pytest.mark.claim(
    "the number of workers from which on another one brings nothing you would notice for 32 GiB",
    "a store that 256 workers do not audit within 2 minutes.",
)
def test_what_is_worth_finding_can_be_found(times):
    small = times.sizing(PLACE, 32.0)
    assert small.seconds(64).median - small.seconds(65).median < 1
    assert times.sizing(PLACE, 16_384.0).seconds(256).median > 120


@pytest.mark.claim(
    "A worker needs a Java, a Python with the packages of the extra spark, and the store's files under the same path.",
    "It does not need rmqlab: the session ships it.",
)
def test_what_a_worker_needs(tmp_path):
    """The archive that a session hands out has this package and nothing that it imports."""
    assert {name for name, needed in NEEDED.items() if needed} == {
        "a Java", "Python with the packages of the extra spark", "the store's files, under the same path",
    }  # fmt: skip
    with ZipFile(package_archive(tmp_path)) as archive:
        assert {name.partition("/")[0] for name in archive.namelist()} == {"rmqlab"}


@pytest.mark.claim(
    "A third more is allowed, fewer than needed is not.",
    "one begins low and climbs steeply, the other begins high and climbs less.",
    "The bounds of what was measured are wide, so the place where they meet is rough too.",
)
def test_the_solutions(times):
    alone, shared = times.sizing(ALONE, 1.0), times.sizing(PLACE, 1.0)
    assert alone.place.fixed < shared.place.fixed
    assert alone.data.median > shared.data.median / WORKERS
    assert pytest.approx(4 / 3, abs=0.01) == TOO_MANY
    sizing = times.sizing(PLACE, STORE_GIB)
    assert sizing.place.fixed < LIMIT_S
    assert sizing.data.high > 1.1 * sizing.data.low
