"""A virtual world with a real core broker, a bare name server, and clients."""

from __future__ import annotations

import pytest
from msgspec.structs import asdict

from rmqlab.broker.broker import Broker
from rmqlab.broker.broker_config import BrokerConfig
from rmqlab.client.client_config import ClientConfig, ProducerConfig, PushConsumerConfig
from rmqlab.client.listener import ConsumeConcurrentlyStatus
from rmqlab.client.mq_client_manager import MQClientManager
from rmqlab.client.producer import DefaultMQProducer
from rmqlab.client.push_consumer import DefaultMQPushConsumer
from rmqlab.message.ids import UniqueIdMaker
from rmqlab.message.message import Host
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.namesrv import BrokerData, GetRouteInfoRequestHeader, QueueData, TopicRouteData
from rmqlab.protocol.topic_config import TopicConfig
from rmqlab.rules import DEFAULT_RULES
from rmqlab.scenario.schedule import Timing
from rmqlab.sim.virtual import VirtualTime
from rmqlab.store.config import MessageStoreConfig
from rmqlab.store.message_store import MessageStore
from rmqlab_tools.live.extra.registration import register_extras
from tests.proof.virtual_clock import run_until_ms

EPOCH = 1_630_810_300_000
NAMESRV = "10.0.0.9:9876"


class RouteServer:
    """Knows the topics of the world's brokers at once; answers 105 and nothing else."""

    def __init__(self, world):
        self.world = world
        self.hidden = set()

    def handle(self, channel, command, now):
        assert command.code == RequestCode.GET_ROUTEINFO_BY_TOPIC
        topic = command.decode_header(GetRouteInfoRequestHeader).topic
        route = TopicRouteData()
        for broker in self.world.brokers.values():
            config = broker.topic_config_manager.topic_config_table.get(topic)
            if config is None or topic in self.hidden:
                continue
            name, addr = broker.config.broker_name, broker.config.broker_addr
            route.queue_datas.append(QueueData(name, config.read_queue_nums, config.write_queue_nums, config.perm))
            route.broker_datas.append(BrokerData("c", name, {0: addr, **self.world.slaves.get(name, {})}))
        if not route.broker_datas:
            return RemotingCommand.response(ResponseCode.TOPIC_NOT_EXIST).reply_to(command)
        return RemotingCommand.response(ResponseCode.SUCCESS, body=route.encode()).reply_to(command)

    def on_channel_close(self, channel, now):
        pass

    def next_timer(self):
        return None

    def run_timers(self, now):
        pass


class World:
    """Brokers at 10.0.1.1, 10.0.1.2, ...; clients by letter; every frame that clients send is in `frames`."""

    def __init__(self, chooser=None, timing=None, rules=DEFAULT_RULES):
        self.rules = rules
        self.time = VirtualTime(EPOCH, chooser, timing or Timing((300,), spacing_us=0))
        self.time.on_frame = self._on_frame
        self.brokers = {}
        self.slaves = {}
        self.facts = []
        self.frames = []
        self.consumed = []
        self.namesrv = RouteServer(self)
        self.time.serve(NAMESRV, self.namesrv)
        self.add_broker()

    def _on_frame(self, connection, direction, command, sent_us, due_us):
        if connection.server.name != NAMESRV:
            self.frames.append((sent_us / 1000, connection.node.name, direction, command))

    def add_broker(self):
        number = len(self.brokers) + 1
        name, ip = f"broker-{chr(96 + number)}", f"10.0.1.{number}"
        config = BrokerConfig(broker_name=name, broker_ip1=ip)
        store = MessageStore(MessageStoreConfig(), store_host=Host(ip, config.listen_port))
        broker = Broker(config, store, now=EPOCH, rules=self.rules)
        register_extras(broker)
        self.brokers[name] = broker
        self.time.serve(config.broker_addr, broker)
        return broker

    @property
    def broker(self):
        return self.brokers["broker-a"]

    def topic(self, name, queues=4):
        for broker in self.brokers.values():
            broker.topic_config_manager.topic_config_table[name] = TopicConfig(name, queues, queues)

    def instance(self, who, config=None, **node):
        virtual = self.time.nodes.get(who) or self.time.node(who, **node)
        config = config or ClientConfig()
        config.namesrv_addr, config.client_ip, config.instance_name = NAMESRV, "10.0.0.1", who
        manager = self.manager(virtual)
        return manager.get_or_create(config)

    def manager(self, node):
        if not hasattr(node, "manager"):
            observe = lambda event: self.facts.append((self.time.now_ms(), event.kind, asdict(event)))  # noqa: E731
            node.manager = MQClientManager(node, UniqueIdMaker("10.0.0.1", 1, 2), observe, self.rules)
        return node.manager

    def consumer(self, who, group="G", listener=None, node=None, **settings):
        config = PushConsumerConfig(**settings)
        instance = self.instance(who, config, **(node or {}))

        def consume(messages, context):
            self.facts.append((self.time.now_ms(), "consume", {"messages": messages}))
            status = ConsumeConcurrentlyStatus.CONSUME_SUCCESS if listener is None else listener(messages, context)
            self.consumed += [(who, message) for message in messages]
            return status

        return DefaultMQPushConsumer(group, instance, consume, config)

    def producer(self, who="P", group="PROD", **settings):
        config = ProducerConfig(**settings)
        return DefaultMQProducer(group, self.instance(who, config), config)

    def do(self, coroutine, ms=200):
        """Run a coroutine, give it `ms` of virtual time to end, return what it returns or raise what it raises."""
        outcome = []

        async def wrapped():
            try:
                outcome.append((await coroutine, None))
            except Exception as error:  # noqa: BLE001 - raised again below
                outcome.append((None, error))

        self.time.scheduler.spawn(wrapped(), "test")
        scheduler = self.time.scheduler
        end_us = scheduler.now_us + ms * 1000
        while not outcome and scheduler.next_time() is not None and scheduler.next_time() <= end_us:
            scheduler.step()
        assert outcome, f"not done after {ms} ms"
        result, error = outcome[0]
        if error is not None:
            raise error
        return result

    def run(self, ms):
        run_until_ms(self.time, self.time.now_ms() + ms)

    def refuse(self, instance, code, error):
        """Let every request of this code that an instance makes end with `error`; returns a call that ends this."""
        call = instance.api.call

        async def calls(addr, asked, header, *rest):
            if asked == code and error(addr, header) is not None:
                raise error(addr, header)
            return await call(addr, asked, header, *rest)

        instance.api.call = calls
        return lambda: setattr(instance.api, "call", call)

    def requests(self, who, *codes):
        """(time in ms, command) of what `who` sent to brokers, of these codes or all."""
        return [(t, c) for t, n, d, c in self.frames if n == who and d == "c2s" and (not codes or c.code in codes)]

    def kinds(self, *kinds):
        return [(t, kind, fields) for t, kind, fields in self.facts if kind in kinds]

    def bodies(self, who):
        return sorted(message.body.decode() for name, message in self.consumed if name == who)


@pytest.fixture(scope="module")
def make_world():
    """Makes worlds, and ends them: what was spawned and never ran is closed."""
    made = []

    def make(*args, **kwargs):
        made.append(World(*args, **kwargs))
        return made[-1]

    yield make
    for world in made:
        world.time.scheduler.close()


@pytest.fixture
def world(make_world):
    return make_world()
