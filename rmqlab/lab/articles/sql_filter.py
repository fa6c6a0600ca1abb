"""The SQL92 examples of the filter article: ten messages (E4), and its table of the grammar with cases (E5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from rmqlab.broker.broker_config import BrokerConfig
from rmqlab.filter.sql92 import MQFilterException, compile_sql92
from rmqlab.filter.sql92.evaluation import evaluate_in_steps
from rmqlab.lab.cluster import ClusterConfig
from rmqlab.lab.scenario import Offsets, OutgoingMessage, Scenario, Send, Start, Step, Subscription
from rmqlab.lab.simulate import ClientSettings, simulate

if TYPE_CHECKING:
    from rmqlab.lab.run import Run

TOPIC = "SqlFilterTest"
TAGS = ("TagA", "TagB", "TagC")
BODY = "Hello RocketMQ"
MESSAGES = 10
FROM_4X = "(TAGS is not null and TAGS in ('TagA', 'TagB'))and (a is not null and a between 0 and 3)"
FROM_5X = "TAGS is not null and TAGS in ('TagA', 'TagB')"
GROUPS: Mapping[str, str] = {"Consumer4x": FROM_4X, "Consumer5x": FROM_5X}
BETWEEN_STARTS_MS, SETTLE_MS, FINAL_MS = 500, 6_000, 26_000
REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class SqlFilter:
    """The experiment's settings; ``run`` runs it. ``property_filter`` is the broker's `enablePropertyFilter`."""

    groups: Mapping[str, str] = field(default_factory=lambda: GROUPS)
    property_filter: bool = True
    messages: int = MESSAGES
    queues: int = 4

    def scenario(self) -> Scenario:
        """The scenario, as a line of a scenario file would have it."""
        steps: list[Step] = [
            Start(
                at * BETWEEN_STARTS_MS,
                who=group,
                group=group,
                subscribe={TOPIC: Subscription(type="SQL92", expr=expression)},
            )
            for at, (group, expression) in enumerate(self.groups.items())
        ]
        at = len(steps) * BETWEEN_STARTS_MS + SETTLE_MS
        messages = [
            OutgoingMessage(f"{BODY} {number}", TAGS[number % len(TAGS)], props={"a": str(number)})
            for number in range(self.messages)
        ]
        return Scenario("sql-filter", {TOPIC: self.queues}, [*steps, Send(at, TOPIC, messages), Offsets(at + FINAL_MS)])

    def run(self) -> Run:
        """Run the experiment in virtual time."""
        cluster = ClusterConfig(broker=BrokerConfig(enable_property_filter=self.property_filter))
        return simulate(self.scenario(), cluster=cluster, clients=ClientSettings(plain_names=True))


class Rule(NamedTuple):
    """A row of the article's table: the syntax, what it says of it, and cases (expression, properties, expected).

    ``expected`` is what the article's words lead one to expect: whether the message matches, or ``REFUSED``.
    """

    syntax: str
    says: str
    cases: tuple[tuple[str, Mapping[str, str], bool | str], ...]


RULES: tuple[Rule, ...] = (
    Rule("IS NULL", "the property is absent", (("a IS NULL", {}, True), ("a IS NULL", {"a": "1"}, False))),
    Rule("IS NOT NULL", "the property is there", (("a IS NOT NULL", {"a": "1"}, True), ("a IS NOT NULL", {}, False))),
    Rule(
        "> >= < <=", "numbers only; a string makes the consumer's start fail; numeric strings count as numbers",
        (
            ("a IS NOT NULL AND a > 100", {"a": "101"}, True), ("a IS NOT NULL AND a > 100", {"a": "100"}, False),
            ("a IS NOT NULL AND a > 100", {}, False), ("a IS NOT NULL AND a > 'abc'", {"a": "101"}, REFUSED),
            ("a > '100'", {"a": "101"}, True), ("a > 100", {"a": "100.5"}, True), ("a > 100.0", {"a": "100.5"}, True),
            ("a > 100", {"a": "3000000000"}, True),
        ),
    ),
    Rule(
        "BETWEEN x AND y", "numbers only; the same as >= x and <= y",
        (
            ("a IS NOT NULL AND (a BETWEEN 10 AND 100)", {"a": "10"}, True),
            ("a IS NOT NULL AND (a BETWEEN 10 AND 100)", {"a": "100"}, True),
            ("a IS NOT NULL AND (a BETWEEN 10 AND 100)", {"a": "9"}, False),
            ("a IS NOT NULL AND (a BETWEEN 10 AND 100)", {"a": "101"}, False),
        ),
    ),
    Rule(
        "NOT BETWEEN x AND y", "numbers only; the same as < x or > y",
        (
            ("a IS NOT NULL AND (a NOT BETWEEN 10 AND 100)", {"a": "9"}, True),
            ("a IS NOT NULL AND (a NOT BETWEEN 10 AND 100)", {"a": "101"}, True),
            ("a IS NOT NULL AND (a NOT BETWEEN 10 AND 100)", {"a": "10"}, False),
            ("a NOT BETWEEN 10 AND 100", {}, False),
        ),
    ),
    Rule(
        "IN (x, y)", "the value is in a set; strings only",
        (
            ("a IS NOT NULL AND (a IN ('abc', 'def'))", {"a": "abc"}, True),
            ("a IS NOT NULL AND (a IN ('abc', 'def'))", {"a": "x"}, False),
            ("a IN (1, 2)", {"a": "1"}, REFUSED), ("a NOT IN ('abc')", {"a": "x"}, True),
        ),
    ),
    Rule(
        "= <>", "numbers and strings",
        (
            ("a IS NOT NULL AND (a = 'abc' OR a<>'def')", {"a": "abc"}, True),
            ("a IS NOT NULL AND (a = 'abc' OR a<>'def')", {"a": "xyz"}, True),
            ("a IS NOT NULL AND (a = 'abc' OR a<>'def')", {"a": "def"}, False),
            ("a IS NOT NULL AND (a = 'abc' OR a<>'def')", {}, False), ("a = 100", {"a": "100.0"}, True),
        ),
    ),
    Rule(
        "AND OR", "combine conditions; each one in brackets",
        (
            ("a IS NOT NULL AND (a > 100) OR (b IS NULL)", {}, True),
            ("a IS NOT NULL AND (a > 100) OR (b IS NULL)", {"a": "50", "b": "1"}, False),
            ("a IS NOT NULL AND (a > 100) OR (b IS NULL)", {"a": "101", "b": "1"}, True),
            ("a > 100 OR b IS NULL AND a < 0", {"a": "101"}, True),
        ),
    ),
)  # fmt: skip


class Surprise(NamedTuple):
    """An expression that does not do what it seems to, a message, and why."""

    expression: str
    properties: Mapping[str, str]
    why: str


SURPRISES: tuple[Surprise, ...] = (
    Surprise("NOT a = 1", {"a": "2"}, "NOT binds tighter than =: it is (NOT a) = 1, and (NOT a) is a boolean"),
    Surprise("a <> 5", {}, "a missing property at the left gives null, and NOT null is null"),
    Surprise("5 <> a", {}, "null only at the right makes = false, and NOT turns it into true"),
    Surprise("a LIKE 'x%'", {"a": "xyz"}, "no such operator: only a is read, and a text alone is no condition"),
    Surprise("a > 007", {"a": "5"}, "a number may not begin with 0: only a > 0 is read"),
    Surprise("a > 100", {"a": "100.5"}, "100 is an Integer, so the value is read as one: NumberFormatException"),
    Surprise("a = 1 AND b = 2 OR c = 3", {"c": "3"}, "AND binds tighter than OR"),
    Surprise("A > 1", {"a": "2"}, "names of properties are case-sensitive"),
    Surprise("TAGS = 'TagA || TagB'", {"TAGS": "TagA"}, "|| means or among tags only; here it is part of a text"),
    Surprise("TRUE = a", {"a": "true"}, "a Boolean at the left of a text throws ClassCastException"),
)


def outcome_of(expression: str, properties: Mapping[str, str]) -> str:
    """true, false, null, an exception's name, or ``REFUSED``."""
    try:
        compiled = compile_sql92(expression)
    except MQFilterException:
        return REFUSED
    root = evaluate_in_steps(compiled.root, properties).root
    if root.error is not None:
        return root.error.cause_name or root.error.java_name
    if root.value is None:
        return "null"
    return "true" if root.value is True else "false"
