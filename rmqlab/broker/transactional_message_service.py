"""Half messages: stored aside until their producer commits them or rolls them back.

Source: 4.8.0 `TransactionalMessageServiceImpl` and `TransactionalMessageBridge`. Who asks producers about half messages
that nobody ended is the `TransactionalMessageCheckService`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.message.message import Message, MessageExtBrokerInner
from rmqlab.message.properties import (
    PROPERTY_REAL_QUEUE_ID,
    PROPERTY_REAL_TOPIC,
    in_hash_map_order,
    properties_to_string,
)
from rmqlab.message.sysflag import TRANSACTION_NOT_TYPE, reset_transaction_value
from rmqlab.message.topics import TRANS_HALF_TOPIC, TRANS_OP_HALF_TOPIC
from rmqlab.rules import tags_code

if TYPE_CHECKING:
    from rmqlab.broker.broker import Broker
    from rmqlab.message.message import MessageExt
    from rmqlab.store.put_message_result import PutMessageResult

REMOVE_TAG = "d"


class TransactionalMessageService:
    """The half topic holds prepared messages; an entry "d" in the op topic says that one is dealt with."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def prepare_message(self, message: MessageExtBrokerInner, now: int) -> PutMessageResult:
        """Store a message aside, in queue 0 of the half topic; its own topic and queue become properties."""
        message.properties[PROPERTY_REAL_TOPIC] = message.topic
        message.properties[PROPERTY_REAL_QUEUE_ID] = str(message.queue_id)
        message.properties = in_hash_map_order(message.properties)
        message.sys_flag = reset_transaction_value(message.sys_flag, TRANSACTION_NOT_TYPE)
        message.topic = TRANS_HALF_TOPIC
        message.queue_id = 0
        message.properties_string = properties_to_string(message.properties)
        return self._broker.message_store.async_put_message(message, now)

    def half_message(self, commit_log_offset: int) -> MessageExt | None:
        """Return the message at a commit log offset (bytes), None when there is none."""
        return self._broker.message_store.look_message_by_offset(commit_log_offset)

    def delete_prepare_message(self, message: MessageExt, now: int) -> None:
        """Note in the op topic that a half message is dealt with: its queue offset as text, tag "d"."""
        note = Message.of(TRANS_OP_HALF_TOPIC, str(message.queue_offset).encode(), tags=REMOVE_TAG)
        # Java gives the note an id of its own and WAIT=false after the text of its properties was made.
        properties = in_hash_map_order(note.properties)
        host = self._broker.store_host
        self._broker.message_store.put_message(
            MessageExtBrokerInner(
                topic=note.topic,
                body=note.body,
                properties=properties,
                queue_id=message.queue_id,
                born_timestamp=now,
                born_host=host,
                store_host=host,
                properties_string=properties_to_string(properties),
                tags_code=tags_code(REMOVE_TAG),
            ),
            now,
        )
