"""A broker ended at random moments under load, over and over on one store: what was acknowledged must be there.

Each round starts `rmqlab serve` as a process of its own, has producers send, ends the process (SIGKILL, or SIGTERM for
an orderly end), and opens the store again: every acknowledged message of all rounds lies at its queue and offset with
its body and can be found by its key, every message served is one that was sent, once, and no queue has a hole.
"""

from __future__ import annotations

import asyncio
import random
import signal
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rmqlab.errors import BadInput
from rmqlab.message.record import decode_record, decode_records
from rmqlab_tools.live.broker_startup import BrokerStartup
from rmqlab_tools.live.serve_config import ServeConfig
from rmqlab_tools.live.store.index_service import query_message
from tests.proof.real.clusters import OurCluster
from tests.proof.stress.load import QUEUES, TOPIC, Producer, connected, key

if TYPE_CHECKING:
    from rmqlab.message.message import MessageExt
    from rmqlab.store.message_store import MessageStore

SIGNALS: Final = {"kill": signal.SIGKILL, "stop": signal.SIGTERM}
SIZES: Final = {"mappedFileSizeCommitLog": "1048576", "mappedFileSizeConsumeQueue": "20000"}
PRODUCERS: Final = 3
LONGEST_SECONDS: Final = 0.4
_KEYS_ASKED: Final = 20
_PATIENCE_SECONDS: Final = 60.0


@dataclass(slots=True)
class EndResult:
    """What came out of all rounds; `wrong` says what should not be, and is empty when all is well.

    `unanswered`: messages that were sent and not acknowledged when the process ended; `kept`: those of them that were
    stored all the same.
    """

    rounds: int = 0
    acknowledged: int = 0
    unanswered: int = 0
    kept: int = 0
    checked: int = 0
    wrong: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Told:
    """What producers know: bodies that were sent, and where acknowledged ones are."""

    sent: set[bytes] = field(default_factory=set)
    acknowledged: dict[tuple[int, int], tuple[bytes, str, str]] = field(default_factory=dict)


def end_under_load(
    how: str, rounds: int, seed: int, *, flush: str = "SYNC_FLUSH", store: Path | None = None
) -> EndResult:
    """End a broker so many times (`how`: "kill" or "stop"); the seed decides messages and moments.

    Raises BadInput for another word, or when `rmqlab serve` does not start.
    """
    if how not in SIGNALS:
        raise BadInput(f"{how!r}: one of {', '.join(SIGNALS)} is wanted")
    result, told = EndResult(), Told()
    with tempfile.TemporaryDirectory(prefix="rmqlab-stress-") as folder:
        root = store or Path(folder) / "store"
        for number in range(rounds):
            choose = random.Random(f"{seed}/{number}")
            producers = asyncio.run(_round(how, number, choose, flush, root, result))
            _note(producers, told, result)
            asyncio.run(_check(root, how, told, producers, choose, result))
            result.rounds += 1
            if result.wrong:
                break
    return result


async def _round(
    how: str, number: int, choose: random.Random, flush: str, root: Path, result: EndResult
) -> list[Producer]:
    """Start a broker, load it, end it."""
    with OurCluster(root, flushDiskType=flush, **SIZES) as cluster:
        first = asyncio.Event()
        producers = []
        for index in range(PRODUCERS):
            producer = Producer(f"r{number}p{index}", choose.randrange(1 << 30), choose.choice((1, 4, 16)))
            producer.on_answer = first.set
            producers.append(await connected(cluster.broker, producer))
        await asyncio.wait_for(first.wait(), _PATIENCE_SECONDS)
        await asyncio.sleep(choose.random() * LONGEST_SECONDS)
        status = await asyncio.to_thread(cluster.signal, SIGNALS[how])
        async with asyncio.timeout(_PATIENCE_SECONDS):
            for producer in producers:
                await producer.is_lost.wait()
        if how == "stop" and status:
            result.wrong.append(f"round {number}: exit status {status} after SIGTERM: {cluster.log()}")
        return producers


def _note(producers: list[Producer], told: Told, result: EndResult) -> None:
    for producer in producers:
        told.sent.update(producer.sent.values())
        result.acknowledged += len(producer.acknowledged)
        result.unanswered += len(producer.sent) - len(producer.acknowledged)
        result.wrong += [f"{producer.name}: refused: {refusal}" for refusal in producer.refused]
        for number, stored in producer.acknowledged.items():
            place = stored.queue_id, stored.queue_offset
            if place in told.acknowledged:
                result.wrong.append(f"{producer.name}: two messages were told queue and offset {place}")
            told.acknowledged[place] = producer.sent[number], stored.msg_id, key(producer.name, number)


async def _check(
    root: Path, how: str, told: Told, producers: list[Producer], choose: random.Random, result: EndResult
) -> None:
    """Open the store and compare."""
    is_left_open = (root / "abort").exists()
    if is_left_open != (how == "kill"):
        result.wrong.append("abort is there after an orderly end" if is_left_open else "no abort after a kill")
    startup = BrokerStartup(
        ServeConfig.of(SIZES, where="stress", listen="127.0.0.1:0", namesrv="127.0.0.1:0", store=root)
    )
    await startup.start()
    try:
        if startup.broker is None:
            raise BadInput(f"store {root}: no broker came of it")
        store = startup.broker.message_store
        places: dict[tuple[int, int], tuple[bytes, str | None]] = {}
        offsets: dict[int, list[int]] = {queue: [] for queue in range(QUEUES)}
        for message in _served(store):
            body = message.body or b""
            places[message.queue_id, message.queue_offset] = body, message.msg_id
            offsets[message.queue_id].append(message.queue_offset)
            if body not in told.sent:
                result.wrong.append(f"nobody sent what lies at {message.queue_id}, {message.queue_offset}")
        for queue, numbers in offsets.items():
            if numbers != list(range(len(numbers))):
                result.wrong.append(
                    f"queue {queue} has a hole, or one message twice: {len(numbers)} up to {numbers[-1]}"
                )
        for body, times in Counter(body for body, _ in places.values()).items():
            if times > 1:
                result.wrong.append(f"{body[:20]!r} was sent once and is stored {times} times")
        for place, (body, msg_id, _) in told.acknowledged.items():
            if places.get(place) != (body, msg_id):
                result.wrong.append(f"acknowledged at queue and offset {place}, and not there: {body[:20]!r}")
        drawn = choose.sample(sorted(told.acknowledged.values()), min(_KEYS_ASKED, len(told.acknowledged)))
        for body, _, name in drawn:
            if _by_key(store, name) != [body]:
                result.wrong.append(f"key {name} does not find its message")
        acknowledged = set(told.acknowledged)
        mine = {body for producer in producers for body in producer.sent.values()}
        result.kept += sum(body in mine for place, (body, _) in places.items() if place not in acknowledged)
        result.checked += len(places)
    finally:
        await startup.stop()


def _served(store: MessageStore) -> list[MessageExt]:
    """Return what a consumer gets, pull by pull."""
    messages: list[MessageExt] = []
    for queue in range(QUEUES):
        offset = store.get_min_offset_in_queue(TOPIC, queue)
        while True:
            got = store.get_message("StressC", TOPIC, queue, offset, 32, None)
            if got is None or got.next_begin_offset <= offset:
                break
            messages += decode_records(b"".join(got.messages))
            offset = got.next_begin_offset
    return messages


def _by_key(store: MessageStore, name: str) -> list[bytes | None]:
    records = query_message(store, TOPIC, name, 32, 0, 1 << 60).messages
    return [None if message is None else message.body for message in map(decode_record, records)]
