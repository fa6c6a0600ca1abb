"""Times at the limits: many groups on one broker and its name server, a link and a comparison as large as they may be.

    python -m tests.proof.stress.at_limits

Prints a line of JSON for each: seconds of a processor (what other work on the machine takes is not in it), seconds of
the clock, and the load average beside them.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any, Final

from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab_tools.cli.cli import main as verb
from rmqlab_tools.live.broker_startup import BrokerStartup
from rmqlab_tools.live.serve_config import ServeConfig
from rmqlab_tools.live.sockets import SocketRuntime
from rmqlab_tools.show.link import LINK_FORMAT, MOST_LINK_MESSAGES, MOST_MEMBERS, MOST_STEPS, Link

if TYPE_CHECKING:
    from collections.abc import Callable

GROUPS: Final = (1_000, 10_000, 15_000)


def groups_on_a_broker() -> dict[str, Any]:
    """Heartbeats of one connection, each with a group that is new: seconds of a processor until so many are there."""

    async def run() -> dict[str, Any]:
        startup = BrokerStartup(ServeConfig.of({}, where="limits", listen="127.0.0.1:0", namesrv="127.0.0.1:0"))
        await startup.start()
        runtime = SocketRuntime()
        began, reached = process_time(), {}
        try:
            for number in range(max(GROUPS)):
                group = {
                    "groupName": f"G{number}", "consumeType": "CONSUME_PASSIVELY", "messageModel": "CLUSTERING",
                    "consumeFromWhere": "CONSUME_FROM_FIRST_OFFSET",
                    "subscriptionDataSet": [{"topic": "T", "subString": "*"}],
                }  # fmt: skip
                body = json.dumps({"clientID": "c", "consumerDataSet": [group]}).encode()
                answer = await runtime.invoke(
                    startup.broker_addr, RemotingCommand.request(RequestCode.HEART_BEAT, body=body), 60_000
                )
                assert answer.code == 0  # noqa: S101 - a refusal would be fast
                if number + 1 in GROUPS:
                    reached[f"{number + 1:,} groups, s"] = round(process_time() - began, 1)
        finally:
            await runtime.aclose()
            await startup.stop()
        return reached

    return asyncio.run(run())


def link() -> dict[str, Any]:
    """A link with as many members, steps and messages as it may have, run."""
    steps: list[dict[str, Any]] = [
        {"at": number, "do": "start", "who": f"m{number:03}", "group": "G", "subscribe": {"T": {"expr": "*"}}}
        for number in range(MOST_MEMBERS)
    ]
    sends = MOST_STEPS - MOST_MEMBERS
    each = MOST_LINK_MESSAGES // sends
    steps += [
        {"at": 1_000 + number, "do": "send", "topic": "T", "messages": [{"body": "x", "tag": "a"}] * each}
        for number in range(sends)
    ]
    fields = {"format": LINK_FORMAT, "scenario": {"id": "limit", "topics": {"T": 16}, "steps": steps}, "seed": 1}
    run = Link.of(fields).run()
    return {"members": MOST_MEMBERS, "messages": each * sends, "events": len(run.events)}


def compared(kind: str) -> dict[str, Any]:
    """`lint` of 10,000 members that ask for tags or conditions of their own."""

    def asked(number: int) -> object:
        return f"t{number}" if kind == "tags" else {"type": "SQL92", "expr": f"a > {number}"}

    members = [{"client": f"c{number}", "subscribe": {"T": asked(number)}} for number in range(10_000)]
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "members.json"
        file.write_text(json.dumps({"group": "G", "queues": {"T": 4}, "members": members}), encoding="utf-8")
        with redirect_stdout(StringIO()):
            return {"status": verb(["lint", str(file)])}


def main() -> None:
    """Time each."""
    timed: dict[str, Callable[[], dict[str, Any]]] = {
        "groups": groups_on_a_broker, "link": link, "lint of tags": lambda: compared("tags"),
        "lint of conditions": lambda: compared("conditions"),
    }  # fmt: skip
    for name in sys.argv[1:] or timed:
        load, processor, clock = os.getloadavg()[0], process_time(), perf_counter()
        figures = timed[name]()
        took = {"processor_s": round(process_time() - processor, 1), "clock_s": round(perf_counter() - clock, 1)}
        loads = [round(load, 1), round(os.getloadavg()[0], 1)]
        print(json.dumps({name: figures, **took, "load": loads}), flush=True)  # noqa: T201 - its result


if __name__ == "__main__":
    main()
