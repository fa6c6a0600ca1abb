"""A name server: called with requests and the time, it holds what brokers registered.

Source: `NamesrvController`, `DefaultRequestProcessor`.
"""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING, Any

from rmqlab.message.java import from_utf8, in_hash_map_order, text_of, to_utf8
from rmqlab.message.java_properties import MalformedEscapeError, load_properties
from rmqlab.namesrv.namesrv_config import DEFAULT_PORT, NamesrvConfig
from rmqlab.namesrv.route_info_manager import RouteInfoManager
from rmqlab.protocol import fastjson
from rmqlab.protocol import namesrv as headers
from rmqlab.protocol.bodies import KVTable
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import ONEWAY, RESPONSE, RemotingCommand
from rmqlab.protocol.header import FrameError, RemotingCommandException, remark_of
from rmqlab.protocol.serializable import to_json
from rmqlab.protocol.topic_config import BrokerRegistration, DataVersion, RegisterBrokerBody
from rmqlab.protocol.wire import DEFAULT_WIRE, Wire

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.protocol.channel import Channel
    from rmqlab.protocol.header import CommandHeader
    from rmqlab.protocol.namesrv import TopicList, TopicRouteData

    Answer = Callable[[Channel, RemotingCommand, int], RemotingCommand]

SCAN_FIRST = 5_000  # ms after the start
BROKER_SCAN_PERIOD = 10_000  # ms

NAMESPACE_ORDER_TOPIC_CONFIG = "ORDER_TOPIC_CONFIG"
"""The namespace whose keys are ordered topics and whose values read "broker:queues;broker:queues"."""


class NameServer:
    """Routes and key-value texts. `now` is epoch ms everywhere.

    `kv_config` holds texts by namespace and key; a namespace, once made, stays even when its last key goes.
    `on_unknown(code)` hears of requests that no handler takes.
    """

    def __init__(self, now: int, listen_port: int = DEFAULT_PORT, *, wire: Wire = DEFAULT_WIRE) -> None:
        self.wire = wire
        self.config = NamesrvConfig(listen_port)
        self.on_unknown: Callable[[int], None] = lambda _code: None
        self.route_info_manager = routes = RouteInfoManager()
        self.kv_config: dict[str, dict[str, str]] = {}
        self._next_scan = now + SCAN_FIRST
        self._answers: dict[int, Answer] = {
            RequestCode.PUT_KV_CONFIG: self._put_kv_config,
            RequestCode.GET_KV_CONFIG: self._get_kv_config,
            RequestCode.DELETE_KV_CONFIG: self._delete_kv_config,
            RequestCode.REGISTER_BROKER: self._register_broker,
            RequestCode.UNREGISTER_BROKER: self._unregister_broker,
            RequestCode.GET_ROUTEINFO_BY_TOPIC: self._get_route_info_by_topic,
            RequestCode.GET_BROKER_CLUSTER_INFO: self._get_cluster_info,
            RequestCode.WIPE_WRITE_PERM_OF_BROKER: self._wipe_write_perm_of_broker,
            RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: _topics(routes.get_all_topic_list),
            RequestCode.DELETE_TOPIC_IN_NAMESRV: self._delete_topic,
            RequestCode.GET_KVLIST_BY_NAMESPACE: self._get_kv_list_by_namespace,
            RequestCode.GET_TOPICS_BY_CLUSTER: self._get_topics_by_cluster,
            RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS: _topics(routes.get_system_topic_list),
            RequestCode.GET_UNIT_TOPIC_LIST: _topics(routes.get_unit_topics),
            RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST: _topics(routes.get_has_unit_sub_topic_list),
            RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST: _topics(routes.get_has_unit_sub_un_unit_topic_list),
            RequestCode.UPDATE_NAMESRV_CONFIG: self._update_config,
            RequestCode.GET_NAMESRV_CONFIG: self._get_config,
            RequestCode.QUERY_DATA_VERSION: self._query_data_version,
        }

    def __repr__(self) -> str:
        """How many topics it knows, and the brokers that are registered."""
        routes = self.route_info_manager
        brokers = ", ".join(map(str, routes.broker_addr_table)) or "none"
        return f"<NameServer: {len(routes.topic_queue_table)} topics; brokers: {brokers}>"

    def handle(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand | None:
        """Process a request; None when no caller waits for the answer, or for a kind that it does not know, as 4.8.0.

        What throws in Java gives SYSTEM_ERROR with the exception's name and text, without the line that Java adds.
        """
        if command.flag & RESPONSE:
            return None
        answer = self._answers.get(command.code)
        if answer is None:
            self.on_unknown(command.code)
            return None
        try:
            response = answer(channel, command, now)
        except (FrameError, RemotingCommandException) as error:
            response = RemotingCommand.response(ResponseCode.SYSTEM_ERROR, remark_of(error))
        return None if command.flag & ONEWAY else response.reply_to(command, self.wire)

    def on_channel_close(self, channel: Channel, now: int) -> None:
        """A connection is gone, broke or was idle for 120 s: its broker is forgotten at once."""
        self.route_info_manager.on_channel_destroy(channel.remote_address, channel)

    def next_timer(self) -> int:
        """When the next scan for silent brokers is due."""
        return self._next_scan

    def run_timers(self, now: int) -> None:
        """Run the scans due at `now` or before; what comes late runs at `now`, as in Java."""
        while self._next_scan <= now:
            self.route_info_manager.scan_not_active_broker(now)
            self._next_scan += BROKER_SCAN_PERIOD

    def _register_broker(self, channel: Channel, request: RemotingCommand, now: int) -> RemotingCommand:
        header = request.decode_header(headers.RegisterBrokerRequestHeader)
        answer = headers.RegisterBrokerResponseHeader()
        if header.body_crc32 and header.body_crc32 != zlib.crc32(request.body or b"") & 0x7FFFFFFF:
            return RemotingCommand.response(ResponseCode.SYSTEM_ERROR, "crc32 not match", answer)
        broker_id = _required(header.broker_id, "brokerId")
        body = _registered(request)
        wrapper = body.topic_config_serialize_wrapper
        answer.ha_server_addr, answer.master_addr = self.route_info_manager.register_broker(
            BrokerRegistration(
                header.cluster_name,
                header.broker_addr,
                header.broker_name,
                broker_id,
                header.ha_server_addr,
                wrapper.topic_config_table,
                wrapper.data_version,
                body.filter_server_list,
            ),
            channel,
            now,
        )
        ordered = self.kv_config.get(NAMESPACE_ORDER_TOPIC_CONFIG)
        if ordered is None:
            return _success(answer)
        return _success(answer, KVTable(table=in_hash_map_order(ordered)).encode())

    def _unregister_broker(self, _channel: Channel, request: RemotingCommand, _now: int) -> RemotingCommand:
        header = request.decode_header(headers.UnRegisterBrokerRequestHeader)
        broker_id = _required(header.broker_id, "brokerId")
        self.route_info_manager.unregister_broker(
            header.cluster_name, header.broker_addr, header.broker_name, broker_id
        )
        return _success()

    def _get_route_info_by_topic(self, _channel: Channel, request: RemotingCommand, _now: int) -> RemotingCommand:
        topic, since = request.decode_header(headers.GetRouteInfoRequestHeader).topic, self.wire.quotes_since
        route = self.route_info_manager.pickup_topic_route_data(topic)
        if route is None:
            remark = f"No topic route info in name server for the topic: {text_of(topic)}{self.wire.suggest_todo}"
            return RemotingCommand.response(ResponseCode.TOPIC_NOT_EXIST, remark)
        if self.config.is_order_message_enabled:
            route.order_topic_conf = self.kv_config.get(NAMESPACE_ORDER_TOPIC_CONFIG, {}).get(topic)
        quotes = since is not None and (
            request.version >= since
            or request.decode_header(headers.GetRouteInfoWithFlagRequestHeader).accept_standard_json_only is True
        )
        return _success(body=_body_of(route, self.wire, quotes=quotes))

    def _get_cluster_info(self, _channel: Channel, _request: RemotingCommand, _now: int) -> RemotingCommand:
        info: Any = to_json(self.route_info_manager.get_all_cluster_info())
        for broker in info["brokerAddrTable"].values():
            broker.update(self.wire.broker_fields)
        return _success(body=fastjson.write(info))

    def _wipe_write_perm_of_broker(self, _channel: Channel, request: RemotingCommand, _now: int) -> RemotingCommand:
        header = request.decode_header(headers.WipeWritePermOfBrokerRequestHeader)
        count = self.route_info_manager.wipe_write_perm_of_broker(header.broker_name)
        return _success(headers.WipeWritePermOfBrokerResponseHeader(wipe_topic_count=count))

    def _delete_topic(self, _channel: Channel, request: RemotingCommand, _now: int) -> RemotingCommand:
        self.route_info_manager.delete_topic(request.decode_header(headers.DeleteTopicInNamesrvRequestHeader).topic)
        return _success()

    def _put_kv_config(self, _channel: Channel, request: RemotingCommand, _now: int) -> RemotingCommand:
        header = request.decode_header(headers.PutKVConfigRequestHeader)
        self.kv_config.setdefault(header.namespace, {})[header.key] = header.value
        return _success()

    def _delete_kv_config(self, _channel: Channel, request: RemotingCommand, _now: int) -> RemotingCommand:
        header = request.decode_header(headers.DeleteKVConfigRequestHeader)
        self.kv_config.get(header.namespace, {}).pop(header.key, None)
        return _success()

    def _get_kv_config(self, _channel: Channel, request: RemotingCommand, _now: int) -> RemotingCommand:
        header = request.decode_header(headers.GetKVConfigRequestHeader)
        value = self.kv_config.get(header.namespace, {}).get(header.key)
        if value is not None:
            return _success(headers.GetKVConfigResponseHeader(value))
        remark = f"No config item, Namespace: {text_of(header.namespace)} Key: {text_of(header.key)}"
        return RemotingCommand.response(ResponseCode.QUERY_NOT_FOUND, remark, headers.GetKVConfigResponseHeader())

    def _get_kv_list_by_namespace(self, _channel: Channel, request: RemotingCommand, _now: int) -> RemotingCommand:
        namespace = request.decode_header(headers.GetKVListByNamespaceRequestHeader).namespace
        table = self.kv_config.get(namespace)
        if table is not None:
            return _success(body=KVTable(table=in_hash_map_order(table)).encode())
        return RemotingCommand.response(
            ResponseCode.QUERY_NOT_FOUND, f"No config item, Namespace: {text_of(namespace)}"
        )

    def _get_topics_by_cluster(self, _channel: Channel, request: RemotingCommand, _now: int) -> RemotingCommand:
        cluster = request.decode_header(headers.GetTopicsByClusterRequestHeader).cluster
        return _success(body=self.route_info_manager.get_topics_by_cluster(cluster).encode())

    def _query_data_version(self, _channel: Channel, request: RemotingCommand, now: int) -> RemotingCommand:
        """A broker asks whether its topics are newer than those held; if they are not, that is a sign of life."""
        addr = request.decode_header(headers.QueryDataVersionRequestHeader).broker_addr
        version = DataVersion.decode(request.body or b"")
        info = self.route_info_manager.broker_live_table.get(addr)
        changed = info is None or info.data_version != version
        if info is not None and not changed:
            info.last_update_timestamp = now
        return _success(
            headers.QueryDataVersionResponseHeader(changed), None if info is None else info.data_version.encode()
        )

    def _update_config(self, _channel: Channel, request: RemotingCommand, _now: int) -> RemotingCommand:
        if request.body is not None:
            try:
                self.config.update(load_properties(to_utf8(from_utf8(request.body))))
            except MalformedEscapeError:
                return RemotingCommand.response(ResponseCode.SYSTEM_ERROR, "string2Properties error")
        return _success()

    def _get_config(self, _channel: Channel, _request: RemotingCommand, _now: int) -> RemotingCommand:
        return _success(body=to_utf8(self.config.text()))


def _topics(topics: Callable[[], TopicList]) -> Answer:
    return lambda _channel, _request, _now: _success(body=topics().encode())


def _registered(request: RemotingCommand) -> RegisterBrokerBody:
    """What a registration holds; without a body no topics at data version 0/0."""
    if request.body is None:
        return RegisterBrokerBody()
    try:
        return RegisterBrokerBody.decode(request.body)
    except (FrameError, ValueError) as error:
        raise RemotingCommandException("Failed to decode RegisterBrokerBody") from error


def _required(number: int | None, name: str) -> int:
    if number is None:
        raise FrameError("NullPointerException", f"{name} is missing in the header")
    return number


def _success(header: CommandHeader | None = None, body: bytes | None = None) -> RemotingCommand:
    return RemotingCommand.response(ResponseCode.SUCCESS, None, header, body)


_BODIES: dict[str, bytes] = {}
_MAX_BODIES = 256


def _body_of(route: TopicRouteData, wire: Wire, *, quotes: bool) -> bytes:
    """The bytes of a route: clients ask again and again for routes that hardly ever change."""
    text = f"{wire.version_number} {quotes} {route!r}"
    body = _BODIES.get(text)
    if body is None:
        if len(_BODIES) >= _MAX_BODIES:
            _BODIES.clear()
        body = _BODIES[text] = _in_form_of(wire, route, quotes=quotes)
    return body


def _in_form_of(wire: Wire, route: TopicRouteData, *, quotes: bool) -> bytes:
    """The bytes of a route as a version writes it; with `quotes` all names are texts, and all letters ASCII."""
    fields: Any = to_json(route)
    for broker in fields["brokerDatas"]:
        broker.update(wire.broker_fields)
        if quotes:
            broker["brokerAddrs"] = {str(broker_id): address for broker_id, address in broker["brokerAddrs"].items()}
    fields["queueDatas"] = [
        dict(sorted((wire.queue_flag if name == "topicSynFlag" else name, value) for name, value in queue.items()))
        for queue in fields["queueDatas"]
    ]
    return json.dumps(fields, separators=(",", ":")).encode() if quotes else fastjson.write(fields)
