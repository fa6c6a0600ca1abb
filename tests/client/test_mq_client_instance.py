from __future__ import annotations

import pytest

from rmqlab.client.client_config import ClientConfig, ServiceState
from rmqlab.client.client_error import IllegalStateError, MQClientError
from rmqlab.client.executor import ThreadPool
from rmqlab.client.producer import DefaultMQProducer
from rmqlab.message.topics import MessageQueue
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.heartbeat import ConsumeType, HeartbeatData
from rmqlab.protocol.namesrv import BrokerData, QueueData, TopicRouteData

HEART_BEAT = RequestCode.HEART_BEAT


def heartbeats(world, who):
    return [round(t) for t, _ in world.requests(who, HEART_BEAT)]


def started(world, who="A", group="G", topic="T", **settings):
    world.topic(topic)
    consumer = world.consumer(who, group, **settings)
    world.do(consumer.subscribe(topic, "tagA"))
    world.do(consumer.start())
    return consumer


@pytest.mark.row("H-11")
@pytest.mark.parametrize("register", ["register_consumer", "register_producer"])
def test_register_refuses_null_and_the_second_of_a_group(world, register):
    instance = world.instance("A")
    add = getattr(instance, register)
    client = DefaultMQProducer("X", instance)
    assert not add(None, client)
    assert not add("X", None)
    assert add("X", client)
    assert not add("X", DefaultMQProducer("X", instance))
    table = instance.consumer_table if register == "register_consumer" else instance.producer_table
    assert table["X"] is client


@pytest.mark.row("H-12", "S-97")
def test_one_instance_for_a_client_id(world):
    node = world.time.node("A")
    manager = world.manager(node)
    one = manager.get_or_create(ClientConfig(client_ip="1.2.3.4", pid=77))
    assert one.client_id == "1.2.3.4@77"
    assert manager.get_or_create(ClientConfig(client_ip="1.2.3.4", pid=77)) is one
    assert manager.get_or_create(ClientConfig(client_ip="1.2.3.4", instance_name="x")) is not one


@pytest.mark.row("S-97")
def test_the_second_consumer_of_a_group_in_one_client_id_does_not_start(world):
    started(world)
    second = world.consumer("A")
    with pytest.raises(MQClientError) as error:
        world.do(second.start())
    assert str(error.value).split("\n")[0] == (
        "The consumer group[G] has been created before, specify another name please."
    )
    assert second.state is ServiceState.CREATE_JUST
    other = world.consumer("A", group="H")
    world.do(other.subscribe("T", "*"))
    world.do(other.start())


@pytest.mark.row("H-13")
def test_heartbeat_takes_the_consumers_own_name_and_the_producers_key(world):
    consumer = started(world)
    instance = consumer.instance
    instance.consumer_table["other key"] = instance.consumer_table.pop("G")
    instance.producer_table["P2"] = DefaultMQProducer("not this", instance)
    data = instance.prepare_heartbeat_data()
    assert data.client_id == instance.client_id == "10.0.0.1@A"
    (one,) = data.consumer_data_set
    assert (one.group_name, one.consume_type) == ("G", ConsumeType.CONSUME_PASSIVELY)
    assert {s.topic for s in one.subscription_data_set} == {"T", "%RETRY%G"}
    assert {p.group_name for p in data.producer_data_set} == {"CLIENT_INNER_PRODUCER", "P2"}


@pytest.mark.row("H-14", "H-17")
def test_heartbeats_at_the_start_on_new_queues_after_one_second_and_every_thirty(world):
    started(world)
    world.run(70_000)
    start, new_queues, *timer = heartbeats(world, "A")
    assert start <= 2
    assert new_queues <= 6
    retry_queue = [t for t in timer if 20_000 < t < 20_100]  # the first rebalance that knows the retry topic's queue
    assert len(retry_queue) == 1
    assert [t for t in timer if t not in retry_queue] == pytest.approx([1_000, 31_000, 61_000], abs=2)


@pytest.mark.row("H-14")
def test_the_heartbeat_interval_can_be_set(world):
    started(world, heartbeat_broker_interval=5_000)
    world.run(12_000)
    assert [t // 1_000 for t in heartbeats(world, "A")[2:]] == [1, 6, 11]


@pytest.mark.row("H-15")
def test_route_and_offset_timers(world):
    times = {"route": [], "commit": []}
    frame = world.time.on_frame

    def seen(connection, direction, command, sent_us, due_us):
        if command.code == RequestCode.GET_ROUTEINFO_BY_TOPIC:
            times["route"].append(sent_us // 1000)
        if command.code == RequestCode.UPDATE_CONSUMER_OFFSET:
            times["commit"].append(sent_us // 1000)
        frame(connection, direction, command, sent_us, due_us)

    world.time.on_frame = seen
    started(world)
    world.run(70_000)
    # three topics each time: subscribed, retry, the producer's TBW102
    timed = [t for t in times["route"] if t >= 10]
    assert timed[0] == 10
    assert sorted({t // 1_000 for t in timed}) == [0, 30, 60]
    assert sorted({t // 1_000 for t in times["commit"]}) == list(range(10, 71, 5))


@pytest.mark.row("H-15")
def test_the_name_server_address_is_fetched_only_when_unset(world):
    calls = []

    def fetch():
        calls.append(world.time.now_ms())
        return "10.0.0.9:9876"

    world.topic("T")
    consumer = world.consumer("A", fetch_namesrv_addr=fetch)
    consumer.instance.config.namesrv_addr = None
    consumer.instance.api.name_servers = []
    world.do(consumer.subscribe("T", "tagA"))
    world.do(consumer.start())
    world.run(131_000)
    assert [round(t / 1000) for t in calls] == [0, 10, 130]
    assert started(world, "B", fetch_namesrv_addr=pytest.fail).state is ServiceState.RUNNING


@pytest.mark.row("H-16")
def test_a_heartbeat_is_skipped_while_another_is_under_way(world):
    instance = started(world).instance
    world.run(500)
    before = len(heartbeats(world, "A"))
    first = world.time.scheduler.spawn(instance.send_heartbeat_to_all_broker_with_lock(), "one")
    second = world.time.scheduler.spawn(instance.send_heartbeat_to_all_broker_with_lock(), "two")
    world.run(100)
    assert (first.result, second.result) == (True, False)
    assert len(heartbeats(world, "A")) == before + 1


@pytest.mark.row("H-17")
def test_subscribe_beats_and_unsubscribe_is_silent(world):
    consumer = started(world)
    world.run(21_000)
    before = len(heartbeats(world, "A"))
    world.do(consumer.subscribe("T2", "*"))
    assert len(heartbeats(world, "A")) == before + 1
    consumer.unsubscribe("T2")
    world.run(400)
    assert len(heartbeats(world, "A")) == before + 1


@pytest.mark.row("H-18", "H-19")
def test_no_heartbeat_without_members_or_without_brokers(world):
    instance = world.instance("A")
    instance.broker_addr_table["broker-a"] = {0: "10.0.1.1:10911"}
    world.do(instance.send_heartbeat_to_all_broker_with_lock())
    assert (heartbeats(world, "A"), instance.heartbeats_sent) == ([], 0)
    instance.register_producer("P", DefaultMQProducer("P", instance))
    instance.broker_addr_table.clear()
    world.do(instance.send_heartbeat_to_all_broker_with_lock())
    assert (heartbeats(world, "A"), instance.heartbeats_sent) == ([], 0)
    instance.broker_addr_table["broker-a"] = {0: "10.0.1.1:10911"}
    world.do(instance.send_heartbeat_to_all_broker_with_lock())
    assert (len(heartbeats(world, "A")), instance.heartbeats_sent) == (1, 1)


@pytest.mark.row("H-20")
def test_a_broker_without_addresses_is_passed_over(world):
    instance = world.instance("A")
    instance.register_producer("P", DefaultMQProducer("P", instance))
    instance.broker_addr_table |= {"empty": {}, "broker-a": {0: "10.0.1.1:10911"}}
    world.do(instance.send_heartbeat_to_all_broker_with_lock())
    assert len(heartbeats(world, "A")) == 1
    assert list(instance.broker_version_table) == ["broker-a"]


@pytest.mark.row("H-21")
def test_slaves_hear_only_of_clients_with_a_consumer(world):
    world.time.serve("10.0.1.9:10911", world.broker)
    world.slaves["broker-a"] = {1: "10.0.1.9:10911"}
    world.topic("T")
    producer = world.producer("P")
    world.do(producer.start())
    world.run(20)
    world.do(producer.instance.update_topic_route_info_from_name_server("T"))
    world.do(producer.instance.send_heartbeat_to_all_broker_with_lock())
    assert len(heartbeats(world, "P")) == 1
    begin = world.time.now_ms()
    instance = started(world, "A").instance
    assert len([t for t, _ in world.requests("A", HEART_BEAT) if t <= begin + 3]) == 2
    assert set(instance.broker_version_table["broker-a"]) == {"10.0.1.1:10911", "10.0.1.9:10911"}


@pytest.mark.row("H-22", "H-25")
def test_a_silent_broker_costs_three_seconds_and_the_others_are_told(world):
    world.add_broker()
    world.add_broker()
    instance = started(world).instance
    world.run(500)
    world.time.servers["10.0.1.2:10911"].up = False
    before = len(heartbeats(world, "A"))
    begin = world.time.now_ms()
    world.do(instance.send_heartbeat_to_all_broker_with_lock(), 5_000)
    assert 3_000 <= world.time.now_ms() - begin < 3_010
    assert len(heartbeats(world, "A")) == before + 3


@pytest.mark.row("H-23", "H-24")
def test_the_answer_carries_the_brokers_version(world):
    instance = started(world).instance
    assert HEART_BEAT == 34
    assert instance.broker_version_table == {"broker-a": {"10.0.1.1:10911": 373}}
    assert instance.find_broker_address_in_publish("broker-a") == "10.0.1.1:10911"
    found = instance.find_broker_address_in_subscribe("broker-a", 0)
    assert found == ("10.0.1.1:10911", False, 373)


def test_find_broker_for_a_subscriber(world):
    instance = world.instance("A")
    instance.broker_addr_table["b"] = {0: "m", 2: "s"}
    find = instance.find_broker_address_in_subscribe
    assert find("b", 1) == ("s", True, 0)  # the next id is tried for a slave
    assert find("b", 2) == ("s", True, 0)
    assert find("b", 7) == ("m", False, 0)
    assert find("x", 0) is None
    assert instance.find_broker_address_in_admin("x") is None


def test_offline_brokers_are_forgotten_before_a_heartbeat(world):
    instance = started(world).instance
    instance.broker_addr_table |= {"gone": {0: "9.9.9.9:1"}, "broker-a": {0: "10.0.1.1:10911", 1: "9.9.9.9:2"}}
    world.run(1_100)
    assert instance.broker_addr_table == {"broker-a": {0: "10.0.1.1:10911"}}


def test_a_route_is_taken_again_only_when_it_changed_or_somebody_lacks_it(world):
    consumer = started(world)
    instance = consumer.instance
    update = instance.update_topic_route_info_from_name_server
    assert not world.do(update("T"))
    world.topic("T", 8)
    assert world.do(update("T"))
    assert len(consumer.topic_subscribe_info_table["T"]) == 8
    consumer.topic_subscribe_info_table.clear()
    assert world.do(update("T"))
    assert not world.do(update("unknown"))
    assert "unknown" not in instance.topic_route_table


def test_order_topic_configuration_decides_the_queues_to_send_to(world):
    producer = world.producer()
    instance = producer.instance
    instance.register_producer("PROD", producer)
    data = QueueData("b1", 2, 2, 6), QueueData("b0", 2, 1, 6), QueueData("b2", 4, 4, 4)
    brokers = [BrokerData("c", name, {0: name} if name != "b3" else {1: name}) for name in ("b0", "b1", "b2")]
    instance._take_route("T", TopicRouteData("b9:2;b8:1;", list(data), brokers))
    queues = producer.topic_publish_info_table["T"].message_queue_list
    assert queues == [MessageQueue("T", "b9", 0), MessageQueue("T", "b9", 1), MessageQueue("T", "b8", 0)]
    instance._take_route("T", TopicRouteData(None, list(data), brokers))
    queues = producer.topic_publish_info_table["T"].message_queue_list
    assert queues == [MessageQueue("T", "b0", 0), MessageQueue("T", "b1", 0), MessageQueue("T", "b1", 1)]
    instance._take_route("T", TopicRouteData(None, [data[0]], [BrokerData("c", "b1", {1: "slave"})]))
    assert producer.topic_publish_info_table["T"].message_queue_list == []


def test_a_dead_name_server_stops_a_start(world):
    world.time.servers["10.0.0.9:9876"].up = False
    consumer = world.consumer("A")
    world.do(consumer.subscribe("T", "*"))
    with pytest.raises(IllegalStateError):
        world.do(consumer.start())
    world.run(1)


def test_the_next_name_server_is_asked_when_one_cannot_be_reached(world):
    world.topic("T")
    consumer = world.consumer("A")
    consumer.instance.api.name_servers = ["10.9.9.9:9876", "10.0.0.9:9876"]
    world.do(consumer.subscribe("T", "*"))
    world.do(consumer.start())
    assert consumer.topic_subscribe_info_table["T"]


@pytest.mark.row("H-53", "S-93")
def test_the_groups_clients_are_asked_of_one_broker_whatever_the_topic(world):
    started(world, "A")
    world.topic("T2")
    b = world.consumer("B")
    world.do(b.subscribe("T2", "*"))
    world.do(b.start())
    world.run(25_000)
    # both share the queues of T, though B never asked for it: half of them have no owner
    a = world.time.nodes["A"].manager.get_or_create(world.instance("A").config).consumer_table["G"]
    held = sorted(q.queue_id for q in a.rebalance_impl.process_queue_table if q.topic == "T")
    assert held == [0, 1]
    assert sorted(q.queue_id for q in b.rebalance_impl.process_queue_table if q.topic == "T2") == [2, 3]


def test_stopping_ends_every_timer_of_the_instance(world):
    consumer = started(world)
    world.run(2_000)
    world.do(consumer.shutdown())
    assert consumer.instance.state is ServiceState.SHUTDOWN_ALREADY
    frames = len(world.frames)
    world.run(100_000)
    assert len(world.frames) == frames
    assert world.broker.consumer_manager.get_consumer_group_info("G") is None
    codes = [c.code for _, c in world.requests("A")][-2:]
    assert codes == [RequestCode.UNREGISTER_CLIENT, RequestCode.UNREGISTER_CLIENT]  # group, inner producer


def test_a_pool_runs_no_more_jobs_at_once_than_it_has_threads(world):
    node = world.time.node("A")
    running, most = [], []

    async def job():
        running.append(1)
        most.append(len(running))
        await node.sleep(10)
        running.pop()

    pool = ThreadPool(node, 2, "x")
    for _ in range(5):
        pool.submit(job)
    world.run(30)
    assert (max(most), len(most), running) == (2, 5, [])


def test_heartbeat_facts_carry_what_is_sent(world):
    started(world)
    _, _, fields = world.kinds("heartbeat")[0]
    assert isinstance(fields["data"], HeartbeatData)
    assert (fields["who"], fields["broker"]) == ("10.0.0.1@A", "broker-a")
