"""The broker's settings."""

from __future__ import annotations

import re

import pytest

from rmqlab.broker.broker_config import INERT, OF_MACHINE, BrokerConfig, unknown_keys
from rmqlab.errors import BadInput
from rmqlab.sim.cluster import read_cluster_config
from rmqlab_tools.live.serve_config import ServeConfig


def test_names_are_those_of_broker_conf():
    config = BrokerConfig.from_properties(
        {"brokerIP1": "10.0.0.1", "brokerName": "b", "enablePropertyFilter": "TRUE", "listenPort": "20911"}
    )
    assert (config.broker_addr, config.broker_name, config.enable_property_filter) == ("10.0.0.1:20911", "b", True)
    assert config.ha_server_addr == "127.0.0.1:20912"


@pytest.mark.parametrize(("name", "value"), [("listenPort", "20911 "), ("enablePropertyFilter", "true ")])
def test_blanks_at_the_end_of_a_value_are_part_of_it(name, value):
    # 4.8.0 keeps the default for the one and takes false for the other, in silence
    with pytest.raises(BadInput, match=f"{name} must be .*, not '{value}'"):
        BrokerConfig.from_properties({name: value})


@pytest.mark.parametrize(
    ("setting", "right"),
    [
        ("listenPort=99999999", "listenPort is 99999999; right is a port of at most 65535"),
        ("brokerIP1=", "brokerIP1 is ''; right is the address that clients are told"),
        ("brokerName=", "brokerName is ''; right is a name"),
        ("brokerRole=SLAVE", "brokerId is 0; right is above 0 for brokerRole=SLAVE"),
        (
            "maxErrorRateOfBloomFilter=100",
            "maxErrorRateOfBloomFilter is 100; right is a percentage from 1 up, below 100",
        ),
        (
            "defaultTopicQueueNums=2147483647",
            "defaultTopicQueueNums is 2147483647; right is at most 65536, so that clients can list them",
        ),
        ("expectConsumerNumUseFilter=0", "expectConsumerNumUseFilter is 0; right is 1 or more"),
        ("mappedFileSizeCommitLog=0", "mappedFileSizeCommitLog is 0; right is a number of bytes above 0"),
        ("mappedFileSizeConsumeQueue=-20", "mappedFileSizeConsumeQueue is -20; right is a number of bytes above 0"),
        ("flushConsumerOffsetInterval=0", "flushConsumerOffsetInterval is 0; right is 1 or more"),
        ("flushDelayOffsetInterval=-1", "flushDelayOffsetInterval is -1; right is 1 or more"),
        ("cleanResourceInterval=0", "cleanResourceInterval is 0; right is 1 or more"),
        ("messageDelayLevel=1s 2x", "messageDelayLevel is '1s 2x'; right is times such as 1s 5s 1m 2h"),
    ],
)
def test_values_that_no_broker_starts_with_are_refused_by_serve_and_simulate(tmp_path, setting, right):
    path = tmp_path / "broker.conf"
    path.write_text(f"{setting}\n")
    for read in (read_cluster_config, lambda file: ServeConfig.of_file(file, {})):
        with pytest.raises(BadInput) as refused:
            read(path)
        assert str(refused.value) == f"{path}: {right}"


@pytest.mark.parametrize("kept", ["base", "bitmap", "noprop", "audit", "lite", "admin"])
def test_the_settings_of_the_recordings_are_known(golden, kept):
    text = (golden / "broker-4.8.0" / kept / "broker.conf").read_text()
    properties = dict(line.split("=", 1) for line in text.splitlines() if line)
    assert unknown_keys(properties) == []
    printed = BrokerConfig.from_properties(properties).properties()
    assert {key: printed[key] for key in properties if key in printed} == {
        key: value for key, value in properties.items() if key in printed
    }
    assert printed["brokerName"] == "broker-a"


def test_defaults_are_those_of_4_8_0():
    printed = BrokerConfig().properties()
    assert {
        key: printed[key]
        for key in (
            "autoCreateSubscriptionGroup",
            "autoCreateTopicEnable",
            "brokerPermission",
            "defaultTopicQueueNums",
            "enablePropertyFilter",
            "filterSupportRetry",
            "longPollingEnable",
            "shortPollingTimeMills",
            "maxErrorRateOfBloomFilter",
            "expectConsumerNumUseFilter",
            "registerNameServerPeriod",
            "notifyConsumerIdsChangedEnable",
        )
    } == {
        "autoCreateSubscriptionGroup": "true",
        "autoCreateTopicEnable": "true",
        "brokerPermission": "6",
        "defaultTopicQueueNums": "8",
        "enablePropertyFilter": "false",
        "filterSupportRetry": "false",
        "longPollingEnable": "true",
        "shortPollingTimeMills": "1000",
        "maxErrorRateOfBloomFilter": "20",
        "expectConsumerNumUseFilter": "32",
        "registerNameServerPeriod": "30000",
        "notifyConsumerIdsChangedEnable": "true",
    }
    assert "namesrvAddr" not in printed


def test_what_was_printed_reads_back():
    config = BrokerConfig(broker_id=3, namesrv_addr="10.0.0.9:9876", trace_on=False)
    assert BrokerConfig.from_properties(config.properties()) == config


def test_settings_without_effect_are_those_of_a_real_broker_and_kept_as_told(golden):
    text = (golden / "broker-4.8.0" / "admin" / "mqadmin.txt").read_text()
    told = text.partition("$ mqadmin getBrokerConfig")[2].partition("$ mqadmin")[0]
    printed = dict(re.findall(r"^(\w+) +=  (.*)$", told, re.MULTILINE))
    assert {name: printed[name] for name in INERT} | OF_MACHINE == INERT
    config = BrokerConfig.from_properties({"isEnableBatchPush": "true", "dLegerGroup": "g"})
    assert (config.inert_properties()["isEnableBatchPush"], config.inert_properties()["dLegerGroup"]) == ("true", "g")


def test_unknown_keys_are_named_and_keys_without_effect_are_not():
    properties = {"brokerNme": "b", "sendMessageThreadPoolNums": "4", "maxMessageSize": "1", "useTLS": "false"}
    assert unknown_keys(properties) == ["brokerNme"]


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("brokerId", "one", "broker.conf: brokerId must be a whole number, not 'one'"),
        ("traceOn", "yes", "broker.conf: traceOn must be true or false, not 'yes'"),
    ],
)
def test_a_value_of_the_wrong_kind_is_named(key, value, text):
    with pytest.raises(BadInput) as error:
        BrokerConfig.from_properties({key: value}, where="broker.conf")
    assert str(error.value) == text
