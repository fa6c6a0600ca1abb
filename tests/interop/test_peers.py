"""RocketMQ's own integration tests against our broker: a part always, all of them with `./lab test --peers`."""

from __future__ import annotations

import os
import sys

import pytest

from tests.interop.peers import LANES, PART, PeerJars, results, run_lanes, served

WHOLE = os.environ.get("RMQLAB_PEERS") == "all"
SECONDS = 3_600 if WHOLE else 300


@pytest.fixture(scope="module")
def jars(request):
    return PeerJars(request.config.cache)


def test_rocketmqs_own_integration_tests_pass(jars, tmp_path):
    lanes = [jars.classes()[lane::LANES] for lane in range(LANES)] if WHOLE else PART
    with served() as ready:
        rows, said = run_lanes(jars, ready, lanes, tmp_path, SECONDS)
    sys.stdout.writelines(f"{row.how} {row.test} {row.ms} ms\n" for row in sorted(rows, key=lambda row: -row.ms))
    assert {row.test.partition("#")[0] for row in rows} == {name for lane in lanes for name in lane}, said
    assert [row for row in rows if row.how == "FAIL"] == [], said
    assert sum(row.how == "PASS" for row in rows) >= (100 if WHOLE else 20)


def test_the_part_is_of_the_whole(jars):
    assert {name for lane in PART for name in lane} <= set(jars.classes())
    assert len(jars.classes()) == 48


def test_a_failed_test_is_read_as_one():
    (row,) = results("noise\nRESULT FAIL org.apache.rocketmq.test.tls.TLS_IT#send 12 java.lang.AssertionError: a b\n")
    assert (row.how, row.test, row.ms, row.why) == ("FAIL", "tls.TLS_IT#send", 12, "java.lang.AssertionError: a b")
