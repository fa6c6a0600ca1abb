"""Names with a meaning, and the checks of names."""

from __future__ import annotations

import pytest

from rmqlab.message import topics
from rmqlab.message.sysflag import (
    BORNHOST_V6_FLAG,
    STOREHOST_V6_FLAG,
    TRANSACTION_COMMIT_TYPE,
    TRANSACTION_PREPARED_TYPE,
    reset_transaction_value,
)


@pytest.mark.row("S-95")
def test_names_made_from_a_group():
    assert topics.retry_topic("G") == "%RETRY%G"
    assert topics.dlq_topic("G") == "%DLQ%G"
    assert topics.reply_topic("DefaultCluster") == "DefaultCluster_REPLY_TOPIC"
    assert topics.is_retry_topic("%RETRY%G")
    assert not topics.is_retry_topic("G")


def test_system_names():
    assert len(topics.SYSTEM_TOPICS) == 9
    assert all(topics.is_system_topic(topic) for topic in topics.SYSTEM_TOPICS)
    assert topics.is_system_topic("rmq_sys_x")
    assert not topics.is_system_topic("RMQ_SYS_x")
    assert topics.is_system_group("CID_RMQ_SYS_TRANS")
    assert not topics.is_system_group("G")


def test_remarks_of_the_broker():
    good = "%RETRY%g_1-|Z"
    assert topics.validate_topic(good) is None
    for blank in (None, "", " \t"):
        assert topics.validate_topic(blank) == "The specified topic is blank."
    for bad in ("a.b", "中文", "a b", "a\n"):
        assert topics.validate_topic(bad) == (
            "The specified topic contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"
        )
    assert topics.validate_topic("t" * 127) is None
    assert topics.validate_topic("t" * 128) == "The specified topic is longer than topic max length."
    assert topics.validate_not_system_topic("TBW102") == "The topic[TBW102] is conflict with system topic."
    assert topics.validate_not_system_topic(good) is None
    forbidden = "Sending message to topic[SCHEDULE_TOPIC_XXXX] is forbidden."
    assert topics.validate_send_topic("SCHEDULE_TOPIC_XXXX") == forbidden
    assert topics.validate_send_topic("TBW102") is None


def test_sys_flag_bits():
    assert (BORNHOST_V6_FLAG, STOREHOST_V6_FLAG) == (16, 32)
    assert reset_transaction_value(TRANSACTION_PREPARED_TYPE | 3, TRANSACTION_COMMIT_TYPE) == 0b1011
