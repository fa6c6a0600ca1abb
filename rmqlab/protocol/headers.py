"""All headers by their Java name."""

from __future__ import annotations

from typing import Final

from rmqlab.protocol import admin_headers, consumer_headers, namesrv_headers, producer_headers
from rmqlab.protocol.header import CommandHeader

HEADERS: Final[dict[str, type[CommandHeader]]] = {
    name: member
    for module in (consumer_headers, producer_headers, namesrv_headers, admin_headers)
    for name, member in vars(module).items()
    if isinstance(member, type) and issubclass(member, CommandHeader) and member is not CommandHeader
}
