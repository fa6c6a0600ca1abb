"""The doctor's benchmarks look at what they say: every member of the crowd tells what it runs."""

from __future__ import annotations

import asyncio

import rmqlab
from rmqlab_tools.doctor.read_client import ReadClient
from rmqlab_tools.doctor.take_snapshot import take_look
from tests.proof.bench.doctor import BENCHMARKS, Crowd, Looks
from tests.proof.bench.doctor_crowd import TOPIC

GROUPS, MEMBERS = 3, 2


def test_every_member_of_a_crowd_is_seen_and_tells():
    async def look(namesrv):
        async with ReadClient(namesrv) as client:
            return await take_look(client)

    with rmqlab.serve() as served:
        served.create_topic(TOPIC, 4)
        with Crowd(served.broker_addr, GROUPS, MEMBERS):
            seen = asyncio.run(look(served.namesrv_addr))
            with Looks(served.namesrv_addr) as looks:
                served.send(TOPIC, "while somebody looks")
    members = [member for group in seen.groups.values() for member in group.members.values()]
    assert len(members) == GROUPS * MEMBERS
    assert all(member.running is not None and len(member.queues) == 4 // MEMBERS for member in members)
    assert looks.count >= 1


def test_only_looks_at_many_groups_wait_to_be_named():
    assert [benchmark.name for benchmark in BENCHMARKS if benchmark.heavy] == [
        "doctor-look",
        "doctor-bytes",
        "doctor-requests",
    ]
