"""A broker for other people's tests: `with rmqlab.serve() as broker:` and a name server and a broker are up.

No JVM, no container: a thread of this process, free ports on the loopback address, messages in memory unless told
otherwise.
"""

from __future__ import annotations

import asyncio
import threading
import time
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from rmqlab.errors import BadInput
from rmqlab.lab.served import ServedWatch
from rmqlab.message.message import Message, MessageExtBrokerInner
from rmqlab.message.properties import properties_to_string
from rmqlab.message.record import decode_record
from rmqlab.message.topics import AUTO_CREATE_TOPIC_KEY_TOPIC, validate_send_topic
from rmqlab.protocol.heartbeat import MessageModel
from rmqlab.protocol.topic_config import PERM_READ, PERM_WRITE, TopicConfig
from rmqlab.rules import tags_code
from rmqlab.runtime.broker_startup import BrokerStartup
from rmqlab.runtime.serve_config import ServeConfig
from rmqlab.store.consume_queue import ENTRY

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

    from rmqlab.broker.broker import Broker
    from rmqlab.lab.served import LostMessage
    from rmqlab.message.message import MessageExt

T = TypeVar("T")
STOP_SECONDS = 10.0
DEFAULT_TOPIC_QUEUE_NUMS = 4  # 4.8.0 `DefaultMQProducer.defaultTopicQueueNums`
_POLL_SECONDS = 0.02


class ServeError(RuntimeError):
    """The broker is not running, or a message was not stored."""


def serve(
    *,
    listen: str = "127.0.0.1:0",
    namesrv: str = "127.0.0.1:0",
    store: str | Path | None = None,
    config: str | Path | None = None,
    acl: str | Path | Mapping[str, Any] | None = None,
    **settings: object,
) -> ServedBroker:
    """Return a broker that runs inside `with`, or between `start` and `stop`.

    `listen` and `namesrv` are "host:port", port 0 means any free one; `store` is a folder (None: in memory); `config` a
    broker.conf; `acl` has the rules of access control or names their file (None: nothing is checked); `settings` are
    those of RocketMQ 4.8.0 under their names, `enablePropertyFilter=True` for example.
    Raises `rmqlab.errors.BadInput` for a setting that no 4.8.0 broker has or that does not fit.
    """
    extra = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in settings.items()}
    return ServedBroker(
        ServeConfig.of_file(
            None if config is None else Path(config), extra, listen=listen, namesrv=namesrv, store=store, acl=acl
        )
    )


class ServedBroker:
    """A broker and its name server on a thread of their own. What a test asks of them runs on that thread."""

    def __init__(self, config: ServeConfig) -> None:
        """Nothing runs yet."""
        self._config = config
        self._startup: BrokerStartup | None = None
        self._watch: ServedWatch | None = None
        self._turns: dict[str, count[int]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._stop: asyncio.Event | None = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def namesrv_addr(self) -> str:
        """The name server's address, for `setNamesrvAddr` of a client."""
        return self._running().namesrv_addr

    @property
    def broker_addr(self) -> str:
        """The broker's own address."""
        return self._running().broker_addr

    def start(self) -> Self:
        """Start, and return when clients can connect. Raises `BadInput` when a port or the store cannot be had."""
        if self._thread is not None:
            raise ServeError("this broker runs already")
        started = threading.Event()
        failure: list[BaseException] = []
        self._thread = threading.Thread(target=self._run, args=(started, failure), name="rmqlab serve", daemon=True)
        self._thread.start()
        started.wait()
        if failure:
            self._thread.join()
            self._thread = None
            raise failure[0]
        return self

    def stop(self) -> None:
        """Stop, keeping what was acknowledged; nothing happens when it does not run."""
        if self._thread is None or self._loop is None or self._stop is None:
            return
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(STOP_SECONDS)
        if self._thread.is_alive():
            raise ServeError(f"the broker did not stop within {STOP_SECONDS:g} s")
        self._thread = self._startup = None

    def _run(self, started: threading.Event, failure: list[BaseException]) -> None:
        async def main() -> None:
            self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
            startup = BrokerStartup(self._config, on_broker=self._observe)
            await startup.start()
            self._startup = startup
            started.set()
            try:
                await self._stop.wait()
            finally:
                await startup.stop()

        try:
            asyncio.run(main())
        except BaseException as error:  # noqa: BLE001 - whoever started the thread raises it
            failure.append(error)
        finally:
            started.set()

    def _observe(self, broker: Broker) -> None:
        self._turns.clear()
        self._watch = ServedWatch(broker)
        broker.observe = self._watch.observe

    def _running(self) -> BrokerStartup:
        if self._startup is None:
            raise ServeError("the broker does not run: use it inside `with`, or call start() first")
        return self._startup

    def __repr__(self) -> str:
        """Tell where it is: `<rmqlab broker 127.0.0.1:40001, name server 127.0.0.1:40002>`."""
        startup = self._startup
        if startup is None:
            return "<rmqlab broker, not running>"
        return f"<rmqlab broker {startup.broker_addr}, name server {startup.namesrv_addr}>"

    def call(self, function: Callable[[Broker], T]) -> T:
        """Run `function(broker)` on the broker's thread and return what it returns."""
        startup, loop = self._running(), cast("asyncio.AbstractEventLoop", self._loop)

        async def on_the_loop() -> T:
            return startup.call(function)

        return asyncio.run_coroutine_threadsafe(on_the_loop(), loop).result()

    def create_topic(self, topic: str, queues: int = 4) -> None:
        """Make a topic, or change its number of queues: clients find it in the name server's route at once.

        Without it a topic comes into being with its first message. Until then a consumer finds no route for it, and
        asks again every 30 s (4.8.0 `pollNameServerInterval`).
        Raises `rmqlab.errors.BadInput` for a name that 4.8.0 refuses, and for a number below 1.
        """
        _check_whole("queues", queues, 1)
        self.call(lambda broker: make_topic(broker, topic, queues))

    def send(
        self,
        topic: str,
        body: bytes | str,
        tags: str | None = None,
        keys: str | None = None,
        *,
        queue: int | None = None,
        **user: str,
    ) -> str:
        """Store a message as a producer's would be, without one, and return its offsetMsgId; `user` are properties.

        Messages of a topic go round its queues, the first one into queue 0 (a real producer begins anywhere); `queue`
        names another. A new topic gets 4 queues, as for a default producer.
        Raises `rmqlab.errors.BadInput` for what no producer could send, ServeError when the broker refuses it.
        """
        message = _message(topic, body, tags, keys, user)
        if queue is not None:
            _check_whole("queue", queue, 0)

        def put(broker: Broker) -> str:
            config = _topic_to_send_to(broker, topic)
            if queue is not None and queue >= config.write_queue_nums:
                raise BadInput(
                    f"queue {queue}: topic {topic} has {config.write_queue_nums} queues, numbered from 0; "
                    f"create_topic({topic!r}, queues={queue + 1}) gives it more"
                )
            turn = next(self._turns.setdefault(topic, count()))
            result = broker.message_store.put_message(
                MessageExtBrokerInner(
                    topic=topic,
                    body=message.body,
                    properties=message.properties,
                    queue_id=turn % config.write_queue_nums if queue is None else queue,
                    born_timestamp=broker.now,
                    born_host=broker.store_host,
                    store_host=broker.store_host,
                    properties_string=properties_to_string(message.properties),
                    tags_code=tags_code(tags),
                ),
                broker.now,
            )
            if result.append_result is None or not result.is_ok:
                raise ServeError(f"message of topic {topic!r} was not stored: {result.status.name}")
            return result.append_result.msg_id

        return self.call(put)

    def messages(self, topic: str) -> list[MessageExt]:
        """Return every message of a topic, queue by queue, in their order."""
        return self.call(lambda broker: _messages(broker, topic))

    def committed(self, group: str, topic: str) -> dict[int, int]:
        """Return a group's committed offset of each queue; empty when it has none."""

        def read(broker: Broker) -> dict[int, int]:
            return dict(broker.consumer_offset_manager.query_offsets(group, topic) or {})

        return self.call(read)

    def members(self, group: str) -> list[str]:
        """Return the client ids of a consumer group's members; empty when the group is not online."""

        def read(broker: Broker) -> list[Any]:
            info = broker.consumer_manager.get_consumer_group_info(group)
            return [] if info is None else [client.client_id for client in info.channel_info_table.values()]

        return sorted(self.call(read))

    def wait_consumed(self, group: str, topic: str, timeout: float = 60.0) -> None:
        """Wait until a group's committed offsets cover every message that its topic holds now.

        Clients of 4.8.0 commit every 5 s (10 s after their start) and when they are shut down. An offset also passes
        messages that a filter dropped (`lost` tells them), at the latest when the next pull comes back, after 15 to
        20 s. Raises ServeError after `timeout` seconds, with the queues that are behind.
        """

        def behind(broker: Broker) -> dict[int, tuple[int, int]]:
            at = broker.consumer_offset_manager.query_offsets(group, topic) or {}
            return {
                queue: (max(at.get(queue, 0), 0), end) for queue, end in ends.items() if max(at.get(queue, 0), 0) < end
            }

        ends = self.call(lambda broker: _ends(broker, topic))
        if not ends:
            raise ServeError(f"topic {topic!r} holds no message: there is nothing to wait for")
        deadline = time.monotonic() + timeout
        while missing := self.call(behind):
            if time.monotonic() >= deadline:
                told = ", ".join(f"queue {queue}: committed {at} of {end}" for queue, (at, end) in missing.items())
                told += f"; online: {', '.join(self.members(group)) or 'nobody'}"
                raise ServeError(f"group {group!r} did not consume {topic!r} in {timeout:g} s: {told}")
            time.sleep(_POLL_SECONDS)

    def lost(self, group: str, topic: str) -> list[LostMessage]:
        """Return the messages of a topic that no member of a group got though a member asked for them, as of now.

        The broker knows what it dropped and whom it handed what; that a listener ran it takes from the committed
        offsets. So wait for the group first (`wait_consumed`): what waits is not lost. Each one has its `fate` and a
        `certainty` ("proved", "implied", "unknown"). Messages that the group had passed before this broker started
        are left out; those sent before its first member came are not: an offset that begins behind them passes them.
        Raises ServeError when no member subscribed the topic since the start, and for a broadcasting group, whose
        members keep their offsets to themselves.
        """

        def read(broker: Broker) -> list[LostMessage]:
            watch, info = self._watch, broker.consumer_manager.get_consumer_group_info(group)
            if watch is None or not watch.knows(group, topic):
                raise ServeError(f"no member of group {group!r} has subscribed {topic!r}: nothing is known of it")
            if info is not None and info.message_model is MessageModel.BROADCASTING:
                raise ServeError(f"group {group!r} is broadcasting: its members keep their offsets to themselves")
            return watch.lost(group, topic, _messages(broker, topic))

        return self.call(read)


def make_topic(broker: Broker, topic: str, queues: int) -> None:
    """Make a topic or change its number of queues, and register it. Raises BadInput for a name that 4.8.0 refuses."""
    _check_topic(broker, topic)
    broker.topic_config_manager.update_topic_config(TopicConfig(topic, queues, queues, PERM_READ | PERM_WRITE))
    broker.register_broker_all(check_order_config=False, oneway=True)


def _check_topic(broker: Broker, topic: object) -> None:
    if not isinstance(topic, str):
        raise BadInput(f"topic {topic!r}: a name is text")
    remark = broker.topic_config_manager.refusal_of(topic)
    if remark is not None:
        raise BadInput(f"topic {topic!r}: {remark}")


def _topic_to_send_to(broker: Broker, topic: str) -> TopicConfig:
    """Return a topic's configuration, made if it is new. Raises BadInput, or ServeError where none may be made."""
    known = broker.topic_config_manager.select_topic_config(topic)
    if known is not None and validate_send_topic(topic) is None:
        return known
    _check_topic(broker, topic)
    made = broker.topic_config_manager.create_topic_in_send_message_method(
        topic, AUTO_CREATE_TOPIC_KEY_TOPIC, DEFAULT_TOPIC_QUEUE_NUMS, 0
    )
    if made is None:
        raise ServeError(f"topic {topic!r} does not exist, and autoCreateTopicEnable=false: use create_topic")
    return made


def _check_whole(name: str, value: object, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise BadInput(f"{name}={value!r}: a whole number of {least} or more is wanted")


def _message(topic: str, body: bytes | str, tags: str | None, keys: str | None, user: Mapping[str, str]) -> Message:
    if not isinstance(body, bytes | str):
        raise BadInput(f"the body must be bytes or text, not {body!r}")
    for name, value in {"tags": tags or "", "keys": keys or "", **user}.items():
        if not isinstance(value, str):
            raise BadInput(f"{name}={value!r}: a property is text, {name}={str(value)!r} for example")
    message = Message.of(topic, body.encode() if isinstance(body, str) else body, tags, keys)
    for name, value in user.items():
        message.put_user_property(name, value)
    return message


def _ends(broker: Broker, topic: str) -> dict[int, int]:
    """Return the end of each queue that holds messages."""
    queues = broker.message_store.consume_queue_table.get(topic, {})
    ends = {queue: broker.message_store.get_max_offset_in_queue(topic, queue) for queue in sorted(queues)}
    return {queue: end for queue, end in ends.items() if end > 0}


def _messages(broker: Broker, topic: str) -> list[MessageExt]:
    found = []
    store = broker.message_store
    for _, queue in sorted(store.consume_queue_table.get(topic, {}).items()):
        index = queue.min_offset_in_queue
        while (entries := queue.get_index_buffer(index)) is not None:
            for offset, size, _ in ENTRY.iter_unpack(entries):
                record = store.select_one_message_by_offset(offset, size)
                message = None if record is None else decode_record(record)
                if message is not None:
                    found.append(message)
                index += 1
    return found
