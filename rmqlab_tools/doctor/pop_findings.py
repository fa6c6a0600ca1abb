"""Groups that pop: each request carries its member's own expression, so no slot of a broker filters what they get.

What is lost is lost in another way than by a slot: the first waiter in line alone is asked whether he wants a message
that has come, what he does not want is skipped at his next pop, and a retry is popped with the popper's expression
(5.3.3 and 5.5.0 `PopLongPollingService.notifyMessageArriving`, `PopMessageProcessor`). That members differ is seen;
which messages that cost is not, for no answer says who popped past them: these findings are implied, never proved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.language import _, joined, ngettext
from rmqlab_tools.doctor.finding import Certainty, State, counted, found
from rmqlab_tools.doctor.loss_findings import loss_of
from rmqlab_tools.doctor.subscription_findings import named, plan_of
from rmqlab_tools.search.lint.findings import LintVerdict
from rmqlab_tools.search.lint.lint_text import message_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab_tools.doctor.finding import Finding
    from rmqlab_tools.doctor.group_context import GroupCase
    from rmqlab_tools.search.lint.findings import TopicLint


def pop_findings(case: GroupCase) -> Iterator[Finding]:
    """Everything about members that pop."""
    for topic in case.lint.topics:
        if case.is_popped(topic.topic):
            yield from _mixed(case, topic.topic)
            yield from _different(case, topic)


def _different(case: GroupCase, topic: TopicLint) -> Iterator[Finding]:
    asking = [wish for wish in topic.wishes if wish.data is not None]
    verdicts = {difference.verdict for difference in topic.differences if difference.second.data is not None}
    if LintVerdict.INCONSISTENT not in verdicts:
        if LintVerdict.UNDECIDED in verdicts:
            texts = joined(" and ", map(str, asking))
            says = _("{topic}: whether {texts} let the same pass is not decided; no message told them apart",
                     topic=topic.topic, texts=texts)  # fmt: skip
            shown = {"lint": topic.as_json()}
            yield found("undecided_subscriptions", State.UNKNOWN, Certainty.UNKNOWN, says, topic.topic, shown)
        return
    sentences = [
        ngettext("{members} asks for {wish}", "{members} ask for {wish}", len(wish.members),
                 members=named(wish.members), wish=wish)
        for wish in asking
    ]  # fmt: skip
    sentences.append(_("they pop, so each request carries its own expression, and no broker's table filters them"))
    sentences += [
        _(
            "a message with {message} that comes while another member is first in line wakes nobody, and is skipped at "
            "that one's next pop; if it fails, its retry is popped with the popper's expression",
            message=message_words(witness.message),
        )
        for witness in topic.witnesses[:1]
    ]
    passed = loss_of(case, topic.topic)
    if passed.read:
        sentences.append(
            _(
                "of the last {messages} that were passed, how many nobody got is not known: no answer tells who popped",
                messages=counted(passed.read, "message"),
            )
        )
    evidence = {"lint": topic.as_json(), "read": passed.read, "unasked": passed.unasked}
    says = joined(": ", (topic.topic, joined("; ", sentences)))
    plan = plan_of(case, topic.topic, asking)
    change = f"{plan['command']} --kind pop" if plan else ""
    yield found("pop_members_differ", State.AT_RISK, Certainty.IMPLIED, says, topic.topic, evidence, change)


def _mixed(case: GroupCase, topic: str) -> Iterator[Finding]:
    """Members of a topic of which some pop and some pull."""
    asking = [client for client, subscriptions in case.told.items() if topic in subscriptions]
    popping = [client for client in asking if case.pops(client, topic)]
    pulling = [client for client in asking if client not in popping]
    if not pulling:
        return
    says = _(
        "{topic}: {popping} pop and {pulling} pull: who pulls is given queues of the topic and goes by offsets of its "
        "own, who pops takes from all queues by the group's, so messages may be taken twice, and a commit of one sets "
        "the offset of the other back",
        topic=topic,
        popping=named(popping),
        pulling=named(pulling),
    )
    yield found(
        "mixed_modes", State.AT_RISK, Certainty.IMPLIED, says, topic, {"popping": popping, "pulling": pulling}
    )  # fmt: skip
