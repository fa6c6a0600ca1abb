"""A broker with a clock in the test's hand, and channels that record what they were sent."""

from __future__ import annotations

import itertools

import pytest
from msgspec.structs import asdict

from rmqlab.broker.broker import Broker
from rmqlab.broker.broker_config import BrokerConfig
from rmqlab.message.properties import properties_to_string
from rmqlab.message.record import decode_records
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.consumer_headers import (
    FLAG_COMMIT_OFFSET,
    FLAG_SUBSCRIPTION,
    FLAG_SUSPEND,
    PullMessageRequestHeader,
)
from rmqlab.protocol.heartbeat import ConsumeFromWhere, ConsumerData, ConsumeType, HeartbeatData, MessageModel
from rmqlab.protocol.producer_headers import SendMessageRequestHeaderV2
from rmqlab.protocol.subscription_data import build_subscription
from rmqlab.protocol.topic_config import TopicConfig
from rmqlab.rules import DEFAULT_RULES
from rmqlab.store.config import MessageStoreConfig
from rmqlab.store.message_store import MessageStore
from rmqlab_tools.live.extra.registration import register_extras

START = 1_700_000_000_000


class FakeChannel:
    """A connection that keeps what it was sent."""

    def __init__(self, remote_address):
        self.remote_address = remote_address
        self.sent = []
        self.is_closed = False

    def send(self, command):
        self.sent.append(command)

    def close(self):
        self.is_closed = True


class Bench:
    """A broker under test: `now` moves only by `pass_time`, requests are made with few words."""

    def __init__(self, *, config=None, store_config=None, choose=None, rules=DEFAULT_RULES, **store_options):
        self.now = START
        self.facts = []
        self.labels = []
        self.registrations = []
        self._answer_to_choice = choose or (lambda _label, _n: 0)
        self._ports = itertools.count(50_000)
        self._opaques = itertools.count(1)
        self.store = MessageStore(MessageStoreConfig(**(store_config or {})), rules=rules, **store_options)
        self.broker = Broker(
            BrokerConfig(**(config or {})),
            self.store,
            now=START,
            choose=self._choose,
            observe=lambda event: self.facts.append((event.kind, asdict(event))),
            on_register=self.registrations.append,
            rules=rules,
        )
        self.extras = register_extras(self.broker)

    def _choose(self, label, n):
        self.labels.append((label, n))
        return self._answer_to_choice(label, n)

    def channel(self):
        return FakeChannel(f"127.0.0.1:{next(self._ports)}")

    def topic(self, name, queues=4, perm=6, **more):
        self.broker.topic_config_manager.update_topic_config(TopicConfig(name, queues, queues, perm, **more))

    def ask(self, channel, code, header=None, body=None, **fields):
        command = RemotingCommand.request(code, header, body)
        command.opaque = next(self._opaques)
        for name, value in fields.items():
            setattr(command, name, value)
        answer = self.broker.handle(channel, command, self.now)
        assert answer is None or (answer.is_response and answer.opaque == command.opaque)
        return answer

    def send(self, topic, body=b"x", tag=None, queue=0, channel=None, code=RequestCode.SEND_MESSAGE_V2, **fields):
        properties = dict(fields.pop("props", {}))
        if tag is not None:
            properties["TAGS"] = tag
        header = SendMessageRequestHeaderV2(
            producer_group="P",
            topic=topic,
            default_topic="TBW102",
            default_topic_queue_nums=4,
            queue_id=queue,
            sys_flag=0,
            born_timestamp=self.now,
            flag=0,
            properties=properties_to_string(properties),
        )
        for name, value in fields.items():
            setattr(header, name, value)
        return self.ask(channel or self.channel(), code, header, body)

    def subscribe(self, channel, group, topics, version=None, client="C", model=MessageModel.CLUSTERING, kind=None):
        """Send the heartbeat of a consumer; `topics` maps topic to expression."""
        version = self.now if version is None else version
        subscriptions = [build_subscription(topic, text, kind, version) for topic, text in topics.items()]
        consumer = ConsumerData(
            group_name=group,
            consume_type=ConsumeType.CONSUME_PASSIVELY,
            message_model=model,
            consume_from_where=ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET,
            subscription_data_set=subscriptions,
        )
        beat = HeartbeatData(client_id=client, consumer_data_set=[consumer])
        return self.ask(channel, RequestCode.HEART_BEAT, None, beat.encode())

    def pull(
        self,
        channel,
        group,
        topic,
        queue=0,
        offset=0,
        *,
        version=None,
        suspend=True,
        commit=None,
        own=None,
        kind="TAG",
        **fields,
    ):
        header = PullMessageRequestHeader(
            consumer_group=group,
            topic=topic,
            queue_id=queue,
            queue_offset=offset,
            max_msg_nums=32,
            sys_flag=FLAG_COMMIT_OFFSET * (commit is not None)
            | FLAG_SUSPEND * suspend
            | FLAG_SUBSCRIPTION * (own is not None),
            commit_offset=commit or 0,
            suspend_timeout_millis=15_000,
            subscription=own,
            sub_version=0 if version is None else version,
            expression_type=kind,
        )
        for name, value in fields.items():
            setattr(header, name, value)
        return self.ask(channel, RequestCode.PULL_MESSAGE, header)

    def pass_time(self, ms):
        self.now += ms
        self.broker.timers.run(self.now)

    def wake(self):
        """Let the pull executor do what it was handed."""
        self.pass_time(0)

    def seen(self, kind):
        return [facts for name, facts in self.facts if name == kind]


@pytest.fixture
def make_bench():
    return Bench


@pytest.fixture
def bench():
    return Bench()


@pytest.fixture
def bodies():
    """Give the bodies of the messages in an answer."""
    return lambda answer: [message.body for message in decode_records(answer.body or b"")]
