"""Puts the extras into a broker: all of them, as a broker for real clients has them, or one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rmqlab.broker.extra.admin_clients import AdminClients
from rmqlab.broker.extra.admin_consumers import AdminConsumers
from rmqlab.broker.extra.admin_topics import AdminTopics, Configuration
from rmqlab.broker.extra.broker_stats_manager import BrokerStatsManager
from rmqlab.broker.extra.filter_server_manager import FilterServerManager
from rmqlab.broker.extra.query_message_processor import QueryMessageProcessor
from rmqlab.broker.extra.reply_message_processor import ReplyMessageProcessor
from rmqlab.broker.extra.runtime_info import DAY_MS, RuntimeInfo
from rmqlab.broker.extra.transactional_message_check_service import TransactionalMessageCheckService
from rmqlab.broker.extra.transactions import TransactionalMessageService
from rmqlab.store.config import BrokerRole

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
    stats = stats or BrokerStatsManager(broker.config.broker_cluster_name, broker.now)
    register_stats(broker, stats)
    configuration, runtime_info = register_admin(broker, stats)
    register_transactions(broker, stats)
    broker.register_processor(ReplyMessageProcessor(broker).handlers)
    return Extras(configuration, register_filter_servers(broker), runtime_info, stats)


def register_stats(broker: Broker, stats: BrokerStatsManager) -> None:
    """Count what goes through topics and groups."""
    broker.hooks.on_put, broker.hooks.on_get, broker.hooks.on_sent_back = stats.put, stats.get, stats.sent_back
    broker.register_processor(stats.handlers)


def register_admin(broker: Broker, stats: BrokerStatsManager) -> tuple[Configuration, RuntimeInfo]:
    """Answer the admin tool."""
    configuration = Configuration(broker)
    runtime_info = RuntimeInfo(broker, configuration)
    broker.rpc_hooks.append(runtime_info.before_request)
    broker.timers.at_fixed_rate("broker stats", broker.now - broker.now % DAY_MS + DAY_MS, DAY_MS, runtime_info.new_day)
    for part in (
        configuration,
        runtime_info,
        AdminTopics(broker, stats),
        AdminConsumers(broker, stats),
        AdminClients(broker),
        QueryMessageProcessor(broker.message_store, broker.consumer_manager, broker.consumer_filter_manager),
    ):
        broker.register_processor(part.handlers)
    return configuration, runtime_info


def register_transactions(broker: Broker, stats: BrokerStatsManager) -> None:
    """Take half messages, end transactions, ask about those that nobody ended."""
    store = broker.message_store
    service = TransactionalMessageService(store, broker.store_host)
    broker.send_message_processor.prepare_message = service.prepare_message
    broker.register_processor(service.handlers)
    if store.config.broker_role is not BrokerRole.SLAVE:
        TransactionalMessageCheckService(
            broker.config,
            store,
            broker.store_host,
            broker.topic_config_manager,
            broker.consumer_offset_manager,
            broker.producer_manager,
            broker.broker2client,
            stats,
        ).start(broker.timers)


def register_filter_servers(broker: Broker) -> FilterServerManager:
    """Keep filter servers, and tell the name servers of them."""
    manager = FilterServerManager(broker.config, broker.timers, broker.hooks)
    broker.client_housekeeping_service.managers.append(manager)
    broker.filter_servers = manager.filter_servers
    broker.register_processor(manager.handlers)
    return manager
