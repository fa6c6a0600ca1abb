"""What the evidence says of one group: members, what they ask for, what brokers hold, what is lost, what is missing."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from rmqlab.language import _, joined, ngettext, shortened
from rmqlab.message.topics import MessageQueue, is_retry_topic
from rmqlab_tools.doctor.evidence.view_findings import message_findings, offset_findings, tool_findings
from rmqlab_tools.doctor.expression_findings import expression_findings
from rmqlab_tools.doctor.finding import Certainty, Finding, State, found
from rmqlab_tools.doctor.group_context import CLIENT_PROPERTIES, PUSH, GroupCase
from rmqlab_tools.doctor.member_findings import setting_findings, twin_findings
from rmqlab_tools.doctor.queue_findings import forbidden_findings, owner_findings, retry_findings
from rmqlab_tools.doctor.snapshot import BrokerSeen, ClusterSnapshot, GroupSeen, MemberSeen
from rmqlab_tools.doctor.subscription_findings import subscription_findings, text_of
from rmqlab_tools.search.lint.findings import SharedId
from rmqlab_tools.search.lint.meaning import lint
from rmqlab_tools.search.lint.members import MEMBER_SETTINGS, LintGroup, LintMember, as_meant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab_tools.doctor.evidence.room import EvidenceRoom, GroupEvidence
    from rmqlab_tools.search.lint.findings import GroupLint

NAMESRV: Final = "NAMESRV:9876"
"""The name server in a command, where nothing names one."""
_SHOWN: Final = 4
_WRITTEN: Final = {"members", "scenario"}
"""Files in which somebody wrote down a whole group."""


@dataclass
class EvidenceCase(GroupCase):
    """A group as far as the evidence goes: who is silent was perhaps never asked, and owns nothing that is known."""

    all_told: bool = False

    @cached_property
    def owners_known(self) -> bool:
        """Whether every listed member said itself which queues it holds, and is a push consumer."""
        types = {self.setting(client, "PROP_CONSUME_TYPE") for client in self.told}
        return self.all_told and types == {PUSH} and not any(map(self.pops, self.told))

    def sole_owner(self, queue: MessageQueue) -> str | None:
        """The one member that says it holds a queue."""
        owners = self.owners.get(queue, [])
        return owners[0] if len(owners) == 1 else None


@dataclass(frozen=True, slots=True)
class GroupReport:
    """A group: `members`, `asked`, `held`, `offsets` are lines; `findings` worst first; `missing` and `commands` go on.

    `name` is "" for a group that nothing names.
    """

    name: str
    members: tuple[str, ...]
    asked: tuple[str, ...]
    held: tuple[str, ...]
    offsets: tuple[str, ...]
    findings: tuple[Finding, ...]
    missing: tuple[str, ...]
    commands: tuple[str, ...]
    assumed: tuple[str, ...] = field(default=())

    @property
    def state(self) -> State:
        """The worst of its findings; not healthy while something is missing."""
        worst = max((finding.state for finding in self.findings), default=State.HEALTHY)
        return max(worst, State.UNKNOWN) if self.missing else worst

    def as_json(self) -> dict[str, Any]:
        """Everything, as JSON."""
        lines = ("members", "asked", "held", "offsets", "missing", "commands", "assumed")
        texts = {name: list(map(str.__str__, getattr(self, name))) for name in lines}
        return {
            "group": self.name or None,
            "state": str(self.state),
            **texts,
            "lost": {
                str(certainty): [
                    finding.says
                    for finding in self.findings
                    if finding.state is State.LOSING and finding.certainty is certainty
                ]
                for certainty in Certainty
            },
            "findings": [finding.as_json() for finding in self.findings],
        }


def case_of(room: EvidenceRoom, group: GroupEvidence) -> EvidenceCase:
    """The group as the doctor's judges take it."""
    listed = group.listed
    members = {
        client: replace(member, unanswered="not among the evidence") for client, member in listed.items()
    } | {
        client: replace(
            listed.get(client) or MemberSeen(client, "", word.language, "", frozenset()),
            running=word.info,
            unanswered=None,
        )
        for client, word in group.words.items()
    }  # fmt: skip
    seen = GroupSeen(
        group.name,
        slots=dict(group.slots),
        members=members,
        configs={} if group.config is None else {"broker": group.config},
        offsets={queue: seen_queue for queue, seen_queue in group.offsets.items() if seen_queue.max_offset >= 0},
    )
    brokers = {}
    for table in room.settings:
        name = table.values.get("brokerName", "")
        if name:
            brokers[name] = BrokerSeen(name, "", table.addr, settings=table.values)
    if len(room.settings) == 1:  # the one broker whose settings are here is taken to be the one whose table is
        for slot in group.slots:
            brokers.setdefault(slot, BrokerSeen(slot, "", room.settings[0].addr, settings=room.settings[0].values))
    look = ClusterSnapshot(
        room.namesrv or NAMESRV, at=0, brokers=brokers, topics=room.topics, groups={group.name: seen}
    )
    all_known = bool(listed) and all(client in group.words and group.words[client].holds for client in listed)
    return EvidenceCase(look, seen, all_told=all_known)


def report_of(room: EvidenceRoom, group: GroupEvidence) -> GroupReport:
    """Judge a group."""
    case = case_of(room, group)
    findings = [*_judged(room, group, case)]
    findings.sort(key=lambda finding: (-finding.state, finding.kind, finding.topic or ""))
    missing, commands = _missing(room, group, case)
    return GroupReport(
        group.name,
        tuple(_members(group)),
        tuple(_asked(case)),
        tuple(_held(group)),
        (*_offsets(case), *_tracks(room, group)),
        tuple(findings),
        tuple(missing),
        tuple(commands),
        tuple(
            _("{place}: it names no group, and is taken to be of {group}, the only one that is named",
              place=assumption.place, group=group.name)
            for assumption in group.assumed
        ),
    )  # fmt: skip


def _judged(room: EvidenceRoom, group: GroupEvidence, case: EvidenceCase) -> Iterator[Finding]:
    yield from subscription_findings(case)
    yield from expression_findings(case)
    yield from twin_findings(case)
    yield from setting_findings(case)
    yield from forbidden_findings(case)
    yield from retry_findings(case)
    if case.owners_known:
        for topic in case.topics:
            if case.queues(topic) and all(queue.broker_name for queue in case.queues(topic)):
                yield from owner_findings(case, topic)
    for given in group.lint:
        for shared in lint(given).shared_ids:
            says = joined("; ", list(shared.lines())[:-1])  # the last one is the advice
            yield found("same_client_id", State.AT_RISK, Certainty.PROVED, says, evidence=shared.as_json())
    yield from tool_findings(group)
    yield from offset_findings(room, group)
    yield from message_findings(room, group, case)


def _members(group: GroupEvidence) -> Iterator[str]:
    for client, member in group.listed.items():
        values = {"client": client, "language": member.language, "version": member.version, "addr": member.client_addr}
        line = _("{client} ({language}, {version}, {addr})", **values)
        most = max(
            (
                sum(connection.client_id == client for connection in slot.connection_set)
                for slot in group.slots.values()
            ),
            default=0,
        )
        yield _("{line}, listed {count} times", line=line, count=most) if most > 1 else line
    for client, word in group.words.items():
        if client in group.listed:
            continue
        if word.piece.kind in _WRITTEN:
            yield client
        elif word.named:
            yield _("{client}, by its own word alone", client=client)
        else:
            yield _("a member whose client id is not told ({place})", place=word.piece.place)
    for client in group.client_ids:
        if client not in group.listed and client not in group.words:
            yield client
    for table in group.statuses:
        for row in table.rows:
            if row.client not in group.listed and row.client not in group.words:
                yield _("{client} ({version}), which answered mqadmin", client=row.client, version=row.version)
    for progress in () if group.slots or group.words else group.progress:
        count = progress.members
        yield ngettext("{count} member by consumerProgress", "{count} members by consumerProgress", count)


def _asked(case: EvidenceCase) -> Iterator[str]:
    for client, client_subscriptions in case.told.items():
        for topic, data in sorted(client_subscriptions.items()):
            yield f"{client}: {topic} {text_of(data)}"
        if not client_subscriptions:
            yield _("{client}: nothing", client=client)


def _held(group: GroupEvidence) -> Iterator[str]:
    for broker, slot in group.slots.items():
        for topic, data in sorted(slot.subscription_table.items()):
            if not is_retry_topic(topic):
                yield f"{broker}: {topic} {text_of(data)}"
    for filter_data in group.filters:
        values = {
            "topic": filter_data.topic,
            "type": filter_data.expression_type,
            "expression": repr(filter_data.expression),
        }
        if filter_data.dead_time:
            yield _("kept on disk: {topic} {type} {expression}, of members that are gone", **values)
        else:
            yield _("kept on disk: {topic} {type} {expression}", **values)


def _offsets(case: EvidenceCase) -> Iterator[str]:
    by_topic: dict[str, list[tuple[MessageQueue, int]]] = {}
    for queue, seen in sorted(case.group.offsets.items()):
        by_topic.setdefault(queue.topic, []).append((queue, seen.raw_lag))
    for topic, queues in by_topic.items():
        values = {"topic": topic, "behind": sum(lag for queue, lag in queues)}
        yield ngettext(
            "{topic}: {count} queue, {behind} messages not consumed",
            "{topic}: {count} queues, {behind} messages not consumed",
            len(queues), **values,
        )  # fmt: skip


def _tracks(room: EvidenceRoom, group: GroupEvidence) -> Iterator[str]:
    for message in room.messages:
        for track in message.tracks:
            if track.group == group.name:
                name = message.msg_id or f"{message.topic}/{message.queue_id}/{message.offset}"
                yield _("message {name}: the admin tool says {type}", name=name, type=track.type)


def _missing(room: EvidenceRoom, group: GroupEvidence, case: EvidenceCase) -> tuple[list[str], list[str]]:
    """What would have to be known to be sure, and the commands that tell it, the next one first."""
    if group.lint and not group.slots and all(word.piece.kind in _WRITTEN for word in group.words.values()):
        return [], []  # a whole group is written down there
    namesrv, name = room.namesrv or NAMESRV, group.name or "GROUP"
    missing: list[str] = []
    commands: list[str] = []

    def tool(*words: str) -> str:
        return shlex.join(["mqadmin", words[0], "-n", namesrv, "-g", name, *words[1:]])

    listed = group.listed
    if not group.name:
        missing.append(_("the group's name: none of these views has it"))
    if not listed:
        missing.append(_("who is in the group, and what the brokers hold for it"))
        commands.append(tool("consumerConnection"))
    elif group.tables == 1:
        missing.append(_("whether other brokers hold the same: this is the table of one broker, at one moment"))
    silent = [client for client in listed if client not in group.words]
    if silent:
        missing.append(_("what each member asks for itself: {names}", names=shortened(silent, _SHOWN)))
        commands += [tool("consumerStatus", "-i", client) for client in silent[:_SHOWN]]
    if not group.offsets:
        missing.append(_("how far the group is in its queues"))
        commands.append(tool("consumerProgress"))
    elif all(queue.max_offset < 0 for queue in group.offsets.values()):
        missing.append(_("where the queues end: committed offsets alone do not tell what is not consumed"))
        commands.append(tool("consumerProgress"))
    routes = [topic for topic in case.topics if not case.queues(topic)]
    if routes and (group.words or group.slots):
        missing.append(_("how many queues there are: {topics}", topics=joined(", ", routes[:_SHOWN])))
        commands += [shlex.join(["mqadmin", "topicRoute", "-n", namesrv, "-t", topic]) for topic in routes[:_SHOWN]]
    if not _is_decisive(case, silent, listed):
        commands.append(shlex.join(["rmqlab", "doctor", "--namesrv", namesrv, "--group", name]))
        return missing, commands
    return [], []


def _is_decisive(case: EvidenceCase, silent: list[str], listed: Any) -> bool:
    """Whether nothing more is needed: every listed member answered, whoever lists it, and offsets are known."""
    return bool(listed) and not silent and bool(case.group.offsets) and all(map(case.queues, case.topics))


def lint_of(room: EvidenceRoom, group: GroupEvidence) -> GroupLint:
    """The group as `rmqlab lint` shows it: what members said themselves, and what else would be needed."""
    if group.lint and not group.slots:
        return lint(group.lint[-1])
    case = case_of(room, group)
    made = LintGroup(
        group.name or "group", queues={topic: len(queues) for topic, queues in room.topics.items() if queues}
    )
    for client, client_subscriptions in sorted(
        case.told.items(), key=lambda item: max((data.sub_version for data in item[1].values()), default=0)
    ):
        names = {setting: value for setting, value in _settings(case, client) if value is not None}
        made.hear(LintMember(client, {topic: as_meant(data) for topic, data in client_subscriptions.items()}, names))
    compared = lint(made)
    broker_subscriptions = {}
    if not made.heard:
        for slot in group.slots.values():
            broker_subscriptions.update(
                {topic: data for topic, data in slot.subscription_table.items() if not is_retry_topic(topic)}
            )
    missing = [*_views(group, broker_subscriptions), *_missing_views(room, group, case)]
    shared = tuple(_doubles(group))
    return replace(
        compared, group=made.name, members=compared.members or tuple(group.listed), missing=tuple(missing),
        shared_ids=(*compared.shared_ids, *shared),
    )  # fmt: skip


def _settings(case: EvidenceCase, client: str) -> Iterator[tuple[str, str | None]]:
    for setting, name in zip(MEMBER_SETTINGS, CLIENT_PROPERTIES, strict=True):
        yield setting, case.setting(client, name)


def _doubles(group: GroupEvidence) -> Iterator[SharedId]:
    """Client ids that one broker lists for several connections."""
    for slot in group.slots.values():
        ids = [connection.client_id for connection in slot.connection_set]
        for client in dict.fromkeys(ids):
            if ids.count(client) > 1:
                yield SharedId(client, ids.count(client), len(ids), {})


def _views(group: GroupEvidence, broker_subscriptions: dict[str, Any]) -> Iterator[str]:
    """What kind of view this is."""
    for topic, data in sorted(broker_subscriptions.items()):
        yield _("{topic}: the broker held {text}, which one member asked for last", topic=topic, text=text_of(data))
    if group.slots and not group.words:
        yield _(
            "this is the broker's table: it has one subscription a topic for the whole group, not what each asks for"
        )
    if group.words and not group.listed:
        count = len(group.words)
        yield ngettext("this is what {count} member says; others may be in the group",
                       "this is what {count} members say; others may be in the group", count)  # fmt: skip


def _missing_views(room: EvidenceRoom, group: GroupEvidence, case: EvidenceCase) -> list[str]:
    silent = [client for client in group.listed if client not in group.words]
    if group.listed and not silent:
        return []
    missing, commands = _missing(room, group, case)
    needed = [
        text for text in commands if text.startswith(("mqadmin consumerConnection", "mqadmin consumerStatus", "rmqlab"))
    ]
    return [_("to be sure: {command}", command=command) for command in needed[:_SHOWN]] if missing else []
