"""Looks at real clusters that were kept: what is left out of them, and how they are read."""

from __future__ import annotations

import json
import re
from itertools import count
from typing import TYPE_CHECKING, Any

from rmqlab.checkout import checkout_path
from rmqlab_tools.doctor.snapshot_json import look_from_json

if TYPE_CHECKING:
    from rmqlab_tools.doctor.snapshot import ClusterSnapshot

PROPERTIES = (
    "messageModel", "consumeFromWhere", "postSubscriptionWhenPull", "consumerGroup", "pullInterval", "pullBatchSize",
    "consumeMessageBatchMaxSize", "instanceName", "heartbeatBrokerInterval",
)  # fmt: skip
"""Of what a member says of itself (307) these are kept, and those whose names begin with PROP_."""
RUNTIME = ("bootTimestamp", "brokerVersion", "brokerVersionDesc", "putTps", "getTransferedTps")
_PLACE = re.compile(r"127\.0\.0\.1:(\d+)")
_CPP = re.compile(r"\d+-127\.0\.0\.1@")


def without_traces(look: dict[str, Any]) -> dict[str, Any]:
    """A look as JSON without the machine it was taken on: no paths, ports and process ids by turns."""
    for broker in look["brokers"].values():
        broker["settings"] = {
            name: value for name, value in broker["settings"].items() if "/" not in value and name != "brokerIP2"
        }
        broker["runtime"] = {name: broker["runtime"][name] for name in RUNTIME if name in broker["runtime"]}
    for group in look["groups"].values():
        for member in group.get("members", {}).values():
            running = member.get("running", {})
            running.pop("status_table", None)
            running["properties"] = {
                name: value
                for name, value in running.get("properties", {}).items()
                if name in PROPERTIES or (name.startswith("PROP_") and name != "PROP_NAMESERVER_ADDR")
            }
            if "running" in member:
                member["running"] = running
    text = json.dumps(look)
    named = {look["namesrv"].rpartition(":")[2]: 9876}
    named |= {broker["addr"].rpartition(":")[2]: 10911 for broker in look["brokers"].values()}
    numbers = count(50_001)
    text = _PLACE.sub(lambda found: f"127.0.0.1:{named.setdefault(found[1], next(numbers))}", text)
    cleaned: dict[str, Any] = json.loads(_CPP.sub("1000-127.0.0.1@", text))
    return cleaned


def text_of(look: dict[str, Any]) -> str:
    """JSON with a line for each group, and for each other part."""
    parts = {name: json.dumps(part) for name, part in look.items()}
    lines = (f"  {json.dumps(name)}: {json.dumps(group)}" for name, group in look["groups"].items())
    parts["groups"] = "{\n" + ",\n".join(lines) + "\n }"
    return "{\n" + ",\n".join(f" {json.dumps(name)}: {part}" for name, part in parts.items()) + "\n}\n"


def recorded_look(servers: str, number: int) -> ClusterSnapshot:
    """The first or second look at the scene on the real "4.8.0" or "5.3.3"."""
    return look_from_json(
        json.loads((checkout_path("data") / "doctor" / f"{servers}-{number}.json").read_text("utf-8"))
    )
