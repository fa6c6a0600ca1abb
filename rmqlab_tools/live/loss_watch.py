"""Which messages a group lost on a running broker, as far as the broker itself can know.

The broker sees what its filters drop, whom it hands which messages, and which offsets are committed; it never sees a
listener. The fates are the ledger's: a message that was handed to a member whose own subscription keeps it counts as
delivered once the group's offset has passed it, as in an audit.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from rmqlab.events import ClientFiltered, Commit, Expired, Filtered, Heartbeat, Pull, SubscriptionChanged, Unregister
from rmqlab.filter.filter import Filter
from rmqlab.message.java import from_utf8
from rmqlab.run.facts import Fact
from rmqlab.run.fates import Fate, FateClassifier, GroupMember, MessageFate, SendRecord
from rmqlab.run.recorded_events import Consumed
from rmqlab.scenario.fault_steps import BROKER
from rmqlab_tools.live.system import epoch_ms

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rmqlab.broker.broker import Broker
    from rmqlab.events import Event
    from rmqlab.message.message import MessageExt
    from rmqlab.protocol.subscription_data import SubscriptionData

_Queue = tuple[str, str, int]  # group, topic, queue id


class LostMessage(NamedTuple):
    """A message that a member asked for and no member got; `fate` says where it went, who took part, and when.

    `certainty`: "proved", the broker dropped it or an offset went past it, and it was handed to no member; "implied", a
    member got it whose own tags do not name its tag, and 4.8.0's clients drop that; "unknown", it had been handed to
    another member before, which may have consumed it without committing.
    """

    fate: MessageFate
    certainty: str


class LossWatch:
    """Listens to one broker from its start on (`observe`); times are epoch ms.

    It keeps an entry for each message that was handed out or dropped, and for each commit.
    """

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._facts: list[Fact[Event]] = []
        self._drops: dict[tuple[_Queue, int], Fact[Event]] = {}
        self._dropped_now: dict[_Queue, set[int]] = defaultdict(set)
        self._handed: dict[_Queue, dict[int, str]] = defaultdict(dict)  # offset to client, not committed yet
        self._got: dict[tuple[_Queue, int], str] = {}  # the same, when an offset has passed them
        self._doubtful: set[tuple[_Queue, int]] = set()
        self._members: dict[tuple[str, str], GroupMember] = {}
        self._gone: list[GroupMember] = []
        self._own: dict[tuple[str, str], dict[str, SubscriptionData]] = {}
        self._owners: dict[_Queue, str] = {}
        self._began = {key: dict(queues) for key, queues in broker.consumer_offset_manager.offset_table.items()}

    def observe(self, event: Event) -> None:
        """Hear what the broker did."""
        t = epoch_ms()
        match event:
            case Heartbeat():
                self._heartbeat(t, event)
            case Unregister(group=group, client=client) | Expired(group=group, client=client):
                self._leave(t, group, client)
            case SubscriptionChanged():
                self._facts.append(Fact(t, BROKER, event))
            case Commit():
                self._facts.append(Fact(t, BROKER, event))
                queue = (event.group, event.topic, event.queue)
                handed = self._handed[queue]
                for offset in [offset for offset in handed if offset < event.offset]:
                    self._got[queue, offset] = handed.pop(offset)
            case Filtered():
                queue = (event.group, event.topic, event.queue)
                self._dropped_now[queue].add(event.offset)
                self._drop((queue, event.offset), Fact(t, BROKER, event))
            case Pull():
                self._pull(t, event)

    def _heartbeat(self, t: int, event: Heartbeat) -> None:
        by_group: dict[str, dict[str, SubscriptionData]] = {group: {} for group in event.consumers}
        for group, subscription in event.subscriptions:
            by_group[group][str(subscription.topic)] = subscription
        for group, subscriptions in by_group.items():
            key = (group, event.client)
            if self._own.get(key, {}).keys() - subscriptions.keys():  # it no longer asks for a topic
                self._leave(t, *key)
            before = self._own.get(key, {})
            member = self._members.setdefault(key, GroupMember(event.client, group, broadcasting=False))
            for topic, data in subscriptions.items():
                old = before.get(topic)
                if old is None or (old.expression_type, old.sub_string) != (data.expression_type, data.sub_string):
                    member.asked.append((t, topic, data.expression_type or "TAG", data.sub_string or "*"))
            self._own[key] = subscriptions

    def _leave(self, t: int, group: str, client: str) -> None:
        self._own.pop((group, client), None)
        member = self._members.pop((group, client), None)
        if member is not None:
            member.until = t
            self._gone.append(member)
            self._owners = {
                queue: owner for queue, owner in self._owners.items() if (queue[0], owner) != (group, client)
            }

    def _drop(self, at: tuple[_Queue, int], fact: Fact[Event]) -> None:
        queue, offset = at
        if at in self._got:
            return  # it is read once more
        if self._handed[queue].pop(offset, None) is not None:
            self._doubtful.add(at)
        self._drops[at] = fact

    def _pull(self, t: int, pull: Pull) -> None:
        group, topic, client = pull.group, pull.topic, pull.client
        queue = (group, topic, pull.queue)
        dropped = self._dropped_now.pop(queue, set())
        if (group, client) in self._members:
            self._owners[queue] = client
        if not pull.count or pull.next is None:
            return
        own = self._own.get((group, client), {}).get(topic)
        keeps = Filter.heard(own) if own is not None and own.is_tag else None
        store = self._broker.message_store
        for offset in range(pull.offset, pull.next):
            if offset in dropped:
                continue
            message = None if keeps is None else store.look_message_in_queue(topic, pull.queue, offset)
            tag = None if message is None else message.tags
            if own is None or keeps is None or keeps.client_keeps(tag):
                self._handed[queue][offset] = client
                self._drops.pop((queue, offset), None)
                continue
            drop = ClientFiltered(client, *queue, offset, tag, own.sub_string, own.sub_version)
            self._drop((queue, offset), Fact(t, client, drop))

    def knows(self, group: str, topic: str) -> bool:
        """Whether a member of the group subscribed the topic since the broker started."""
        return any(
            member.group == group and any(entry[1] == topic for entry in member.asked)
            for member in (*self._members.values(), *self._gone)
        )

    def fates(self, group: str, topic: str, messages: Iterable[MessageExt]) -> list[MessageFate]:
        """The fates of a topic's messages, without those that the group had passed before the broker started."""
        began = self._began.get(f"{topic}@{group}", {})
        sent = [_sent(message) for message in messages if message.queue_offset >= began.get(message.queue_id, 0)]
        facts = [*self._facts, *(fact for (queue, _), fact in self._drops.items() if queue[:2] == (group, topic))]
        for message in sent:
            client = self._got.get(((group, topic, message.queue), message.offset))
            if client is not None:
                place = client, topic, message.tag, message.queue, message.offset, message.body
                got = Consumed(*place, reconsume=0, message_id=message.message_id, group=group, success=True)
                facts.append(Fact(message.t, client, got))
        # what an owner has pulled and not committed is not passed
        owners = {queue: {client: 0} for queue, client in self._owners.items()}
        members = [member for member in (*self._members.values(), *self._gone) if member.group == group]
        return FateClassifier(facts, owners).fates(sent, members)

    def lost(self, group: str, topic: str, messages: Iterable[MessageExt]) -> list[LostMessage]:
        """The lost ones among them, each with its certainty."""
        return [LostMessage(fate, self._certainty(fate)) for fate in self.fates(group, topic, messages) if fate.lost]

    def _certainty(self, fate: MessageFate) -> str:
        if ((fate.group, fate.topic, fate.queue), fate.offset) in self._doubtful:
            return "unknown"
        return "implied" if fate.fate is Fate.DROPPED_BY_CLIENT else "proved"


def _sent(message: MessageExt) -> SendRecord:
    return SendRecord(
        message.topic, message.queue_id, message.queue_offset, from_utf8(message.body or b""), message.tags,
        str(message.msg_id), message.store_timestamp, dict(message.properties),
    )  # fmt: skip
