"""What to do, step by step, for each procedure, with the admin command or the gauge to watch.

{old}, {new} and {union} stand for the subscriptions; GROUP, TOPIC and the like for names that the reader puts in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.language import _
from rmqlab.scenario.scenario import POPPING
from rmqlab_tools.search.lint.modes import AT_A_PROXY
from rmqlab_tools.search.plan.change import MessageKind, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rmqlab_tools.search.plan.change import Change
    from rmqlab_tools.search.plan.procedures import Procedure

DRAINED = _(
    "Wait until the group has taken everything that is there: mqadmin consumerProgress -g "
    "GROUP shows Diff 0 in every queue. Diff counts messages that the filter will drop too; "
    "the gauge filteredLag counts those that the group will receive."
)
ROLL_OUT_NEW_WHOLE = _(
    "Restart the members one by one with {new}. Do not stop halfway: until the last one is up the broker holds, for "
    "all, the subscription of whoever rebalanced last."
)
TWICE = _(
    "Make sure that your application may take a message twice: while both groups run, both "
    "take what both subscriptions match."
)
CLONE = _(
    "mqadmin cloneGroupOffset -s GROUP -d NEWGROUP -t TOPIC, while GROUP runs. In 4.8.0 it "
    "writes the end of each queue, not GROUP's offsets, so GROUP must go on until it has "
    "taken what came before. (resetOffsetByTime refuses a group that has never committed.)"
)
AGREED = _(
    "mqadmin consumerConnection -g GROUP: as many clients as members, and the expression you "
    "want. The gauge flips (how often the subscription changed in the last minute) is 0."
)
OFFLINE = _("mqadmin consumerConnection -g GROUP: no client is online. Wait if one is (a killed one: 120 s).")
HOLD_NEW = _("Producers send nothing yet that only {new} takes.")
RELEASE_NEW = _("Producers may now send what only {new} takes.")
END_OLD = _("Producers stop sending what only {old} takes.")
SEND_NONE_MISSED = _("Producers send no message like {missed}: one of the two takes it, {union} does not.")
THERE_IS: Mapping[str, MessageKind] = {
    HOLD_NEW: MessageKind.NEW, RELEASE_NEW: MessageKind.NEW, END_OLD: MessageKind.OLD,
}  # fmt: skip
"""Steps that are taken only where there are messages of this kind."""
ROLL_OUT_NEW = _("Restart the members one by one with {new}.")
CHECKLISTS: Mapping[str, Sequence[str]] = {
    "stop-all": (
        END_OLD,
        DRAINED,
        _("Stop every member in good order (shutdown, so that offsets are committed and the broker is told)."),
        OFFLINE,
        _("Start every member with {new}. They go on at the committed offsets: what was sent meanwhile waits."),
        AGREED,
        _("mqadmin consumerProgress -g GROUP: Diff falls back to 0."),
    ),
    "one-by-one": (HOLD_NEW, END_OLD, DRAINED, ROLL_OUT_NEW_WHOLE, AGREED, RELEASE_NEW),
    "new-group": (
        TWICE,
        CLONE,
        _("Start as many members in NEWGROUP with {new}."),
        _("mqadmin consumerConnection -g NEWGROUP: all are there; consumerProgress -g NEWGROUP: Diff falls to 0."),
        END_OLD,
        DRAINED,
        _("Stop the members of GROUP."),
    ),
    "widen-then-narrow": (
        _("Make sure that your application does the right thing with both kinds of messages."),
        SEND_NONE_MISSED,
        HOLD_NEW,
        _("Restart the members one by one with {union}."),
        AGREED,
        RELEASE_NEW,
        END_OLD,
        DRAINED,
        ROLL_OUT_NEW,
        AGREED,
    ),
    "new-topic": (
        _("mqadmin updateTopic -n NAMESRV -c CLUSTER -t NEWTOPIC: create the topic before anybody uses it."),
        _("Start members of NEWGROUP that subscribe * of NEWTOPIC."),
        _("mqadmin consumerConnection -g NEWGROUP: all are there."),
        _("Have the producers send what {new} takes to NEWTOPIC, and everything else as before."),
        DRAINED,
        _("Stop the members of GROUP."),
    ),
}
POP_DRAINED = _(
    "Wait until the group has taken everything that is there: mqadmin consumerProgress -g GROUP shows Diff 0 in every "
    "queue, those of its retry topics %RETRY%GROUP_TOPIC too. Then wait as long again as a message stays invisible "
    "(60 s, or what a SimpleConsumer asks for): what was popped and not acknowledged comes again after it, and is "
    "popped with the expression of whoever comes first."
)
POP_TOGETHER = _(
    "Do not stop halfway: as long as members ask for different things, a message wakes the first pop in line or none, "
    "and who does not want it goes past it. That holds for retries too."
)
POP_STEPS: Mapping[str, Sequence[str]] = {
    DRAINED: (POP_DRAINED,),
    ROLL_OUT_NEW_WHOLE: (_("Restart the members one by one with {new}."), POP_TOGETHER),
    AGREED: (
        _(
            "mqadmin consumerConnection -g GROUP: as many clients as members. The expression there is the last one "
            "that was sent, and no pop is filtered by it: rmqlab doctor compares what the members themselves ask for."
        ),
    ),
}
"""What a step is where the members pop."""
PROXY_STEPS: Mapping[str, Sequence[str]] = {
    OFFLINE: (
        _(
            "rmqlab doctor --group GROUP --proxy HOST:PORT, for each proxy: none lists a client. A broker says 206 of "
            "the group all the time."
        ),
    ),
    AGREED: (
        _(
            "rmqlab doctor --group GROUP --proxy HOST:PORT, for each proxy: as many clients as members. A proxy shows "
            "one expression for all, so see by each member's own log or settings that it asks for the right one."
        ),
    ),
}
"""What a step is where they come through a proxy."""
# What is left of "widen-then-narrow" where one rollout is enough.
WIDEN_ONLY = (
    _("{new} takes all that {old} takes: one rollout is enough."), HOLD_NEW, ROLL_OUT_NEW, AGREED, RELEASE_NEW,
)  # fmt: skip
NARROW_ONLY = (
    _("{old} takes all that {new} takes: there is nothing to widen."), END_OLD, DRAINED, ROLL_OUT_NEW, AGREED,
)  # fmt: skip
ASKS_PRODUCERS = ("Producers ", (_("Have the producers") + " "))  # how the steps begin that somebody else has to take


def asks_of_producers(procedure: Procedure, change: Change) -> list[str]:
    """The steps of a checklist that the producers have to take: a procedure with some is safe only if they do."""
    return [step for step in checklist(procedure, change) if step.startswith(ASKS_PRODUCERS)]


def checklist(procedure: Procedure, change: Change, kind: str = "push") -> list[str]:
    """The steps for people, in order; `kind` is how the members fetch."""
    steps = CHECKLISTS[procedure.name]
    if procedure.name == "widen-then-narrow" and len(change.rollouts) == 1:
        ways = {change.new: WIDEN_ONLY, change.old: NARROW_ONLY, None: CHECKLISTS["one-by-one"]}
        steps = ways[change.union]
    if change.missed is None:
        steps = [step for step in steps if step != SEND_NONE_MISSED]
    steps = [there for step in steps for there in _steps_of(step, kind)]
    texts = {"old": text_of(change.old), "new": text_of(change.new), "union": text_of(change.rollouts[0])}
    texts["missed"] = str(change.missed)
    return [step.format(**texts) for step in steps if THERE_IS.get(step) in {None, *change.kinds}]


def _steps_of(step: str, kind: str) -> Sequence[str]:
    """What a step comes to for members that fetch in this way."""
    of_proxy = PROXY_STEPS.get(step) if kind in AT_A_PROXY else None
    return of_proxy or (POP_STEPS.get(step) if kind in POPPING else None) or (step,)
