"""Topics, groups and settings of a broker, shown and changed as it runs (`AdminBrokerProcessor`, `Configuration`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.broker.processor import success, system_error, without_header
from rmqlab.errors import BadInput
from rmqlab.message.java import from_utf8, hash_map_order, in_hash_map_order, to_utf8
from rmqlab.message.java_properties import MalformedEscapeError, load_properties
from rmqlab.protocol import fastjson
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.header import CommandHeader
from rmqlab.protocol.namesrv import TopicList
from rmqlab.protocol.serializable import to_json
from rmqlab.protocol.topic_config import DataVersion
from rmqlab.store.clean_service import CleanService
from rmqlab_tools.live.extra.admin_headers import GetBrokerConfigResponseHeader

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rmqlab.broker.broker import Broker
    from rmqlab.broker.config_manager import ConfigManager
    from rmqlab.broker.processor import Handler
    from rmqlab.protocol.channel import Channel
    from rmqlab.protocol.command import RemotingCommand


class AdminTopics:
    """One method a request; `handlers` says which."""

    def __init__(self, broker: Broker) -> None:
        self._topics = broker.topic_config_manager
        self._clean_service = CleanService(broker.message_store)
        self.handlers: dict[int, Handler] = {
            # These are alive: what is told of them is how they are now.
            RequestCode.GET_ALL_TOPIC_CONFIG: without_header(
                lambda: success(broker.topic_config_manager.body().encode(), CommandHeader())
            ),
            RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG: _table(broker.subscription_group_manager),
            RequestCode.GET_ALL_CONSUMER_OFFSET: _table(broker.consumer_offset_manager),
            RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER: without_header(self._system_topics),
            RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE: without_header(self._clean_expired_consume_queues),
            RequestCode.CLEAN_UNUSED_TOPIC: without_header(self._clean_unused_topics),
            RequestCode.GET_ALL_DELAY_OFFSET: _table(broker.schedule_message_service),
        }

    def _system_topics(self) -> RemotingCommand:
        return success(TopicList(hash_map_order(self._topics.system_topics)))

    def _clean_expired_consume_queues(self) -> RemotingCommand:
        self._clean_service.clean_expired_consume_queues()
        return success()

    def _clean_unused_topics(self) -> RemotingCommand:
        self._clean_service.clean_unused_topic(self._topics.topic_config_table)
        return success()


def _table(manager: ConfigManager) -> Handler:
    return without_header(lambda: success(manager.body().encode()))


# The table's length when `Configuration` fills its properties; it decides the order of the lines.
_CAPACITY = 16


class Configuration:
    """The broker's own settings, its store's, and those that have no effect here, under 4.8.0's names.

    `others` are names of the settings file that 4.8.0 does not know: they stay in the table. After a change `persist`
    gets the table as text, for the file the broker was started with.
    """

    def __init__(self, broker: Broker) -> None:
        self._config = broker.config
        self._store_config = broker.message_store.config
        self._topics = broker.topic_config_manager
        self._register_broker_all = broker.register_broker_all
        self.data_version = DataVersion(broker.now)
        self.others: dict[str, str] = {}
        self.persist: Callable[[str], None] | None = None
        self.handlers: dict[int, Handler] = {
            RequestCode.UPDATE_BROKER_CONFIG: self._update,
            RequestCode.GET_BROKER_CONFIG: without_header(self._show),
        }

    def properties(self) -> dict[str, str]:
        """Every setting that is not null."""
        known = self._config.properties() | self._config.inert_properties() | self._store_config.properties()
        return self.others | known

    def text(self) -> str:
        """`name=value` lines in the order of java.util.Properties."""
        table = self.properties()
        return "".join(f"{name}={value}\n" for name, value in in_hash_map_order(table, _CAPACITY).items())

    def update(self, properties: Mapping[str, str], now: int) -> None:
        """Take over settings; names of no setting and values that do not fit are passed over, as in 4.8.0."""
        self.others.update({name: value for name, value in properties.items() if name in self.others})
        for name, value in properties.items():
            for config in (self._config, self._store_config):
                try:
                    config.update({name: value})
                except BadInput:
                    continue
        self.data_version.next_version(now)
        if self.persist is not None:
            self.persist(self.text())

    def _update(self, _channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand:
        """Take over `name=value` lines; another permission is sent to the name servers."""
        if command.body is not None:
            try:
                properties = load_properties(to_utf8(from_utf8(command.body)))
            except MalformedEscapeError:
                return system_error("string2Properties error")
            self.update(properties, now)
            if "brokerPermission" in properties:
                self._topics.data_version.next_version(now)
                self._register_broker_all(check_order_config=False)
        return success()

    def _show(self) -> RemotingCommand:
        """Every setting as a line, and the version of the table."""
        version = fastjson.write(to_json(self.data_version)).decode()
        return success(to_utf8(self.text()), GetBrokerConfigResponseHeader(version=version))
