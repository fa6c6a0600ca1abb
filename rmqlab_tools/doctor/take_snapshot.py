"""One look at a live cluster: which questions are asked of whom, and what is kept of the answers."""

from __future__ import annotations

import asyncio
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeVar

from rmqlab.broker.topic_config_manager import SYSTEM_GROUPS
from rmqlab.client.client_error import MQBrokerError
from rmqlab.client.runtime import RemotingError
from rmqlab.errors import BadInput, did_you_mean
from rmqlab.language import _, joined
from rmqlab.message import topics as names
from rmqlab.message.java_properties import shown_properties
from rmqlab.message.topics import queues_of
from rmqlab.protocol import bodies
from rmqlab.protocol.assignment import MessageRequestModeSerializeWrapper
from rmqlab.protocol.codes import RequestCode, ResponseCode, version_desc
from rmqlab.protocol.header import FrameError
from rmqlab.protocol.heartbeat import MessageModel
from rmqlab.protocol.namesrv import MASTER_ID, ClusterInfo, GetRouteInfoRequestHeader, TopicList
from rmqlab.protocol.topic_config import SubscriptionGroupWrapper, TopicConfig, TopicConfigSerializeWrapper, is_readable
from rmqlab_tools.doctor.read_client import ServerGone, is_about_access, why
from rmqlab_tools.doctor.skipped_messages import read_entries
from rmqlab_tools.doctor.snapshot import BrokerSeen, ClusterSnapshot, GroupSeen, MemberSeen, QueueSeen, Unanswered
from rmqlab_tools.live.extra import admin_headers as headers

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterable

    from rmqlab_tools.doctor.read_client import ReadClient

T = TypeVar("T")
AT_ONCE = 32
"""Groups that are looked at side by side; a broker gets no more than `read_client.IN_FLIGHT` questions of them."""
PROXIES_GROUP: Final = "CID_DefaultHeartBeatSyncerTopic"
"""By which proxies in CLUSTER mode hear of each other's clients (5.x proxy `HeartbeatSyncer`), as they are set up."""
_SYSTEM_GROUPS = {*SYSTEM_GROUPS, names.DEFAULT_CONSUMER_GROUP, "SCHEDULE_CONSUMER", "__MONITOR_CONSUMER"}


async def take_look(client: ReadClient, previous: ClusterSnapshot | None = None) -> ClusterSnapshot:
    """Look once at what `client.asked` says. `previous` is the look before: what was passed since then is read.

    What no server answers is in `look.unanswered`, and the rest goes on; after `limit_ms` the look ends with what it
    has. Example::

        async with ReadClient("127.0.0.1:9876") as client:
            look = await take_look(client)

    Raises:
        BadInput: when no name server answers, when every broker refuses the key, and for a group that no broker knows
            or a topic without a route.
    """
    look = ClusterSnapshot(client.namesrv, client.now(), since=None if previous is None else previous.at)
    look.proxies = list(client.asked.proxies)
    client.new_look(look)
    began, options = time.monotonic(), client.asked
    looking = _Looking(client, look, previous)
    try:
        async with asyncio.timeout(options.limit_ms / 1000):
            await looking.see_brokers()
            await looking.see_groups()
    except TimeoutError:
        reason = _(
            "the look was ended after {limit_ms} ms: what is missing was not asked any more", limit_ms=options.limit_ms
        )
        look.unanswered.append(Unanswered("", 0, "", reason))
    client.note_gone()
    looking.finish()
    look.took_ms = round((time.monotonic() - began) * 1000)
    return look


async def _each(items: Iterable[T], work: Callable[[T], Awaitable[None]]) -> None:
    """Do the work for each item, for `AT_ONCE` of them side by side, in bounded memory."""
    rest = iter(list(items))

    async def worker() -> None:
        for item in rest:
            await work(item)

    async with asyncio.TaskGroup() as tasks:
        for _ignored in range(AT_ONCE):
            tasks.create_task(worker())


class _Looking:
    """A look under way. Tables of brokers are by the broker's name."""

    def __init__(self, client: ReadClient, look: ClusterSnapshot, previous: ClusterSnapshot | None) -> None:
        self._client = client
        self._asked = client.asked
        self._look = look
        self._before = {} if previous is None else previous.groups
        self._topics: dict[str, dict[str, TopicConfig]] = {}
        self._committed: dict[str, dict[str, dict[str, dict[int, int]]]] = {}
        self._known_groups: set[str] = set()
        self._refused_access: dict[str, str] = {}

    async def see_brokers(self) -> None:
        """Ask for the masters (106), then each for its settings, groups and topics."""
        try:
            answer = await self._client.ask_name_server(RequestCode.GET_BROKER_CLUSTER_INFO)
            info = answer.decode_body(ClusterInfo)
        except (MQBrokerError, FrameError) as error:
            raise BadInput(
                _(
                    "{namesrv} does not tell its brokers (request 106): {why}",
                    namesrv=self._client.namesrv,
                    why=why(error),
                )
            ) from error
        clusters = {name: cluster for cluster, members in info.cluster_addr_table.items() for name in members}
        for name, data in sorted(info.broker_addr_table.items()):
            addr = data.broker_addrs.get(MASTER_ID)
            if addr is not None:
                self._look.brokers[name] = BrokerSeen(name, clusters.get(name) or data.cluster or "", addr)
                continue
            reason = _(
                "broker {name} has no master, only slaves: {broker_addrs}",
                name=name,
                broker_addrs=joined(", ", data.broker_addrs.values()),
            )
            self._look.unanswered.append(Unanswered("", RequestCode.GET_BROKER_CLUSTER_INFO, name, reason))
        masters = {broker.addr: broker.name for broker in self._look.brokers.values()}
        for proxy in self._asked.proxies:
            if proxy in masters:
                right = _("proxy {addr} is the broker {name}; give a proxy's remoting address, usually port 8080",
                          addr=proxy, name=masters[proxy])  # fmt: skip
                raise BadInput(right)
        for topic in self._asked.topics:
            await self._check_route(topic)
        await _each(self._look.brokers.values(), self._see_broker)
        if self._look.brokers and len(self._refused_access) == len(self._look.brokers):
            refusals = joined("; ", (f"{addr} {reason}" for addr, reason in self._refused_access.items()))
            raise BadInput(
                _(
                    "no broker lets this key read: {told}; give the access key and secret key of an account "
                    "that may, in a file (accessKey: and secretKey:) or as RMQLAB_ACCESS_KEY and "
                    "RMQLAB_SECRET_KEY",
                    told=refusals,
                )
            )

    async def _check_route(self, topic: str) -> None:
        """Refuse a topic that the name server does not know (105)."""
        try:
            await self._client.ask_name_server(RequestCode.GET_ROUTEINFO_BY_TOPIC, GetRouteInfoRequestHeader(topic))
        except MQBrokerError as refused:
            if refused.response_code != ResponseCode.TOPIC_NOT_EXIST:
                raise BadInput(_("topic {topic}: {why}", topic=f"{topic!r}", why=why(refused))) from refused
            answer = await self._client.ask_name_server(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)
            near = did_you_mean(topic, answer.decode_body(TopicList).topic_list)
            raise BadInput(
                _(
                    "topic {topic} has no route at {namesrv}{near}",
                    topic=f"{topic!r}",
                    namesrv=self._client.namesrv,
                    near=near,
                )
            ) from None

    async def _see_broker(self, broker: BrokerSeen) -> None:
        """Ask a master for its settings (26), figures (28), groups (201), topics (21) and committed offsets (43).

        4.8.0 and 5.3.3 answer 201 whole, not in pages. A slave asks 21, 43 and 201 every 10 s (`SlaveSynchronize`).
        """
        addr, read = broker.addr, self._client.read
        try:
            settings = (await self._client.ask(addr, RequestCode.GET_BROKER_CONFIG)).body
            broker = replace(broker, settings=shown_properties(settings or b""))
        except (MQBrokerError, RemotingError) as error:
            self._client.note(addr, RequestCode.GET_BROKER_CONFIG, "", error)
            if isinstance(error, MQBrokerError) and is_about_access(error):
                self._refused_access[addr] = why(error)
        if (runtime := await read(addr, RequestCode.GET_BROKER_RUNTIME_INFO, None, bodies.KVTable)) is not None:
            broker = replace(broker, runtime=runtime.table, version=runtime.table.get("brokerVersionDesc"))
        if broker.knows_pop:
            broker = replace(
                broker, request_modes=await self._request_modes(addr), proxies=await self._proxies_at(addr)
            )
        self._look.brokers[broker.name] = broker
        topics = await read(addr, RequestCode.GET_ALL_TOPIC_CONFIG, None, TopicConfigSerializeWrapper)
        self._topics[broker.name] = {} if topics is None else topics.topic_config_table
        offsets = await read(addr, RequestCode.GET_ALL_CONSUMER_OFFSET, None, bodies.ConsumerOffsetSerializeWrapper)
        if offsets is not None:
            by_group = self._committed[broker.name] = {}
            for key, committed in offsets.offset_table.items():
                topic, _ignored, name = key.partition("@")
                by_group.setdefault(name, {})[topic] = committed
            self._known_groups.update(by_group)
        groups = await read(addr, RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, None, SubscriptionGroupWrapper)
        configs = {} if groups is None else groups.subscription_group_table
        self._known_groups.update(configs)
        users = await self._users_of_topics(addr)
        for name in self._asked.groups or (users if self._asked.topics else self._known_groups):
            if name in self._asked.groups or not _is_system_group(name):
                group = self._look.groups.setdefault(name, GroupSeen(name))
                if name in configs:
                    group.configs[broker.name] = configs[name]

    async def _request_modes(self, addr: str) -> dict[str, dict[str, str]] | None:
        """How groups fetch topics where somebody has set it (402); None for a 5.x that has no such request yet."""
        try:
            answer = await self._client.ask(addr, RequestCode.GET_ALL_MESSAGE_REQUEST_MODE)
            modes = answer.decode_body(MessageRequestModeSerializeWrapper).message_request_mode_map
        except ServerGone:
            return None
        except (MQBrokerError, RemotingError, FrameError) as error:
            if not (
                isinstance(error, MQBrokerError) and error.response_code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED
            ):
                self._client.note(addr, RequestCode.GET_ALL_MESSAGE_REQUEST_MODE, "", error)
            return None
        return {topic: {group: body.mode.value for group, body in groups.items()} for topic, groups in modes.items()}

    async def _proxies_at(self, addr: str) -> frozenset[str]:
        """The hosts of the proxies that hear of each other's clients by way of a broker (203 of their own group)."""
        header = headers.GetConsumerConnectionListRequestHeader(PROXIES_GROUP)
        code = RequestCode.GET_CONSUMER_CONNECTION_LIST
        table = await self._client.read(addr, code, header, bodies.ConsumerConnection, PROXIES_GROUP)
        listed = [] if table is None else table.connection_set
        return frozenset(connection.client_addr.rpartition(":")[0] for connection in listed)

    async def _users_of_topics(self, addr: str) -> set[str]:
        """The groups online that subscribe to the topics asked for, and those that have offsets of them (300)."""
        users: set[str] = set()
        for topic in () if self._asked.groups else self._asked.topics:
            header = headers.QueryTopicConsumeByWhoRequestHeader(topic)
            code = RequestCode.QUERY_TOPIC_CONSUME_BY_WHO
            if (answer := await self._client.read(addr, code, header, bodies.GroupList, topic)) is not None:
                users.update(answer.group_list)
        return users

    async def see_groups(self) -> None:
        """Look at each group: its tables and offsets on every broker, its members, and what its offsets passed."""
        for table in self._topics.values():
            self._see_pop_retries(table)
        await _each(self._look.groups.values(), self._see_group)

    def _see_pop_retries(self, topics: Collection[str]) -> None:
        """Note whose retry topics POP made: "%RETRY%G+T", or "%RETRY%G_T", unless a group is called "G_T"."""
        for topic in filter(names.is_retry_topic, topics):
            rest = topic.removeprefix(names.RETRY_GROUP_TOPIC_PREFIX)
            if rest in self._known_groups:
                continue
            for place, sign in enumerate(rest):
                name, of = rest[:place], rest[place + 1 :]
                if sign in "+_" and of in topics and name in self._look.groups:
                    self._look.groups[name].pop_retries.add(of)

    async def _see_group(self, group: GroupSeen) -> None:
        for broker in self._look.brokers.values():
            await self._see_group_on(group, broker)
        for proxy in self._asked.proxies:
            header = headers.GetConsumerConnectionListRequestHeader(group.name)
            code = RequestCode.GET_CONSUMER_CONNECTION_LIST
            table = await self._client.read(proxy, code, header, bodies.ConsumerConnection, group.name)
            if table is not None:
                group.at_proxies[proxy] = table
        listed: dict[str, list[str]] = {}
        for broker_name, slot in group.slots.items():
            for connection in slot.connection_set:
                listed.setdefault(connection.client_id, []).append(broker_name)
        async with asyncio.TaskGroup() as tasks:
            for client_id, brokers in listed.items():
                tasks.create_task(self._see_member(group, client_id, brokers))
        before = self._before.get(group.name)
        for queue, seen in sorted(group.offsets.items()):
            # Every message of a retry topic is wanted: its tag codes tell nothing.
            if not queue.topic.startswith(names.RETRY_GROUP_TOPIC_PREFIX):
                earlier = None if before is None else before.offsets.get(queue)
                addr = self._look.brokers[queue.broker_name].addr
                await read_entries(self._client, addr, group, queue, seen, earlier)

    async def _see_group_on(self, group: GroupSeen, broker: BrokerSeen) -> None:
        """Ask one broker for a group's table (203), its offsets (208) and its dead letters (202)."""
        addr, name = broker.addr, group.name
        header = headers.GetConsumerConnectionListRequestHeader(name)
        code = RequestCode.GET_CONSUMER_CONNECTION_LIST
        slot = await self._client.read(addr, code, header, bodies.ConsumerConnection, name)
        if slot is not None:
            group.slots[broker.name] = slot
        await self._see_offsets(group, broker, slot)
        if names.dlq_topic(name) in self._topics.get(broker.name, {}):
            stats_header = headers.GetTopicStatsInfoRequestHeader(names.dlq_topic(name))
            code = RequestCode.GET_TOPIC_STATS_INFO
            stats = await self._client.read(addr, code, stats_header, bodies.TopicStatsTable, name)
            group.dead_letters.update({} if stats is None else stats.offset_table)

    async def _see_offsets(self, group: GroupSeen, broker: BrokerSeen, slot: bodies.ConsumerConnection | None) -> None:
        """Ask one broker how far a group is (208).

        208 has the topics that the group has offsets of, and 0 where there is none in a queue: 43 has said
        the difference. A topic that is subscribed, but without an offset so far, is asked for by its name.
        """
        table = self._committed.get(broker.name)
        committed = {} if table is None else table.get(group.name, {})
        topics: list[str | None] = [None] if table is None or committed else []
        if slot is not None and slot.message_model is not MessageModel.BROADCASTING:
            known = self._topics.get(broker.name, {})
            topics += [topic for topic in slot.subscription_table if topic in known and topic not in committed]
        for topic in topics:
            header = headers.GetConsumeStatsRequestHeader(group.name, topic)
            code = RequestCode.GET_CONSUME_STATS
            stats = await self._client.read(broker.addr, code, header, bodies.ConsumeStats, group.name)
            for queue, offsets in {} if stats is None else stats.offset_table.items():
                if self._is_wanted(queue.topic, group.name):
                    offset = offsets.consumer_offset
                    if offset == 0 and table is not None:
                        offset = committed.get(queue.topic, {}).get(queue.queue_id, -1)
                    group.offsets[queue] = QueueSeen(offset, offsets.broker_offset, offsets.last_timestamp)

    def _is_wanted(self, topic: str, group: str) -> bool:
        if self._asked.topics:
            return topic in self._asked.topics or topic == names.retry_topic(group)
        return topic not in names.SYSTEM_TOPICS and not topic.startswith(names.SYSTEM_TOPIC_PREFIX)

    async def _see_member(self, group: GroupSeen, client_id: str, brokers: list[str]) -> None:
        """Ask a member what it says of itself (307), by way of the first broker that lists it and answers."""
        connections = group.slots[brokers[0]].connection_set
        listed = next(connection for connection in connections if connection.client_id == client_id)
        language = listed.language or "unknown"
        member = MemberSeen(client_id, listed.client_addr, language, version_desc(listed.version), frozenset(brokers))
        asked_at = self._client.now()
        for broker in brokers:
            try:
                addr = self._look.brokers[broker].addr
                running, popped = await self._client.ask_member(addr, group.name, client_id, language)
            except (MQBrokerError, RemotingError, FrameError) as error:
                member = replace(member, unanswered=why(error))
                if isinstance(error, ServerGone):
                    continue
            else:
                running.jstack = None
                # Thousands of members have the same names of properties.
                running.properties = {sys.intern(name): value for name, value in running.properties.items()}
                member = replace(member, running=running, popped=popped, unanswered=None)
            break
        group.members[client_id] = replace(member, asked_at=asked_at, answered_at=self._client.now())

    def finish(self) -> None:
        """Note the readable queues of the topics that groups use; refuse a group that is not known.

        Raises:
            BadInput: a group of those asked for, if every broker has answered.
        """
        used = set(self._asked.topics)
        for group in list(self._look.groups.values()):
            if not (group.slots or group.configs or group.offsets or group.name in self._known_groups):
                del self._look.groups[group.name]  # 5.3.3 names topics, too, among those who use one (300)
            used.update(queue.topic for queue in group.offsets)
            tables = (*group.slots.values(), *group.at_proxies.values())
            used.update(topic for table in tables for topic in table.subscription_table)
            used.update(topic for member in group.members.values() for topic in member.subscriptions or {})
        for topic in sorted(used):
            for broker, table in sorted(self._topics.items()):
                config = table.get(topic)
                if config is not None and is_readable(config.perm):
                    queues = self._look.topics.setdefault(topic, [])
                    queues.extend(queues_of(topic, broker, config.read_queue_nums))
        for group_name in () if self._look.unanswered else self._asked.groups:
            if group_name not in self._look.groups:
                near = did_you_mean(group_name, self._known_groups)
                raise BadInput(
                    _(
                        "no broker of {namesrv} knows a consumer group {group_name}{near}",
                        namesrv=self._client.namesrv,
                        group_name=f"{group_name!r}",
                        near=near,
                    )
                )


def _is_system_group(name: str) -> bool:
    """Whether a name is the system's: 5.3.3 keeps offsets of "G@broadcast" for itself (`BroadcastOffsetManager`)."""
    return name in _SYSTEM_GROUPS or name == PROXIES_GROUP or name.startswith(names.CID_RMQ_SYS_PREFIX) or "@" in name
