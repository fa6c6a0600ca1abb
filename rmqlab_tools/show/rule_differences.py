"""Which rules differ between two versions of RocketMQ, each with what it decides and the class and method of both."""

from __future__ import annotations

import inspect
import re
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Final

from rmqlab import rules as written
from rmqlab import rules_of_5 as five
from rmqlab import rules_of_pop as pop
from rmqlab.language import N_, _
from rmqlab.protocol.wire import Wire
from rmqlab.rule_table import entry_of
from rmqlab.rules import RULES, Rules
from rmqlab_tools.show.tables import Table

if TYPE_CHECKING:
    from collections.abc import Iterator


_NO, _YES, _NOTHING = N_("No"), N_("Yes"), N_("none")

# What each rule decides, for people; what a function decides in each version.
DECIDES: Final = {
    "notifies_broadcasting": N_(
        "whether members of a broadcasting group are told to rebalance when others come and go"
    ),
    "registers_unknown_groups": N_("whether a heartbeat registers a group that there is no configuration of"),
    "knows_heartbeat_v2": N_("whether a heartbeat may leave out the subscriptions that the broker has"),
    "rebalance_min_period_ms": N_("ms between two rebalances of a client, at least"),
    "rebalances_again": N_("when a client rebalances again that did not get all the queues it wants"),
    "lock_again_ms": N_("ms until an orderly consumer that did not get a lock tries again; 0: the usual period"),
    "asks_members_first": N_("whether a client asks for the group's members before it looks for queues"),
    "stamps_without_queues": N_("whether each rebalance of a topic without queues stamps its subscription anew"),
    "offset_without_commit": N_("where a group without an offset begins, as the broker says"),
    "first_pull_delay_ms": N_("ms that a queue which became a client's waits for its first pull"),
    "assigned_expression": N_("the expression of a lite pull consumer that assigned itself its queues"),
    "lite_pull_threads": N_("how many threads of a lite pull consumer pull, each one queue"),
    "fix_offset_delay_ms": N_("ms that a client keeps a queue after OFFSET_ILLEGAL; 0: it rebalances at once"),
    "stores_offset_moved_event": N_("whether the broker stores a message OFFSET_MOVED_EVENT"),
    "may_pull_from_dlq": N_("whether dead letters may be pulled"),
    "needs_reconsume_times": N_("whether a client that sends a message back must say how often it is retried at most"),
    "goes_to_dlq": N_("which message sent to a retry topic becomes a dead letter"),
    "chooses_below_0": N_("whether a broker that is asked to choose a queue may choose one below 0"),
    "disk_used": N_("which part of a disk counts as used; above 0.9 the broker takes no message"),
    "has_pop": N_("whether the broker knows POP"),
    "woken_by": N_("which waiting pops a message that comes again wakes"),
    "pop_order": N_("in which order a pop looks at a topic's queues"),
    "sql92": N_("the version whose words a SQL92 condition has; 5.x has CONTAINS, STARTSWITH and ENDSWITH"),
    "wire.version_number": N_("the number of the version in every header"),
    "wire.faq": N_("the link in remarks and in texts of exceptions"),
    "wire.tells_sys_flags": N_("whether the answer to a pull has topicSysFlag and groupSysFlag"),
    "wire.tells_unique_id": N_("whether the answer to a send has transactionId, the message's UNIQ_KEY"),
    "wire.makes_unique_id": N_("whether the broker gives a UNIQ_KEY to a message that has none"),
    "wire.dlq_properties": N_("properties of a message that becomes a dead letter when it is sent"),
    "wire.heartbeat_fields": N_("fields of the answer to a heartbeat"),
    "wire.stored_properties": N_("properties that the broker adds to a message besides CLUSTER"),
    "wire.property_capacity": N_("length of the table that a message's properties are read into: their order"),
    "wire.keeps_origin_in_dlq": N_("whether a dead letter carries ORIGIN_MESSAGE_ID"),
    "wire.illegal_queue": N_("the code that refuses a pull from a queue that is not there"),
    "wire.lite_pull": N_("the request with which a lite pull consumer pulls"),
    "wire.broker_fields": N_("what a route says of each broker besides"),
    "wire.queue_flag": N_("the name of a topic's system flag in a route"),
    "wire.quotes_since": N_("the version of a request from which on all names in a route stand in quotes"),
    "wire.config_marks": N_("fields of the files in config/ by which the version that wrote a store is known"),
    "wire.tells_empty_stats": N_("whether the admin tool tells the empty statistics of a group that is online"),
    "wire.tells_suspend": N_("whether a check point of POP says that a message comes again without being counted"),
    "wire.tells_origin_group": N_("whether a message that POP gives again says of which group"),
}
FUNCTION_WORDS: Final[dict[Any, str]] = {
    written.rebalances_again: N_("after the usual period"),
    five.rebalances_again_until_balanced: N_("after the shortest period, until it has them"),
    written.offset_without_commit: N_("0 if the queue is whole and in memory, also when it is empty"),
    five.offset_without_commit_of_a_message: N_("0 if its first message is there and in memory; else not found (22)"),
    written.goes_to_dlq: N_("one that was retried as often as allowed"),
    five.goes_to_dlq_when_locked: N_("one retried more often than allowed, or any while members hold locks"),
    written.disk_used: N_("bytes in use out of all"),
    five.disk_used_as_df: N_("bytes in use out of all that a user may write, rounded up to a percent, as df does"),
    written.lite_pull_threads: N_("20, whatever was asked for"),
    five.lite_pull_threads_as_asked: N_("as many as were asked for"),
    written.assigned_expression: N_("all messages"),
    five.assigned_expression_as_given: N_("the one given; without one all messages"),
    pop.woken_by: N_("none; the first one that wants it, where the retry topic is one of version 2"),
    pop.pop_order: N_("round upwards from one by chance"),
    pop.pop_order_downwards: N_("round downwards from one by chance"),
    pop.woken_by_origin_group: N_("the first one of its group, whatever it wants"),
}
_METHOD = re.compile(r"`([A-Z]\w+(?:\.\w+)?)`")
_ORIGIN = re.compile(r"\d\.\d\.\d (`[A-Z].*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class RuleDifference:
    """A rule that two versions do not share: its name in `Rules` (of `Wire` after `wire.`), and what it decides.

    `old` and `new` are what it decides in each, in words or as a value; `method` is the class and method of RocketMQ.
    """

    rule: str
    decides: str
    old: str
    new: str
    method: str


class RuleDifferences(list[RuleDifference]):
    """The rules that differ between two versions, in the order of `Rules`; shown as a table."""

    def __init__(self, old: str, new: str, rows: Iterator[RuleDifference]) -> None:
        """Of the versions `old` and `new`."""
        super().__init__(rows)
        self.old, self.new = old, new

    def table(self) -> Table:
        """A row for each rule, in the reader's language."""
        title = _("What differs between {old} and {new}", old=self.old, new=self.new)
        headers = (_("rule"), _("what it decides"), self.old, self.new, _("class and method"))
        rows = [
            (difference.rule, _(difference.decides), _(difference.old), _(difference.new), difference.method)
            for difference in self
        ]
        return Table(title, headers, rows)

    def as_json(self) -> dict[str, object]:
        """The result for programs."""
        return {"old": self.old, "new": self.new, "rules": [asdict(difference) for difference in self]}

    def __repr__(self) -> str:
        """The table as text."""
        return self.table().text()

    def _repr_html_(self) -> str:
        return self.table().html()


def rules_between(old: str, new: str) -> RuleDifferences:
    """Which rules differ between two versions: what each decides in the one and in the other, and in which method.

    >>> [one.rule for one in rules_between("5.3.3", "5.5.0") if not one.rule.startswith("wire.")]
    ['asks_members_first', 'woken_by', 'pop_order']
    >>> rules_between("4.8.0", "5.5.0")[0].method
    'ConsumerManager.registerConsumer'

    Raises:
        BadInput: there are no rules of a version; the text names those there are.
    """
    return RuleDifferences(old, new, _differences(RULES[old], RULES[new]))


def _differences(old: Rules, new: Rules) -> Iterator[RuleDifference]:
    for name in (field.name for field in fields(Rules)[1:]):
        yield from _of_wire(old.wire, new.wire) if name == "wire" else _row(old, new, name, name)


def _of_wire(old: Wire, new: Wire) -> Iterator[RuleDifference]:
    for field in fields(Wire):
        yield from _row(old, new, field.name, f"wire.{field.name}")


def _row(old: Rules | Wire, new: Rules | Wire, name: str, rule: str) -> Iterator[RuleDifference]:
    first, second = getattr(old, name), getattr(new, name)
    if first != second:
        yield RuleDifference(rule, DECIDES[rule], shown(first), shown(second), method_of(new, name))


def method_of(rules: Rules | Wire, name: str) -> str:
    """The class and method of RocketMQ that decide as a rule does, several with commas, as its docstring names them.

    >>> method_of(RULES["4.8.0"], "is_latest")
    'PullMessageProcessor.processRequest'
    """
    rule = getattr(rules, name)
    if not callable(rule):
        return _methods(entry_of(type(rules), name))
    origin = _ORIGIN.search((inspect.getdoc(rule) or "").partition(">>>")[0])
    return _methods(origin[1]) if origin else ""


def _methods(text: str) -> str:
    return ", ".join(dict.fromkeys(name for name in _METHOD.findall(text) if not name.isupper()))


def shown(value: Any) -> str:
    """What a rule decides: a function in words, a constant as it is."""
    if isinstance(value, Wire):
        return value.version_name
    if value is None:
        return _NOTHING
    if isinstance(value, bool):
        return _YES if value else _NO
    if isinstance(value, tuple):
        return ", ".join("=".join(map(str, item)) if isinstance(item, tuple) else item for item in value) or _NOTHING
    return (
        FUNCTION_WORDS.get(value, getattr(value, "__name__", ""))
        if callable(value)
        else getattr(value, "name", str(value))
    )
