"""One filter: what a subscription does to a message at the broker, at the client and for its author."""

import pytest

from rmqlab.filter.filter import EXPRESSION_TYPES, Filter
from rmqlab.filter.sql92.errors import ExpressionRefused
from rmqlab.protocol.subscription_data import SubscriptionData
from rmqlab.rules import RULES, tags_code


def test_the_broker_compares_codes_and_the_client_texts():
    asked = Filter.of("T", "AaAa", "TAG")
    assert [asked.broker_passes(tags_code(tag), None, {}) for tag in ("AaAa", "BBBB", "C", None)] == [1, 1, 0, 0]
    assert [asked.client_keeps(tag) for tag in ("AaAa", "BBBB", None)] == [True, False, False]
    assert [asked.wants({"TAGS": tag}) for tag in ("AaAa", "BBBB", "C")] == [True, False, False]
    assert asked.fate({"TAGS": "BBBB"}, asked) == "client"
    assert asked.fate({"TAGS": "C"}, asked) == "tags_code"


def test_a_condition_must_be_true_and_bits_that_are_not_set_are_certain():
    asked = Filter.of("T", "a > 5", "SQL92")
    assert [asked.dropped_at(0, None, {"a": value}) for value in ("6", "5", "x")] == [None, "sql", "sql"]
    assert asked.dropped_at(0, False, {"a": "6"}) == "bitmap"
    assert asked.client_keeps(None)
    assert [asked.wants(properties) for properties in ({"a": "6"}, {})] == [True, False]


@pytest.mark.parametrize(("expression", "kind"), [("a >", "SQL92"), ("a = 1", "sql92")])
def test_what_the_broker_refuses_lets_nothing_pass(expression, kind):
    assert not Filter.of("T", expression, kind).wants({"a": "1"})


def test_a_heartbeat_without_sets_is_read_by_its_text():
    assert Filter.heard(SubscriptionData("T", "a || b")).client_keeps("b")
    assert Filter.heard(SubscriptionData("T", "a = 1", expression_type="SQL92")).wants({"a": "1"})


def test_a_class_filter_is_not_the_brokers_business():
    assert Filter(SubscriptionData("T", "x.Even", class_filter_mode=True)).wants({"TAGS": "any"})


def test_a_replaced_rule_is_obeyed():
    rules = RULES["4.8.0"].replace(client_keeps=lambda subscription, tag: tag == "c")
    asked = Filter.of("T", "a", "TAG", rules)
    assert (asked.client_keeps("c"), asked.wants({"TAGS": "a"})) == (True, False)


class Prefix:
    """A toy type of expression: the property `name` begins with the text."""

    def __init__(self, text):
        if not text:
            raise ExpressionRefused("PREFIX wants a text")
        self.text = text

    def evaluate(self, properties, /):
        return properties.get("name", "").startswith(self.text)


@pytest.fixture
def prefix(monkeypatch):
    monkeypatch.setitem(EXPRESSION_TYPES, "PREFIX", Prefix)


@pytest.mark.usefixtures("prefix")
def test_another_type_is_one_module_and_one_line():
    assert Filter.of("T", "ab", "PREFIX").wants({"name": "abc"})
    assert Filter.of("T", "ab", "PREFIX").fate({"name": "b"}, Filter.of("T", "*", "TAG")) == "sql"
