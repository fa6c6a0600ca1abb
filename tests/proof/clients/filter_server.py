"""The filter server that stood beside the broker until 4.2 (module `filtersrv`, gone in 4.3; rows F-67, F-99).

It was a process of its own: consumers uploaded the source of a Java class, it compiled and ran it, pulled from the
broker in their place, and passed on what the class let through. Here a Python function, registered under the class's
name by whoever runs the laboratory, plays the class. The uploaded text is kept and its checksum compared; it is never
compiled, imported or executed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from rmqlab.broker.processor import Timers
from rmqlab.events import Event, set_kinds
from rmqlab.message.message import MessageExt
from rmqlab.message.properties import PROPERTY_MAX_OFFSET, PROPERTY_MIN_OFFSET
from rmqlab.message.record import body_crc, decode_records, encode_record
from rmqlab.message.sysflag import COMPRESSED_FLAG, compress
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.consumer_headers import (
    FLAG_SUBSCRIPTION,
    FLAG_SUSPEND,
    PullMessageRequestHeader,
    PullMessageResponseHeader,
    RegisterFilterServerRequestHeader,
    RegisterMessageFilterClassRequestHeader,
)
from rmqlab.protocol.namesrv import MASTER_ID

if TYPE_CHECKING:
    from rmqlab.events import Observer
    from rmqlab.protocol.channel import Channel

FILTERSRV_CONSUMER_GROUP: Final = "FILTERSRV_CONSUMER"
REGISTER_FIRST_MS: Final = 3_000
REGISTER_PERIOD_MS: Final = 10_000
REGISTER_TIMEOUT_MS: Final = 3_000
# One second less than its own consumers use, so that a held pull is over here before it is over there.
SUSPEND_MS: Final = 19_000
PULL_TIMEOUT_MS: Final = 29_000
COMPRESS_FROM_BYTES: Final = 8 * 1024

# Asks the broker: request, timeout (ms), and who is told the answer; None means that none came.
AskBroker = Callable[[RemotingCommand, int, Callable[[RemotingCommand | None], None]], None]


class FilterServerUp(Event, frozen=True, tag="filter_server"):
    """A filter server has registered with the broker."""

    addr: str


class FilterClassUploaded(Event, frozen=True, tag="filter_class"):
    """A consumer uploads a class to a filter server; `stored`: the server took it."""

    group: str
    topic: str
    class_name: str
    crc: int
    stored: bool


class ClassAsked(Event, frozen=True, tag="class_filter"):
    """A filter server asks the class about a message."""

    group: str
    topic: str
    queue: int
    offset: int
    class_name: str
    passed: bool


set_kinds()


class FilterContext(NamedTuple):
    """What a filter class learns besides the message (`common.filter.FilterContext`)."""

    consumer_group: str


FilterClass = Callable[[MessageExt, FilterContext], bool]
"""A filter class: `common.filter.MessageFilter.match`, not to be taken for the store's interface of the same name."""


@dataclass(frozen=True, slots=True)
class FilterClassInfo:
    """What one group uploaded for one topic; `match` is None when nobody registered a function under the name."""

    class_name: str
    class_crc: int
    source: bytes
    match: FilterClass | None


class FilterClassManager:
    """One class for each group and topic (`FilterClassManager`): the last upload that differs wins, whoever sent it."""

    def __init__(self, classes: Mapping[str, FilterClass]) -> None:
        """`classes` are the functions that play the classes, by full class name."""
        self._classes = classes
        self.filter_class_table: dict[tuple[str, str], FilterClassInfo] = {}

    def register_filter_class(self, group: str, topic: str, class_name: str, class_crc: int, source: bytes) -> bool:
        """Take in an upload; return whether the table changed.

        The same checksum, or 0, changes nothing. Raises FilterClassRefused for a text that does not have its checksum:
        Java never looked, and compiled whatever came.
        """
        old = self.filter_class_table.get((topic, group))
        if old is not None and class_crc in {old.class_crc, 0}:
            return False
        checksum = body_crc(source)
        if checksum != class_crc:
            raise FilterClassRefused(
                f"the source of {class_name} has the checksum {checksum}, its header says {class_crc}"
            )
        match = self._classes.get(class_name)
        self.filter_class_table[topic, group] = FilterClassInfo(class_name, class_crc, source, match)
        return True

    def find_filter_class(self, group: str, topic: str) -> FilterClassInfo | None:
        """Return what a group uploaded for a topic."""
        return self.filter_class_table.get((topic, group))


class FilterClassRefused(ValueError):
    """An upload that is not what its header says."""


class FilterServer:
    """A filter server at `address` ("ip:port"). It is called with the time, as a broker is, and asks the broker back.

    `ask_broker` sends a request to the one broker it belongs to. `on_exit` is called when that broker cannot be
    reached: the process ended itself then. `observe` hears of `FilterClass` and `ClassFilter`.
    """

    def __init__(
        self,
        address: str,
        classes: Mapping[str, FilterClass],
        *,
        now: int,
        ask_broker: AskBroker,
        on_exit: Callable[[], None] | None = None,
        observe: Observer | None = None,
    ) -> None:
        self.address = address
        self.filter_class_manager = FilterClassManager(classes)
        self.registered = False
        self._ask_broker = ask_broker
        self._on_exit = on_exit
        self._observe = observe
        self._timers = Timers(now)
        self._timers.at_fixed_rate("register", now + REGISTER_FIRST_MS, REGISTER_PERIOD_MS, self._register)

    def handle(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand | None:
        """Answer an upload (302) at once and a pull (11) when the broker has answered; nothing else is answered."""
        if command.code == RequestCode.REGISTER_MESSAGE_FILTER_CLASS:
            return self._upload(command).reply_to(command)
        if command.code == RequestCode.PULL_MESSAGE:
            return self._pull(channel, command)
        return None

    def on_channel_close(self, channel: Channel, now: int) -> None:
        """A consumer that goes leaves its class behind."""

    def next_timer(self) -> int | None:
        """Return when it next registers with its broker (epoch ms)."""
        return self._timers.next_due()

    def run_timers(self, now: int) -> None:
        """Register when it is time: 3 s after the start, then every 10 s."""
        self._timers.run(now)

    def _register(self, _now: int) -> None:
        header = RegisterFilterServerRequestHeader(self.address)
        request = RemotingCommand.request(RequestCode.REGISTER_FILTER_SERVER, header)
        self._ask_broker(request, REGISTER_TIMEOUT_MS, self._on_registered)

    def _on_registered(self, response: RemotingCommand | None) -> None:
        self.registered = response is not None and response.code == ResponseCode.SUCCESS
        if not self.registered:
            self._timers.cancel("register")
            if self._on_exit is not None:
                self._on_exit()

    def _upload(self, command: RemotingCommand) -> RemotingCommand:
        header = command.decode_header(RegisterMessageFilterClassRequestHeader)
        try:
            stored = self.filter_class_manager.register_filter_class(
                header.consumer_group, header.topic, header.class_name, header.class_crc, command.body or b""
            )
        except FilterClassRefused as refused:
            return RemotingCommand.response(ResponseCode.SYSTEM_ERROR, f"registerFilterClass error: {refused}")
        group, topic = header.consumer_group, header.topic
        self._tell(FilterClassUploaded(group, topic, header.class_name, header.class_crc, stored))
        return RemotingCommand.response(ResponseCode.SUCCESS)

    def _pull(self, channel: Channel, command: RemotingCommand) -> RemotingCommand | None:
        header = command.decode_header(PullMessageRequestHeader)
        info = self.filter_class_manager.find_filter_class(header.consumer_group, header.topic)
        if info is None or info.match is None:
            missing = "not registered" if info is None else "registered but no class"
            remark = f"Find Filter class failed, {missing}"
            return RemotingCommand.response(ResponseCode.SYSTEM_ERROR, remark, PullMessageResponseHeader()).reply_to(
                command
            )
        match = info.match

        def answer(response: RemotingCommand | None) -> None:
            channel.send(self._answer(header, info.class_name, match, response).reply_to(command))

        self._ask_broker(_own_pull(header), PULL_TIMEOUT_MS, answer)
        return None

    def _answer(
        self, header: PullMessageRequestHeader, class_name: str, match: FilterClass, response: RemotingCommand | None
    ) -> RemotingCommand:
        """What becomes of the broker's answer."""
        if response is None or response.code not in _PASSED_ON:
            said = "no answer" if response is None else f"code {response.code}: {response.remark}"
            remark = f"Pull Callback Exception, {said}"
            return RemotingCommand.response(ResponseCode.SYSTEM_ERROR, remark, PullMessageResponseHeader())
        offsets = response.decode_header(PullMessageResponseHeader)
        offsets = PullMessageResponseHeader(
            MASTER_ID, offsets.next_begin_offset, offsets.min_offset, offsets.max_offset
        )
        if response.code != ResponseCode.SUCCESS:
            return RemotingCommand.response(response.code, None, offsets)
        kept = []
        for message in decode_records(response.body or b""):
            try:
                passed = match(message, FilterContext(header.consumer_group))
            except Exception as error:  # noqa: BLE001 - whatever a filter class throws, the whole pull fails
                remark = (
                    f"do Message Filter Exception, ConsumerGroup: {header.consumer_group} Topic: {header.topic} "
                    f"{type(error).__name__}: {error}"
                )
                return RemotingCommand.response(ResponseCode.SYSTEM_ERROR, remark, offsets)
            group, topic = header.consumer_group, header.topic
            self._tell(ClassAsked(group, topic, message.queue_id, message.queue_offset, class_name, passed))
            if passed:
                kept.append(_encoded(message, offsets))
        if not kept:
            return RemotingCommand.response(ResponseCode.PULL_RETRY_IMMEDIATELY, None, offsets)
        return RemotingCommand.response(ResponseCode.SUCCESS, None, offsets, b"".join(kept))

    def _tell(self, event: Event) -> None:
        if self._observe is not None:
            self._observe(event)


_PASSED_ON: Final = frozenset({
    ResponseCode.SUCCESS, ResponseCode.PULL_NOT_FOUND, ResponseCode.PULL_RETRY_IMMEDIATELY,
    ResponseCode.PULL_OFFSET_MOVED,
})  # fmt: skip


def _own_pull(header: PullMessageRequestHeader) -> RemotingCommand:
    """The filter server's pull: everything, for its own group, without the consumer's offset."""
    own = PullMessageRequestHeader(
        consumer_group=FILTERSRV_CONSUMER_GROUP,
        topic=header.topic,
        queue_id=header.queue_id,
        queue_offset=header.queue_offset,
        max_msg_nums=header.max_msg_nums,
        sys_flag=FLAG_SUSPEND | FLAG_SUBSCRIPTION,
        commit_offset=0,
        suspend_timeout_millis=SUSPEND_MS,
        subscription="*",
        sub_version=0,
    )
    return RemotingCommand.request(RequestCode.PULL_MESSAGE, own)


def _encoded(message: MessageExt, offsets: PullMessageResponseHeader) -> bytes:
    """The record again: with the offsets that a pull adds, compressed anew when it is large."""
    message.properties[PROPERTY_MIN_OFFSET] = str(offsets.min_offset)
    message.properties[PROPERTY_MAX_OFFSET] = str(offsets.max_offset)
    message.sys_flag &= ~COMPRESSED_FLAG
    message.body = message.body or b""
    if len(message.body) >= COMPRESS_FROM_BYTES:
        message.body = compress(message.body)
        message.sys_flag |= COMPRESSED_FLAG
    message.body_crc = body_crc(message.body)
    message.store_size = 0
    return encode_record(message)
