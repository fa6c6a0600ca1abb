"""The way of a heartbeat, traced: what client and broker call when a member joins, and what the scan calls (H-03)."""

from __future__ import annotations

from rmqlab.broker.client_housekeeping_service import ClientHousekeepingService
from rmqlab.broker.client_manage_processor import ClientManageProcessor
from rmqlab.broker.consumer_group_info import ConsumerGroupInfo
from rmqlab.broker.consumer_manager import ConsumerIdsChangeListener, ConsumerManager
from rmqlab.broker.extra.filter_server_manager import FilterServerManager
from rmqlab.broker.extra.registration import register_filter_servers
from rmqlab.broker.producer_manager import ProducerManager
from rmqlab.broker.topic_config_manager import TopicConfigManager
from rmqlab.client.mq_client_instance import MQClientInstance, RebalanceService
from rmqlab.lab.filters.call_trace import Call, trace
from rmqlab.lab.groups.disappearance import Disappearance
from rmqlab.lab.simulate import Simulation
from rmqlab.runtime.schedule import Timing

WATCHED = (
    MQClientInstance.prepare_heartbeat_data, ClientManageProcessor.heart_beat,
    TopicConfigManager.create_topic_in_send_message_back_method, ConsumerManager.register_consumer,
    ConsumerGroupInfo.update_channel, ConsumerGroupInfo.update_subscription, ConsumerIdsChangeListener.handle,
    ConsumerIdsChangeListener.notify_consumer_ids_changed, ProducerManager.register_producer, RebalanceService.wakeup,
    ClientHousekeepingService.scan_exception_channel, ProducerManager.scan_not_active_channel,
    ConsumerManager.scan_not_active_channel, FilterServerManager.scan_not_active_channel,
)  # fmt: skip


def heartbeat_way() -> dict[str, Call]:
    """The calls by name: "prepare" and "heart beat" of B, who joins A's group; A's "wake up"; a "scan"."""
    simulation = Simulation(Disappearance(second_ms=5_000).scenario(), timing=Timing())
    register_filter_servers(simulation.cluster.broker)  # the scan looks after them too
    world = simulation.world
    while not any(fact["who"] == "B" for fact in simulation.cluster.facts.of("starting")):
        world.step()
    found: dict[str, Call] = {}
    calls = trace(lambda: world.run_for_ms(10_000), WATCHED)
    world.scheduler.close()
    for name, function in (
        ("prepare", MQClientInstance.prepare_heartbeat_data),
        ("heart beat", ClientManageProcessor.heart_beat),
        ("wake up", RebalanceService.wakeup),
        ("scan", ClientHousekeepingService.scan_exception_channel),
    ):
        found[name] = next(call for call in calls if call.name == function.__qualname__)
    return found
