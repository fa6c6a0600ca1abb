"""What a broker sends the name servers (`BrokerOuterAPI`): over sockets, or directly to one beside it."""

from __future__ import annotations

import asyncio
import logging
from copy import copy
from typing import TYPE_CHECKING

from rmqlab.client.runtime import RemotingError
from rmqlab.message.record import body_crc
from rmqlab.namesrv.name_server import NAMESPACE_ORDER_TOPIC_CONFIG
from rmqlab.protocol.bodies import KVTable
from rmqlab.protocol.channel import LocalChannel
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.header import FrameError
from rmqlab.protocol.namesrv import RegisterBrokerRequestHeader, UnRegisterBrokerRequestHeader
from rmqlab.protocol.topic_config import RegisterBrokerBody, TopicConfigSerializeWrapper
from rmqlab_tools.live.system import epoch_ms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rmqlab.broker.broker import Broker
    from rmqlab.broker.broker_config import BrokerConfig
    from rmqlab.namesrv.name_server import NameServer
    from rmqlab.protocol.header import CommandHeader
    from rmqlab.protocol.topic_config import BrokerRegistration
    from rmqlab_tools.live.sockets import SocketRuntime

logger = logging.getLogger(__name__)

REGISTER_TIMEOUT_MS = 6_000
UNREGISTER_TIMEOUT_MS = 3_000


class BrokerOuterAPI:
    """Carries registrations to every name server, one after the other; a later one is never overtaken.

    `name_servers` are "ip:port" each. `own` is a name server in this process: it knows before the call returns, as a
    4.8.0 broker answers a client only when the name servers know. A registration that fails is logged: the next one
    comes in 30 s.
    """

    def __init__(
        self, runtime: SocketRuntime, broker: Broker, name_servers: Sequence[str], own: NameServer | None
    ) -> None:
        self._runtime = runtime
        self._broker = broker
        self._name_servers = tuple(name_servers)
        self._own = own
        self._link = LocalChannel("127.0.0.1:0")
        self._queue: asyncio.Queue[tuple[BrokerRegistration, bytes]] = asyncio.Queue()
        self._worker: asyncio.Task[None] | None = None

    def register_broker_all(self, registration: BrokerRegistration) -> None:
        """Send what `Broker.on_register` gets; its tables are read now, not later."""
        filter_servers = list(registration.filter_server_list or ())
        registration = registration._replace(filter_server_list=filter_servers)
        if self._own is not None:
            self._own.route_info_manager.register_broker(registration, self._link, epoch_ms())
            if registration.check_order_config:
                ordered = self._own.kv_config.get(NAMESPACE_ORDER_TOPIC_CONFIG)
                self._broker.topic_config_manager.update_order_topic_config(ordered)
        if not self._name_servers:
            return
        topics, version = dict(registration.topic_config_table), copy(registration.data_version)
        registration = registration._replace(topic_config_table=topics, data_version=version)
        body = RegisterBrokerBody(TopicConfigSerializeWrapper(topics, version), filter_servers)
        self._queue.put_nowait((registration, body.encode()))
        if self._worker is None:
            self._worker = asyncio.get_running_loop().create_task(self._work())

    async def registered(self) -> None:
        """Wait until everything handed over so far has been sent and answered, or failed."""
        await self._queue.join()

    async def close(self) -> None:
        """Send nothing more."""
        if self._worker is not None:
            self._worker.cancel()
            await asyncio.gather(self._worker, return_exceptions=True)

    async def unregister_broker_all(self, config: BrokerConfig) -> None:
        """Take the broker off every name server."""
        if self._own is not None:
            self._own.route_info_manager.unregister_broker(
                config.broker_cluster_name, config.broker_addr, config.broker_name, config.broker_id
            )
        for address in self._name_servers:
            header = UnRegisterBrokerRequestHeader(
                config.broker_name, config.broker_addr, config.broker_cluster_name, config.broker_id
            )
            request = self._request(RequestCode.UNREGISTER_BROKER, header)
            try:
                await self._runtime.invoke(address, request, UNREGISTER_TIMEOUT_MS)
            except RemotingError as error:
                logger.warning("unregistering from %s: %s", address, error)

    def _request(self, code: int, header: CommandHeader, body: bytes | None = None) -> RemotingCommand:
        request = RemotingCommand.request(code, header, body)
        request.version = self._broker.rules.wire.version_number
        return request

    async def _work(self) -> None:
        while True:
            registration, body = await self._queue.get()
            try:
                for address in self._name_servers:
                    await self._register(address, registration, body)
            except Exception:
                logger.exception("registering")
            finally:
                self._queue.task_done()

    async def _register(self, address: str, registration: BrokerRegistration, body: bytes) -> None:
        header = RegisterBrokerRequestHeader(
            broker_name=registration.broker_name,
            broker_addr=registration.broker_addr,
            cluster_name=registration.cluster_name,
            ha_server_addr=registration.ha_server_addr,
            broker_id=registration.broker_id,
            body_crc32=body_crc(body),
        )
        request = self._request(RequestCode.REGISTER_BROKER, header, body)
        try:
            if registration.oneway:
                await self._runtime.invoke_oneway(address, request)
                return
            answer = await self._runtime.invoke(address, request, REGISTER_TIMEOUT_MS)
        except RemotingError as error:
            logger.warning("registering with %s: %s", address, error)
            return
        if answer.code != ResponseCode.SUCCESS:
            logger.warning("name server %s refused the registration: %s", address, answer.remark)
        elif registration.check_order_config and answer.body:
            try:
                table = KVTable.decode(answer.body).table
            except FrameError as error:
                logger.warning("ordered topics of the name server: %s", error)
                return
            self._broker.topic_config_manager.update_order_topic_config(table)
