"""Recorded scenarios again, with the real clients but against our broker: they must end as they did before.

`RMQLAB_SCENARIOS=DIR` names another recorded set, all of whose scenarios are driven (some last minutes).
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
from pathlib import Path

import rmqlab
from rmqlab.checkout import checkout_path
from rmqlab.run.run import Outcome, recorded_events
from rmqlab.scenario.scenario import read_scenarios
from rmqlab.sim.cluster import settings_beside
from rmqlab_tools.live.endpoint import Endpoint
from rmqlab_tools.live.tap import Tap, TapConfig
from rmqlab_tools.live.tap_recording import TapRecording
from tests.proof.recorded_outcomes import RecordedVerdict, compare

BASE = checkout_path("data") / "golden" / "broker-4.8.0" / "base"
# Short ones in which nothing is sent before the group has settled, so that a busy machine ends them alike.
SHORT = [
    "p-queues-037", "p-overlap-044", "p-mix-048", "p-bcast-060", "p-circle-062", "p-badsql-070", "p-badsql-071",
    "p-badsql-072",
]  # fmt: skip
MAX_SECONDS = 400
THEIR_OWN_PACE = "-Drocketmq.client.rebalance.waitInterval=20000"


async def drive(jars, scenarios, served, home):
    """Real clients through the scenarios, the wire tapped so that connections can be cut; returns what went wrong."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        control = probe.getsockname()[1]
    config = TapConfig(
        Endpoint.parse(served.namesrv_addr, "name server"),
        listen=Endpoint(),
        broker_listen=Endpoint(),
        control=Endpoint(port=control),
    )
    tap = Tap(config, TapRecording(home / "tapped"))
    await tap.start()
    try:
        process = await asyncio.create_subprocess_exec(
            *jars.command(
                "Scenarios", str(scenarios), str(home / "events"), tap.namesrv_addr, served.namesrv_addr, str(control),
                home=home, options=[THEIR_OWN_PACE],
            ),
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        try:
            told, _ = await asyncio.wait_for(process.communicate(), MAX_SECONDS)
        finally:
            if process.returncode is None:
                process.kill()
        return "" if process.returncode == 0 else told.decode("utf-8", "replace")[-3000:]
    finally:
        await tap.stop()


def test_real_clients_end_as_recorded(jars, tmp_path):
    """Who consumed what and which offsets were committed; where a race decides, one of the outcomes it can have."""
    recorded = Path(os.environ.get("RMQLAB_SCENARIOS") or BASE)
    wanted = [one for one in read_scenarios(recorded / "scenarios.jsonl") if recorded != BASE or one.id in SHORT]
    names = {one.id for one in wanted}
    assert names
    chosen = tmp_path / "scenarios.jsonl"
    rows = (recorded / "scenarios.jsonl").read_text("utf-8").splitlines()
    chosen.write_text("".join(f"{row}\n" for row in rows if json.loads(row)["id"] in names), "utf-8")
    with rmqlab.serve(config=recorded / "broker.conf", listen="127.0.0.1:0", namesrv="127.0.0.1:0") as served:
        wrong = asyncio.run(drive(jars(), chosen, served, tmp_path))
    assert not wrong, wrong
    before, now = recorded_events(recorded), recorded_events(tmp_path)
    assert set(now) == names
    for result in compare(tmp_path, wanted, cluster=settings_beside(recorded)):
        same = result.recorded == Outcome.of_events(before[result.scenario_id])
        assert same or result.verdict is RecordedVerdict.REACHED, (
            f"{result.scenario_id}: {result.text()}\n{result.recorded}"
        )
        assert failures(now[result.scenario_id]) == failures(before[result.scenario_id])


def failures(events):
    """Starts and steps that failed, with their messages."""
    kinds = {"startFailed", "error"}
    return [{k: v for k, v in one.items() if k not in {"t", "id"}} for one in events if one["ev"] in kinds]
