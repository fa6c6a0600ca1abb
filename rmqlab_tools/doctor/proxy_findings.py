"""Members that come through a 5.x proxy: a broker lists none of them, and a proxy shows one subscription for all.

In CLUSTER mode a proxy keeps the tables of its clients, those of gRPC and those of remoting clients that know only the
proxy (`ClusterConsumerManager`), and a broker answers 206 for their group. What comes to rest here is said as unknown:
no answer of a broker proves that a group is empty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rmqlab.language import _, joined
from rmqlab.message.topics import is_retry_topic, retry_topic
from rmqlab_tools.doctor.finding import Certainty, State, counted, found
from rmqlab_tools.doctor.group_context import same_text
from rmqlab_tools.doctor.subscription_findings import named, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab.protocol.bodies import ConsumerConnection
    from rmqlab_tools.doctor.finding import Finding
    from rmqlab_tools.doctor.group_context import GroupCase


def proxy_findings(case: GroupCase) -> Iterator[Finding]:
    """Everything about members that a proxy has, or may have."""
    proxied = case.group.proxied
    if not proxied:
        if not case.group.members and case.group.offsets and lives_elsewhere(case):
            yield _maybe(case)
        return
    yield _at_a_proxy(case, proxied)
    if case.group.members:
        yield _at_both(case, proxied)
    for address, table in sorted(case.group.at_proxies.items()):
        yield from _one_subscription(case, address, table)


def lives_elsewhere(case: GroupCase) -> bool:
    """Whether something shows that the group has members though no broker lists one."""
    return bool(_signs(case))


def nobody_at_brokers(case: GroupCase, gone: str, messages: str) -> str:
    """That no broker lists a member, and what that leaves open; `gone` is about the look before."""
    values = {"gone": gone, "messages": messages}
    hosts, asked = _proxy_hosts(case), case.look.answering_proxies
    if asked:
        values["proxy"] = joined(", ", asked)
        return _("no broker lists a member, and {proxy} lists none{gone}; {messages} not consumed", **values)
    if hosts:
        return _(
            "no broker lists a member{gone}; {messages} not consumed; whether one comes through a proxy ({hosts}) is "
            "not known",
            hosts=named(hosts),
            **values,
        )
    return _(
        "no broker lists a member{gone}, and no proxy is seen at one; {messages} not consumed",
        **values,
    )


def _proxy_hosts(case: GroupCase) -> list[str]:
    return sorted({host for broker in case.look.brokers.values() for host in broker.proxies})


def _signs(case: GroupCase) -> dict[str, Any]:
    """What shows that somebody consumes: offsets that moved, a request mode, retry topics of POP."""
    signs: dict[str, Any] = {}
    before = {} if case.before is None else case.before.group.offsets
    moved = sum(
        seen.committed - before[queue].committed
        for queue, seen in case.group.offsets.items()
        if queue in before and seen.committed > before[queue].committed >= 0
    )
    if moved:
        signs["moved"] = moved
    topics = sorted({queue.topic for queue in case.group.offsets if not is_retry_topic(queue.topic)})
    set_to_pop = [
        topic
        for topic in topics
        if any(
            (broker.request_modes or {}).get(topic, {}).get(case.group.name) == "POP"
            for broker in case.look.brokers.values()
        )
    ]
    if set_to_pop:
        signs["request_mode"] = set_to_pop
    if case.group.pop_retries:
        signs["pop_retries"] = sorted(case.group.pop_retries)
    return signs


def _maybe(case: GroupCase) -> Finding:
    signs = _signs(case)
    reasons = []
    if "moved" in signs:
        reasons.append(_("its offsets moved by {moved} since the last look", moved=signs["moved"]))
    if "request_mode" in signs:
        reasons.append(_("its request mode for {topics} is POP", topics=joined(", ", signs["request_mode"])))
    if "pop_retries" in signs:
        reasons.append(_("it has POP's retry topics of {topics}", topics=joined(", ", signs["pop_retries"])))
    behind = counted(sum(seen.raw_lag for seen in case.group.offsets.values()), "message")
    hosts = _proxy_hosts(case)
    says = _(
        "no broker lists a member (206), but {reasons}: members may come through a proxy, with gRPC or with remoting; "
        "who they are and what they ask for is not known; {messages} not consumed",
        reasons=joined(", ", reasons),
        messages=behind,
    )
    if case.look.answering_proxies:
        says += _("; the proxy {proxy} lists none of them", proxy=joined(", ", case.look.answering_proxies))
    elif hosts:
        says += _("; proxies are connected from {hosts}", hosts=named(hosts))
    evidence = {"signs": signs, "proxies": hosts, "asked": list(case.look.answering_proxies)}
    return found("maybe_at_a_proxy", State.UNKNOWN, Certainty.UNKNOWN, says, evidence=evidence)


def _is_remoting(case: GroupCase, table: ConsumerConnection) -> bool:
    """Whether a remoting push consumer is among the members: it subscribes the group's retry topic, gRPC's do not."""
    return retry_topic(case.group.name) in table.subscription_table


def _at_a_proxy(case: GroupCase, proxied: list[str]) -> Finding:
    sentences, shown = [], {}
    for address, table in sorted(case.group.at_proxies.items()):
        topics = {topic: text_of(data) for topic, data in table.subscription_table.items() if not is_retry_topic(topic)}
        texts = joined(", ", (f"{topic} {text}" for topic, text in sorted(topics.items()))) or _("nothing")
        listed = _clients(table)
        kind = _("remoting members") if _is_remoting(case, table) else _("gRPC members, as its table looks")
        sentences.append(
            _(
                "the proxy {proxy} lists {who} ({kind}), and shows {texts} for all of them",
                proxy=address,
                who=named(listed),
                kind=kind,
                texts=texts,
            )
        )
        shown[address] = {"members": listed, "subscriptions": topics, "remoting": _is_remoting(case, table)}
    says = joined("; ", sentences)
    return found("at_a_proxy", State.NOTE, Certainty.PROVED, says, evidence={"proxies": shown, "members": proxied})


def _at_both(case: GroupCase, proxied: list[str]) -> Finding:
    says = _(
        "brokers list {members}, and a proxy lists {proxied}: who pulls goes by offsets of its own, who pops by the "
        "group's, so messages may be taken twice, and a commit of one sets the offset of the other back",
        members=named(case.group.members),
        proxied=named(proxied),
    )
    evidence = {"members": sorted(case.group.members), "proxied": proxied}
    return found("mixed_modes", State.AT_RISK, Certainty.IMPLIED, says, evidence=evidence)


def _one_subscription(case: GroupCase, address: str, table: ConsumerConnection) -> Iterator[Finding]:
    """A proxy folds all members of a group into one table; what it shows is the last that one of them has said."""
    members = _clients(table)
    if len(members) < 2:  # what one member says is its own
        return
    changes = list(_changes(case, address, table))
    yield from changes
    if not changes:
        says = _(
            "what each of the {members} at the proxy {proxy} asks for is not known: it keeps one subscription a topic "
            "for all, the last that one of them has said",
            members=counted(len(members), "member"),
            proxy=address,
        )
        evidence = {"proxy": address, "members": members}
        yield found("proxy_one_subscription", State.UNKNOWN, Certainty.UNKNOWN, says, evidence=evidence)


def _changes(case: GroupCase, address: str, table: ConsumerConnection) -> Iterator[Finding]:
    """Subscriptions that a proxy showed otherwise at the look before, of the same members."""
    before = None if case.before is None else case.before.group.at_proxies.get(address)
    if before is None or _clients(before) != _clients(table):
        return
    for topic, data in sorted(table.subscription_table.items()):
        old = before.subscription_table.get(topic)
        if old is None or is_retry_topic(topic) or same_text(data, old):
            continue
        change = _(
            "{topic}: the proxy {proxy} showed {was} and now shows {now}, with the same members: they ask for "
            "different things, or one has just changed what it asks for",
            topic=topic,
            proxy=address,
            was=text_of(old),
            now=text_of(data),
        )
        if _is_remoting(case, table):
            meaning = _(
                "the proxy writes what it shows into every member's pulls, and those that wait keep the old text"
            )
        else:
            meaning = _(
                "each pop carries its member's own expression, and a message that the first waiter does not want wakes "
                "nobody"
            )
        evidence = {"proxy": address, "was": text_of(old), "now": text_of(data)}
        says = joined("; ", (change, meaning))
        yield found("proxy_subscription_changes", State.AT_RISK, Certainty.IMPLIED, says, topic, evidence)


def _clients(table: ConsumerConnection) -> list[str]:
    return sorted(connection.client_id for connection in table.connection_set)
