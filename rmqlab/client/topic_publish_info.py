"""What a route means for a client: the queues to send to and the queues to read (`TopicPublishInfo`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.message.message import MessageQueue
from rmqlab.protocol.route import MASTER_ID
from rmqlab.protocol.topic_config import is_readable, is_writeable

if TYPE_CHECKING:
    from rmqlab.protocol.route import TopicRouteData
    from rmqlab.runtime.runtime import Runtime

INT_MAX = 0x7FFFFFFF


class TopicPublishInfo:
    """The queues of a topic in the order of sending, and where the round robin stands.

    `message_queue_list` is empty until a route is known. The first queue is random: a choice point (row S-20).
    """

    __slots__ = ("_index", "have_topic_router_info", "message_queue_list", "order_topic")

    def __init__(self, queues: list[MessageQueue] | None = None, *, order_topic: bool = False) -> None:
        """Without `queues` nothing is known yet."""
        self.message_queue_list = queues or []
        self.order_topic = order_topic
        self.have_topic_router_info = queues is not None
        self._index: int | None = None

    def ok(self) -> bool:
        """There is a queue to send to."""
        return bool(self.message_queue_list)

    def select_one_message_queue(self, runtime: Runtime, last_broker_name: str | None = None) -> MessageQueue:
        """The next queue in turn; after a failed send preferably one of another broker than `last_broker_name`."""
        if last_broker_name is not None:
            for _ in self.message_queue_list:
                queue = self._next(runtime)
                if queue.broker_name != last_broker_name:
                    return queue
        return self._next(runtime)

    def _next(self, runtime: Runtime) -> MessageQueue:
        count = len(self.message_queue_list)
        if self._index is None:
            self._index = runtime.choose("first_queue", count) if count > 1 else 0
        else:
            self._index = (self._index + 1) & INT_MAX
        return self.message_queue_list[self._index % count]


def publish_info_of(topic: str, route: TopicRouteData) -> TopicPublishInfo:
    """The queues to send to: those of `orderTopicConf` if set, else the writable ones that have a master."""
    queues: list[MessageQueue] = []
    if route.order_topic_conf:
        for broker in filter(None, route.order_topic_conf.split(";")):
            name, _, count = broker.partition(":")
            queues += [MessageQueue(topic, name, i) for i in range(int(count))]
        return TopicPublishInfo(queues, order_topic=True)
    masters = {broker.broker_name for broker in route.broker_datas if MASTER_ID in broker.broker_addrs}
    for data in sorted(route.queue_datas):
        if is_writeable(data.perm) and data.broker_name in masters:
            queues += [MessageQueue(topic, data.broker_name, i) for i in range(data.write_queue_nums)]
    return TopicPublishInfo(queues)


def subscribe_info_of(topic: str, route: TopicRouteData) -> list[MessageQueue]:
    """The queues to read: the readable ones of every broker, masters or not."""
    return [
        MessageQueue(topic, data.broker_name, i)
        for data in route.queue_datas
        if is_readable(data.perm)
        for i in range(data.read_queue_nums)
    ]
