"""Java: listeners with annotations, consumers, builders; constants, fields, enums and functions followed."""

from __future__ import annotations

import pytest

LISTENER = """
    package shop;
    IMPORTS
    @RocketMQMessageListener({}) class L implements RocketMQListener<String> {{ {} }}
"""
CONSUMER = """
    package shop;
    IMPORTS
    class C {{ {} void run() throws Exception {{
        DefaultMQPushConsumer c = new DefaultMQPushConsumer("g");
        {}
    }} }}
"""


def listener(values, body=""):
    return LISTENER.format(values, body)


def consumer(body, fields=""):
    return CONSUMER.format(fields, body)


@pytest.mark.parametrize(
    ("values", "topic", "wish"),
    [
        ('topic = "T", consumerGroup = "g"', "T", "TAG '*'"),
        ('topic = "T", consumerGroup = "g", selectorExpression = "a || b"', "T", "TAG 'a || b'"),
        ('topic = "T", consumerGroup = "g", selectorType = SelectorType.SQL92, selectorExpression = "a > 3"', "T",
         "SQL92 'a > 3'"),
        ('topic = "T" + "." + "x", consumerGroup = ("g")', "T.x", "TAG '*'"),
        ('topic = L.T, consumerGroup = "g", selectorExpression = TAG', "own", "TAG 'paid'"),
        ('topic = Names.T, consumerGroup = "g"', "named", "TAG '*'"),
        ('topic = Names.Inner.U, consumerGroup = "g", selectorExpression = shop.Names.T', "inner", "TAG 'named'"),
        ('topic = "${shop.topic:T}", consumerGroup = "${shop.group:g}"', "T", "TAG '*'"),
        ('topic = "T", consumerGroup = "g", tag = "a", filterExpressionType = "sql92"', "T", "SQL92 'a'"),
        ('topic = "\\u0054", consumerGroup = "g"', "T", "TAG '*'"),
    ],
)  # fmt: skip
def test_annotation(wishes, values, topic, wish):
    files = {
        "L.java": listener(values, 'static final String T = "own", TAG = "pa" + "id";'),
        "Names.java": 'package shop; interface Names { String T = "named"; class Inner { static final String U = "inner"; } }',
    }
    assert wishes(files) == ([("g", topic, wish)], [])


@pytest.mark.parametrize(
    ("body", "wish"),
    [
        ('c.subscribe("T", "a");', "TAG 'a'"),
        ('c.subscribe("T", MessageSelector.bySql("a > 3"));', "SQL92 'a > 3'"),
        ('String tag = "a"; c.subscribe("T", MessageSelector.byTag(tag));', "TAG 'a'"),
        ('c.subscribe("T", Kind.PAID.getTag());', "TAG 'paid'"),
        ('c.subscribe("T", Kind.PAID.name());', "TAG 'PAID'"),
        ('c.subscribe("T", String.format("%s || %s", Kind.PAID.tag, "b"));', "TAG 'paid || b'"),
        ('c.subscribe("T", String.join(" || ", "a", "b"));', "TAG 'a || b'"),
        ('c.subscribe("T", Kinds.both());', "TAG 'paid||made'"),
        ('c.subscribe("T", (String) null);', "TAG '*'"),
        ('Runnable r = () -> { try { c.subscribe("T", "a"); } catch (Exception e) {} };', "TAG 'a'"),
        ('c.setConsumerGroup("g"); c.subscribe("T", tags);', "TAG 'of a field'"),
        ('c.setMessageModel(); c.setConsumeFromWhere(); c.setConsumerGroup(); c.subscribe("T", "a");', "TAG 'a'"),
        ('c.subscribe("T", """\n            a || b""");', "TAG 'a || b'"),
    ],
)
def test_subscribe(wishes, body, wish):
    files = {
        "C.java": consumer(body, 'private String tags = "of a field";'),
        "Kind.java": """
            package shop;
            enum Kind { PAID("paid"), MADE("made"); final String tag; Kind(String tag) { this.tag = tag; }
                String getTag() { return tag; } }
        """,
        "Kinds.java": """
            package shop;
            class Kinds { static String both() { return Kind.PAID.getTag() + "||" + Kind.MADE.getTag(); } }
        """,
    }
    assert wishes(files) == ([("g", "T", wish)], [])


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ('c.subscribe("T", rules.load("orders"));', "rules.load() is not followed"),
        ('c.subscribe("T", flag ? "a" : "b");', 'flag ? "a" : "b" is not followed'),
        ('String t = "a"; if (x) t = "b"; c.subscribe("T", t);', "t is set at several places"),
        ('c.subscribe("T", System.getenv("TAG"));', "System.getenv() reads the environment"),
        ('c.subscribe("T", A.B);', "A.B is in none of the sources"),
        ('c.subscribe("T", X.A);', "leads back to itself: Y.B -> X.A -> Y.B"),
        ('c.subscribe("T", "a"); c.subscribe("T", "b");', "it subscribes T in different ways"),
        ('c.subscribe("T", "||");', "names no tag"),
        ('for (String t : all()) c.subscribe(t, "a");', "each of all() is not followed"),
    ],
)
def test_what_is_not_known_is_said(linted, body, why):
    files = {
        "C.java": consumer(body),
        "X.java": "package shop; class X { static final String A = Y.B; }",
        "Y.java": "package shop; class Y { static final String B = X.A; }",
    }
    lint = linted(files)
    assert why in "".join(str(gap.why) for gap in lint.gaps)
    assert lint.verdict == "not decided"
    assert lint.groups[0].topics == ()


def test_imports_of_constants(wishes):
    files = {
        "C.java": """
            package shop; import static shop.names.Tags.PAID; import static shop.names.Topics.*; import shop.names.Groups;
            IMPORTS
            class C { void run() { var c = new DefaultMQPushConsumer(Groups.ALL); c.subscribe(ORDERS, PAID); } }
        """,
        "names/Tags.java": 'package shop.names; public class Tags { public static final String PAID = "paid"; }',
        "names/Topics.java": 'package shop.names; public class Topics { public static final String ORDERS = "T"; }',
        "names/Groups.java": 'package shop.names; public class Groups { public static final String ALL = "g"; }',
        "other/Groups.java": 'package other; public class Groups { public static final String ALL = "wrong"; }',
    }
    assert wishes(files) == ([("g", "T", "TAG 'paid'")], [])


def test_builders_of_grpc(wishes):
    files = {
        "C.java": """
            IMPORTS
            class C { void run() { String topic = "T"; FilterExpression f = new FilterExpression("a > 1", FilterExpressionType.SQL92);
                p.newPushConsumerBuilder().setConsumerGroup("push").setSubscriptionExpressions(Collections.singletonMap(topic, f)).build();
                SimpleConsumer s = p.newSimpleConsumerBuilder().setConsumerGroup("simple")
                    .setSubscriptionExpressions(Map.of("T", FilterExpression.SUB_ALL, "U", new FilterExpression("b"))).build();
                Map<String, FilterExpression> m = new HashMap<>(); m.put("T", f);
                PushConsumerBuilder b = p.newPushConsumerBuilder(); b.setConsumerGroup("of a builder");
                b.setSubscriptionExpressions(m); PushConsumer c = b.build(); c.subscribe("U", f); } }
        """,
    }
    assert wishes(files)[0] == [
        ("of a builder", "T", "SQL92 'a > 1'"), ("of a builder", "U", "SQL92 'a > 1'"),
        ("push", "T", "SQL92 'a > 1'"), ("simple", "T", "TAG '*'"), ("simple", "U", "TAG 'b'"),
    ]  # fmt: skip


def test_a_function_that_makes_consumers_has_a_member_for_each_caller(linted):
    files = {
        "F.java": """
            package shop; IMPORTS
            class F { static DefaultMQPushConsumer make(String group, String topic, String tag) {
                DefaultMQPushConsumer c = new DefaultMQPushConsumer(group); c.subscribe(topic, tag); return c; } }
        """,
        "A.java": 'package shop; class A { void a() { F.make("g", "T", "a"); } }',
        "B.java": 'package shop; class B { void b(String tag) { F.make("g", "T", tag); } void all() { b("b"); b("c"); } }',
    }
    lint = linted(files)
    (group,) = lint.groups
    assert [str(wish) for wish in group.topics[0].wishes] == ["TAG 'a'", "TAG 'b'", "TAG 'c'"]
    assert [(place.file, place.line) for place in lint.places["g"].values()] == [
        ("A.java", 1),
        ("B.java", 1),
        ("B.java", 1),
    ]
    assert lint.gaps == []


def test_a_consumer_that_a_function_gives_back(wishes):
    files = {
        "F.java": """
            package shop; IMPORTS
            class F { static DefaultMQPushConsumer make(String group) {
                DefaultMQPushConsumer c = new DefaultMQPushConsumer(group, true); return c; } }
        """,
        "A.java": """
            package shop; IMPORTS
            class A { void a() { DefaultMQPushConsumer c = F.make("g"); c.subscribe("T", "a"); } }
        """,
    }
    assert wishes(files) == ([("g", "T", "TAG 'a'")], [])


def test_other_libraries_are_left_alone(linted):
    from rmqlab.errors import BadInput

    files = {
        "K.java": """
            import org.apache.kafka.clients.consumer.Consumer;
            class K { void k(Consumer<String, String> consumer) { consumer.subscribe("T", "x"); flux.subscribe(a, b); } }
        """,
    }
    with pytest.raises(BadInput, match="no consumer of RocketMQ is made in 1 file of Java"):
        linted(files)


def test_same_constants_in_modules_that_are_copies(wishes):
    files = {
        f"{name}/src/main/java/shop/{file}.java": text
        for name in ("one", "two")
        for file, text in (
            ("L", listener("topic = Names.T, consumerGroup = Names.G")),
            ("Names", f'package shop; class Names {{ static final String T = "{name}", G = "g-{name}"; }}'),
        )
    }
    assert wishes(files) == ([("g-one", "one", "TAG '*'"), ("g-two", "two", "TAG '*'")], [])


def test_prepare_start_of_a_listener(wishes):
    body = 'public void prepareStart(DefaultMQPushConsumer c) { c.subscribe("U", "b"); }'
    files = {"L.java": listener('topic = "T", consumerGroup = "g"', body)}
    assert wishes(files) == ([("g", "T", "TAG '*'"), ("g", "U", "TAG 'b'")], [])


def test_ons(wishes):
    files = {
        "O.java": """
            import com.aliyun.openservices.ons.api.*;
            class O { void run() { Properties p = new Properties(); p.put(PropertyKeyConst.GROUP_ID, "g");
                Consumer c = ONSFactory.createConsumer(p); c.subscribe("T", "a||b", listener); } }
        """,
    }
    assert wishes(files) == ([("g", "T", "TAG 'a||b'")], [])


def test_lombok_and_bound_settings(wishes):
    files = {
        "src/main/java/P.java": """
            package shop; @Data @ConfigurationProperties(prefix = "shop.mq") class P { private String orderTag; private String topic = "T"; }
        """,
        "src/main/java/C.java": """
            package shop; IMPORTS
            class C { @Resource private P p; @Value("${shop.mq.group}") String group;
                void run() { var c = new DefaultMQPushConsumer(group); c.subscribe(p.getTopic(), p.getOrderTag()); } }
        """,
        "src/main/resources/application.yml": "shop: {mq: {order-tag: paid, group: g}}",
    }
    assert wishes(files) == ([("g", "T", "TAG 'paid'")], [])
