"""A 5.x broker under test that is popped from."""

from __future__ import annotations

import pytest

from rmqlab.message.record import decode_records
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.extra_info import ReceiptHandle, mark_of, parse_start_offset_info
from rmqlab.protocol.pop_headers import (
    AckMessageRequestHeader,
    ChangeInvisibleTimeRequestHeader,
    PopMessageRequestHeader,
    PopMessageResponseHeader,
)
from rmqlab.rules import RULES
from tests.broker.broker_bench import Bench

REVIVE = "rmq_sys_REVIVE_LOG_DefaultCluster"


class PopBench(Bench):
    """A broker of 5.x; requests of POP with few words."""

    def __init__(self, *, rules=None, **settings):
        """`settings` besides those of `Bench` are the broker's, by RocketMQ's names."""
        config = {name: settings.pop(name) for name in list(settings) if name[0].islower() and "_" not in name}
        own = {name: config.pop(name) for name in ("config", "choose") if name in config}
        own["config"] = own.get("config", {}) | {"of_pop": {name: str(value) for name, value in config.items()}}
        super().__init__(rules=rules or RULES["5.5.0"], **own, **settings)
        self.topic("T")

    def pop(self, channel, exp="*", queue=-1, invisible=60_000, poll=15_000, group="G", topic="T", **fields):
        header = PopMessageRequestHeader(
            consumer_group=group,
            topic=topic,
            queue_id=queue,
            max_msg_nums=32,
            invisible_time=invisible,
            poll_time=poll,
            born_time=self.now,
            init_mode=1,
            exp_type="TAG",
            exp=exp,
        )
        for name, value in fields.items():
            setattr(header, name, value)
        return self.ask(channel, RequestCode.POP_MESSAGE, header)

    def popped(self, answer):
        """The messages of an answer, each with its handle, as a client makes them."""
        header = answer.decode_header(PopMessageResponseHeader)
        starts = parse_start_offset_info(header.start_offset_info)
        found = []
        for message in decode_records(answer.body or b""):
            text = message.properties.get("POP_CK")
            handle = (
                ReceiptHandle.parse(text)
                if text
                else ReceiptHandle(
                    starts[mark_of(message.topic), message.queue_id],
                    header.pop_time,
                    header.invisible_time,
                    header.revive_qid,
                    mark_of(message.topic),
                    "broker-a",
                    message.queue_id,
                    message.queue_offset,
                )
            )
            found.append((message, handle))
        return found

    def bodies(self, answer):
        return [message.body for message, _ in self.popped(answer)]

    def ack(self, channel, message, handle, topic="T", **fields):
        return self._of_message(AckMessageRequestHeader, RequestCode.ACK_MESSAGE, channel, handle, topic, fields)

    def change(self, channel, message, handle, invisible, topic="T", **fields):
        fields = {"invisible_time": invisible} | fields
        code = RequestCode.CHANGE_MESSAGE_INVISIBLETIME
        return self._of_message(ChangeInvisibleTimeRequestHeader, code, channel, handle, topic, fields)

    def _of_message(self, kind, code, channel, handle, topic, fields):
        topic = self.broker.rules.retry_topic("G", topic, handle.retry == "2") if handle.retry != "0" else topic
        header = kind(
            consumer_group="G",
            topic=topic,
            queue_id=handle.queue_id,
            extra_info=handle.encode(),
            offset=handle.queue_offset,
        )
        for name, value in fields.items():
            setattr(header, name, value)
        return self.ask(channel, code, header)

    def queue(self, topic, queue=0):
        """What is in a queue of the store."""
        store = self.store
        high = store.get_max_offset_in_queue(topic, queue)
        return [store.look_message_in_queue(topic, queue, offset) for offset in range(high)]

    def revive_log(self):
        return [message for queue in range(8) for message in self.queue(REVIVE, queue)]

    def committed(self, topic="T", queue=0):
        return self.broker.consumer_offset_manager.query_offset("G", topic, queue)


@pytest.fixture
def pop_bench():
    return PopBench()


@pytest.fixture
def make_pop_bench():
    return PopBench
