"""A client that only reads: every question the doctor asks of name servers and brokers goes through `ReadClient`."""

from __future__ import annotations

import asyncio
import os
import re
import ssl
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, Self

import msgspec

from rmqlab.client.client_error import MQBrokerError
from rmqlab.client.runtime import RemotingConnectError, RemotingError, RemotingSendRequestError, RemotingTimeoutError
from rmqlab.errors import BadInput
from rmqlab.language import _, joined
from rmqlab.message.topics import MessageQueue
from rmqlab.protocol.bodies import ConsumerRunningInfo
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.header import FrameError
from rmqlab.protocol.serializable import RemotingSerializable
from rmqlab_tools.doctor.snapshot import ClusterSnapshot, Cost, SnapshotOptions, Unanswered
from rmqlab_tools.live.extra.admin_headers import GetConsumerRunningInfoRequestHeader
from rmqlab_tools.live.sockets import SocketRuntime

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.protocol.header import CommandHeader
    from rmqlab.protocol.serializable import BodyT
    from rmqlab_tools.live.sockets import Hook

READ_CODES: Final = frozenset({
    RequestCode.GET_ALL_TOPIC_CONFIG, RequestCode.GET_BROKER_CONFIG, RequestCode.GET_BROKER_RUNTIME_INFO,
    RequestCode.VIEW_MESSAGE_BY_ID, RequestCode.GET_ALL_CONSUMER_OFFSET, RequestCode.GET_ROUTEINFO_BY_TOPIC,
    RequestCode.GET_MIN_OFFSET, RequestCode.GET_BROKER_CLUSTER_INFO, RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG,
    RequestCode.GET_TOPIC_STATS_INFO, RequestCode.GET_CONSUMER_CONNECTION_LIST,
    RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, RequestCode.GET_CONSUME_STATS,
    RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, RequestCode.GET_CONSUMER_RUNNING_INFO, RequestCode.QUERY_CONSUME_QUEUE,
    RequestCode.GET_ALL_MESSAGE_REQUEST_MODE,
})  # fmt: skip
"""All that is ever sent: 21 26 28 31 33 43 105 106 201 202 203 206 208 300 307 321 402. None changes anything."""

IN_FLIGHT: Final = 8
"""Requests that one server is asked at the same time, at most."""
SILENT_TO_GIVE_UP: Final = 2
"""Timeouts one after the other after which a server is asked nothing more in this look."""
MEMBERS_IN_FLIGHT: Final = 4
"""Questions 307 that one broker may be busy with: each holds one of its 16 admin threads (`adminBrokerThreadPoolNums`),
which also lock queues for orderly consumers (41), until the member answers."""
MEMBER_HELD_SECONDS: Final = 10.0
"""How long it waits for a silent member (`Broker2Client.callClient`)."""
SILENT_MEMBERS_TO_GIVE_UP: Final = 8
"""Members of one language that stayed silent one after the other: the others of it are not asked."""


class ServerGone(RemotingError):
    """A server that did not answer before is not asked again in this look."""


class MemberAnswer(NamedTuple):
    """What a member says of itself, and the queues that it pops."""

    running: ConsumerRunningInfo
    popped: frozenset[MessageQueue]


class _PopProcessQueueInfo(RemotingSerializable):
    droped: bool = False


class _Popping(RemotingSerializable):
    """What a 5.x client's `ConsumerRunningInfo` has besides."""

    mq_pop_table: dict[MessageQueue, _PopProcessQueueInfo] = msgspec.field(default_factory=dict)


class _Server:
    """What is kept of one server: who may ask now, when the next may, and how often it was silent."""

    def __init__(self) -> None:
        self.slots = asyncio.Semaphore(IN_FLIGHT)
        self.member_slots = asyncio.Semaphore(MEMBERS_IN_FLIGHT)
        self.free_at = 0.0
        self.silent = 0
        self.silent_members: Counter[str] = Counter()
        self.gone = ""


class ReadClient:
    """Asks servers of a cluster, never anything but `READ_CODES`; `async with` closes its connections.

    `namesrv` is "host:port;host:port"; `asked` is what looks are to see. `hook` signs requests (`AclClientRPCHook`),
    `tls` encrypts them. Costs and failures are noted in the look that `new_look` names.

    >>> async def brokers():
    ...     async with ReadClient("127.0.0.1:9876", LookOptions(rate=100)) as client:
    ...         return await client.ask_name_server(RequestCode.GET_BROKER_CLUSTER_INFO)
    """

    def __init__(
        self,
        namesrv: str,
        options: SnapshotOptions | None = None,
        *,
        hook: Hook | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.namesrv = namesrv
        self.asked = options or SnapshotOptions()
        self._name_servers = addresses_of(namesrv, _("name server"))
        self._look = ClusterSnapshot(namesrv, at=0)
        self._servers: dict[str, _Server] = {}
        self._runtime = SocketRuntime(hook=hook, tls=tls, on_bytes=self._count)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._runtime.aclose()

    def new_look(self, look: ClusterSnapshot) -> None:
        """Note costs and what is not answered in `look` from now on; servers that were silent get another chance."""
        self._look, self._servers = look, {}

    def now(self) -> int:
        """This machine's clock, epoch ms."""
        return self._runtime.now()

    async def ask(self, addr: str, code: RequestCode, header: CommandHeader | None = None) -> RemotingCommand:
        """Ask one server and return its answer.

        Raises:
            ValueError: a code that is not in `READ_CODES`.
            MQBrokerError: a refusal.
            RemotingError: when no answer comes.
        """
        server = self._servers.setdefault(addr, _Server())
        async with server.slots:
            try:
                response = await self._invoke(addr, server, code, header, self.asked.timeout_ms)
            except (RemotingConnectError, RemotingTimeoutError) as error:
                server.silent += 1
                if isinstance(error, RemotingConnectError) or server.silent >= SILENT_TO_GIVE_UP:
                    server.gone = why(error)
                raise
            server.silent = 0
        return response

    async def read(
        self, addr: str, code: RequestCode, header: CommandHeader | None, body: type[BodyT], about: str = ""
    ) -> BodyT | None:
        """Ask, and read the answer's body; None when there is none, which the look then notes (`unanswered`).

        A group that is not online (code 206) is nothing to note.
        """
        try:
            return (await self.ask(addr, code, header)).decode_body(body)
        except ServerGone:
            return None  # noted once, when the look ends
        except MQBrokerError as refused:
            if refused.response_code != ResponseCode.CONSUMER_NOT_ONLINE:
                self.note(addr, code, about, refused)
        except (RemotingError, FrameError) as error:
            self.note(addr, code, about, error)
        return None

    def note(self, addr: str, code: int, about: str, error: Exception) -> None:
        """Note a question that was not answered."""
        self._look.unanswered.append(Unanswered(addr, code, about, why(error)))

    def note_gone(self) -> None:
        """Note every server that was given up."""
        gone = {addr: server.gone for addr, server in self._servers.items() if server.gone}
        self._look.unanswered.extend(Unanswered(addr, 0, "", reason) for addr, reason in gone.items())

    async def ask_member(self, addr: str, group: str, client_id: str, language: str) -> MemberAnswer:
        """Ask a broker what one member says of itself (307); errors as for `ask`, and ServerGone if none is asked.

        A member that stays silent keeps its place among `MEMBERS_IN_FLIGHT` as long as the broker waits for it.

        Raises:
            FrameError: an answer that cannot be read.
        """
        server = self._servers.setdefault(addr, _Server())
        await server.member_slots.acquire()
        release: Callable[[], object] = server.member_slots.release
        try:
            if server.silent_members[language] >= SILENT_MEMBERS_TO_GIVE_UP:
                raise ServerGone(
                    _(
                        "not asked: {silent_members_to_give_up} other {language} members did not answer",
                        silent_members_to_give_up=SILENT_MEMBERS_TO_GIVE_UP,
                        language=language,
                    )
                )
            header = GetConsumerRunningInfoRequestHeader(group, client_id)
            timeout_ms = self.asked.member_timeout_ms
            try:
                answer = await self._invoke(addr, server, RequestCode.GET_CONSUMER_RUNNING_INFO, header, timeout_ms)
            except RemotingTimeoutError:
                server.silent_members[language] += 1
                rest, loop = MEMBER_HELD_SECONDS - timeout_ms / 1000, asyncio.get_running_loop()
                release = partial(loop.call_later, max(rest, 0.0), server.member_slots.release)
                raise
            server.silent_members[language] = 0
        finally:
            release()
        return _member_answer(answer.body or b"")

    async def _invoke(
        self, addr: str, server: _Server, code: RequestCode, header: CommandHeader | None, timeout_ms: int
    ) -> RemotingCommand:
        if code not in READ_CODES:
            raise ValueError(f"request {code} is none of those that only read")
        loop = asyncio.get_running_loop()
        turn = max(server.free_at, loop.time())
        server.free_at = turn + 1 / self.asked.rate
        await asyncio.sleep(turn - loop.time())
        if server.gone:
            raise ServerGone(_("{addr} was given up: {gone}", addr=addr, gone=server.gone))
        self._cost_of(addr).requests += 1
        response = await self._runtime.invoke(addr, RemotingCommand.request(code, header), timeout_ms)
        if response.code != ResponseCode.SUCCESS:
            raise MQBrokerError(response.code, response.remark, addr)
        return response

    async def ask_name_server(self, code: RequestCode, header: CommandHeader | None = None) -> RemotingCommand:
        """Ask the first name server that answers.

        MQBrokerError for a refusal.

        Raises:
            BadInput: when none does, or what answers is no name server.
        """
        failures = []
        for addr in list(self._name_servers):
            try:
                response = await self.ask(addr, code, header)
            except RemotingError as error:
                if isinstance(error, RemotingTimeoutError) and await self._is_broker(addr):
                    raise BadInput(_NO_NAME_SERVER.format(addr=addr)) from error
                failures.append(f"{addr} ({why(error)})")
                self._name_servers.append(self._name_servers.pop(0))
                continue
            except MQBrokerError as refused:
                if refused.response_code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED or is_about_access(refused):
                    raise BadInput(_NO_NAME_SERVER.format(addr=addr)) from refused
                raise
            return response
        raise BadInput(
            _("no name server answers at {failures}; give a running one as HOST:PORT", failures=joined(", ", failures))
        )

    async def _is_broker(self, addr: str) -> bool:
        """Whether a silent server is a broker: one of 4.8.0 does not answer what it does not know."""
        try:
            await self.ask(addr, RequestCode.GET_BROKER_RUNTIME_INFO)
        except RemotingError:
            return False
        except MQBrokerError as refused:
            return refused.response_code != ResponseCode.REQUEST_CODE_NOT_SUPPORTED
        return True

    def _cost_of(self, addr: str) -> Cost:
        return self._look.cost.setdefault(addr, Cost())

    def _count(self, addr: str, sent: int, received: int) -> None:
        cost = self._cost_of(addr)
        cost.sent_bytes += sent
        cost.received_bytes += received


_LONG_NUMBER = re.compile(rb'(?<=":)-?\d{19,}(?=[,}])')


def _member_answer(body: bytes) -> MemberAnswer:
    """A member's answer. Numbers that 64 bits cannot hold, which C++ clients never set, are read as not given."""
    readable = _LONG_NUMBER.sub(lambda match: match[0] if abs(int(match[0])) < 1 << 63 else b"null", body)
    popping = _Popping.decode(readable).mq_pop_table.items()
    return MemberAnswer(
        ConsumerRunningInfo.decode(readable), frozenset(queue for queue, info in popping if not info.droped)
    )


_NO_NAME_SERVER = _("{addr} is a broker, not a name server; give the name server's HOST:PORT, usually port 9876")


def addresses_of(text: str, what: str) -> list[str]:
    """Split "host:port;host:port"; `what` names in errors whose addresses they are.

    Raises:
        BadInput: what is none.
    """
    addresses = [part.strip() for part in text.split(";") if part.strip()]
    for address in addresses or [text]:
        if "/" in address:
            right = address.partition("://")[2].partition("/")[0] or address.partition("/")[0]
            said = _("{what} {address} is an address of the web; write HOST:PORT alone: {right}", what=what,
                     address=f"{address!r}", right=right)  # fmt: skip
            raise BadInput(said)
        host, _ignored, port = address.rpartition(":")
        if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65_536:
            raise BadInput(
                _(
                    "{what} {address} is no HOST:PORT; several are written HOST:PORT;HOST:PORT",
                    what=what,
                    address=f"{address!r}",
                )
            )
    return addresses


_ACCESS_REFUSALS = "AclException", "AuthenticationException", "AuthorizationException"


def why(error: Exception) -> str:
    """Say in a few words why a question was not answered.

    >>> why(RemotingTimeoutError("127.0.0.1:10911", 3000))
    'no answer within 3000 ms'
    """
    if isinstance(error, MQBrokerError):
        return _(
            "refused with code {response_code}: {error_message}",
            response_code=error.response_code,
            error_message=error.error_message,
        )
    if isinstance(error, RemotingTimeoutError):
        return _("no answer within {timeout_ms} ms", timeout_ms=error.timeout_ms)
    if isinstance(error, RemotingConnectError):
        return _("no connection: {of_the_system}", of_the_system=_of_the_system(error.__cause__))
    if isinstance(error, RemotingSendRequestError) and error.reason:
        return _("what it sends is not RocketMQ's protocol: {reason}", reason=error.reason)
    if isinstance(error, FrameError):
        return _("its answer cannot be read: {error}", error=error)
    return str(error)


def _of_the_system(cause: BaseException | None) -> str:
    if isinstance(cause, TimeoutError):
        return _("nothing answers there")
    if isinstance(cause, ConnectionError) and not cause.strerror:
        return _("it was closed at once (does one side encrypt, and the other not?)")
    if isinstance(cause, OSError) and not isinstance(cause, ssl.SSLError) and (cause.errno or 0) > 0:
        return os.strerror(cause.errno or 0)  # asyncio's own text repeats the address
    return str(cause)


def is_about_access(refused: MQBrokerError) -> bool:
    """Whether a broker refuses the key, or the want of one: 4.8.0 with code 1 and the exception's name, 5.x with 16.

    Name servers of both versions check no keys.
    """
    remark = refused.error_message or ""
    return refused.response_code == ResponseCode.NO_PERMISSION or any(name in remark for name in _ACCESS_REFUSALS)
