"""A type of expression that is registered filters at the broker for a client that asks for it."""

import pytest

from rmqlab.filter.filter import EXPRESSION_TYPES
from rmqlab.message.message import Message


class Prefix:
    """A toy type of expression: the property `name` begins with the text."""

    def __init__(self, text):
        self.text = text

    def evaluate(self, properties, /):
        return properties.get("name", "").startswith(self.text)


@pytest.fixture
def prefix(monkeypatch):
    monkeypatch.setitem(EXPRESSION_TYPES, "PREFIX", Prefix)


@pytest.mark.usefixtures("prefix")
def test_a_registered_type_filters_from_send_to_listener(world):
    world.broker.config.enable_property_filter = True
    world.topic("T", 1)
    consumer, producer = world.consumer("A"), world.producer()
    world.do(consumer.subscribe("T", "ab", "PREFIX"))
    world.do(consumer.start())
    world.do(producer.start())
    for name in ("abc", "b", "ab", "xab"):
        message = Message.of("T", name.encode())
        message.put_user_property("name", name)
        world.do(producer.send(message))
    world.run(2_000)
    assert world.bodies("A") == ["ab", "abc"]
