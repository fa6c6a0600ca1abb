"""The store of a simulated broker as a directory, laid out as 4.8.0 lays it out: what an audit reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.runtime.store_folder import StoreFolder, StoreFolderError
from rmqlab.store.config import CQ_STORE_UNIT_SIZE, MessageStoreConfig

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rmqlab.broker.broker import Broker
    from rmqlab.store.mapped_file_queue import MappedFileQueue

# Files as small as those of the recordings.
SMALL_FILES = MessageStoreConfig(
    mapped_file_size_commit_log=1 << 20, mapped_file_size_consume_queue=1_000 * CQ_STORE_UNIT_SIZE
)


def write_store(broker: Broker, folder: Path) -> Path:
    """Write commit log, consume queues and `config/` into `folder`, which must be new or empty. No index is written.

    Raises:
        StoreFolderError: the folder is not empty, cannot be written, or another broker has it.
    """
    if folder.is_dir() and any(folder.iterdir()):
        raise StoreFolderError(f"store {folder}: there is something in it; name a new folder")
    target = StoreFolder(folder)
    target.open()
    try:
        for queue in _files(broker):
            for one in queue.mapped_files:
                written = target.segments(queue.directory, one.file_from_offset, one.file_size)
                written.append(bytes(one.start) + one.segment.read(0, one.segment.size))
        for file in broker.tables.files():
            target.persist(file)
    finally:
        target.release(in_order=True)
    return folder


def _files(broker: Broker) -> Iterator[MappedFileQueue]:
    store = broker.message_store
    yield store.commit_log.mapped_file_queue
    for queues in store.consume_queue_table.values():
        for queue in queues.values():
            yield queue.mapped_file_queue
            if queue.consume_queue_ext is not None:
                yield queue.consume_queue_ext.mapped_file_queue
