"""Settings and state of the broker itself, for the admin tool (4.8.0 `AdminBrokerProcessor`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.broker.broker_stats_manager import DAY, HOUR, MINUTE
from rmqlab.message.java import from_utf8, hash_map_order, to_utf8
from rmqlab.message.java_properties import MalformedEscapeError, load_properties
from rmqlab.message.topics import SCHEDULE_TOPIC
from rmqlab.protocol import fastjson
from rmqlab.protocol.admin_bodies import BrokerStatsData, BrokerStatsItem, KVTable
from rmqlab.protocol.admin_headers import GetBrokerConfigResponseHeader, ViewBrokerStatsDataRequestHeader
from rmqlab.protocol.codes import VERSION_4_8_0, ResponseCode, version_desc
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.serializable import to_json
from rmqlab.store.delay_levels import delay_level_to_queue_id

if TYPE_CHECKING:
    from rmqlab.broker.broker import Broker
    from rmqlab.protocol.channel import Channel

_RUNTIME_CAPACITY = 64
_TRANSIENT_BUFFERS = 2**31 - 1  # what 4.8.0 says when the pool is off
_UNITS = "KMGTPE"


class AdminSettings:
    """One method a request. Times are epoch ms."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def update_broker_config(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand:
        """Answer 25: take over `name=value` lines; another permission is told to the name servers."""
        if command.body is not None:
            try:
                properties = load_properties(to_utf8(from_utf8(command.body)))
            except MalformedEscapeError:
                return RemotingCommand.response(ResponseCode.SYSTEM_ERROR, "string2Properties error")
            self._broker.configuration.update(properties, now)
            if "brokerPermission" in properties:
                self._broker.topic_config_manager.data_version.next_version(now)
                self._broker.register_broker_all(check_order_config=False, oneway=False, force_register=True)
        return RemotingCommand.response(ResponseCode.SUCCESS)

    def get_broker_config(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand:
        """Answer 26: every setting as a line, and the version of the table."""
        configuration = self._broker.configuration
        version = fastjson.write(to_json(configuration.data_version)).decode()
        header = GetBrokerConfigResponseHeader(version=version)
        return RemotingCommand.response(ResponseCode.SUCCESS, None, header, to_utf8(configuration.text()))

    def get_broker_runtime_info(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand:
        """Answer 28: what the broker holds and how fast it works."""
        table = self.runtime_info(now)
        ordered = {str(name): table[str(name)] for name in hash_map_order(table, _RUNTIME_CAPACITY)}
        return RemotingCommand.response(ResponseCode.SUCCESS, body=KVTable(table=ordered).encode())

    def runtime_info(self, now: int) -> dict[str, str]:
        """Return the names and texts of 28. Nothing waits in a queue here, and no time passes in a call."""
        broker, store = self._broker, self._broker.message_store
        info = broker.store_rates.runtime_info(now)
        ratio = "-1.0"
        if broker.disk_usage is not None:
            total, free = broker.disk_usage()
            ratio = repr((total - free) / total) if total > 0 else ratio
            capacity = f"Total : {human_readable(total)}, Free : {human_readable(free)}."
            info["commitLogDirCapacity"] = capacity
        settings = broker.configuration.properties()
        totals = broker.store_rates.totals()
        for level, offset in broker.schedule_message_service.offset_table.items():
            highest = store.get_max_offset_in_queue(SCHEDULE_TOPIC, delay_level_to_queue_id(level))
            info[f"scheduleMessageOffset_{level}"] = f"{offset},{highest}"
        return info | {
            "commitLogDiskRatio": ratio,
            "consumeQueueDiskRatio": ratio,
            "commitLogMinOffset": str(store.min_phy_offset),
            "commitLogMaxOffset": str(store.max_phy_offset),
            "brokerVersionDesc": version_desc(VERSION_4_8_0),
            "brokerVersion": str(VERSION_4_8_0),
            "msgPutTotalYesterdayMorning": str(broker.morning_totals[0].put),
            "msgPutTotalTodayMorning": str(broker.morning_totals[1].put),
            "msgPutTotalTodayNow": str(totals.put),
            "msgGetTotalYesterdayMorning": str(broker.morning_totals[0].transferred),
            "msgGetTotalTodayMorning": str(broker.morning_totals[1].transferred),
            "msgGetTotalTodayNow": str(totals.transferred),
            "sendThreadPoolQueueSize": "0",
            "sendThreadPoolQueueCapacity": settings["sendThreadPoolQueueCapacity"],
            "pullThreadPoolQueueSize": "0",
            "pullThreadPoolQueueCapacity": settings["pullThreadPoolQueueCapacity"],
            "queryThreadPoolQueueSize": "0",
            "queryThreadPoolQueueCapacity": settings["queryThreadPoolQueueCapacity"],
            "EndTransactionQueueSize": "0",
            "EndTransactionThreadPoolQueueCapacity": settings["endTransactionPoolQueueCapacity"],
            "dispatchBehindBytes": str(store.dispatch_behind_bytes()),
            "pageCacheLockTimeMills": "0",
            "sendThreadPoolQueueHeadWaitTimeMills": "0",
            "pullThreadPoolQueueHeadWaitTimeMills": "0",
            "queryThreadPoolQueueHeadWaitTimeMills": "0",
            "earliestMessageTimeStamp": str(store.get_earliest_message_time()),
            "startAcceptSendRequestTimeStamp": str(broker.config.start_accept_send_request_time_stamp),
            "remainTransientStoreBufferNumbs": str(_TRANSIENT_BUFFERS),
            "remainHowManyDataToFlush": human_readable(0),
        }

    def view_broker_stats_data(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand:
        """Answer 315: what a counter gained in the last minute, hour and day."""
        header = command.decode_header(ViewBrokerStatsDataRequestHeader)
        item = self._broker.broker_stats_manager.item(header.stats_name, header.stats_key)
        if item is None:
            return RemotingCommand.response(
                ResponseCode.SYSTEM_ERROR, f"The stats <{header.stats_name}> <{header.stats_key}> not exist"
            )
        minute, hour, day = (
            BrokerStatsItem(sum=snapshot.sum, tps=snapshot.tps, avgpt=snapshot.avgpt)
            for snapshot in (item.snapshot(series, now) for series in (MINUTE, HOUR, DAY))
        )
        body = BrokerStatsData(stats_minute=minute, stats_hour=hour, stats_day=day)
        return RemotingCommand.response(ResponseCode.SUCCESS, body=body.encode())


def human_readable(count: int) -> str:
    """Return a number of bytes as people read it (4.8.0 `MixAll.humanReadableByteCount`, binary units)."""
    power = 0
    while count >> 10 * (power + 1) and power < len(_UNITS):
        power += 1
    return f"{count} B" if power == 0 else f"{count / 1024**power:.1f} {_UNITS[power - 1]}iB"
