"""Consumers whose parts lie apart: made here and subscribed there, filled by beans, called in classes of one name."""

from __future__ import annotations

import pytest

from rmqlab.errors import BadInput

LISTENER = 'IMPORTS @RocketMQMessageListener(topic = "T", consumerGroup = "g") class L {}'
PUSH = 'DefaultMQPushConsumer c = new DefaultMQPushConsumer("g"); c.subscribe("T", "a");'


@pytest.mark.parametrize(
    ("path", "is_code"),
    [
        ("src/main/java/org/test/shop/L.java", True), ("app/src/main/kotlin/test/L.java", True),
        ("src/com/test/L.java", True), ("src/test/java/L.java", False), ("app/src/integrationTest/java/L.java", False),
        ("test/src/main/java/L.java", False), ("shop/tests/L.java", False),
    ],
)  # fmt: skip
def test_a_package_that_is_called_test_is_no_folder_of_tests(linted, path, is_code):
    if is_code:
        assert linted({path: LISTENER}).base.tests == 0
    else:
        with pytest.raises(BadInput, match=r"in 0 files of .*; 1 file of tests is left out, which --tests reads$"):
            linted({path: LISTENER})


def test_outputs_of_stream_are_no_consumers(wishes):
    """Two of one group name and different topics would be an accusation."""
    settings = """
        spring.cloud.stream:
          rocketmq.binder.name-server: n
          bindings:
            orders: {destination: T, group: p}
            stock: {destination: U, group: p}
            bridge: {destination: V, group: p}
            incoming: {destination: T, group: g}
    """
    code = """
        interface Names { String ORDERS = "orders"; }
        interface Source {
          @Output(Names.ORDERS) MessageChannel output();
          @Output MessageChannel stock();
          @Input("incoming") SubscribableChannel incoming();
        }
        class Sender { StreamBridge sender; void send(Object o) { sender.send("bridge", o); } }
    """
    assert wishes({"application.yml": settings, "Source.java": code}) == ([("g", "T", "TAG '*'")], [])


def made_of(package, tag):
    """A function that makes a consumer of its parameter, in a class that each package calls alike."""
    body = f'DefaultMQPushConsumer c = new DefaultMQPushConsumer(group); c.subscribe("T", "{tag}");'
    return f"package {package}; IMPORTS public class Util {{ public static void start(String group) {{ {body} }} }}"


@pytest.mark.parametrize(
    ("imported", "call"), [("import {}.Util;", "Util.start"), ("import static {}.Util.start;", "start")]
)
def test_callers_are_of_the_class_that_they_import(wishes, imported, call):
    """Of the other class of this name the caller would be a member that asks for other messages."""
    files = {"a/Util.java": made_of("a", "x"), "b/Util.java": made_of("b", "y")}
    for package in "ab":
        text = f'{imported.format(package)} class Main {{ void f() {{ {call}("of_{package}"); }} }}'
        files[f"{package}/m/Main.java"] = f"package {package}.m; {text}"
    assert wishes(files) == ([("of_a", "T", "TAG 'x'"), ("of_b", "T", "TAG 'y'")], [])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("A.java", 'IMPORTS class A { MQPushConsumer f() { DefaultMQPushConsumer c = new DefaultMQPushConsumer("g"); return c; } }'),
        ("A.go", ('package a\nimport (r "github.com/apache/rocketmq-client-go/v2/consumer")\n'
                 'func f() { c, _ := r.NewPushConsumer(r.WithGroupName("g"))\n keep(c) }')),
        ("A.py", 'from rocketmq.client import PushConsumer\ndef f():\n    c = PushConsumer("g")\n    return c'),
    ],
)  # fmt: skip
def test_what_is_made_and_subscribes_out_of_sight_is_not_passed_over(linted, name, text):
    lint = linted({name: text})
    assert [(gap.group, str(gap.why)) for gap in lint.gaps] == [("g", "no subscribe() is found for it")]
    assert lint.is_open


def test_what_a_function_makes_for_its_caller_is_said_once(wishes):
    maker = "DefaultMQPushConsumer make(String g) { DefaultMQPushConsumer c = new DefaultMQPushConsumer(g); return c; }"
    caller = 'void f() throws Exception { DefaultMQPushConsumer c = make("g"); c.subscribe("T", "a"); }'
    assert wishes({"A.java": f"IMPORTS class A {{ {maker} {caller} }}"}) == ([("g", "T", "TAG 'a'")], [])


def test_what_follows_is_said_of_both_alternatives(wishes):
    body = """
        DefaultMQPushConsumer c;
        if (many) { c = new DefaultMQPushConsumer("g"); } else { c = new DefaultMQPushConsumer("h"); }
        c.subscribe("T", "a");
    """
    known, gaps = wishes({"A.java": f"IMPORTS class A {{ void f(boolean many) {{ {body} }} }}"})
    assert (sorted(known), gaps) == ([("g", "T", "TAG 'a'"), ("h", "T", "TAG 'a'")], [])


@pytest.mark.parametrize(
    "made",
    [
        'DefaultLitePullConsumer p = new DefaultLitePullConsumer("g"); p.assign(queues);',
        'DefaultMQPullConsumer p = new DefaultMQPullConsumer("g"); p.start();',
    ],
)
def test_who_takes_its_queues_itself_disturbs_a_group_that_subscribes(linted, made):
    """4.8.0: its heartbeats have no topic, and it stands in the list by which the others share the queues."""
    lint = linted({"A.java": f"IMPORTS class A {{ void f() {{ {PUSH} }} void g() {{ {made} }} }}"})
    (group,) = lint.groups
    assert group.verdict == "inconsistent"
    assert "takes the topic out of the broker's table" in repr(lint)


def test_alone_it_disturbs_nobody(linted):
    made = 'DefaultMQPullConsumer p = new DefaultMQPullConsumer("g"); p.start();'
    assert linted({"A.java": f"IMPORTS class A {{ void g() {{ {made} }} }}"}).verdict == "consistent"


def test_topics_that_are_registered_with_a_pull_consumer(wishes):
    made = 'DefaultMQPullConsumer p = new DefaultMQPullConsumer("g"); p.registerMessageQueueListener("T", this);'
    assert wishes({"A.java": f"IMPORTS class A {{ void g() {{ {made} }} }}"}) == ([("g", "T", "TAG '*'")], [])


def test_assign_of_go_has_its_topic_in_heartbeats(wishes):
    text = """
        package a
        import (r "github.com/apache/rocketmq-client-go/v2"; c "github.com/apache/rocketmq-client-go/v2/consumer")
        func f() {
            p, _ := r.NewPullConsumer(c.WithGroupName("g"))
            p.Assign("T", queues)
        }
    """
    assert wishes({"a.go": text}) == ([("g", "T", "TAG '*'")], [])


def test_a_lite_push_consumer_of_grpc(wishes):
    chain = 'provider.newLitePushConsumerBuilder().setConsumerGroup("g").bindTopic("T").build();'
    assert wishes({"A.java": f"IMPORTS class A {{ void f() {{ {chain} }} }}"}) == ([("g", "T", "TAG '*'")], [])


BEANS = '<beans xmlns="http://www.springframework.org/schema/beans">{}</beans>'
FILLED = """
    package shop; IMPORTS
    public class Shop {
      private String group; private String tag;
      public void setGroup(String group) { this.group = group; }
      public void setTag(String tag) { this.tag = tag; }
      void init() { DefaultMQPushConsumer c = new DefaultMQPushConsumer(group); c.subscribe("T", tag); }
    }
"""


def test_beans_fill_the_fields_of_their_class_each_its_own(linted):
    """Not every group with every tag."""
    beans = """
        <bean class="shop.Shop"><property name="group" value="g"/><property name="tag"><value>a</value></property></bean>
        <bean class="shop.Shop"><property name="group" value="h"/><property name="tag" value="b"/></bean>
        <bean class="other.Shop"><property name="group" value="i"/><property name="tag" value="c"/></bean>
    """
    lint = linted({"Shop.java": FILLED, "beans.xml": BEANS.format(beans)})
    wishes_of_beans = [
        (group.group, str(topic.wishes[0]), *[(place.file, place.line) for place in lint.places[group.group].values()])
        for group in lint.groups
        for topic in group.topics
    ]
    assert wishes_of_beans == [("g", "TAG 'a'", ("beans.xml", 2)), ("h", "TAG 'b'", ("beans.xml", 3))]
    assert lint.gaps == []


def test_arguments_of_a_bean_are_those_of_its_constructor(wishes):
    code = """
        package shop; IMPORTS
        class Shop {
          Shop(String group, String tag) { DefaultMQPushConsumer c = new DefaultMQPushConsumer(group); c.subscribe("T", tag); }
        }
    """
    arguments = '<constructor-arg index="1" value="a"/><constructor-arg index="0" value="g"/>'
    files = {"Shop.java": code, "beans.xml": BEANS.format(f'<bean class="shop.Shop">{arguments}</bean>')}
    assert wishes(files) == ([("g", "T", "TAG 'a'")], [])


@pytest.mark.parametrize(
    "naming",
    [
        '<context:property-placeholder location="conf/a.properties, classpath:conf/mq.properties"/>',
        '<context:property-placeholder location="classpath*:conf/*.properties"/>',
        (
            '<bean class="org.springframework.beans.factory.config.PropertyPlaceholderConfigurer"><property name="locations">'
            "<list><value>classpath:conf/mq.properties</value></list></property></bean><bean/>"
        ),
    ],
)
def test_settings_that_xml_names(wishes, naming):
    bean = (
        '<bean class="org.apache.rocketmq.client.consumer.DefaultMQPushConsumer"><property name="consumerGroup"'
        ' value="${mq.group}"/><property name="subscription"><map><entry key="T" value="a"/></map></property></bean>'
    )
    files = {
        "src/main/resources/mq.xml": BEANS.format('<bean class="x.Y"/>' + naming + bean),
        "src/main/resources/conf/mq.properties": "mq.group=g",
        "src/main/resources/other.properties": "mq.group=no",
    }
    assert wishes(files) == ([("g", "T", "TAG 'a'")], [])


def test_settings_that_an_annotation_names_are_the_lightest(wishes):
    code = """
        package shop; IMPORTS
        @PropertySource(value = {"classpath:mq.properties"}, encoding = "UTF-8")
        @RocketMQMessageListener(topic = "${topic}", consumerGroup = "${group}") class L {}
    """
    files = {
        "src/main/java/L.java": code, "src/main/resources/mq.properties": "group=g\ntopic=T",
        "src/main/resources/application.yml": "topic: U",
    }  # fmt: skip
    assert wishes(files) == ([("g", "U", "TAG '*'")], [])


def test_a_bean_of_which_code_adds_the_subscriptions(linted):
    bean = '<bean id="c" class="x.DefaultMQPushConsumer"><property name="consumerGroup" value="g"/></bean>'
    lint = linted({"beans.xml": BEANS.format(bean)})
    assert [(gap.group, str(gap.why)) for gap in lint.gaps] == [("g", "the bean has no subscriptions: code adds them")]


@pytest.mark.parametrize("name", ["L.java", "L.kt"])
def test_an_annotation_by_its_whole_name(wishes, name):
    annotation = "org.apache.rocketmq.spring.annotation.RocketMQMessageListener"
    assert wishes({name: f'@{annotation}(topic = "T", consumerGroup = "g") class L {{}}'}) == (
        [("g", "T", "TAG '*'")],
        [],
    )
