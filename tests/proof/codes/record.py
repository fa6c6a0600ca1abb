"""Ask everything of a cluster at two addresses and write down the answers.

`python -m tests.proof.codes.record NAMESRV BROKER FILE` records a fresh cluster, `... FILE access` one
with access control by `ACL_RULES`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from rmqlab.protocol.codes import RequestCode
from tests.proof.codes.asking import Connection, shown
from tests.proof.codes.requests import (
    Request,
    of_access_control,
    of_the_broker,
    of_the_name_server,
    set_up,
    without_fields,
)

PATIENCE = 1.0  # seconds: the real one answers in milliseconds, what it never answers costs this
SENTINELS = {"namesrv": RequestCode.GET_NAMESRV_CONFIG, "broker": RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER}


async def ask_all(namesrv: str, broker: str, patience: float | None = None, *, access: bool = False) -> dict[str, Any]:
    """Return the answers, and what the broker asked its client meanwhile; `access`: of a broker with access control."""
    addresses = {"namesrv": namesrv, "broker": broker}
    recorded: dict[str, Any] = {"addresses": addresses}
    kept = {"broker": broker}
    # Two connections each: one of the requests makes the broker take the first for a filter server's and close it.
    whole = [*set_up(), *of_the_name_server(), *of_the_broker()]
    parts = [("access control", of_access_control())] if access else [("without fields", list(without_fields()))]
    for title, requests in [*parts, *([] if access else [("with fields", whole)])]:
        connections = {name: Connection(patience, SENTINELS[name]) for name in addresses}
        for name, address in addresses.items():
            await connections[name].open(address)
        recorded[title] = [await _ask(connections, request, kept) for request in requests]
        recorded[f"asked of the client {title}"] = connections["broker"].asked_here
        for connection in connections.values():
            await connection.close()
    return recorded


async def _ask(connections: dict[str, Connection], request: Request, kept: dict[str, str]) -> dict[str, Any]:
    fields = request.fields and {name: text.format_map(kept) for name, text in request.fields.items()}
    filled = Request(request.server, request.code, fields, request.body)
    answer = shown(request.code, await connections[request.server].ask(filled))
    if request.keep is not None:
        kept[request.keep] = answer["fields"]["msgId"]
    title = f"{request.server} {request.code.name}"
    return {"request": title if request.fields is None else f"{title} {json.dumps(request.fields)}", "answer": answer}


if __name__ == "__main__":
    recorded = asyncio.run(ask_all(sys.argv[1], sys.argv[2], PATIENCE, access="access" in sys.argv[4:]))
    Path(sys.argv[3]).write_text(json.dumps(recorded, indent=1, ensure_ascii=True) + "\n", encoding="utf-8")
