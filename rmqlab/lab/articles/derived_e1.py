"""What follows from the first article's prints, beside what our broker stored; and what only ours can tell.

The article prints the consumers' side of two messages. Of the other six it gives both ids, and from these follow the
place in the commit log, the moment of birth and, with the body, the checksum (rows S-21, S-22, S-27, S-28). When they
were stored it does not tell: those times are ours, and depend on the delays chosen for the frames.
"""

from __future__ import annotations

import zlib
from datetime import timedelta, timezone
from typing import TYPE_CHECKING

from rmqlab.lab.articles.printed_e1 import NOT_PRINTED, Figure, FigureKind, fields_of, printed
from rmqlab.message.ids import decode_message_id, time_of

if TYPE_CHECKING:
    from rmqlab.lab.simulate import Simulation

ZONE = timezone(timedelta(hours=8))  # the client's: the month that its ids count from began there


def set_up(simulation: Simulation) -> list[Figure]:
    """The settings of the article's list and programs, beside those of the broker and clients here."""
    broker, producer = simulation.cluster.broker, simulation.producer
    topic = next(iter(simulation.scenario.topics))
    config = broker.topic_config_manager.topic_config_table[topic]
    given = [
        ("topic", "SUBSCRIBE_TEST", topic),
        ("read queues", 4, config.read_queue_nums),
        ("write queues", 4, config.write_queue_nums),
        ("permission", 6, config.perm),
        ("consumer group", ["SUBSCRIBE_TEST_CONSUMER_GROUP"], simulation.scenario.groups()),
        ("producer group", "SUBSCRIBE_TEST_PRODUCER_GROUP", producer.group),
        ("send timeout, ms", 15_000, producer.config.send_msg_timeout),
        ("name server", "172.16.1.15:9876", simulation.cluster.config.namesrv_address),
    ]
    return [Figure(what, article, here, FigureKind.GIVEN) for what, article, here in given]


def all_sends(simulation: Simulation) -> list[Figure]:
    """The fields that all eight send results have alike."""
    sent, results = printed()["sent"], simulation.recorder.results
    queues = [one.message_queue for one in results]
    return [
        Figure("send results", len(sent), len(results)),
        Figure("their sendStatus", _distinct(sent, "sendStatus"), sorted({one.send_status.value for one in results})),
        Figure("their topic", _distinct(sent, "topic"), sorted({queue.topic for queue in queues})),
        Figure("their brokerName", _distinct(sent, "brokerName"), sorted({queue.broker_name for queue in queues})),
    ]


def _distinct(sent: list[dict[str, str]], name: str) -> list[str]:
    return sorted({one[name] for one in sent})


def derived(simulation: Simulation) -> list[Figure]:
    """Commit log offset, birth, checksum and size of the six messages of which the article prints no such thing."""
    store = simulation.cluster.broker.message_store
    sent = printed()["sent"]
    offsets = [decode_message_id(one["offsetMsgId"]).offset for one in sent]
    received = {fields_of(line)["msgId"] for lines in printed()["printed"].values() for line in lines}
    figures: list[Figure] = []
    for number, (one, event) in enumerate(zip(sent, _sent(simulation), strict=False)):
        body = one["body"]
        if one["offsetMsgId"] in received:
            continue
        stored = store.look_message_by_offset(decode_message_id(event["offsetMsgId"]).offset)
        if stored is None:
            figures.append(_follows(f"{body} in the store", True, False))
            continue
        born = time_of(one["msgId"], stored.store_timestamp, ZONE)
        figures += [
            _follows(f"{body} commitLogOffset", offsets[number], stored.commit_log_offset),
            _follows(f"{body} bornTimestamp", born, stored.born_timestamp),
            _follows(f"{body} bodyCRC", zlib.crc32(body.encode()) & 0x7FFF_FFFF, stored.body_crc),
            Figure(f"{body} storeTimestamp", NOT_PRINTED, stored.store_timestamp),
        ]
        if number + 1 < len(offsets):
            figures.append(_follows(f"{body} storeSize", offsets[number + 1] - offsets[number], stored.store_size))
    return figures


def _follows(what: str, article: object, here: object) -> Figure:
    return Figure(what, article, here, FigureKind.FOLLOWS)


def _sent(simulation: Simulation) -> list[dict[str, str]]:
    return [event for event in simulation.recorder.events if event["ev"] == "sent"]
