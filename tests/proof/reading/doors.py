"""Where one part hands over to another: the functions at which a hop begins, and what a reader calls the hop.

A door is named by the function itself, so mypy and every tool that renames see it. `{who}` is the client or the server
whose hop it is, `{what}` the request that a server works on, or the name of a client's thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from rmqlab.broker.broker import Broker
from rmqlab.broker.consumer_filter_manager import ConsumerFilterManager
from rmqlab.broker.consumer_manager import ConsumerIdsChangeListener
from rmqlab.broker.pull_message_processor import PullMessageProcessor
from rmqlab.broker.pull_request_hold_service import PullRequestHoldService
from rmqlab.client.consume_message_service import ConsumeMessageService
from rmqlab.client.consumer import MQConsumer
from rmqlab.client.mq_client_instance import MQClientInstance
from rmqlab.client.offset_store import RemoteBrokerOffsetStore
from rmqlab.client.producer import DefaultMQProducer
from rmqlab.client.push_consumer import DefaultMQPushConsumer
from rmqlab.client.rebalance_impl import RebalanceImpl
from rmqlab.client.topic_routes import TopicRoutes
from rmqlab.namesrv.name_server import NameServer
from rmqlab.sim.cluster import Cluster
from rmqlab.sim.network import VirtualConnection
from rmqlab.sim.scheduler import Scheduler, VirtualTask
from rmqlab.sim.virtual import VirtualNode
from rmqlab.sim.virtual_server import VirtualServer
from rmqlab.store.message_store import MessageStore
from rmqlab.store.reput_message_service import ReputMessageService

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType


class Words(NamedTuple):
    """A text in both languages; in Chinese a name in Latin letters brings the space behind it."""

    en: str
    zh: str


NOBODY = Words("", "")
NAME_SERVER, BROKER, PRODUCER = (
    Words("the name server", "NameServer "), Words("the broker", "Broker "), Words("the producer", "生产者")
)  # fmt: skip
CALL = Words("you call the lab", "你调用 Lab")
DRIVER = Words("the lab takes this step", "Lab 执行这一步")
PASSES = Words("virtual time passes", "虚拟时间推进")
THREAD = Words("{who}: thread {what}", "{who}的线程 {what}")
SERVED = Words("{who} serves {what}", "{who}处理{what}")
# The coroutine that takes the lab's steps runs on the producer's machine, and is no thread of it.
DRIVERS_NAME: Final = "scenario"

DOORS: Final[tuple[tuple[Callable[..., object], Words], ...]] = (
    (Cluster.__init__, Words("name server and broker start", "NameServer 和 Broker 启动")),
    *((loop, PASSES) for name, loop in vars(Scheduler).items() if name.startswith("run")),
    (VirtualTask.wake, THREAD),
    (VirtualConnection.carry, Words("the network takes a frame", "网络接收一帧")),
    (VirtualConnection._arrive, Words("the network delivers a frame", "网络送达一帧")),  # noqa: SLF001
    (VirtualServer.receive, SERVED),
    (VirtualServer._run_due, Words("{who}: a timer is due", "{who}的定时任务到期")),  # noqa: SLF001
    (VirtualNode.receive, Words("{who} takes what a server sent", "{who}收到服务端发来的帧")),
    (NameServer.handle, SERVED),
    (Broker.handle, SERVED),
    (TopicRoutes.update_topic_route_info_from_name_server, Words("{who} asks for a route", "{who}查询路由")),
    (MQClientInstance.send_heartbeat_to_all_broker_with_lock, Words("{who} sends a heartbeat", "{who}发送心跳")),
    (ConsumerIdsChangeListener.handle, Words("the broker tells the group", "Broker 通知消费者组")),
    (ConsumerFilterManager.register, Words("the broker looks for SQL92 to compile", "Broker 检查是否有 SQL92 要编译")),
    (RebalanceImpl.do_rebalance, Words("{who} rebalances", "{who}重平衡")),
    (DefaultMQPushConsumer.pull_message, Words("{who} pulls", "{who}发起拉取")),
    (DefaultMQProducer.send, Words("the producer sends", "生产者发送")),
    (MessageStore.async_put_message, Words("the store writes the commit log", "存储写入 CommitLog")),
    (ReputMessageService.do_reput, Words("the store dispatches to the consume queue", "存储分发到 ConsumeQueue")),
    (MessageStore.get_message, Words("the store reads: layer 1", "存储读取：第一层过滤")),
    (PullRequestHoldService.arriving, Words("the hold service hears of a message", "长轮询服务得知有新消息")),
    (PullRequestHoldService.check_hold_request, Words("the hold service checks its pulls", "长轮询服务检查挂起的拉取")),
    (PullMessageProcessor.execute_request_when_wakeup, Words("the broker answers a pull", "Broker 应答挂起的拉取")),
    (MQConsumer.process_pull_result, Words("{who} reads an answer: the client's filter", "{who}读取应答：客户端过滤")),
    (ConsumeMessageService._call_listener, Words("{who}: the listener", "{who}的监听器")),  # noqa: SLF001
    (RemoteBrokerOffsetStore.persist_all, Words("{who} commits its offsets", "{who}提交位点")),
)  # fmt: skip


def doors() -> dict[CodeType, Words]:
    """Each door's code to the name of its hop."""
    return {function.__code__: words for function, words in DOORS}


def client(name: str) -> Words:
    """The client of a name; the scenario calls its producer P."""
    return PRODUCER if name == "P" else Words(name, f"{name} ")


def request_of(code: str, sender: Words) -> Words:
    """A request and who sent it."""
    return Words(f"{code} of {sender.en}", f"{' ' if sender.zh[:1].isascii() else ''}{sender.zh}的 {code}")
