"""A broker's store on disk while it runs: when bytes are flushed, dispatched, deleted.

Source: `FlushRealTimeService`, `GroupCommitService`, `FlushConsumeQueueService`,
`DefaultMessageStore.addScheduleTask`. Java's threads are timers of the broker here; only waiting for the disk happens
on a thread.
"""

from __future__ import annotations

import asyncio
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rmqlab.errors import BadInput
from rmqlab.store.clean_service import CleanService
from rmqlab.store.mapped_file_queue import SegmentError
from rmqlab_tools.live.index_file import DIRECTORY as INDEX
from rmqlab_tools.live.index_file import FileIndexService
from rmqlab_tools.live.recovery import Recovery, RecoveryReport
from rmqlab_tools.live.store_folder import Checkpoint
from rmqlab_tools.live.system import disk_space, epoch_ms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future
    from pathlib import Path

    from rmqlab.broker.broker import Broker
    from rmqlab_tools.live.store_folder import StoreFolder

    _Group = list[tuple[float, Callable[[bool], None]]]

logger = logging.getLogger(__name__)

FLUSH_FILTERS_MS = 10_000
DISK_CHECK_MS = 10_000
FIRST_CLEAN_MS = 60_000
RETRY_DISPATCH_MS = 1_000
WRITE_INDEX_MS = 200


class DurableStore:
    """Ties a broker, made with the folder's segments, to the folder.

    Use: `load`, then `start` on the loop, then `stop`. Before an answer leaves, the system has what was stored for it
    (`write_held`); with SYNC_FLUSH answers wait until the log is on disk, those of one moment together.
    """

    def __init__(
        self, folder: StoreFolder, broker: Broker, *, space: Callable[[Path], tuple[int, int, int]] = disk_space
    ) -> None:
        self._folder = folder
        self._broker = broker
        self._store = broker.message_store
        self._clean_service = CleanService(broker.message_store)
        self._space = space
        self._tables = {table.file_name: table for table in broker.config_managers}
        self._index: FileIndexService | None = None
        self._executor = ThreadPoolExecutor(1, "rmqlab flush")
        self._flushing: dict[str, Future[None]] = {}
        self._versions = (-1, -1)
        self._seen_requests = 0
        self._next_group: _Group = []
        self._committing: asyncio.Task[None] | None = None
        self._is_stopped = False
        self._thorough = {"commitlog": 0, "consumequeue": 0}
        self._checkpoint = Checkpoint()

    # start and stop

    def load(self) -> RecoveryReport:
        """Take in what the folder holds.

        Raises:
            BadInput: it cannot be used; the text says what and why.
        """
        folder, store = self._folder, self._store
        config = store.config
        for table in self._tables.values():
            folder.load_config(table)
        self._checkpoint = folder.checkpoint()
        if config.message_index_enable:
            self._index = store.index_service = FileIndexService(config, folder.segments, _file_number)
            store.dispatchers.append(self._index.build_index)
        try:
            if self._index is not None:
                self._load_index(self._index)
            report = Recovery(
                store,
                last_exit_ok=folder.last_exit_ok,
                checkpoint=min(self._checkpoint.physic_msg_timestamp, self._checkpoint.logics_msg_timestamp),
                index_end=-1 if self._index is None else self._index.end_phy_offset,
            ).run()
        except SegmentError as error:
            raise BadInput(str(error)) from error
        for offset, size in report.holes:
            logger.warning("store %s: %s damaged bytes at commit log offset %s", folder.root, size, offset)
        store.queue_reader.verify_reads = True
        schedule = self._broker.schedule_message_service
        schedule.shutdown()
        schedule.start(self._broker.now)
        folder.mark_running()
        return report

    def _load_index(self, index: FileIndexService) -> None:
        """Take in the index. One of other settings is made anew: everything in it is in the log."""
        try:
            index.load(last_exit_ok=self._folder.last_exit_ok)
        except SegmentError as error:
            logger.warning("%s; the index is made anew", error)
            index.files.clear()
            self._folder.segments.delete_all(INDEX)

    def start(self) -> None:
        """Put the store's timers among the broker's."""
        broker, config = self._broker, self._store.config
        now = broker.now

        def every(name: str, period: int, action: Callable[[int], object], first: int | None = None) -> None:
            broker.timers.at_fixed_rate(name, now + (period if first is None else first), period, action)

        every("flush commit log", config.flush_interval_commit_log, self._flush_log)
        every("flush consume queues", config.flush_interval_consume_queue, self._flush_queues)
        offsets = broker.config.flush_consumer_offset_interval
        every("persist offsets", offsets, lambda _: self._persist("consumerOffset.json"))
        every("persist filters", FLUSH_FILTERS_MS, lambda _: self._persist("consumerFilter.json"))
        every("persist delays", config.flush_delay_offset_interval, lambda _: self._persist("delayOffset.json"))
        every("write index", WRITE_INDEX_MS, self._write_index)
        every("dispatch again", RETRY_DISPATCH_MS, self._try_again)
        every("disk space", DISK_CHECK_MS, self._note_disk_space, 1_000)
        every("clean files", config.clean_resource_interval, self._clean, FIRST_CLEAN_MS)

    def stop(self) -> None:
        """Bring everything to disk and give the folder back."""
        store, folder = self._store, self._folder
        in_order, self._is_stopped = False, True
        try:
            store.dispatch()
            if self._index is not None:
                self._index.write_all()
            persisted = [self._persist(name) for name in self._tables]
            folder.segments.write_held()
            folder.segments.flush()
            self._note_flushed()
            in_order = all(persisted) and store.running_flags.is_writeable and store.dispatch_behind_bytes() == 0
        except (SegmentError, OSError) as error:
            logger.error("store %s: %s; the next broker will look for what is missing", folder.root, error)  # noqa: TRY400
        finally:
            self._executor.shutdown()
            folder.release(in_order=in_order)

    # what answers wait for

    @property
    def held_records(self) -> int:
        """Grows with every record that `write_held` has to write before it is acknowledged."""
        return self._folder.segments.held_records

    def hold(self) -> None:
        """Have what is stored from now on written at once, by `write_held`."""
        self._folder.segments.is_holding = True

    def write_held(self) -> bool:
        """Give the system what was stored. False if not: no more is stored until the disk is looked at."""
        try:
            self._folder.segments.write_held()
        except SegmentError as error:
            self._store.running_flags.is_writeable = False
            logger.error("write: %s", error)  # noqa: TRY400
            return False
        return True

    def release(self) -> None:
        """Have what is stored from now on written by itself again."""
        self._folder.segments.is_holding = False
        self.write_held()

    def pending(self) -> bool:
        """Whether the command just handled wrote something that must be on disk before it is answered."""
        requests = self._store.flush_requests
        wanted, self._seen_requests = requests != self._seen_requests, requests
        return wanted

    def when_flushed(self, then: Callable[[bool], None]) -> None:
        """Call `then(is the log on disk)`: True when it is, False when it is not within `syncFlushTimeout`."""
        loop = asyncio.get_running_loop()
        self._next_group.append((loop.time(), then))
        if len(self._next_group) == 1:
            timeout = self._store.config.sync_flush_timeout / 1000
            loop.call_later(timeout, self._give_up, self._next_group, timeout)
        if self._committing is None:
            self._committing = loop.create_task(self._group_commit())

    async def flushed(self) -> None:
        """Wait until no answer waits for the disk."""
        while self._committing is not None:
            await asyncio.wait({self._committing})

    async def _group_commit(self) -> None:
        """Flush for all who wait, then for those who came meanwhile."""
        loop = asyncio.get_running_loop()
        try:
            while self._next_group:
                await asyncio.sleep(0)  # who has sent something by now is of the same group
                group, self._next_group = self._next_group, []
                is_on_disk = False
                if not self._is_stopped and self.write_held():  # else `stop` has flushed, or said why not
                    try:
                        await loop.run_in_executor(self._executor, self._folder.segments.flush, "commitlog")
                        is_on_disk = True
                    except SegmentError as error:
                        logger.error("flush: %s", error)  # noqa: TRY400
                self._tell(group, len(group), is_on_disk)
        finally:
            self._committing = None

    def _give_up(self, group: _Group, timeout: float) -> None:
        """Tell those of a group that have waited for too long, and look again when the next will have."""
        loop = asyncio.get_running_loop()
        since = loop.time() - timeout
        self._tell(group, sum(began <= since for began, _ in group), is_on_disk=False)
        if group:
            loop.call_at(group[0][0] + timeout, self._give_up, group, timeout)

    def _tell(self, group: _Group, count: int, is_on_disk: bool) -> None:
        """Tell the first `count` of a group, and forget them."""
        now, waited = asyncio.get_running_loop().time(), group[:count]
        del group[:count]
        for began, then in waited:
            if (ms := int((now - began) * 1000)) > 0:
                self._store.store_stats_service.note_put(ms)
            then(is_on_disk)

    # what the timers do

    def _try_again(self, _now: int) -> None:
        """Do what a full disk kept back."""
        self._store.dispatch()
        self.write_held()

    def persist_changed(self) -> None:
        """Write topics and groups if they changed: before the request that changed them is answered."""
        versions = (
            self._broker.topic_config_manager.data_version.counter,
            self._broker.subscription_group_manager.data_version.counter,
        )
        if versions == self._versions:
            return
        before, self._versions = self._versions, versions
        for name, old, new in zip(("topics.json", "subscriptionGroup.json"), before, versions, strict=True):
            if old != new:
                self._persist(name)

    def _persist(self, name: str) -> bool:
        """Write a file of `config/`; False when it stays as it was. One that fails keeps none of the others back."""
        try:
            self._folder.persist(self._tables[name])
        except OSError as error:
            logger.error("config/%s: %s", name, error)  # noqa: TRY400 - the next time may be better
            return False
        except Exception:
            logger.exception("config/%s", name)
            return False
        return True

    def _in_background(self, directory: str, least_pages: int, then: Callable[[], None]) -> None:
        """Flush a directory on the thread, unless it still does."""
        running = self._flushing.get(directory)
        if running is not None and not running.done():
            return

        def flush() -> None:
            with _logged("flush"):
                self._folder.segments.flush(directory, least_pages)
                then()

        self._flushing[directory] = self._executor.submit(flush)

    def _least_pages(self, directory: str, now: int, pages: int, thorough_interval: int) -> int:
        """How many pages make a flush worth while: none at all now and then (`…ThoroughInterval`)."""
        if now < self._thorough[directory] + thorough_interval:
            return pages
        self._thorough[directory] = now
        return 0

    def _flush_log(self, now: int) -> None:
        config = self._store.config
        pages = self._least_pages(
            "commitlog", now, config.flush_commit_log_least_pages, config.flush_commit_log_thorough_interval
        )
        self._in_background("commitlog", pages, lambda: None)

    def _flush_queues(self, now: int) -> None:
        config = self._store.config
        pages = self._least_pages(
            "consumequeue", now, config.flush_consume_queue_least_pages, config.flush_consume_queue_thorough_interval
        )
        last = self._last_store_time()
        is_whole = pages == 0 and self._store.dispatch_behind_bytes() == 0 and not self._folder.segments.held

        def note() -> None:
            if is_whole:
                self._folder.segments.flush("consumequeue_ext")
                self._folder.segments.flush("commitlog")
                self._checkpoint = Checkpoint(last, last, self._checkpoint.index_msg_timestamp)
                self._folder.write_checkpoint(self._checkpoint)

        self._in_background("consumequeue", pages, note)

    def _note_flushed(self) -> None:
        """Everything is on disk: the checkpoint says so."""
        last = self._last_store_time()
        indexed = self._index is not None and bool(self._index.files)
        self._checkpoint = Checkpoint(last, last, last if indexed else self._checkpoint.index_msg_timestamp)
        self._folder.write_checkpoint(self._checkpoint)

    def _last_store_time(self) -> int:
        files = self._store.commit_log.mapped_file_queue.mapped_files
        return files[-1].last_modified if files else 0

    def _write_index(self, _now: int) -> None:
        if self._index is not None:
            with _logged("index"):
                self._index.write()

    def _note_disk_space(self, _now: int) -> None:
        self._clean_service.note_disk_space(self._disk_used())

    def _clean(self, now: int) -> None:
        with _logged("deleting old files"):
            self._clean_service.run(now, time.localtime(now / 1000).tm_hour, self._disk_used())

    def _disk_used(self) -> float:
        return self._broker.rules.disk_used(*self._space(self._folder.root))


@contextmanager
def _logged(what: str) -> Iterator[None]:
    """Log what the disk refuses; the next time may be better."""
    try:
        yield
    except (SegmentError, OSError) as error:
        logger.error("%s: %s", what, error)  # noqa: TRY400


def _file_number() -> int:
    """The time as yyyyMMddHHmmssSSS, the name of an index file."""
    now = epoch_ms()
    return int(time.strftime("%Y%m%d%H%M%S", time.localtime(now // 1000)) + f"{now % 1000:03d}")
