"""Subscriptions that cannot work, or do not do what they look like: SQL92, tags, class filters."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from rmqlab.language import _, joined, ngettext
from rmqlab.protocol.subscription_data import SUB_ALL, SubscriptionData
from rmqlab.rules import DEFAULT_RULES
from rmqlab_tools.doctor.finding import Certainty, State, counted, found
from rmqlab_tools.doctor.group_context import unique
from rmqlab_tools.doctor.subscription_findings import named, text_of
from rmqlab_tools.search.consistency import tell_apart
from rmqlab_tools.search.expressions.remarks import REFUSED_CODE, doubts, sentence, told
from rmqlab_tools.search.lint.members import as_meant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab_tools.doctor.finding import Finding
    from rmqlab_tools.doctor.group_context import GroupCase

ENOUGH_READ = 100  # entries, before a tag that is not among them is worth a word


def expression_findings(case: GroupCase) -> Iterator[Finding]:
    """Everything about single subscriptions, each text once; a lone silent member's is what the brokers hold."""
    for topic in case.topics:
        client_subscriptions = case.client_subscriptions(topic)
        for subscription in unique(client_subscriptions.values()):
            clients = [
                client for client, data in client_subscriptions.items() if text_of(data) == text_of(subscription)
            ]
            if subscription.class_filter_mode:
                says = _(
                    "{topic}: the class filter {expression} of {who} needs a filter server",
                    topic=topic,
                    expression=f"{subscription.sub_string!r}",
                    who=named(clients),
                )
                yield found("class_filter", State.AT_RISK, Certainty.IMPLIED, says, topic, {"members": clients})
            elif subscription.is_tag:
                yield from _tags(case, topic, subscription, clients)
            else:
                yield from _condition(case, topic, subscription, clients)
        yield from _wrong_codes(case, topic)


def _tags(case: GroupCase, topic: str, subscription: SubscriptionData, clients: list[str]) -> Iterator[Finding]:
    meant = as_meant(subscription)
    if not meant.tags_set and meant.sub_string != SUB_ALL:
        says = _(
            "{topic}: {expression} of {who} names no tag, so no message ever passes",
            topic=topic,
            expression=text_of(subscription),
            who=named(clients),
        )
        yield found("matches_nothing", State.AT_RISK, Certainty.PROVED, says, topic, {"members": clients})
    elif meant.tags_set:
        doubtful = told(subscription.expression_type, subscription.sub_string)
        if doubtful:
            values = {"topic": topic, "expression": text_of(subscription), "who": named(clients)}
            says = _("{topic}: {expression} of {who}: {doubts}", **values, doubts=joined("; ", doubtful))
            yield found("expression_warning", State.NOTE, Certainty.PROVED, says, topic, {"warnings": doubtful})
        yield from _not_seen(case, topic, meant)


def _wrong_codes(case: GroupCase, topic: str) -> Iterator[Finding]:
    """A slot whose codes are not those of its tags: brokers look at codes alone, in pulls without a subscription."""
    for broker, broker_subscription in case.slots(topic).items():
        meant = as_meant(broker_subscription)
        if (
            broker_subscription.is_tag
            and broker_subscription.code_set
            and broker_subscription.code_set != meant.code_set
        ):
            harmed = [client for client in case.group.members if not case.posts(client)]
            says = _(
                "{topic}: {broker} holds the codes {code_set} for {expression}, right is {code_set2}; "
                "{harmed} is filtered by them",
                topic=topic,
                broker=broker,
                code_set=sorted(broker_subscription.code_set),
                expression=f"{broker_subscription.sub_string!r}",
                code_set2=sorted(meant.code_set),
                harmed=named(harmed) if harmed else _("no member"),
            )
            state = State.AT_RISK if harmed else State.NOTE
            yield found("wrong_codes", state, Certainty.PROVED, says, topic, {"broker": broker, "members": harmed})


def _not_seen(case: GroupCase, topic: str, meant: SubscriptionData) -> Iterator[Finding]:
    windows = [
        window
        for table in (case.group.passed, case.group.behind)
        for queue, window in table.items()
        if queue.topic == topic
    ]
    seen = {code for window in windows for code in window.codes}
    read = sum(window.read for window in windows)
    if read < ENOUGH_READ or any(DEFAULT_RULES.is_matched_by_consume_queue(meant, code) for code in seen):
        return
    tags = sorted(meant.tags_set)
    spelled = sorted({word for tag in tags for word in _spellings(tag) if DEFAULT_RULES.tags_code(word) in seen})
    says = ngettext(
        "{topic}: the {read} message that was looked at has no tag of {expression}",
        "{topic}: none of {read} messages that were looked at has a tag of {expression}",
        read,
        topic=topic,
        read=read,
        expression=text_of(meant),
    )
    says += _(", but some have the code of {spelled}", spelled=joined(", ", map(repr, spelled))) if spelled else ""
    yield found("tags_not_seen", State.NOTE, Certainty.PROVED, says, topic, {"read": read, "spelled": spelled})


def _spellings(tag: str) -> set[str]:
    """The tag with other cases: what a producer may have written."""
    return {tag.lower(), tag.upper(), tag.capitalize(), tag[:1].swapcase() + tag[1:]} - {tag}


def _condition(case: GroupCase, topic: str, subscription: SubscriptionData, clients: list[str]) -> Iterator[Finding]:
    off = _without_property_filter(case, topic)
    if off:
        behind = sum(
            seen.raw_lag
            for queue, seen in case.group.offsets.items()
            if queue.topic == topic and queue.broker_name in off
        )
        says = _(
            "{topic}: {expression} of {who} cannot work: enablePropertyFilter is false at {off}, so "
            "pulls are refused (code 1) and members fail to start; not consumed there: {messages}",
            topic=topic,
            expression=text_of(subscription),
            who=named(clients),
            off=named(off),
            messages=counted(behind, "message"),
        )
        state = State.LOSING if behind else State.AT_RISK
        yield found("property_filter_off", state, Certainty.PROVED, says, topic, {"brokers": off, "waiting": behind})
    refusal, warnings = examined(subscription.expression_type, subscription.sub_string)
    if refusal is not None:
        says = _(
            "{topic}: {expression} of {who} is refused (pulls get code 27): {refusal}",
            topic=topic,
            expression=text_of(subscription),
            who=named(clients),
            refusal=refusal,
        )
        yield found("refused_expression", State.AT_RISK, Certainty.PROVED, says, topic, {"members": clients})
    elif is_never_true(subscription.expression_type, subscription.sub_string):
        says = _(
            "{topic}: {expression} of {who} can never be true, so no message ever passes",
            topic=topic,
            expression=text_of(subscription),
            who=named(clients),
        )
        yield found("matches_nothing", State.AT_RISK, Certainty.PROVED, says, topic, {"members": clients})
    elif warnings:
        says = _(
            "{topic}: {expression} of {who}: {warnings}",
            topic=topic,
            expression=text_of(subscription),
            who=named(clients),
            warnings=joined("; ", warnings),
        )
        yield found("expression_warning", State.NOTE, Certainty.PROVED, says, topic, {"warnings": list(warnings)})


@lru_cache(maxsize=1024)
def examined(kind: str | None, text: str | None) -> tuple[str | None, tuple[str, ...]]:
    """Why an expression is refused, with what was probably meant, or what its author cannot have meant."""
    found_doubts = doubts(kind, text)
    if found_doubts and found_doubts[0].code == REFUSED_CODE:
        return sentence(found_doubts[0]), ()
    return None, tuple(map(sentence, found_doubts))


@lru_cache(maxsize=1024)
def is_never_true(kind: str | None, text: str | None) -> bool:
    """Whether it is proved that no message passes a condition."""
    apart = tell_apart(SubscriptionData("T", text, expression_type=kind), SubscriptionData("T", " || "))
    return apart.proven and apart.only_first is None


def _without_property_filter(case: GroupCase, topic: str) -> list[str]:
    """The brokers with queues of a topic (with a subscription of it, where queues are not known) that refuse SQL92."""
    names = {queue.broker_name for queue in case.queues(topic)} or set(case.slots(topic))
    seen = (case.look.brokers.get(name) for name in sorted(names))
    return [
        broker.name
        for broker in seen
        if broker is not None and (broker.settings or {}).get("enablePropertyFilter") == "false"
    ]
