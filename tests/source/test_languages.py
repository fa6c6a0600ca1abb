"""Kotlin, Go, Python, XML: the same consumers in other words."""

from __future__ import annotations

import pytest


def test_kotlin(wishes):
    files = {
        "src/main/kotlin/A.kt": """
            package shop
            IMPORTS
            import shop.names.PAID as paid
            const val GROUP = "g"
            enum class Topic(val topic: String) { ORDER("T") }
            object Tags {
                const val MADE = "made"
            }
            @RocketMQMessageListener(topic = "\\${shop.topic:T}", consumerGroup = GROUP, selectorExpression = paid)
            class L : RocketMQListener<String>
            class M(@Value("\\${shop.tag}") private val tag: String) {
                val b = DefaultMQPushConsumer("b")
                fun start() {
                    val c = DefaultMQPushConsumer("c").apply {
                        namesrvAddr = "localhost:9876"
                        subscribe(Topic.ORDER.topic, "$tag || ${Tags.MADE}")
                    }
                    val d = DefaultMQPushConsumer()
                    d.consumerGroup = "d"
                    d.subscribe("T", MessageSelector.bySql("a > 3"))
                    b.also { it.subscribe("T", "x") }
                    provider.newPushConsumerBuilder().setConsumerGroup("e")
                        .setSubscriptionExpressions(mapOf("T" to FilterExpression("e"), "U" to FilterExpression.SUB_ALL)).build()
                }
            }
        """,
        "src/main/kotlin/names.kt": 'package shop.names\nconst val PAID = "paid"\n',
        "src/main/resources/application.yml": "shop.tag: old",
    }
    known, gaps = wishes(files)
    assert known == [
        ("b", "T", "TAG 'x'"), ("c", "T", "TAG 'old || made'"), ("d", "T", "SQL92 'a > 3'"), ("e", "T", "TAG 'e'"),
        ("e", "U", "TAG '*'"), ("g", "T", "TAG 'paid'"),
    ]  # fmt: skip
    assert gaps == []


def test_go(wishes):
    files = {
        "shop/main.go": """
            package main
            import (
                "github.com/apache/rocketmq-client-go/v2"
                "github.com/apache/rocketmq-client-go/v2/consumer"
                rmq "github.com/apache/rocketmq-clients/golang/v5"
                "example.org/shop/names"
            )
            const topic = "T"
            func main() {
                c, err := rocketmq.NewPushConsumer(consumer.WithGroupName("g"), consumer.WithConsumerModel(consumer.BroadCasting))
                err = c.Subscribe(topic, consumer.MessageSelector{Type: consumer.SQL92, Expression: "a" + names.Rest}, f)
                d, _ := rocketmq.NewPushConsumer(consumer.WithGroupName(Group))
                d.Subscribe("T", consumer.MessageSelector{}, f)
                s, _ := rmq.NewSimpleConsumer(&rmq.Config{ConsumerGroup: "s"},
                    rmq.WithSimpleSubscriptionExpressions(map[string]*rmq.FilterExpression{
                        "T": rmq.SUB_ALL, "U": rmq.NewFilterExpressionWithType("a = 'b'", rmq.SQL92)}))
                e, _ := rocketmq.NewPushConsumer(consumer.WithGroupName(os.Getenv("GROUP")))
                e.Subscribe("T", consumer.MessageSelector{}, f)
            }
        """,
        "shop/group.go": 'package main\nvar Group = "d"\n',
        "shop/names/names.go": "package names\nconst Rest = ` > 3`\n",
    }
    known, gaps = wishes(files)
    assert known == [
        ("d", "T", "TAG '*'"), ("g", "T", "SQL92 'a > 3'"), ("s", "T", "TAG '*'"), ("s", "U", "SQL92 \"a = 'b'\""),
    ]  # fmt: skip
    assert gaps == ["os.Getenv() reads the environment of the process"]


def test_python(wishes):
    files = {
        "shop/run.py": """
            from rocketmq.client import PushConsumer
            from .names import TOPIC, Tags
            import shop.names as names
            class Worker:
                group = "g"
                def __init__(self, tag="x"):
                    self.consumer = PushConsumer(self.group)
                def run(self):
                    self.consumer.subscribe(TOPIC, print, expression=f"{Tags.PAID}||b")
                    other = PushConsumer(names.GROUP)
                    other.subscribe("T", print)
        """,
        "shop/five.py": """
            from rocketmq import PushConsumer, SimpleConsumer, FilterExpression, FilterType
            topic = "T"
            push = PushConsumer(config, "push", listener, {topic: FilterExpression("a > 1", FilterType.SQL)})
            simple = SimpleConsumer(config, consumer_group="simple", subscription={topic: FilterExpression()})
            simple.subscribe("U", FilterExpression("b"))
        """,
        "shop/names.py": 'TOPIC = "T"\nGROUP = "o"\nclass Tags:\n    PAID = "pa" "id"\n',
        "kafka.py": 'from kafka import KafkaConsumer\nc = KafkaConsumer("rocketmq")\nc.subscribe(["T"])\n',
    }
    known, gaps = wishes(files)
    assert known == [
        ("g", "T", "TAG 'paid||b'"), ("o", "T", "TAG '*'"), ("push", "T", "SQL92 'a > 1'"), ("simple", "T", "TAG '*'"),
        ("simple", "U", "TAG 'b'"),
    ]  # fmt: skip
    assert gaps == []


XML = """<?xml version="1.0" encoding="GBK"?>
<!DOCTYPE beans PUBLIC "-//SPRING//DTD BEAN//EN" "http://www.springframework.org/dtd/spring-beans.dtd">
<beans>
  <bean id="c" class="org.apache.rocketmq.client.consumer.DefaultMQPushConsumer">
    <property name="consumerGroup" value="${shop.group}"/>
    <property name="subscription"><map><entry key="订单" value="a || b"/><entry key="U"><value>*</value></entry></map></property>
  </bean>
  <bean class="com.aliyun.openservices.ons.api.bean.ConsumerBean">
    <property name="properties"><props><prop key="GROUP_ID">o</prop></props></property>
    <property name="subscriptionTable"><map><entry value-ref="l"><key><bean class="com.aliyun.openservices.ons.api.bean.Subscription">
      <property name="topic" value="T"/><property name="expression" value="a > 3"/><property name="type" value="SQL92"/>
    </bean></key></entry></map></property>
  </bean>
</beans>
"""


def test_xml(wishes):
    files = {
        "src/main/resources/beans.xml": XML.replace("a > 3", "a &gt; 3").encode("gbk"),
        "src/main/resources/application.properties": "shop.group = g\n",
    }
    assert wishes(files) == (
        [("g", "U", "TAG '*'"), ("g", "订单", "TAG 'a || b'"), ("o", "T", "SQL92 'a > 3'")], [],
    )  # fmt: skip


def test_entities_of_xml_are_not_resolved(linted):
    bomb = '<!DOCTYPE b [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>\n' + XML.partition("\n")[2].partition("\n")[2]
    lint = linted({"beans.xml": bomb.replace("${shop.group}", "&b;"), "C.py": PUSH})
    assert [(file, str(why)) for file, why in lint.base.troubles] == [
        ("beans.xml", "does not parse: it declares entities, which are not resolved")
    ]
    assert lint.is_open


PUSH = 'from rocketmq.client import PushConsumer\nc = PushConsumer("g")\nc.subscribe("T", print)\n'


IN_A_LINE = {
    "a.go": """
        package a
        import "github.com/apache/rocketmq-client-go/v2/consumer"
        func main() {
            c, _ := rocketmq.NewPushConsumer(consumer.WithGroupName("g"))
            c.Subscribe(TOPIC, consumer.MessageSelector{}, f)
        }
    """,
    "a.kt": """
        IMPORTS
        fun main() {
            val c = DefaultMQPushConsumer("g")
            c.subscribe(TOPIC, "*")
        }
    """,
    "a.py": PUSH.replace('"T"', "TOPIC"),
}


@pytest.mark.parametrize("name", IN_A_LINE)
def test_thousands_of_texts_are_joined(wishes, name):
    code = IN_A_LINE[name].replace("TOPIC", " + ".join(['"T"'] * 2000))
    assert wishes({name: code}) == ([("g", "T" * 2000, "TAG '*'")], [])
