"""Topics of a running broker: made, sent to and read on its own thread, for who has no client (`rmqlab.serve`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.client.topic_routes import DEFAULT_TOPIC_QUEUE_NUMS
from rmqlab.errors import BadInput
from rmqlab.language import _, ngettext
from rmqlab.message.message import Message, MessageExtBrokerInner
from rmqlab.message.record import decode_record
from rmqlab.message.topics import AUTO_CREATE_TOPIC_KEY_TOPIC, validate_send_topic
from rmqlab.protocol.topic_config import PERM_READ, PERM_WRITE, TopicConfig

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rmqlab.broker.broker import Broker
    from rmqlab.message.message import MessageExt


class ServeError(RuntimeError):
    """The broker is not running, or a message was not stored."""


def make_topic(broker: Broker, topic: str, queues: int) -> None:
    """Make a topic or change its number of queues, and register it.

    Raises:
        BadInput: a name that 4.8.0 refuses.
    """
    check_whole("queues", queues, 1)
    _check_topic(broker, topic)
    broker.topic_config_manager.update_topic_config(TopicConfig(topic, queues, queues, PERM_READ | PERM_WRITE))
    broker.register_broker_all(check_order_config=False, oneway=True)


def put_message(broker: Broker, message: Message, queue: int | None, turns: Iterator[int]) -> str:
    """Store a message as a producer's would be and return its offsetMsgId; a new topic gets 4 queues.

    It goes to `queue`, or to the one whose turn it is by `turns`.

    Raises:
        BadInput: a queue that is not there.
        ServeError: when the broker refuses the message.
    """
    topic = message.topic
    config = _topic_to_send_to(broker, topic)
    if queue is not None and queue >= config.write_queue_nums:
        raise BadInput(
            ngettext(
                "queue {queue}: topic {topic} has {write_queue_nums} queue, numbered 0; "
                "create_topic({quoted}, queues={queue2}) gives it more",
                "queue {queue}: topic {topic} has {write_queue_nums} queues, numbered from 0; "
                "create_topic({quoted}, queues={queue2}) gives it more",
                config.write_queue_nums,
                queue=queue,
                topic=topic,
                write_queue_nums=config.write_queue_nums,
                quoted=f"{topic!r}",
                queue2=queue + 1,
            )
        )
    turn = next(turns)
    queue_id = turn % config.write_queue_nums if queue is None else queue
    inner = MessageExtBrokerInner.of_broker(message, queue_id, broker.config.store_host, broker.now)
    result = broker.message_store.put_message(inner, broker.now)
    if not result.is_ok:
        raise ServeError(
            _("message of topic {topic} was not stored: {name}", topic=f"{topic!r}", name=result.status.name)
        )
    return result.msg_id


def _check_topic(broker: Broker, topic: object) -> None:
    if not isinstance(topic, str):
        raise BadInput(_("topic {topic}: a name is text", topic=f"{topic!r}"))
    remark = broker.topic_config_manager.refusal_of(topic)
    if remark is not None:
        raise BadInput(_("topic {topic}: {remark}", topic=f"{topic!r}", remark=remark))


def _topic_to_send_to(broker: Broker, topic: str) -> TopicConfig:
    """A topic's configuration, made if it is new.

    Raises:
        BadInput: it cannot be used; the text says what and why.
        ServeError: where none may be made.
    """
    known = broker.topic_config_manager.select_topic_config(topic)
    if known is not None and validate_send_topic(topic) is None:
        return known
    _check_topic(broker, topic)
    made = broker.topic_config_manager.create_topic_in_send_message_method(
        topic, AUTO_CREATE_TOPIC_KEY_TOPIC, DEFAULT_TOPIC_QUEUE_NUMS, 0
    )
    if made is None:
        raise ServeError(
            _("topic {topic} does not exist, and autoCreateTopicEnable=false: use create_topic", topic=f"{topic!r}")
        )
    return made


def check_whole(name: str, value: object, least: int) -> None:
    """Raise BadInput for what is no whole number of `least` or more."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise BadInput(
            _("{name}={value}: a whole number of {least} or more is wanted", name=name, value=f"{value!r}", least=least)
        )


def message_of(topic: str, body: bytes | str, tags: str | None, keys: str | None, user: Mapping[str, str]) -> Message:
    """The message that a producer would send.

    Raises:
        BadInput: what none could.
    """
    if not isinstance(body, bytes | str):
        raise BadInput(_("the body must be bytes or text, not {body}", body=f"{body!r}"))
    for name, value in {"tags": tags or "", "keys": keys or "", **user}.items():
        if not isinstance(value, str):
            raise BadInput(
                _(
                    "{name}={value}: a property is text, {name}={value2} for example",
                    name=name,
                    value=f"{value!r}",
                    value2=f"{str(value)!r}",
                )
            )
    message = Message.of(topic, body.encode() if isinstance(body, str) else body, tags, keys)
    for name, value in user.items():
        message.put_user_property(name, value)
    return message


def ends_of(broker: Broker, topic: str) -> dict[int, int]:
    """The end of each queue that holds messages."""
    queues = broker.message_store.consume_queue_table.get(topic, {})
    ends = {queue: broker.message_store.get_max_offset_in_queue(topic, queue) for queue in sorted(queues)}
    return {queue: end for queue, end in ends.items() if end > 0}


def messages_of(broker: Broker, topic: str) -> Iterator[MessageExt]:
    """Every message of a topic, queue by queue, in their order, with bodies as a consumer gets them."""
    store = broker.message_store
    for _ignored, queue in sorted(store.consume_queue_table.get(topic, {}).items()):
        index = queue.min_offset_in_queue
        while (entry := queue.entry(index)) is not None:
            record = store.commit_log.select_one_message_by_offset(entry[0], entry[1])
            message = None if record is None else decode_record(record)
            if message is not None:
                yield message
            index += 1
