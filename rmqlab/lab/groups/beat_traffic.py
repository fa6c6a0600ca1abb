"""Who beats whom: every frame of ten quiet minutes counted by link and code, and one heartbeat taken apart."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rmqlab.lab.scenario import convert_scenario
from rmqlab.lab.simulate import Simulation
from rmqlab.protocol.codes import RequestCode
from rmqlab.runtime.network import C2S

if TYPE_CHECKING:
    from rmqlab.protocol.command import RemotingCommand
    from rmqlab.runtime.network import Connection

MINUTES = 10
MINUTE_MS = 60_000


@dataclass(slots=True)
class BeatTraffic:
    """``requests`` counts (from, to, code); ``packet`` is the JSON of A's last heartbeat, ``size`` its frame's bytes.

    ``packets`` counts the heartbeats in which each client told of (consumer groups, producer groups).
    """

    requests: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    packets: Counter[tuple[str, int, int]] = field(default_factory=Counter)
    packet: dict[str, Any] = field(default_factory=dict)
    size: int = 0


def beat_traffic(minutes: int = MINUTES) -> BeatTraffic:
    """A consumer A, a producer P, a broker and a name server, and nobody sends anything."""
    steps = [
        {"at": 0, "do": "start", "who": "A", "group": "G", "subscribe": {"T": {"type": "TAG", "expr": "TagA || TagB"}}},
        {"at": minutes * MINUTE_MS, "do": "alloc"},
    ]
    simulation = Simulation(convert_scenario({"id": "quiet", "topics": {"T": 4}, "steps": steps}, "traffic"))
    found = BeatTraffic()
    name_server = simulation.cluster.config.namesrv_address

    def on_frame(connection: Connection, direction: str, command: RemotingCommand, _sent: int, _due: int) -> None:
        if command.is_response or any(simulation.cluster.facts.of("alloc")):
            return  # after the last look everybody is shut down
        far = "name server" if connection.server.name == name_server else "broker"
        ends = (connection.node.name, far)
        found.requests[(*(ends if direction == C2S else ends[::-1]), int(command.code))] += 1
        if command.code == RequestCode.HEART_BEAT and command.body is not None:
            body = json.loads(command.body)
            groups = len(body["consumerDataSet"]), len(body["producerDataSet"])
            found.packets[connection.node.name, *groups] += 1
            if connection.node.name == "A":
                found.packet, found.size = body, len(command.encode())

    simulation.world.on_frame = on_frame
    run = simulation.run()
    count = sum(1 for fact in run.facts.of("registration") if fact.t > 0)
    found.requests["broker", "name server", int(RequestCode.REGISTER_BROKER)] += count
    return found
