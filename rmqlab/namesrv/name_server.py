"""A name server: called with requests and the time, it holds what brokers registered.

Source: `NamesrvController`, `DefaultRequestProcessor`.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

from msgspec.structs import astuple

from rmqlab.message.java import from_utf8, to_utf8
from rmqlab.message.java_properties import MalformedEscapeError, load_properties
from rmqlab.namesrv.route_info_manager import (
    NAMESPACE_ORDER_TOPIC_CONFIG,
    KVConfigManager,
    NamesrvConfig,
    RouteInfoManager,
)
from rmqlab.protocol import namesrv_headers as headers
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.header import FrameError, RemotingCommandException
from rmqlab.protocol.topic_config import (
    BrokerRegistration,
    DataVersion,
    RegisterBrokerBody,
    TopicConfigSerializeWrapper,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.protocol.channel import Channel
    from rmqlab.protocol.header import CommandHeader
    from rmqlab.protocol.route import TopicRouteData
    from rmqlab.protocol.serializable import RemotingSerializable

    Answer = Callable[[Channel, RemotingCommand, int], RemotingCommand]

SCAN_FIRST = 5_000  # ms after the start
SCAN_PERIOD = 10_000  # ms
V3_0_11 = 37  # ordinal in `MQVersion`: since then brokers register filter servers too
FAQ = "\nSee http://rocketmq.apache.org/docs/faq/ for further details."


class NameServer:
    """Routes and key-value texts. `now` is epoch ms everywhere."""

    def __init__(self, now: int, config: NamesrvConfig | None = None) -> None:
        self.config = config or NamesrvConfig()
        self.route_info_manager = RouteInfoManager()
        self.kv_config_manager = KVConfigManager()
        self._processor = DefaultRequestProcessor(self.config, self.route_info_manager, self.kv_config_manager)
        self._next_scan = now + SCAN_FIRST

    def __repr__(self) -> str:
        """How many topics it knows, and the brokers that are registered."""
        routes = self.route_info_manager
        brokers = ", ".join(map(str, routes.broker_addr_table)) or "none"
        return f"<NameServer: {len(routes.topic_queue_table)} topics; brokers: {brokers}>"

    def handle(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand | None:
        """Process a request; None when nobody waits for the answer, or 4.8.0 gives none."""
        if command.is_response:
            return None
        response = self._processor.process(channel, command, now)
        if response is None or command.is_oneway:
            return None
        return response.reply_to(command)

    def on_channel_close(self, channel: Channel, now: int) -> None:
        """A connection is gone, broke or was idle for 120 s: the broker behind it is forgotten at once."""
        self.route_info_manager.on_channel_destroy(channel.remote_address, channel)

    def next_timer(self) -> int:
        """Return when the next scan for silent brokers is due."""
        return self._next_scan

    def run_timers(self, now: int) -> None:
        """Run the scans due at `now` or before."""
        while self._next_scan <= now:
            self.route_info_manager.scan_not_active_broker(self._next_scan)
            self._next_scan += SCAN_PERIOD


class DefaultRequestProcessor:
    """One method for each kind of request."""

    def __init__(self, config: NamesrvConfig, routes: RouteInfoManager, kv_config: KVConfigManager) -> None:
        self._config = config
        self._routes = routes
        self._kv_config = kv_config
        self._answers: dict[int, Answer] = {
            RequestCode.PUT_KV_CONFIG: self._put_kv_config,
            RequestCode.GET_KV_CONFIG: self._get_kv_config,
            RequestCode.DELETE_KV_CONFIG: self._delete_kv_config,
            RequestCode.QUERY_DATA_VERSION: self._query_data_version,
            RequestCode.REGISTER_BROKER: self._register_broker,
            RequestCode.UNREGISTER_BROKER: self._unregister_broker,
            RequestCode.GET_ROUTEINFO_BY_TOPIC: self._get_route_info_by_topic,
            RequestCode.WIPE_WRITE_PERM_OF_BROKER: self._wipe_write_perm_of_broker,
            RequestCode.DELETE_TOPIC_IN_NAMESRV: self._delete_topic,
            RequestCode.GET_KVLIST_BY_NAMESPACE: self._get_kv_list_by_namespace,
            RequestCode.GET_TOPICS_BY_CLUSTER: self._get_topics_by_cluster,
            RequestCode.UPDATE_NAMESRV_CONFIG: self._update_config,
            RequestCode.GET_NAMESRV_CONFIG: self._get_config,
        }
        self._lists: dict[int, Callable[[], RemotingSerializable]] = {
            RequestCode.GET_BROKER_CLUSTER_INFO: self._routes.get_all_cluster_info,
            RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: self._routes.get_all_topic_list,
            RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS: self._routes.get_system_topic_list,
            RequestCode.GET_UNIT_TOPIC_LIST: self._routes.get_unit_topics,
            RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST: self._routes.get_has_unit_sub_topic_list,
            RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST: self._routes.get_has_unit_sub_un_unit_topic_list,
        }

    def process(self, channel: Channel, request: RemotingCommand, now: int) -> RemotingCommand | None:
        """Answer a request; None for a kind a name server does not know: 4.8.0 leaves it without an answer.

        What throws in Java gives SYSTEM_ERROR with the exception's name and text, without the line that Java adds.
        """
        if request.code in self._lists:
            return _success(body=self._lists[request.code]().encode())
        answer = self._answers.get(request.code)
        if answer is None:
            return None
        try:
            return answer(channel, request, now)
        except RemotingCommandException as error:
            name = "org.apache.rocketmq.remoting.exception.RemotingCommandException"
            return RemotingCommand.response(ResponseCode.SYSTEM_ERROR, f"{name}: {error}")
        except FrameError as error:
            return RemotingCommand.response(ResponseCode.SYSTEM_ERROR, str(error))

    def _register_broker(self, channel: Channel, request: RemotingCommand, now: int) -> RemotingCommand:
        header = request.decode_header(headers.RegisterBrokerRequestHeader)
        answer = headers.RegisterBrokerResponseHeader()
        if header.body_crc32 and header.body_crc32 != zlib.crc32(request.body or b"") & 0x7FFFFFFF:
            return RemotingCommand.response(ResponseCode.SYSTEM_ERROR, "crc32 not match", answer)
        broker_id = _required(header.broker_id, "brokerId")
        body = _registered(request, header.compressed)
        wrapper = body.topic_config_serialize_wrapper
        answer.ha_server_addr, answer.master_addr = self._routes.register_broker(
            BrokerRegistration(
                header.cluster_name,
                header.broker_addr,
                header.broker_name,
                broker_id,
                header.ha_server_addr,
                wrapper.topic_config_table,
                wrapper.data_version,
                body.filter_server_list if request.version >= V3_0_11 else None,
            ),
            channel,
            now,
        )
        ordered = self._kv_config.get_kv_list_by_namespace(NAMESPACE_ORDER_TOPIC_CONFIG)
        return _success(answer, None if ordered is None else ordered.encode())

    def _unregister_broker(self, _channel: Channel, request: RemotingCommand, _now: int) -> RemotingCommand:
        header = request.decode_header(headers.UnRegisterBrokerRequestHeader)
        broker_id = _required(header.broker_id, "brokerId")
        self._routes.unregister_broker(header.cluster_name, header.broker_addr, header.broker_name, broker_id)
        return _success()

    def _query_data_version(self, _channel: Channel, request: RemotingCommand, now: int) -> RemotingCommand:
        header = request.decode_header(headers.QueryDataVersionRequestHeader)
        version = DataVersion.decode(request.body or b"")
        changed = self._routes.is_broker_topic_config_changed(header.broker_addr, version)
        if not changed:
            self._routes.update_broker_info_update_timestamp(header.broker_addr, now)
        known = self._routes.query_broker_topic_config(header.broker_addr)
        answer = headers.QueryDataVersionResponseHeader(changed=changed)
        return _success(answer, None if known is None else known.encode())

    def _get_route_info_by_topic(self, _channel: Channel, request: RemotingCommand, _now: int) -> RemotingCommand:
        topic = request.decode_header(headers.GetRouteInfoRequestHeader).topic
        route = self._routes.pickup_topic_route_data(topic)
        if route is None:
            remark = f"No topic route info in name server for the topic: {_text(topic)}{FAQ}"
            return RemotingCommand.response(ResponseCode.TOPIC_NOT_EXIST, remark)
        if self._config.order_message_enable:
            route.order_topic_conf = self._kv_config.get_kv_config(NAMESPACE_ORDER_TOPIC_CONFIG, topic)
        return _success(body=_body_of(route))

    def _wipe_write_perm_of_broker(self, _channel: Channel, request: RemotingCommand, _now: int) -> RemotingCommand:
        header = request.decode_header(headers.WipeWritePermOfBrokerRequestHeader)
        count = self._routes.wipe_write_perm_of_broker(header.broker_name)
        return _success(headers.WipeWritePermOfBrokerResponseHeader(wipe_topic_count=count))

    def _delete_topic(self, _channel: Channel, request: RemotingCommand, _now: int) -> RemotingCommand:
        self._routes.delete_topic(request.decode_header(headers.DeleteTopicInNamesrvRequestHeader).topic)
        return _success()

    def _get_topics_by_cluster(self, _channel: Channel, request: RemotingCommand, _now: int) -> RemotingCommand:
        header = request.decode_header(headers.GetTopicsByClusterRequestHeader)
        return _success(body=self._routes.get_topics_by_cluster(header.cluster).encode())

    def _put_kv_config(self, _channel: Channel, request: RemotingCommand, _now: int) -> RemotingCommand:
        header = request.decode_header(headers.PutKVConfigRequestHeader)
        self._kv_config.put_kv_config(header.namespace, header.key, header.value)
        return _success()

    def _get_kv_config(self, _channel: Channel, request: RemotingCommand, _now: int) -> RemotingCommand:
        header = request.decode_header(headers.GetKVConfigRequestHeader)
        value = self._kv_config.get_kv_config(header.namespace, header.key)
        answer = headers.GetKVConfigResponseHeader(value=value)
        if value is not None:
            return _success(answer)
        remark = f"No config item, Namespace: {_text(header.namespace)} Key: {_text(header.key)}"
        return RemotingCommand.response(ResponseCode.QUERY_NOT_FOUND, remark, answer)

    def _delete_kv_config(self, _channel: Channel, request: RemotingCommand, _now: int) -> RemotingCommand:
        header = request.decode_header(headers.DeleteKVConfigRequestHeader)
        self._kv_config.delete_kv_config(header.namespace, header.key)
        return _success()

    def _get_kv_list_by_namespace(self, _channel: Channel, request: RemotingCommand, _now: int) -> RemotingCommand:
        namespace = request.decode_header(headers.GetKVListByNamespaceRequestHeader).namespace
        table = self._kv_config.get_kv_list_by_namespace(namespace)
        if table is not None:
            return _success(body=table.encode())
        return RemotingCommand.response(ResponseCode.QUERY_NOT_FOUND, f"No config item, Namespace: {_text(namespace)}")

    def _update_config(self, _channel: Channel, request: RemotingCommand, _now: int) -> RemotingCommand:
        try:
            properties = load_properties(to_utf8(from_utf8(request.body or b"")))
        except MalformedEscapeError:
            return RemotingCommand.response(ResponseCode.SYSTEM_ERROR, "string2Properties error")
        self._config.update(properties)
        return _success()

    def _get_config(self, _channel: Channel, _request: RemotingCommand, _now: int) -> RemotingCommand:
        return _success(body=to_utf8(self._config.to_text()))


def _registered(request: RemotingCommand, compressed: bool) -> RegisterBrokerBody:
    """Return what a registration holds; without a body no topics at data version 0/0."""
    if request.body is None:
        return RegisterBrokerBody()
    if request.version < V3_0_11:
        return RegisterBrokerBody(TopicConfigSerializeWrapper.decode(request.body))
    try:
        return (
            RegisterBrokerBody.decode_compressed(request.body)
            if compressed
            else RegisterBrokerBody.decode(request.body)
        )
    except (FrameError, ValueError) as error:
        raise RemotingCommandException("Failed to decode RegisterBrokerBody") from error


def _required(number: int | None, name: str) -> int:
    if number is None:
        raise FrameError("java.lang.NullPointerException", f"{name} is missing in the header")
    return number


def _success(header: CommandHeader | None = None, body: bytes | None = None) -> RemotingCommand:
    return RemotingCommand.response(ResponseCode.SUCCESS, None, header, body)


def _text(value: object) -> str:
    return "null" if value is None else str(value)


_BODIES: dict[tuple[Any, ...], bytes] = {}
_MOST_BODIES = 256


def _body_of(route: TopicRouteData) -> bytes:
    """The bytes of a route: clients ask again and again for routes that hardly ever change."""
    key = (
        route.order_topic_conf,
        tuple([astuple(queues) for queues in route.queue_datas]),
        tuple([(one.cluster, one.broker_name, *one.broker_addrs.items()) for one in route.broker_datas]),
        tuple([(addr, *servers) for addr, servers in route.filter_server_table.items()]),
    )
    body = _BODIES.get(key)
    if body is None:
        if len(_BODIES) >= _MOST_BODIES:
            _BODIES.clear()
        body = _BODIES[key] = route.encode()
    return body
