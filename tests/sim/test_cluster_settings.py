"""broker.conf: read as 4.8.0 reads it, and what is wrong is named."""

from __future__ import annotations

import pytest

from rmqlab.errors import BadInput
from rmqlab.sim.cluster import read_cluster_config, settings_beside


def test_recorded_settings(golden):
    config = read_cluster_config(golden / "broker-4.8.0" / "bitmap" / "broker.conf")
    assert config.broker.enable_property_filter
    assert config.broker.enable_calc_filter_bit_map
    assert config.store.enable_consume_queue_ext
    assert config.store.mapped_file_size_commit_log == 1_048_576
    assert config.namesrv_address == "127.0.0.1:9876"
    noprop = settings_beside(golden / "broker-4.8.0" / "noprop")
    assert not noprop.broker.enable_property_filter


def test_without_a_file_sql_is_allowed_as_it_was_recorded(tmp_path):
    assert settings_beside(tmp_path).broker.enable_property_filter


def test_it_is_read_as_java_reads_it(tmp_path):
    path = tmp_path / "broker.conf"
    path.write_text(
        "# a comment\n! one\n\n brokerName = b \\\n   c\nlistenPort:1\nlistenPort 2\nfilterSupportRetry\\\n=true\n"
    )
    config = read_cluster_config(path).broker
    assert (config.broker_name, config.listen_port, config.filter_support_retry) == ("b c", 2, True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("listenPort\n", "listenPort must be a whole number, not ''"),
        ("x=1\n=2\n", "x, '': no setting of a 4.8.0 broker"),
        ("brokerNmae=x\n", "brokerNmae: no setting of a 4.8.0 broker; did you mean brokerName?"),
        ("listenPort=x\n", "listenPort must be a whole number, not 'x'"),
        ("enablePropertyFilter=true \n", "enablePropertyFilter must be true or false, not 'true '"),
        ("brokerName=\\u00\n", "needs four hexadecimal digits"),
        ("mappedFileSizeCommitLog=big\n", "mappedFileSizeCommitLog must be a whole number"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, text, words):
    path = tmp_path / "broker.conf"
    path.write_text(text)
    with pytest.raises(BadInput) as caught:
        read_cluster_config(path)
    assert words in str(caught.value)
    with pytest.raises(BadInput, match="cannot be read"):
        read_cluster_config(tmp_path / "none.conf")


def test_settings_of_a_later_broker_are_passed_over_where_they_were_recorded(golden):
    path = golden / "broker-5.3.3" / "pop" / "broker.conf"
    with pytest.raises(BadInput, match="defaultMessageRequestMode: no setting"):
        read_cluster_config(path)
    assert settings_beside(path.parent).broker.broker_name == "broker-a"
