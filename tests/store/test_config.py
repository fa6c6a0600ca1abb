"""Settings of the store and delay levels."""

from __future__ import annotations

import re

import pytest

from rmqlab.errors import BadInput
from rmqlab.store.config import (
    BrokerRole,
    DelayLevels,
    FlushDiskType,
    MessageStoreConfig,
    delay_level_to_queue_id,
    queue_id_to_delay_level,
)

# what the recorded broker was told, or computed when it started
CHANGED = {
    "storePathRootDir",
    "storePathCommitLog",
    "mappedFileSizeCommitLog",
    "mappedFileSizeConsumeQueue",
    "diskMaxUsedSpaceRatio",
    "bitMapLengthConsumeQueueExt",
}


def test_defaults_are_those_of_a_real_broker(golden):
    text = (golden / "broker-4.8.0" / "admin" / "mqadmin.txt").read_text()
    printed = dict(re.findall(r"^(\w+) +=  (.*)$", text[text.index("mqadmin getBrokerConfig") :], re.MULTILINE))
    ours = MessageStoreConfig().properties()
    assert len(ours) > 30
    assert {name: value for name, value in ours.items() if name not in CHANGED} == {
        name: printed[name] for name in ours if name not in CHANGED
    }


def test_settings_by_their_java_names():
    config = MessageStoreConfig.from_properties(
        {
            "mappedFileSizeConsumeQueue": "20001",
            "enableConsumeQueueExt": "TRUE",
            "brokerRole": "SLAVE",
            "flushDiskType": "SYNC_FLUSH",
            "checkCRCOnRecover": "false",
            "listenPort": "10911",
        }
    )
    assert config.consume_queue_file_size == 20_020
    assert config.enable_consume_queue_ext
    assert config.broker_role is BrokerRole.SLAVE
    assert config.flush_disk_type is FlushDiskType.SYNC_FLUSH
    assert not config.check_crc_on_recover
    assert config.properties()["brokerRole"] == "SLAVE"
    assert "asyncDispatch" not in config.properties()


@pytest.mark.parametrize(
    ("name", "value", "right"),
    [
        ("maxMessageSize", "4M", "a whole number"),
        ("brokerRole", "MASTER", "ASYNC_MASTER or SYNC_MASTER or SLAVE"),
        ("messageIndexEnable", "yes", "true or false"),
    ],
)
def test_a_bad_value_is_named(name, value, right):
    with pytest.raises(BadInput, match=f"broker.conf: {name} must be {right}, not '{value}'"):
        MessageStoreConfig.from_properties({name: value}, where="broker.conf")


def test_delay_levels_of_a_new_broker():
    levels = DelayLevels(MessageStoreConfig().message_delay_level)
    assert levels.parse_ok
    assert levels.max_delay_level == 18
    assert [levels.compute_deliver_timestamp(level, 1000) for level in (1, 5, 18, 19)] == [
        2000, 61_000, 7_201_000, 2000,
    ]  # fmt: skip
    assert queue_id_to_delay_level(delay_level_to_queue_id(5)) == 5


@pytest.mark.parametrize("text", ["", "1s 2x 3s", "1s x 3s", "1s  3s", "1s 2.5m"])
def test_levels_are_read_up_to_the_first_that_cannot_be(text):
    levels = DelayLevels(text)
    assert not levels.parse_ok
    assert levels.table == ({1: 1000} if text else {})
