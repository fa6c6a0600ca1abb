"""A client that is neither Java nor ours: the C++ client 1.2 under its Python wrapping (package `rocketmq`).

Argument: the name server. Prints a line of JSON: what was sent and what a consumer of tagA got, with properties.
"""

from __future__ import annotations

import json
import sys
import threading

from rocketmq.client import Message, Producer, PushConsumer

WANTED, PATIENCE_S = 4, 60


def message(number):
    """Even numbers have tagB, odd ones tagA."""
    made = Message("Witness")
    made.set_tags("tagA" if number % 2 else "tagB")
    made.set_keys(f"k{number}")
    made.set_body(f"body{number}")
    made.set_property("a", str(number))
    return made


def main(namesrv):
    """Send in three ways, then consume."""
    producer = Producer("WitnessP")
    producer.set_namesrv_addr(namesrv)
    producer.start()
    sent = [producer.send_sync(message(number)) for number in range(5)]
    producer.send_oneway(message(5))
    producer.send_sync(message(7))
    got, enough = [], threading.Event()

    def listener(one):
        got.append([one.body.decode(), one.tags.decode(), one.keys.decode(), one.get_property("a").decode()])
        if len(got) >= WANTED:
            enough.set()

    consumer = PushConsumer("WitnessG")
    consumer.set_namesrv_addr(namesrv)
    consumer.subscribe("Witness", listener, "tagA")
    consumer.start()
    enough.wait(PATIENCE_S)
    consumer.shutdown()
    producer.shutdown()
    told = {"sent": [[int(one.status), one.msg_id, one.offset] for one in sent], "got": sorted(got)}
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()


main(sys.argv[1])
