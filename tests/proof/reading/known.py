"""What was known at a moment, in a line: a function's arguments, its outcome, and what the broker held."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from types import FrameType

    from rmqlab.sim.cluster import Cluster

# Of an argument that is an object: those of its fields that a reader of this run wants to know.
FIELDS = (
    "consumer_group", "group", "group_name", "client_id", "topic", "queue_id", "queue_offset", "next_offset",
    "commit_offset", "consume_queue_offset", "sub_string", "sub_version", "tags", "tags_code", "code", "pull_from",
)  # fmt: skip
LONGEST_TEXT, MOST_VALUES = 48, 6
GROUP, TOPIC = "G", "T"


class Held(NamedTuple):
    """The broker's subscription of the group (text, and version as a time), ends of the queues, committed offsets."""

    subscription: str = ""
    version: str = ""
    ends: tuple[int, ...] = ()
    committed: tuple[int, ...] = ()


class Reader:
    """Reads values as text, and the broker's tables; nothing of the run changes by it."""

    def __init__(self) -> None:
        self._cluster: Cluster | None = None
        self._begin_ms = 0
        self._before = Held()

    def begin(self, cluster: Cluster, epoch_ms: int) -> None:
        """Learn of the cluster while it is being made; `epoch_ms` is what its clocks show then."""
        self._cluster, self._begin_ms = cluster, epoch_ms

    @property
    def now_ms(self) -> float:
        """Ms since the run began."""
        world = getattr(self._cluster, "world", None)
        return 0.0 if world is None else world.scheduler.now_us / 1000

    def held(self) -> Held:
        """What the broker holds now."""
        broker = getattr(self._cluster, "broker", None)
        if broker is None:
            return Held()
        subscription = broker.consumer_manager.find_subscription_data(GROUP, TOPIC)
        queues = broker.message_store.consume_queue_table.get(TOPIC, {})
        committed = broker.consumer_offset_manager.query_offsets(GROUP, TOPIC) or {}
        return Held(
            "" if subscription is None else subscription.sub_string,
            "" if subscription is None else self._plain(subscription.sub_version) or "",
            tuple(queues[number].max_offset_in_queue for number in sorted(queues)),
            tuple(committed[number] for number in sorted(committed)),
        )

    def change(self) -> Held | None:
        """What the broker holds now, if its subscription or the committed offsets changed since this was asked last."""
        now, before = self.held(), self._before
        self._before = now
        same = (now.subscription, now.version, now.committed) == (
            before.subscription,
            before.version,
            before.committed,
        )
        return None if same else now

    def arguments(self, frame: FrameType) -> str:
        """The arguments of a call that say something: numbers, texts, and fields of objects."""
        code = frame.f_code
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        shown = [text for name in names if name not in {"self", "cls"} for text in self._shown(name, frame.f_locals)]
        return ", ".join(shown[:MOST_VALUES])

    def outcome(self, value: object) -> str:
        """What was returned, if it is short; "" for None and for objects."""
        return "" if value is None else self._plain(value) or ""

    def _shown(self, name: str, values: dict[str, object]) -> list[str]:
        value = values.get(name)
        if (text := self._plain(value)) is not None:
            return [f"{name}={text}"]
        fields = [(field, getattr(value, field, None)) for field in FIELDS]
        texts = [(field, self._plain(value)) for field, value in fields if value is not None]
        return [f"{name}.{field}={text}" for field, text in texts if text is not None]

    def _plain(self, value: object) -> str | None:
        """A short value as text, None for what is none; a time of the run's clocks is told as seconds of the run."""
        if value is None or isinstance(value, bool):
            return str(value)
        if isinstance(value, enum.Enum):
            return value.name
        if isinstance(value, int):
            since_ms = value - self._begin_ms
            return f"{since_ms / 1000:.3f} s" if self._begin_ms and 0 <= since_ms < 1_000_000 else str(int(value))
        if isinstance(value, str):
            return repr(str(value)) if len(value) <= LONGEST_TEXT else None
        if isinstance(value, bytes | bytearray | memoryview):
            return f"{len(value)} bytes"
        return None
