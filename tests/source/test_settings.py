"""Settings of Spring: placeholders, profiles, documents of a file, applications; bindings of Spring Cloud Stream."""

from __future__ import annotations

import pytest

from rmqlab.errors import BadInput
from rmqlab_tools.source.config_files import DamagedConfigError, documents
from rmqlab_tools.source.settings import holds

LISTENER = """
    package shop; IMPORTS
    @RocketMQMessageListener(topic = "${shop.topic}", consumerGroup = "g", selectorExpression = "${shop.order-tag:*}") class L {}
"""
CODE, SETTINGS = "app/src/main/java/L.java", "app/src/main/resources/application"


@pytest.mark.parametrize(
    ("files", "profiles", "wish"),
    [
        ({".yml": "shop: {topic: T, orderTag: a}"}, [], "TAG 'a'"),
        ({".properties": "shop.topic=T\nshop.order_tag=a \\\n || b"}, [], "TAG 'a || b'"),
        ({".yml": "shop: {topic: T, order-tag: a}", ".properties": "shop.ORDER-TAG: b"}, [], "TAG 'b'"),
        ({".yml": "shop: {topic: T, order-tag: '${other:${more:c}}'}"}, [], "TAG 'c'"),
        ({".yml": "shop: {topic: T}", "-prod.yml": "shop: {order-tag: p}"}, [], "TAG '*'"),
        ({".yml": "shop: {topic: T}", "-prod.yml": "shop: {order-tag: p}"}, ["prod"], "TAG 'p'"),
        ({".yml": "shop: {topic: T}\nspring.profiles.active: prod", "-prod.yml": "shop: {order-tag: p}"}, [], "TAG 'p'"),
        ({".yml": "shop: {topic: T}\n---\nspring.config.activate.on-profile: a & !b\nshop.order-tag: x"}, ["a"], "TAG 'x'"),
        ({".yml": "shop: {topic: T}\n---\nspring.profiles: a,b\nshop.order-tag: x"}, ["b"], "TAG 'x'"),
        ({".properties": "shop.topic=T\n#---\nspring.config.activate.on-profile=a\nshop.order-tag=x"}, ["a"], "TAG 'x'"),
        ({".yml": "shop: {topic: T}\nversion: @project.version@\n"}, [], "TAG '*'"),
        ({".yml": "a: &a {order-tag: m}\nshop: {<<: *a, topic: T}"}, [], "TAG 'm'"),
    ],
)  # fmt: skip
def test_placeholders(wishes, files, profiles, wish):
    files = {CODE: LISTENER} | {SETTINGS + end: text for end, text in files.items()}
    assert wishes(files, *profiles) == ([("g", "T", wish)], [])


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({}, "no setting shop.topic is in the sources, and it has no default"),
        ({SETTINGS + "-prod.yml": "shop: {topic: T}"}, "only the profiles prod set shop.topic: choose one by --profile"),
        ({SETTINGS + ".yml": "shop: {topic: '${a}'}\na: ${b}\nb: ${shop.topic}"}, "leads back to itself"),
        ({SETTINGS + ".yml": "shop.topic: '#{systemProperties.t}'"}, "is worked out by Spring when it runs"),
        ({SETTINGS + ".yml": "shop:\n  topic: @topic@"}, "@topic@ is filled in by the build"),
        ({"a/application.yml": "shop.topic: A", "b/application.yml": "shop.topic: B"},
         "${shop.topic}: the applications set it differently: 'A', 'B'"),
        ({SETTINGS + ".yml": f"shop.topic: '{'${' * 5000}{'}' * 5000}'"}, "has more than 40 placeholders"),
    ],
)  # fmt: skip
def test_settings_that_are_not_known(wishes, files, why):
    known, gaps = wishes({CODE: LISTENER} | files)
    assert known == []
    assert why in gaps[0]


def test_code_without_settings_of_its_own_asks_all_applications(wishes):
    files = {CODE: LISTENER, "a/application.yml": "shop.topic: T", "b/application.yml": "shop.topic: T"}
    assert wishes(files) == ([("g", "T", "TAG '*'")], [])


def test_another_profile_that_differs_is_noted(linted):
    files = {CODE: LISTENER, SETTINGS + ".yml": "shop: {topic: T}", SETTINGS + "-dev.yml": "shop: {topic: D}"}
    (note,) = linted(files).base.notes
    assert str(note).startswith(f"the profile dev sets shop.topic to 'D', not 'T' ({SETTINGS}-dev.yml:1)")


def test_a_profile_that_is_not_there(linted):
    files = {CODE: LISTENER, SETTINGS + "-prod.yml": "shop: {topic: T}"}
    with pytest.raises(
        BadInput, match="--profile prd: no application of the sources has this profile; did you mean prod"
    ):
        linted(files, "prd")


def test_a_listener_that_settings_switch_off(wishes):
    files = {CODE: LISTENER, SETTINGS + ".yml": "shop.topic: T\nrocketmq.consumer.listeners: {g: {T: false}}"}
    other = {"M.java": LISTENER.replace('"g"', '"h"').replace("class L", "class M").replace("${shop.topic}", "T")}
    assert wishes(files | other)[0] == [("h", "T", "TAG '*'")]


@pytest.mark.parametrize(
    ("expression", "active", "value"),
    [
        ("a", "a", True), ("!a", "a", False), ("a | b", "b", True), ("a & b", "a", False), ("(a | b) & !c", "b", True),
        ("(a | b) & !c", "bc", False), ("", "a", False), ("((((a", "a", True), ("a &", "a", False),
        ("(" * 5000 + "a", "a", False), ("!" * 5000 + "a", "a", False),
    ],
)  # fmt: skip
def test_expressions_of_profiles(expression, active, value):
    assert holds(expression, active) is value


STREAM = """
    spring:
      cloud:
        stream:
          {binders}
          rocketmq:
            bindings: {{in-0: {{consumer: {consumer}}}}}
          bindings:
            in-0: {{destination: T, group: g}}
            out-0: {{destination: T}}
            anonymous: {{destination: T}}
"""


@pytest.mark.parametrize(
    ("consumer", "wish"),
    [
        ("{subscription: a || b}", "TAG 'a || b'"), ("{subscription: 'sql:a > 3'}", "SQL92 'a > 3'"),
        ("{tags: a}", "TAG 'a'"), ("{sql: a > 3}", "SQL92 'a > 3'"), ("{enabled: true}", "TAG '*'"),
        ("{messageModel: BROADCASTING}", "TAG '*'"),
    ],
)  # fmt: skip
def test_bindings_of_stream(wishes, consumer, wish):
    text = STREAM.format(binders="", consumer=consumer)
    assert wishes({SETTINGS + ".yml": text}) == ([("g", "T", wish)], [])


def test_bindings_of_other_binders_are_left_alone(linted):
    text = STREAM.format(binders="binders: {k: {type: kafka}}", consumer="{}")
    with pytest.raises(BadInput, match="no consumer of RocketMQ"):
        linted({SETTINGS + ".yml": text})


def test_pull_consumer_of_the_starter(wishes):
    text = "rocketmq: {pull-consumer: {group: g, topic: T, selector-type: SQL92, selector-expression: a > 3}}"
    assert wishes({SETTINGS + ".yml": text}) == ([("g", "T", "SQL92 'a > 3'")], [])


@pytest.mark.parametrize(
    "text",
    [
        "a: [", "\tb: c", "a: *b", "a: &a [*a]", "- " * 5000, "a: &x [1,1,1,1,1,1,1,1,1]\n" + "".join(
            f"a{n}: &x{n} [{','.join(['*x' + str(n - 1) if n else '*x'] * 9)}]\n" for n in range(8)),
    ],
)  # fmt: skip
def test_damaged_yaml_is_said(text):
    with pytest.raises(DamagedConfigError):
        documents(text, "application.yml")


def test_damaged_properties_are_said():
    with pytest.raises(DamagedConfigError, match="line 2"):
        documents("a=b\nc=\\u12", "application.properties")
