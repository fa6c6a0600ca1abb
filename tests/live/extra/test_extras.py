"""The extras stand aside: a broker is made and used without them, and with them it answers every request of before."""

from __future__ import annotations

import subprocess
import sys

import pytest

from rmqlab.broker.broker import Broker
from rmqlab.broker.broker_config import BrokerConfig
from rmqlab.protocol.codes import RequestCode
from rmqlab.store.config import MessageStoreConfig
from rmqlab.store.message_store import MessageStore

CORE = {
    "SEND_MESSAGE", "SEND_MESSAGE_V2", "SEND_BATCH_MESSAGE", "CONSUMER_SEND_MSG_BACK", "PULL_MESSAGE",
    "LITE_PULL_MESSAGE", "HEART_BEAT", "UNREGISTER_CLIENT", "CHECK_CLIENT_CONFIG", "GET_CONSUMER_LIST_BY_GROUP",
    "UPDATE_CONSUMER_OFFSET", "QUERY_CONSUMER_OFFSET", "UPDATE_AND_CREATE_TOPIC", "SEARCH_OFFSET_BY_TIMESTAMP",
    "GET_MAX_OFFSET", "GET_MIN_OFFSET", "GET_EARLIEST_MSG_STORETIME", "LOCK_BATCH_MQ", "UNLOCK_BATCH_MQ",
    "INVOKE_BROKER_TO_RESET_OFFSET", "DELETE_TOPIC_IN_BROKER", "UPDATE_AND_CREATE_SUBSCRIPTIONGROUP",
    "DELETE_SUBSCRIPTIONGROUP",
}  # fmt: skip
EXTRA = {
    "SEND_REPLY_MESSAGE", "SEND_REPLY_MESSAGE_V2", "QUERY_MESSAGE", "VIEW_MESSAGE_BY_ID", "END_TRANSACTION",
    "REGISTER_FILTER_SERVER", "GET_TOPIC_STATS_INFO",
    "GET_CONSUMER_CONNECTION_LIST", "GET_PRODUCER_CONNECTION_LIST", "GET_CONSUME_STATS", "QUERY_TOPIC_CONSUME_BY_WHO",
    "QUERY_CONSUME_QUEUE", "GET_ALL_TOPIC_CONFIG", "GET_ALL_SUBSCRIPTIONGROUP_CONFIG", "GET_ALL_CONSUMER_OFFSET",
    "GET_ALL_DELAY_OFFSET", "UPDATE_BROKER_CONFIG", "GET_BROKER_CONFIG",
    "GET_BROKER_RUNTIME_INFO", "VIEW_BROKER_STATS_DATA", "GET_CONSUMER_RUNNING_INFO", "CONSUME_MESSAGE_DIRECTLY",
    "INVOKE_BROKER_TO_GET_CONSUMER_STATUS", "QUERY_CONSUME_TIME_SPAN", "QUERY_CORRECTION_OFFSET", "CLONE_GROUP_OFFSET",
    "GET_BROKER_CONSUME_STATS", "GET_SYSTEM_TOPIC_LIST_FROM_BROKER", "CLEAN_EXPIRED_CONSUMEQUEUE", "CLEAN_UNUSED_TOPIC",
    "RESUME_CHECK_HALF_MESSAGE", "UPDATE_AND_CREATE_ACL_CONFIG", "DELETE_ACL_CONFIG",
    "UPDATE_GLOBAL_WHITE_ADDRS_CONFIG",
}  # fmt: skip
MAKE_A_BROKER = """
from rmqlab.broker.broker import Broker
from rmqlab.broker.broker_config import BrokerConfig
from rmqlab.store.config import MessageStoreConfig
from rmqlab.store.message_store import MessageStore
Broker(BrokerConfig(), MessageStore(MessageStoreConfig()), now=0)
"""
RUN_A_LAB = """
import rmqlab
lab = rmqlab.Lab(topics={"T": 4})
lab.consumer("A", group="G", subscribe={"T": "tagA"}); lab.run(seconds=60)
lab.consumer("B", group="G", subscribe={"T": "tagB"}); lab.run(seconds=60)
lab.send("T", ["tagA"] * 4 + ["tagB"] * 4); lab.run(seconds=30)
assert sum(fate.lost for fate in lab.fates()) == 6, lab.fates()
"""


@pytest.mark.parametrize("script", [MAKE_A_BROKER, RUN_A_LAB], ids=["a broker", "a lab"])
def test_no_extra_is_loaded_by(script):
    told = 'import sys; print([name for name in sys.modules if name.startswith("rmqlab_tools.live")])'
    done = subprocess.run([sys.executable, "-c", f"{script}\n{told}"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")


def test_every_request_has_its_processor(bench):
    alone = Broker(BrokerConfig(), MessageStore(MessageStoreConfig()), now=0)
    assert {RequestCode(code).name for code in alone._handlers} == CORE
    assert {RequestCode(code).name for code in bench.broker._handlers} == CORE | EXTRA
    assert not CORE & EXTRA


def test_a_broker_without_extras_takes_no_transactions(bench):
    bench.broker.send_message_processor.prepare_message = None
    answer = bench.send("T", props={"TRAN_MSG": "true"})
    assert answer.remark == "the broker[127.0.0.1] sending transaction message is forbidden"
