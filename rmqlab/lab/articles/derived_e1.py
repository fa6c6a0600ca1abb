"""What follows from the first article's prints, beside what our broker stored; and what only ours can tell.

The article prints the consumers' side of two messages. Of the other six it gives both ids, and from these follow the
place in the commit log, the moment of birth and, with the body, the checksum (rows S-21, S-22, S-27, S-28). When they
were stored it does not tell: those times are ours, and depend on the delays chosen for the frames.
"""

from __future__ import annotations

import zlib
from datetime import timedelta, timezone
from typing import TYPE_CHECKING

from rmqlab.lab.articles.printed_e1 import NOT_PRINTED, Figure, Kind, fields_of, printed
from rmqlab.message.ids import decode_message_id, time_of

if TYPE_CHECKING:
    from rmqlab.lab.simulate import Simulation

ZONE = timezone(timedelta(hours=8))  # the client's: the month that its ids count from began there


def set_up(simulation: Simulation) -> list[Figure]:
    """The article's table of settings and its program's, beside those of the brokers and clients here."""
    broker, producer = simulation.cluster.broker, simulation.producer
    topic = next(iter(simulation.scenario.topics))
    config = broker.topic_config_manager.topic_config_table[topic]
    return [
        Figure("topic", "SUBSCRIBE_TEST", topic),
        Figure("read queues", 4, config.read_queue_nums),
        Figure("write queues", 4, config.write_queue_nums),
        Figure("permission", 6, config.perm),
        Figure("consumer group", ["SUBSCRIBE_TEST_CONSUMER_GROUP"], simulation.scenario.groups()),
        Figure("producer group", "SUBSCRIBE_TEST_PRODUCER_GROUP", producer.group),
        Figure("send timeout, ms", 15_000, producer.config.send_msg_timeout),
        Figure("name server", "172.16.1.15:9876", simulation.cluster.config.namesrv_address),
        *_common(simulation),
    ]


def _common(simulation: Simulation) -> list[Figure]:
    """The fields that all eight send results have alike."""
    sent, results = printed()["sent"], simulation.witness.results
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
    """Commit log offset, birth, checksum and size of all eight messages, and when each was stored."""
    store = simulation.cluster.broker.message_store
    sent = printed()["sent"]
    offsets = [decode_message_id(one["offsetMsgId"]).offset for one in sent]
    lines = [fields_of(line) for lines in printed()["printed"].values() for line in lines]
    stored_at = {fields["bodyCRC"]: int(fields["storeTimestamp"]) for fields in lines}
    figures: list[Figure] = []
    for number, (one, event) in enumerate(zip(sent, _sent(simulation), strict=False)):
        stored = store.look_message_by_offset(decode_message_id(event["offsetMsgId"]).offset)
        if stored is None:
            figures.append(Figure(f"{one['body']} in the store", True, False, Kind.FOLLOWS))
            continue
        body = one["body"]
        born = time_of(one["msgId"], stored.store_timestamp, ZONE)
        checksum = zlib.crc32(body.encode()) & 0x7FFF_FFFF
        figures += [
            _follows(f"{body} commitLogOffset", offsets[number], stored.commit_log_offset),
            _follows(f"{body} bornTimestamp", born, stored.born_timestamp),
            _follows(f"{body} bodyCRC", checksum, stored.body_crc),
            Figure(f"{body} storeTimestamp", stored_at.get(str(checksum), NOT_PRINTED), stored.store_timestamp),
        ]
        if number + 1 < len(offsets):
            figures.append(_follows(f"{body} storeSize", offsets[number + 1] - offsets[number], stored.store_size))
    return figures


def _follows(what: str, article: object, here: object) -> Figure:
    return Figure(what, article, here, Kind.FOLLOWS)


def _sent(simulation: Simulation) -> list[dict[str, str]]:
    return [event for event in simulation.witness.events if event["ev"] == "sent"]
