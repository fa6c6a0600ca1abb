"""A broker for other people's tests: `with rmqlab.serve() as broker:` and a name server and a broker are up.

No JVM, no container: a thread of this process, free ports on the loopback address, messages in memory unless told
otherwise.
"""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from rmqlab.message.message import Message, MessageExtBrokerInner
from rmqlab.message.properties import properties_to_string
from rmqlab.message.record import decode_record
from rmqlab.message.sysflag import topic_filter_type
from rmqlab.protocol.topic_config import PERM_READ, PERM_WRITE, TopicConfig
from rmqlab.runtime.broker_startup import BrokerStartup
from rmqlab.runtime.clock import epoch_ms
from rmqlab.runtime.serve_config import ServeConfig
from rmqlab.store.consume_queue import ENTRY

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

    from rmqlab.broker.broker import Broker
    from rmqlab.message.message import MessageExt

T = TypeVar("T")
STOP_SECONDS = 10.0


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
    Raises `rmqlab.errors.BadInput` for a setting that does not fit.
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
            startup = BrokerStartup(self._config)
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

    def _running(self) -> BrokerStartup:
        if self._startup is None:
            raise ServeError("the broker does not run: use it inside `with`, or call start() first")
        return self._startup

    def call(self, function: Callable[[Broker], T]) -> T:
        """Run `function(broker)` on the broker's thread and return what it returns."""
        startup, loop = self._running(), self._loop

        async def on_the_loop() -> T:
            if startup.broker is None:
                raise ServeError("the broker does not run")
            return function(startup.broker)

        if loop is None:
            raise ServeError("the broker does not run")
        return asyncio.run_coroutine_threadsafe(on_the_loop(), loop).result()

    def create_topic(self, topic: str, queues: int = 4) -> None:
        """Make a topic, or change its number of queues."""

        def create(broker: Broker) -> None:
            broker.now = epoch_ms()
            broker.topic_config_manager.update_topic_config(TopicConfig(topic, queues, queues, PERM_READ | PERM_WRITE))
            broker.register_broker_all(check_order_config=False, oneway=True, force_register=True)

        self.call(create)

    def send(
        self,
        topic: str,
        body: bytes | str,
        tags: str | None = None,
        keys: str | None = None,
        *,
        queue: int = 0,
        **user: str,
    ) -> str:
        """Store a message without a producer and return its offsetMsgId; `user` are properties.

        Raises ServeError when it is refused.
        """
        message = Message.of(topic, body.encode() if isinstance(body, str) else body, tags, keys)
        for name, value in user.items():
            message.put_user_property(name, value)

        def put(broker: Broker) -> str:
            now = epoch_ms()
            result = broker.message_store.put_message(
                MessageExtBrokerInner(
                    topic=topic,
                    body=message.body,
                    properties=message.properties,
                    queue_id=queue,
                    born_timestamp=now,
                    born_host=broker.store_host,
                    store_host=broker.store_host,
                    properties_string=properties_to_string(message.properties),
                    tags_code=MessageExtBrokerInner.tags_string_to_tags_code(topic_filter_type(0), tags),
                ),
                now,
            )
            if result.append_result is None or not result.is_ok:
                raise ServeError(f"message of topic {topic!r} was not stored: {result.status.name}")
            return result.append_result.msg_id

        self.create_if_missing(topic, queue + 1)
        return self.call(put)

    def create_if_missing(self, topic: str, queues: int = 4) -> None:
        """Make a topic unless it is there with that many queues or more."""
        known = self.call(lambda broker: broker.topic_config_manager.select_topic_config(topic))
        if known is None or known.write_queue_nums < queues:
            self.create_topic(topic, max(queues, 4))

    def messages(self, topic: str) -> list[MessageExt]:
        """Return every message of a topic, queue by queue, in their order."""

        def read(broker: Broker) -> list[MessageExt]:
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

        return self.call(read)

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
