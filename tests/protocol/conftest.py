"""A registration as a real broker compresses it: the vectors have none, so the tests make theirs."""

from __future__ import annotations

import zlib

from rmqlab.protocol import fastjson


def compressed(body):
    """The zlib form: data version, number of topics, topics as five words, filter servers, each after its length."""
    wrapper = body.topic_config_serialize_wrapper
    topics = [
        f"{one.topic_name} {one.read_queue_nums} {one.write_queue_nums} {one.perm} {one.topic_filter_type}".encode()
        for one in wrapper.topic_config_table.values()
    ]
    parts = [wrapper.data_version.encode(), *topics, fastjson.write(body.filter_server_list)]
    sized = [len(part).to_bytes(4, "big") + part for part in parts]
    return zlib.compress(b"".join([sized[0], len(topics).to_bytes(4, "big"), *sized[1:]]), 9)
