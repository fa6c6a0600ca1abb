"""What to do, step by step, for each procedure, with the admin command or the gauge to watch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.search.plan.change import MessageKind, text_of
from rmqlab.search.plan.procedures import rollouts

if TYPE_CHECKING:
    from rmqlab.search.plan.change import Change
    from rmqlab.search.plan.procedures import Procedure

DRAINED = (
    "Wait until the group has taken everything that is there: mqadmin consumerProgress -g GROUP shows Diff 0 in every"
    " queue. Diff counts messages that the filter will drop too; the gauge filteredLag counts those that the group will"
    " receive."
)
HALFWAY = (
    "Do not stop halfway: until the last one is up the broker holds, for all, the subscription of whoever rebalanced"
    " last."
)
TWICE = (
    "Make sure that your application may take a message twice: while both groups run, both take what both subscriptions"
    " match."
)
CLONE = (
    "mqadmin cloneGroupOffset -s GROUP -d NEWGROUP -t TOPIC, while GROUP runs. In 4.8.0 it writes the end of each"
    " queue, not GROUP's offsets, so GROUP must go on until it has taken what came before. (resetOffsetByTime refuses a"
    " group that has never committed.)"
)
AGREED = (
    "mqadmin consumerConnection -g GROUP: as many clients as members, and the expression you want. The gauge flips (how"
    " often the subscription changed in the last minute) is 0."
)


ASKS_PRODUCERS = ("Producers ", "Have the producers ")  # how the steps begin that somebody else has to take


def asks_of_producers(procedure: Procedure, change: Change) -> list[str]:
    """The steps of a checklist that the producers have to take: a procedure with some is safe only if they do."""
    return [step for step in checklist(procedure, change) if step.startswith(ASKS_PRODUCERS)]


def checklist(procedure: Procedure, change: Change) -> list[str]:
    """The steps for people, in order; GROUP, TOPIC and the like stand for real names."""
    old, new = text_of(change.old), text_of(change.new)
    hold_new, release_new, end_old = _of_producers(change)
    match procedure.name:
        case "stop-all":
            return [
                *end_old,
                DRAINED,
                "Stop every member in good order (shutdown, so that offsets are committed and the broker is told).",
                "mqadmin consumerConnection -g GROUP: no client is online. Wait if one is (a killed one: 120 s).",
                f"Start every member with {new}. They go on at the committed offsets: what was sent meanwhile waits.",
                AGREED,
                "mqadmin consumerProgress -g GROUP: Diff falls back to 0.",
            ]
        case "one-by-one":
            return [
                *hold_new,
                *end_old,
                DRAINED,
                f"Restart the members one by one with {new}. {HALFWAY}",
                AGREED,
                *release_new,
            ]
        case "new-group":
            return [
                TWICE,
                CLONE,
                f"Start as many members in NEWGROUP with {new}.",
                "mqadmin consumerConnection -g NEWGROUP: all are there; consumerProgress -g NEWGROUP: Diff falls to 0.",
                *end_old,
                DRAINED,
                "Stop the members of GROUP.",
            ]
        case "widen-then-narrow":
            return _widen(change, old, new)
        case "new-topic":
            return [
                "mqadmin updateTopic -n NAMESRV -c CLUSTER -t NEWTOPIC: create the topic before anybody uses it.",
                "Start members of NEWGROUP that subscribe * of NEWTOPIC.",
                "mqadmin consumerConnection -g NEWGROUP: all are there.",
                f"Have the producers send what {new} takes to NEWTOPIC, and everything else as before.",
                DRAINED,
                "Stop the members of GROUP.",
            ]
    raise AssertionError(procedure.name)


def _widen(change: Change, old: str, new: str) -> list[str]:
    hold_new, release_new, end_old = _of_producers(change)
    waves = rollouts(change)
    if len(waves) == 1:
        if change.union == change.new:
            return [
                f"{new} takes all that {old} takes: one rollout is enough.",
                *hold_new,
                f"Restart the members one by one with {new}.",
                AGREED,
                *release_new,
            ]
        return [
            f"{old} takes all that {new} takes: there is nothing to widen.",
            *end_old,
            DRAINED,
            f"Restart the members one by one with {new}.",
            AGREED,
        ]
    union = text_of(waves[0])
    return [
        "Make sure that your application does the right thing with both kinds of messages.",
        *hold_new,
        f"Restart the members one by one with {union}.",
        AGREED,
        *release_new,
        *end_old,
        DRAINED,
        f"Restart the members one by one with {new}.",
        AGREED,
    ]


def _of_producers(change: Change) -> tuple[list[str], list[str], list[str]]:
    """What the producers do: hold back what only NEW takes, send it, end what only OLD takes; where there is such."""
    old, new = text_of(change.old), text_of(change.new)
    has_new, has_old = MessageKind.NEW in change.kinds, MessageKind.OLD in change.kinds
    return (
        [f"Producers send nothing yet that only {new} takes."] if has_new else [],
        [f"Producers may now send what only {new} takes."] if has_new else [],
        [f"Producers stop sending what only {old} takes."] if has_old else [],
    )
