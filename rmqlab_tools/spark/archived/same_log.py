"""Whether a store has the log of one that was archived before: a slave's copy, a backup, or a store that was moved.

A slave has the bytes of its master's log at the same offsets (`HAService`). `archive.json` has samples of them.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final, NamedTuple

from rmqlab.errors import BadInput
from rmqlab.language import _
from rmqlab_tools.spark.archived.manifest import Sample
from rmqlab_tools.spark.files.broker_stores import bytes_of_log

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rmqlab_tools.spark.archived.manifest import ArchivedStore
    from rmqlab_tools.spark.files.broker_stores import BrokerStore
    from rmqlab_tools.spark.files.commit_log_files import LogFile

SAMPLE_BYTES: Final = 4_096


class SameLog(NamedTuple):
    """A store whose log an archive has already, from another one, `of`, up to the commit log offset `reached`."""

    shown: str
    of: str
    broker: str
    reached: int

    def says(self) -> str:
        """A sentence."""
        return _(
            "{store} has the log of {of} (broker {broker}), which was archived up to offset {reached}, as a slave's "
            "copy or a backup has it. Only what follows is new.",
            store=self.shown, of=self.of, broker=self.broker or "?", reached=f"{self.reached:,}",
        )  # fmt: skip


def samples(files: Sequence[LogFile], high: int, before: Sequence[Sample] = ()) -> list[Sample]:
    """Samples of a log up to an offset: its first record, or what was taken `before`, and its last bytes.

    None of a log that has no record.
    """
    low = files[0].base if files else high
    if low >= high:
        return list(before)
    size = int.from_bytes(bytes_of_log(files, low, low + 4))  # of the first record: a copy that lags has it too
    first = before[0] if before else _sample(files, low, min(low + min(size, SAMPLE_BYTES), high))
    base = max(file.base for file in files if file.base < high)
    return [first, _sample(files, max(high - SAMPLE_BYTES, low, base), high)]


def _sample(files: Sequence[LogFile], low: int, high: int) -> Sample:
    data = bytes_of_log(files, low, high)
    return Sample(low, len(data), hashlib.sha256(data).hexdigest())


def _agrees(store: BrokerStore, sample: Sample) -> bool | None:
    """Whether a log has the bytes of a sample; None where it has not all of them."""
    low, high = sample.offset, sample.offset + sample.size
    if not any(file.base <= low and high <= file.base + file.size for file in store.files) or high > store.end:
        return None
    return _sample(store.files, low, high) == sample


def archived_as(stores: Mapping[str, ArchivedStore], store: BrokerStore, key: str) -> str:
    """The key of the store that has this one's log, or `key` if none has.

    Raises:
        BadInput: the logs went apart; or both are of one broker, and nothing shows that they have the same log.
    """
    for known, archived in stores.items():
        is_one = bool(archived.broker) and archived.broker == store.broker
        if known != key and archived.broker and store.broker and not is_one:
            continue
        agreed = [agrees for agrees in (_agrees(store, sample) for sample in archived.samples) if agrees is not None]
        if agreed and all(agreed):
            return known
        if any(agreed):
            raise BadInput(
                _(
                    "{store} has the first bytes of {of}, which was archived up to offset {reached}, and other ones "
                    "before that: they went apart when a slave became master; archive it into a new folder",
                    store=store.shown, of=archived.shown, reached=f"{archived.reached:,}",
                )
            )  # fmt: skip
        if agreed and known == key:
            raise BadInput(
                _(
                    "{store}: its log has other bytes than the one that was archived from there; this is another "
                    "store, so archive it into a new folder",
                    store=store.shown,
                )
            )
        if is_one and known != key and archived.samples and store.files and store.end > store.files[0].base:
            raise BadInput(
                _(
                    "{store} and {of}, which was archived before, are both of broker {broker}, and nothing shows that "
                    "they have one log; archive it into a new folder, or give it another name: NAME=STORE",
                    store=store.shown, of=archived.shown, broker=store.broker,
                )
            )  # fmt: skip
    return key
