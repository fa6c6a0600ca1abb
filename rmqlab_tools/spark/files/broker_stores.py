"""The stores of a cluster: whose each is, and which of them are copies of the same log, as a slave has one.

A broker makes a topic of its own name with one queue (`TopicConfigManager`), so `config/topics.json` names it; a
`broker.conf` beside the store does so too, and an explicit name counts before both. A slave has the bytes of its
master's log at the same offsets (`HAService`), and its topics.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from rmqlab.errors import BadInput
from rmqlab.files import exists, open_regular
from rmqlab.language import _
from rmqlab.message.java_properties import MalformedEscapeError, load_properties
from rmqlab.message.record import MESSAGE_MAGIC_CODE
from rmqlab.message.topics import REPLY_TOPIC_POSTFIX, SYSTEM_TOPIC_PREFIX, SYSTEM_TOPICS
from rmqlab.protocol.topic_config import is_inherited
from rmqlab_tools.recordings.store import CONF, open_store
from rmqlab_tools.spark.files.addresses import AddressPath, StorePath, is_address, shown_address, store_path
from rmqlab_tools.spark.files.commit_log_files import LogFile, log_files, store_directory
from rmqlab_tools.spark.files.store_tables import StoreConfig
from rmqlab_tools.spark.files.stored_files import RangeReader, read_bytes, unreadable

if TYPE_CHECKING:
    from contextlib import ExitStack

_COMPARED: Final = 4_096
Named = str | StorePath | Iterable[str | StorePath] | Mapping[str, str | StorePath]
"""Stores as people name them."""
_NAMED: Final = re.compile(r"(?P<name>[%|a-zA-Z0-9_.-]+)=(?P<store>.+)", re.DOTALL)
_MAGIC: Final = MESSAGE_MAGIC_CODE.to_bytes(4, "big", signed=True)


class Copy(NamedTuple):
    """A store that is not counted: `low` to `high` are the commit log offsets that it has in common with `of`.

    `before` and `behind` are bytes that it alone has.
    """

    shown: str
    of: str
    broker: str
    low: int
    high: int
    before: int
    behind: int

    def says(self) -> str:
        """A sentence."""
        says = _(
            "{store} is a copy of {of}, as a slave has one: both have the log of broker {broker} from offset {low} to "
            "{high}. It is not counted.",
            store=self.shown, of=self.of, broker=self.broker or "?", low=f"{self.low:,}", high=f"{self.high:,}",
        )  # fmt: skip
        alone = self.before + self.behind
        more = _("{bytes} bytes of it are in no store that is counted.", bytes=f"{alone:,}") if alone else ""
        return f"{says} {more}".rstrip()


class GivenStore(NamedTuple):
    """A store as people named it, its path, and the broker's name that they gave.

    `shown` has no credentials. `folder` and `conf` are known once it is opened (`opened_store`): where it is unpacked,
    and its settings if they lie elsewhere.
    """

    shown: str
    path: StorePath
    name: str = ""
    folder: Path | None = None
    conf: Path | None = None

    @property
    def place(self) -> str:
        """Where it lies, however it was named, also one that is packed; at an address with the endpoint it names."""
        return str(self.path.resolve()) if isinstance(self.path, Path) else self.path.place

    @property
    def text(self) -> str:
        """The store as `given_stores` takes it, with the options of an address."""
        path = self.path.root if isinstance(self.path, AddressPath) else str(self.path)
        return f"{self.name}={path}" if self.name else path


class BrokerStore(NamedTuple):
    """The store of one broker: its folder, what people gave, and the broker's name, "" where it is not known.

    `broker_id` is 0 for a master, and where it is not known. `end` is the commit log offset after the last whole
    record, 0 where it is not asked for.
    """

    root: StorePath
    given: GivenStore
    broker: str
    files: Sequence[LogFile]
    broker_id: int = 0
    end: int = 0

    @property
    def shown(self) -> str:
        """As people named it, without credentials."""
        return self.given.shown

    @property
    def label(self) -> str:
        """How it is distinguished from the other stores: the broker's name, else what people named it."""
        return self.broker or self.shown


class Stores(NamedTuple):
    """The stores that count, one a broker, in the order of brokers; and the copies, which do not."""

    counted: list[BrokerStore]
    copies: list[Copy]

    @property
    def have_names(self) -> bool:
        """Whether every broker's name is known: the order of their queues depends on it."""
        return all(store.broker for store in self.counted)


def given_name(given: str) -> tuple[str, str]:
    """The broker's name and the store of an argument NAME=STORE, "" for one without a name.

    >>> given_name("broker-b=/data/b"), given_name("s3://bucket/b?region=eu"), given_name("/data/b")
    (('broker-b', '/data/b'), ('', 's3://bucket/b?region=eu'), ('', '/data/b'))
    """
    named = _NAMED.fullmatch(given)
    if named is None or "/" in named["name"] or (not is_address(given) and exists(Path(given))):
        return "", given
    return named["name"], named["store"]


def given_stores(given: Named) -> list[GivenStore]:
    """What people named: one store, several, or several by their brokers' names; a text may be NAME=STORE.

    Raises:
        BadInput: none is named, one is named twice, or an address that Arrow does not know.
    """
    if isinstance(given, Mapping):
        named = [(str(name), path) for name, path in given.items()]
    elif isinstance(given, str | Path | AddressPath):
        named = [("", given)]
    else:
        named = [("", path) for path in given]
    if not named:
        raise BadInput(_("no store: name one, or one of each broker"))
    stores = []
    for name, path in named:
        if not isinstance(path, str):
            stores.append(GivenStore(str(path), path, name))
            continue
        of_text, place = given_name(path) if not name else ("", path)
        stores.append(
            GivenStore(shown_address(place) if is_address(place) else place, store_path(place), name or of_text)
        )
    for place, count in Counter(_place(store.path) for store in stores).items():
        if count > 1:
            raise BadInput(_("{store} is named twice: name each store once", store=place))
    alike = {shown for shown, count in Counter(store.shown for store in stores).items() if count > 1}
    return [store._replace(shown=store.place) if store.shown in alike else store for store in stores]


def _place(path: StorePath) -> str:
    """Where a store lies: one place for a relative path and the whole one, and one for each endpoint."""
    return path.place if isinstance(path, AddressPath) else str(path.absolute())


def opened_store(given: GivenStore, stack: ExitStack) -> tuple[GivenStore, Path | None]:
    """A store whose folder can be read, unpacked for as long as the stack is open; and events that lie beside it.

    One at an address is read where it lies.

    Raises:
        BadInput: it cannot be used.
    """
    if isinstance(given.path, AddressPath):
        return given, None
    folder, events, conf = stack.enter_context(open_store(given.path))
    return given._replace(folder=folder, conf=conf), events


def broker_stores(given: Iterable[GivenStore]) -> Stores:
    """Tell brokers and copies apart.

    Raises:
        BadInput: no store; two of one broker with different logs, or with none in common.
    """
    stores = [_opened(store) for store in given]
    if len(stores) > 1:
        stores = [store._replace(end=end_of_log(store.files)) for store in stores]
    counted: list[BrokerStore] = []
    copies: list[Copy] = []
    # The one that has most of the log counts; of two alike the master, then the one that comes first.
    for store in sorted(stores, key=lambda store: (_first(store) - store.end, store.broker_id)):
        for other in counted:
            copy = _copy(store, other)
            if copy is not None:
                copies.append(copy)
                break
        else:
            counted.append(store)
    return Stores(sorted(counted, key=lambda store: (store.broker, stores.index(store))), copies)


def _opened(given: GivenStore) -> BrokerStore:
    root = store_directory(given.folder or given.path)
    settings = _settings(given.conf or conf_beside(root))
    broker_id = settings.get("brokerId", "").strip()
    name = given.name or settings.get("brokerName", "").strip() or _own_topic(root)
    return BrokerStore(root, given, name, log_files(root), int(broker_id) if broker_id.isdecimal() else 0)


def conf_beside(root: StorePath) -> StorePath:
    """Where the settings of a store's broker lie, if they do."""
    return (root.resolve() if isinstance(root, Path) else root).parent / CONF


def _settings(conf: StorePath) -> dict[str, str]:
    """A broker's settings, none where there are none that can be read."""
    try:
        return load_properties(read_bytes(conf))
    except (OSError, MalformedEscapeError):
        return {}


def _own_topic(root: StorePath) -> str:
    """The topic that a broker named after itself: inherited, with one queue, and neither the cluster's nor a system's.

    A broker with `brokerTopicEnable` false makes it too, without permissions.
    """
    topics = StoreConfig(root).topics()
    clusters = {name.removesuffix(f"_{REPLY_TOPIC_POSTFIX}") for name in topics if name.endswith(REPLY_TOPIC_POSTFIX)}
    own = [
        name
        for name, topic in topics.items()
        if is_inherited(topic.perm)
        and (topic.read_queue_nums, topic.write_queue_nums) == (1, 1)
        and not (name in SYSTEM_TOPICS or name in clusters or name.startswith(SYSTEM_TOPIC_PREFIX))
    ]
    return own[0] if len(own) == 1 else ""


def _first(store: BrokerStore) -> int:
    return store.files[0].base if store.files else 0


def _copy(store: BrokerStore, other: BrokerStore) -> Copy | None:
    """What makes a store a copy of another one that counts; None where they are of two brokers.

    Raises:
        BadInput: they say that they are of one broker, and their logs do not.
    """
    if store.broker and other.broker and store.broker != other.broker:
        return None
    is_one = bool(store.broker) and store.broker == other.broker
    low, high = max(_first(store), _first(other)), min(store.end, other.end)
    if low >= high:
        if is_one and store.end > _first(store) and other.end > _first(other):
            raise BadInput(
                _(
                    "{store} and {other} are both of broker {broker}, and have no offset in common: nothing tells "
                    "whether it is one log; give one of them, or name two brokers: NAME=STORE",
                    store=other.shown, other=store.shown, broker=store.broker,
                )
            )  # fmt: skip
        return None
    begins = [bytes_of_log(log, low, min(low + _COMPARED, high)) for log in (store.files, other.files)]
    size = int.from_bytes(begins[0][:4])  # of the first record
    if begins[0][:size] != begins[1][:size] or begins[0][4:8] != _MAGIC:
        if is_one:
            raise BadInput(
                _(
                    "{store} and {other} are both of broker {broker}, and their logs differ at offset {low}: two "
                    "masters of one name cannot be told apart; name them: NAME=STORE",
                    store=other.shown, other=store.shown, broker=store.broker, low=f"{low:,}",
                )
            )  # fmt: skip
        return None
    ends = [bytes_of_log(log, max(high - _COMPARED, low), high) for log in (store.files, other.files)]
    if ends[0] != ends[1]:
        raise BadInput(
            _(
                "{store} and {other} have one log up to some offset, and differ before {high}: they went apart when a "
                "slave became master; give the one that consumers read from",
                store=other.shown, other=store.shown, high=f"{high:,}",
            )
        )  # fmt: skip
    before, behind = max(_first(other) - _first(store), 0), max(store.end - other.end, 0)
    return Copy(store.shown, other.shown, other.broker or store.broker, low, high, before, behind)


def end_of_log(files: Sequence[LogFile]) -> int:
    """The commit log offset after the last whole record, 0 without a file."""
    from rmqlab_tools.spark.files.log_reader import log_end

    return log_end(files, files[0].base) if files else 0


def bytes_of_log(files: Sequence[LogFile], low: int, high: int) -> bytes:
    """The bytes of a log from one commit log offset on and before another, as far as one file has them."""
    file = next(file for file in reversed(files) if file.base <= low)
    begin, end = low - file.base, min(high - file.base, file.size)
    path = store_path(file.path)
    try:
        if isinstance(path, AddressPath):
            with RangeReader(path) as reader:
                return reader.read(begin, end)
        with open_regular(path) as stream:
            stream.seek(begin)
            return stream.read(max(end - begin, 0))
    except OSError as error:
        raise unreadable(path, error) from error
