"""Puts the extras into a broker, as a broker for real clients has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rmqlab.store.config import BrokerRole
from rmqlab_tools.live.extra.access_requests import without_access_control
from rmqlab_tools.live.extra.admin_consumers import AdminConsumers
from rmqlab_tools.live.extra.admin_offsets import AdminOffsets
from rmqlab_tools.live.extra.admin_topics import AdminTopics, Configuration
from rmqlab_tools.live.extra.ask_consumers import AskConsumers
from rmqlab_tools.live.extra.broker_stats_manager import BrokerStatsManager
from rmqlab_tools.live.extra.filter_server_manager import FilterServerManager
from rmqlab_tools.live.extra.query_message_processor import QueryMessageProcessor
from rmqlab_tools.live.extra.reply_message_processor import ReplyMessageProcessor
from rmqlab_tools.live.extra.runtime_info import DAY_MS, RuntimeInfo
from rmqlab_tools.live.extra.transactional_message_check_service import TransactionalMessageCheckService
from rmqlab_tools.live.extra.transactions import TransactionalMessageService

if TYPE_CHECKING:
    from rmqlab.broker.broker import Broker


@dataclass(frozen=True, slots=True)
class Extras:
    """The extras that whoever runs a broker sets up or looks into."""

    configuration: Configuration
    filter_server_manager: FilterServerManager
    runtime_info: RuntimeInfo
    stats: BrokerStatsManager


def register_extras(broker: Broker, stats: BrokerStatsManager | None = None) -> Extras:
    """Have a broker answer what real clients and the admin tool ask; `stats` counts, if not a new one."""
    store, timers = broker.message_store, broker.timers
    stats = stats or BrokerStatsManager(broker.config.broker_cluster_name, broker.now)
    broker.hooks.on_topic_deleted, broker.hooks.on_group_deleted = stats.on_topic_deleted, stats.on_group_deleted
    broker.hooks.on_put, broker.hooks.on_get, broker.hooks.on_sent_back = stats.put, stats.get, stats.sent_back
    configuration = Configuration(broker)
    runtime_info = RuntimeInfo(broker, configuration)
    broker.rpc_hooks.append(runtime_info.before_request)
    timers.at_fixed_rate("broker stats", broker.now - broker.now % DAY_MS + DAY_MS, DAY_MS, runtime_info.new_day)
    transactions = TransactionalMessageService(store, broker.config.store_host)
    broker.send_message_processor.prepare_message = transactions.prepare_message
    if store.config.broker_role is not BrokerRole.SLAVE:
        check = TransactionalMessageCheckService(broker, stats)
        interval = broker.config.transaction_check_interval
        timers.at_fixed_rate("transaction check", timers.now + interval, interval, check.check)
    for part in (
        stats,
        configuration,
        runtime_info,
        AdminTopics(broker),
        AdminConsumers(broker),
        AdminOffsets(broker, stats),
        AskConsumers(broker),
        QueryMessageProcessor(store, broker.consumer_manager, broker.consumer_filter_manager),
        transactions,
        ReplyMessageProcessor(broker),
    ):
        broker.register_processor(part.handlers)
    broker.register_processor(without_access_control())
    return Extras(configuration, register_filter_servers(broker), runtime_info, stats)


def register_filter_servers(broker: Broker) -> FilterServerManager:
    """Keep filter servers, and tell the name servers of them."""
    manager = FilterServerManager(broker.config, broker.timers, broker.hooks)
    broker.client_housekeeping_service.managers.append(manager)
    broker.filter_servers = manager.filter_servers
    broker.register_processor(manager.handlers)
    return manager
