"""PullAPIWrapper: makes a pull request and reads its answer, the client's own tag check included (rows F-93..F-100)."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from rmqlab.client.client_error import MQClientError
from rmqlab.client.results import PullStatus
from rmqlab.events import ClientFiltered
from rmqlab.filter.filter import Filter
from rmqlab.message.java import parse_boolean
from rmqlab.message.properties import PROPERTY_MAX_OFFSET, PROPERTY_MIN_OFFSET, PROPERTY_TRANSACTION_PREPARED
from rmqlab.message.record import decode_records
from rmqlab.protocol.consumer_headers import FLAG_CLASS_FILTER, FLAG_COMMIT_OFFSET, PullMessageRequestHeader
from rmqlab.protocol.route import MASTER_ID

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.client.mq_client_instance import MQClientInstance
    from rmqlab.client.results import PullResult
    from rmqlab.client.topic_routes import FindBrokerResult
    from rmqlab.message.message import MessageExt, MessageQueue
    from rmqlab.protocol.subscription_data import SubscriptionData

    FilterMessageHook = Callable[[list[MessageExt]], None]

V4_1_0_SNAPSHOT = 232
"""The first broker version that filters by SQL92 (ordinal in `MQVersion`)."""


class PullAPIWrapper:
    """Pulls of one consumer. It remembers which broker each queue should be pulled from next."""

    def __init__(self, instance: MQClientInstance, group: str) -> None:
        """`filter_hooks` may take messages out of the list they get; their errors are ignored."""
        self._instance = instance
        self._group = group
        self._pull_from_which_node: dict[MessageQueue, int] = {}
        self.filter_hooks: list[FilterMessageHook] = []

    async def prepare_pull(
        self,
        queue: MessageQueue,
        subscription: SubscriptionData,
        sub_expression: str | None,
        sub_version: int,
        offset: int,
        max_nums: int,
        sys_flag: int,
        commit_offset: int,
        suspend_ms: int,
    ) -> tuple[str, PullMessageRequestHeader]:
        """The address to pull from and the request, as `pullKernelImpl` makes them.

        Raises `MQClientError` when there is no broker, no filter server, or the broker is too old for the type.
        """
        found = self._find_broker(queue)
        if found is None:
            await self._instance.update_topic_route_info_from_name_server(queue.topic)
            found = self._find_broker(queue)
        if found is None:
            raise MQClientError(f"The broker[{queue.broker_name}] not exist")
        if not subscription.is_tag and found.broker_version < V4_1_0_SNAPSHOT:
            raise MQClientError(
                f"The broker[{queue.broker_name}, {found.broker_version}] does not upgrade to support for filter "
                f"message by {subscription.expression_type}"
            )
        if found.slave:
            sys_flag &= ~FLAG_COMMIT_OFFSET
        addr = found.broker_addr
        if sys_flag & FLAG_CLASS_FILTER:
            addr = self._filter_server(queue.topic, addr)
        header = PullMessageRequestHeader(
            self._group,
            queue.topic,
            queue.queue_id,
            offset,
            max_nums,
            sys_flag,
            commit_offset,
            suspend_ms,
            sub_expression,
            sub_version,
            subscription.expression_type,
        )
        return addr, header

    def _find_broker(self, queue: MessageQueue) -> FindBrokerResult | None:
        broker_id = self._pull_from_which_node.get(queue, MASTER_ID)
        return self._instance.find_broker_address_in_subscribe(queue.broker_name, broker_id, only_this_broker=False)

    def _filter_server(self, topic: str, broker_addr: str) -> str:
        route = self._instance.topic_route_table.get(topic)
        servers = None if route is None else route.filter_server_table.get(broker_addr)
        if not servers:
            raise MQClientError(f"Find Filter Server Failed, Broker Addr: {broker_addr} topic: {topic}")
        return servers[self._instance.choose("filter_server", len(servers))]

    def process_pull_result(
        self, queue: MessageQueue, result: PullResult, subscription: SubscriptionData
    ) -> PullResult:
        """Decode what was found and keep what this consumer's own tags want; fills `msg_found_list`."""
        self._pull_from_which_node[queue] = result.suggest_which_broker_id
        if result.pull_status is not PullStatus.FOUND:
            return result
        messages = decode_records(result.message_binary or b"")
        result.message_binary = None
        messages = self._filter_again(queue, messages, subscription)
        for hook in self.filter_hooks:
            with suppress(Exception):
                hook(messages)
        min_offset, max_offset = str(result.min_offset), str(result.max_offset)
        for message in messages:
            properties = message.properties
            if parse_boolean(properties.get(PROPERTY_TRANSACTION_PREPARED)):
                message.transaction_id = message.unique_id
            properties[PROPERTY_MIN_OFFSET] = min_offset
            properties[PROPERTY_MAX_OFFSET] = max_offset
            message.broker_name = queue.broker_name
        result.msg_found_list = messages
        return result

    def _filter_again(
        self, queue: MessageQueue, messages: list[MessageExt], subscription: SubscriptionData
    ) -> list[MessageExt]:
        kept: list[MessageExt] = []
        observe, own = self._instance.observe, Filter(subscription, self._instance.rules)
        for message in messages:
            if own.client_keeps(message.tags):
                kept.append(message)
            elif observe is not None:
                observe(
                    ClientFiltered(
                        self._instance.client_id, self._group, queue.topic, queue.queue_id, message.queue_offset,
                        message.tags, subscription.sub_string, subscription.sub_version,
                    )
                )  # fmt: skip
        return kept
