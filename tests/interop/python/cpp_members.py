"""Push consumers of the C++ client 1.2 (package `rocketmq`) that stay until standard input ends.

Arguments: the name server, then for each GROUP TOPIC TAGS. Prints "@ok" when all are started.
"""

from __future__ import annotations

import os
import sys

from rocketmq.client import PushConsumer


def start(namesrv, group, topic, tags):
    """One consumer that takes whatever comes."""
    consumer = PushConsumer(group)
    consumer.set_namesrv_addr(namesrv)
    consumer.set_instance_name(group)
    consumer.set_thread_count(1)
    consumer.subscribe(topic, lambda _message: None, tags)
    consumer.start()
    return consumer


def main(namesrv, *words):
    """Start, wait, vanish."""
    consumers = [start(namesrv, *words[at : at + 3]) for at in range(0, len(words), 3)]
    sys.stdout.write(f"@ok {len(consumers)}\n")
    sys.stdout.flush()
    sys.stdin.read()
    os._exit(0)


main(*sys.argv[1:])
