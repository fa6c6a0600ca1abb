"""A broker for other people's tests: `with rmqlab.serve() as broker:` and a name server and a broker are up.

No JVM, no container: a thread of this process, free ports on the loopback address, messages in memory unless set
otherwise.
"""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import Future
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, cast

from rmqlab.client.client_config import PushConsumerConfig
from rmqlab.client.listener import ConsumeConcurrentlyStatus
from rmqlab.language import _, joined
from rmqlab.protocol.heartbeat import MessageModel
from rmqlab.protocol.subscription_data import SQL92, TAG
from rmqlab.rules import rules_of
from rmqlab_tools.live.broker_startup import BrokerStartup
from rmqlab_tools.live.loss_watch import LossWatch
from rmqlab_tools.live.serve_config import ServeConfig
from rmqlab_tools.live.served_topics import (
    ServeError,
    check_whole,
    ends_of,
    make_topic,
    message_of,
    messages_of,
    put_message,
)
from rmqlab_tools.live.socket_consumers import SocketConsumers

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping
    from types import TracebackType

    from rmqlab.broker.broker import Broker
    from rmqlab.client.listener import ConsumeConcurrentlyContext
    from rmqlab.client.push_consumer import DefaultMQPushConsumer
    from rmqlab.message.message import MessageExt
    from rmqlab.rules import Rules
    from rmqlab_tools.live.loss_watch import LostMessage

T = TypeVar("T")
STOP_SECONDS = 10.0
_POLL_SECONDS = 0.02


def serve(
    *,
    listen: str = "127.0.0.1:0",
    namesrv: str = "127.0.0.1:0",
    store: str | Path | None = None,
    config: str | Path | None = None,
    acl: str | Path | Mapping[str, Any] | None = None,
    version: str | None = None,
    rules: Rules | None = None,
    **settings: object,
) -> ServedBroker:
    """A broker that runs inside `with`, or between `start` and `stop`.

    `listen` and `namesrv` are "host:port", port 0 means any free one; `acl` has rules or names their file (None:
    nothing is checked); `version` is the broker's, or `rules` are; `settings` are those of RocketMQ 4.8.0 under their
    names, `enablePropertyFilter=True` for example.

    Args:
        store: keep messages in this folder (else: in memory)
        config: settings, a broker.conf of RocketMQ 4.8.0
        acl: check every request by these rules, a plain_acl.yml

    >>> with serve(enablePropertyFilter=True) as broker:
    ...     broker.create_topic("T", queues=2)
    ...     broker.namesrv_addr.rpartition(":")[0]
    '127.0.0.1'

    Raises:
        BadInput: a setting that no 4.8.0 broker has or that does not fit, or a version that is not there.
    """
    extra = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in settings.items()}
    path = None if config is None else Path(config)
    served = ServeConfig.of_file(path, extra, listen=listen, namesrv=namesrv, store=store, acl=acl)
    served.rules = rules_of(version, rules)
    return ServedBroker(served)


class ServedConsumer:
    """A push consumer that runs on the broker's thread; `got` are the bodies that its listener took, in their order."""

    def __init__(self, broker: ServedBroker, name: str) -> None:
        self.name = name
        self.got: list[str] = []
        self._broker = broker
        self._client: DefaultMQPushConsumer | None = None

    async def start(
        self, clients: SocketConsumers, group: str, subscriptions: Mapping[str, tuple[str, str]], mode: str
    ) -> None:
        """Start the client; its id is this machine's address, @ and the name."""
        config = PushConsumerConfig(instance_name=self.name, message_model=MessageModel[mode.upper()])
        self._client = await clients.push_consumer(group, subscriptions, self._take, config)

    def stop(self) -> None:
        """Shut it down in good order: it commits its offsets and leaves its group."""
        if self._client is not None:
            client, self._client = self._client, None
            self._broker.run(client.shutdown())

    def _take(self, messages: list[MessageExt], context: ConsumeConcurrentlyContext) -> ConsumeConcurrentlyStatus:
        self.got += [(message.body or b"").decode("utf-8", "replace") for message in messages]
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    def __repr__(self) -> str:
        """`<consumer A, 2 messages>`."""
        return f"<consumer {self.name}, {len(self.got)} messages>"


class ServedBroker:
    """A broker and its name server on a thread of their own. What a test asks of them runs on that thread."""

    def __init__(self, config: ServeConfig) -> None:
        """Nothing runs yet."""
        self._config = config
        self._startup: BrokerStartup | None = None
        self._watch: LossWatch | None = None
        self._turns: dict[str, count[int]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._stop: asyncio.Event | None = None
        self._clients: SocketConsumers | None = None

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
        """Start, and return when clients can connect.

        Raises:
            BadInput: when a port or the store cannot be had.
        """
        if self._thread is not None:
            raise ServeError(_("this broker runs already"))
        ready: Future[None] = Future()
        self._thread = threading.Thread(target=asyncio.run, args=(self._main(ready),), name="rmqlab serve", daemon=True)
        self._thread.start()
        try:
            ready.result()
        except BaseException:
            self._thread.join()
            self._thread = None
            raise
        return self

    def stop(self) -> None:
        """Stop, keeping what was acknowledged; nothing happens when it does not run."""
        if self._thread is None or self._loop is None or self._stop is None:
            return
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(STOP_SECONDS)
        if self._thread.is_alive():
            raise ServeError(_("the broker did not stop within {seconds} s", seconds=f"{STOP_SECONDS:g}"))
        self._thread = self._startup = None

    async def _main(self, ready: Future[None]) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        startup = BrokerStartup(self._config, on_broker=self._observe)
        try:
            await startup.start()
        except BaseException as error:  # noqa: BLE001 - whoever started the thread raises it
            ready.set_exception(error)
            return
        self._startup = startup
        ready.set_result(None)
        try:
            await self._stop.wait()
        finally:
            if self._clients is not None:
                await self._clients.shutdown()
                self._clients = None
            await startup.stop()

    def _observe(self, broker: Broker) -> None:
        self._turns.clear()
        self._watch = LossWatch(broker)
        broker.observe = self._watch.observe

    def _running(self) -> BrokerStartup:
        if self._startup is None:
            raise ServeError(_("the broker does not run: use it inside `with`, or call start() first"))
        return self._startup

    def __repr__(self) -> str:
        """Where it is: `<rmqlab broker 127.0.0.1:40001, name server 127.0.0.1:40002>`."""
        startup = self._startup
        if startup is None:
            return "<rmqlab broker, not running>"
        return f"<rmqlab broker {startup.broker_addr}, name server {startup.namesrv_addr}>"

    def call(self, function: Callable[[Broker], T]) -> T:
        """Run `function(broker)` on the broker's thread and return what it returns."""
        startup = self._running()

        async def on_the_loop() -> T:
            return startup.call(function)

        return self.run(on_the_loop())

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the broker's thread and return what it returns."""
        self._running()
        return asyncio.run_coroutine_threadsafe(coroutine, cast("asyncio.AbstractEventLoop", self._loop)).result()

    def consumer(
        self,
        name: str,
        *,
        group: str,
        subscribe: Mapping[str, str] | None = None,
        sql92: Mapping[str, str] | None = None,
        mode: Literal["clustering", "broadcasting"] = "clustering",
    ) -> ServedConsumer:
        """Start a push consumer as 4.8.0's over a real connection; it runs until `stop`, or until the broker stops.

        `subscribe` maps topics to tag expressions, `sql92` topics to conditions. What it gets is in `got`.

        >>> with serve() as broker:
        ...     broker.create_topic("T")
        ...     a = broker.consumer("A", group="G", subscribe={"T": "tagA"})
        ...     broker.members("G") == [f"127.0.0.1@{a.name}"]
        True

        Raises:
            MQClientError: the client refuses to start, as 4.8.0's would: no topic, a wrong group name.
        """
        if self._clients is None:
            self._clients = SocketConsumers(self.namesrv_addr, self._config.rules)
        subscriptions = {topic: (TAG, expression) for topic, expression in (subscribe or {}).items()}
        subscriptions |= {topic: (SQL92, expression) for topic, expression in (sql92 or {}).items()}
        consumer = ServedConsumer(self, name)
        self.run(consumer.start(self._clients, group, subscriptions, mode))
        return consumer

    def create_topic(self, topic: str, queues: int = 4) -> None:
        """Make a topic, or change its number of queues: clients find it in the name server's route at once.

        Without it a topic comes into being with its first message. Until then a consumer finds no route for it, and
        asks again every 30 s (4.8.0 `pollNameServerInterval`).
        Raises `rmqlab.errors.BadInput` for a name that 4.8.0 refuses, and for a number below 1.
        """
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
        message = message_of(topic, body, tags, keys, user)
        if queue is not None:
            check_whole("queue", queue, 0)

        def put(broker: Broker) -> str:
            return put_message(broker, message, queue, self._turns.setdefault(topic, count()))

        return self.call(put)

    def messages(self, topic: str) -> list[MessageExt]:
        """Every message of a topic, queue by queue, in their order."""
        return self.call(lambda broker: list(messages_of(broker, topic)))

    def committed(self, group: str, topic: str) -> dict[int, int]:
        """A group's committed offset of each queue; empty when it has none."""

        def read(broker: Broker) -> dict[int, int]:
            return dict(broker.consumer_offset_manager.query_offsets(group, topic) or {})

        return self.call(read)

    def members(self, group: str) -> list[str]:
        """The client ids of a consumer group's members; empty when the group is not online."""

        def read(broker: Broker) -> list[Any]:
            info = broker.consumer_manager.get_consumer_group_info(group)
            return [] if info is None else [client.client_id for client in info.channel_info_table.values()]

        return sorted(self.call(read))

    def wait_consumed(self, group: str, topic: str, timeout: float = 60.0) -> None:
        """Wait until a group's committed offsets cover every message that its topic holds now.

        Clients of 4.8.0 commit every 5 s (10 s after their start) and when they are shut down. An offset also passes
        messages that a filter dropped (`lost` names them), at the latest when the next pull comes back, after 15 to 20
        s.

        Raises:
            ServeError: after `timeout` seconds, with the queues that lag.
        """

        def behind(broker: Broker) -> dict[int, tuple[int, int]]:
            offsets = broker.consumer_offset_manager.query_offsets(group, topic) or {}
            return {queue: (at, end) for queue, end in ends.items() if (at := max(offsets.get(queue, 0), 0)) < end}

        ends = self.call(lambda broker: ends_of(broker, topic))
        if not ends:
            raise ServeError(_("topic {topic} holds no message: there is nothing to wait for", topic=f"{topic!r}"))
        deadline = time.monotonic() + timeout
        while missing := self.call(behind):
            if time.monotonic() >= deadline:
                queues = (
                    _("queue {queue}: committed {at} of {end}", queue=queue, at=at, end=end)
                    for queue, (at, end) in missing.items()
                )
                raise ServeError(
                    _(
                        "group {group} did not consume {topic} in {timeout} s: {queues}; online: {members}",
                        group=f"{group!r}", topic=f"{topic!r}", timeout=f"{timeout:g}", queues=joined(", ", queues),
                        members=joined(", ", self.members(group)) or _("nobody"),
                    )
                )  # fmt: skip
            time.sleep(_POLL_SECONDS)

    def lost(self, group: str, topic: str) -> list[LostMessage]:
        """The messages of a topic that no member of a group got though a member asked for them, as of now.

        The broker knows what it dropped and whom it handed what; that a listener ran it takes from the committed
        offsets. So wait for the group first (`wait_consumed`): what waits is not lost. Each one has its `fate` and a
        `certainty` ("proved", "implied", "unknown"). Messages that the group had passed before this broker started are
        left out; those sent before its first member came are not: an offset that begins after them passes them.

        Raises:
            ServeError: when no member subscribed the topic since the start, and for a broadcasting group, whose members
                keep their offsets to themselves.
        """

        def read(broker: Broker) -> list[LostMessage]:
            watch, info = self._watch, broker.consumer_manager.get_consumer_group_info(group)
            if watch is None or not watch.knows(group, topic):
                raise ServeError(
                    _(
                        "no member of group {group} has subscribed {topic}: nothing is known of it",
                        group=f"{group!r}",
                        topic=f"{topic!r}",
                    )
                )
            if info is not None and info.message_model is MessageModel.BROADCASTING:
                raise ServeError(
                    _("group {group} is broadcasting: its members keep their offsets to themselves", group=f"{group!r}")
                )
            return watch.lost(group, topic, messages_of(broker, topic))

        return self.call(read)
