"""Where to listen, and the pair of ports of a broker: its own, and that of its VIP channel."""

from __future__ import annotations

import logging
import socket
from dataclasses import dataclass

from rmqlab.broker.broker_config import MAX_PORT
from rmqlab.errors import BadInput
from rmqlab.language import _
from rmqlab_tools.live.system import LOOPBACK

logger = logging.getLogger(__name__)

VIP_DISTANCE = 2
_TRIES = 50


@dataclass(slots=True)
class Endpoint:
    """Where to listen; port 0 means any free one."""

    host: str = LOOPBACK
    port: int = 0

    @classmethod
    def parse(cls, text: str, what: str) -> Endpoint:
        """Read "host:port".

        Raises:
            BadInput: naming the option.
        """
        host, colon, port = text.rpartition(":")
        if "/" in text:
            raise BadInput(
                _(
                    "{what} {text}: host:port alone is wanted, without http:// and without a path",
                    what=what,
                    text=f"{text!r}",
                )
            )
        if not colon or not port.isdecimal() or int(port) > MAX_PORT:
            raise BadInput(
                _(
                    "{what} {text}: host:port is wanted, such as 127.0.0.1:10911; port 0 takes a free one",
                    what=what,
                    text=f"{text!r}",
                )
            )
        return cls(host.strip("[]"), int(port))

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can connect."""
        return self.host.startswith("127.") or self.host in {"::1", "localhost"}

    def bind(self) -> socket.socket:
        """A listening socket.

        Raises:
            BadInput: it cannot be used; the text says what and why.
        """
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        try:
            return socket.create_server((self.host, self.port), family=family, backlog=1024)
        except OSError as error:
            raise BadInput(
                _(
                    "cannot listen on {host}:{port}: {strerror}",
                    host=self.host,
                    port=self.port,
                    strerror=error.strerror or error,
                )
            ) from error


def bind_with_vip(endpoint: Endpoint) -> tuple[socket.socket, socket.socket | None]:
    """A listening socket and that of its VIP channel, two ports below (`MixAll.brokerVIPChannel`).

    Clients before 4.5.1, and later ones that are set to, send everything but pulls there. Without a port of one's own
    a pair of free ones is looked for. A VIP port that is taken is logged, and the broker runs without: 4.8.0 does not
    start then.

    Raises:
        BadInput: when the port itself cannot be had.
    """
    failure: BadInput | None = None
    for _ignored in range(_TRIES if endpoint.port == 0 else 1):
        listening = endpoint.bind()
        port = int(listening.getsockname()[1])
        try:
            return listening, Endpoint(endpoint.host, port - VIP_DISTANCE).bind()
        except (BadInput, OverflowError) as error:
            failure = error if isinstance(error, BadInput) else None
            if endpoint.port:
                break
            listening.close()
    else:
        listening = endpoint.bind()
    logger.warning(
        _("no VIP channel, to which Java clients before 4.5.1 send: %s"), failure or _("there is no such port")
    )
    return listening, None
