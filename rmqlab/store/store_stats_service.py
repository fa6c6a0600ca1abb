"""Counters of the store (4.8.0 `StoreStatsService`, and the disk fall of `BrokerStatsManager`)."""

from __future__ import annotations

from collections import Counter


class StoreStatsService:
    """How many messages came and went. The times 4.8.0 keeps beside them are always 0: no time passes in a call."""

    __slots__ = (
        "disk_fall_behind_size",
        "get_message_times_total_found",
        "get_message_times_total_miss",
        "get_message_transfered_msg_count",
        "put_message_failed_times",
        "single_put_message_topic_size_total",
        "single_put_message_topic_times_total",
    )

    def __init__(self) -> None:
        self.put_message_failed_times = 0
        self.single_put_message_topic_times_total: Counter[str] = Counter()
        self.single_put_message_topic_size_total: Counter[str] = Counter()
        self.get_message_times_total_found = 0
        self.get_message_times_total_miss = 0
        self.get_message_transfered_msg_count = 0
        # (group, topic, queue id) -> bytes of commit log behind the message last looked at
        self.disk_fall_behind_size: dict[tuple[str, str, int], int] = {}
