"""What all that was given says together: one report, as text, as JSON, and as an exit status."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from rmqlab.broker.pop.pop_check_point import REVIVE_GROUP
from rmqlab.language import _, joined, ngettext, translate
from rmqlab.message.topics import retry_topic
from rmqlab_tools.doctor.diagnosis import Diagnosis, diagnose
from rmqlab_tools.doctor.evidence.group_report import GroupReport, report_of
from rmqlab_tools.doctor.evidence.piece import Piece
from rmqlab_tools.doctor.evidence.room import EvidenceRoom, collect
from rmqlab_tools.doctor.evidence.sections import UNKNOWN_PIECE
from rmqlab_tools.doctor.evidence.view_findings import settings_findings
from rmqlab_tools.doctor.explain import Explained
from rmqlab_tools.doctor.finding import State

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab_tools.doctor.decoder_entry import Effect
    from rmqlab_tools.doctor.explain import Explanation
    from rmqlab_tools.doctor.finding import Finding

BRIEF: Final = {
    "topic_groups",
    "group_list",
    "consumer_offsets",
    "subscription_groups",
    "consumer_filters",
    "request_modes",
}
"""Lists of many groups: a group that is in nothing else gets one line."""
MAX_BRIEF: Final = 40
LOSSES, TOO_LITTLE_KNOWN = 3, 4


@dataclass(frozen=True, slots=True)
class GivenEvidence:
    """One thing that was given: its name, its pieces, and its other lines as the decoder has them.

    `inside` marks a file of a folder: that nothing is known of it does not count.
    """

    source: str
    pieces: tuple[Piece, ...] = ()
    log: Explained | None = None
    notes: tuple[str, ...] = ()
    inside: bool = False

    @property
    def is_unknown(self) -> bool:
        """Whether nothing is known of it at all."""
        return not any(piece.kind != UNKNOWN_PIECE for piece in self.pieces) and (
            self.log is None or not self.log.found
        )


@dataclass(frozen=True)
class Evidence:
    """What was given, put together: `found` are known lines and codes, `groups` what is known of each group.

    `status` is 3 where a loss is reported or a group is at risk, 4 where too little is known, else 0.
    """

    given: tuple[GivenEvidence, ...]
    commands: tuple[str, ...] = field(default=())
    """Commands to go on with that no group needs: `rmqlab audit STORE`."""

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """Everything that was recognised, and what was not."""
        return tuple(piece for given in self.given for piece in given.pieces)

    @property
    def logs(self) -> tuple[Explained, ...]:
        """Codes, and the lines that belong to nothing else."""
        return tuple(given.log for given in self.given if given.log is not None)

    @cached_property
    def room(self) -> EvidenceRoom:
        """The pieces put together."""
        return collect(self.pieces)

    @cached_property
    def groups(self) -> tuple[GroupReport, ...]:
        """Every group, the worst first."""
        reports = [report_of(self.room, group) for group in self.room.groups.values()]
        return tuple(sorted(reports, key=lambda report: (-report.state, report.name)))

    @cached_property
    def settings(self) -> tuple[Finding, ...]:
        """What the settings of brokers bear on it, the worst first."""
        return tuple(sorted(settings_findings(self.room), key=lambda finding: (-finding.state, finding.kind)))

    @cached_property
    def looks(self) -> tuple[Diagnosis, ...]:
        """Looks of the doctor that were given, judged again."""
        return tuple(diagnose(look) for look in self.room.looks)

    @property
    def found(self) -> tuple[Explanation, ...]:
        """What is known of codes and lines."""
        return tuple(explanation for log in self.logs for explanation in log.found)

    @property
    def lines(self) -> int:
        """Lines that belong to nothing else."""
        return sum(log.lines for log in self.logs)

    @property
    def known(self) -> int:
        """Those of them that are explained."""
        return sum(log.known for log in self.logs)

    @property
    def trace(self) -> int:
        """Those of them that are blank, or of a stack trace."""
        return sum(log.trace for log in self.logs)

    @property
    def unknown(self) -> int:
        """Those of them of which nothing is known."""
        return sum(log.unknown for log in self.logs)

    @property
    def near(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Lines of which nothing is known, each with the known texts that resemble it."""
        return tuple(line for log in self.logs for line in log.near)

    @property
    def worst(self) -> Effect | None:
        """The worst effect among the lines that are known."""
        from rmqlab_tools.doctor.decoder_entry import EFFECTS

        return min((explanation.effect for explanation in self.found), key=list(EFFECTS).index, default=None)

    @property
    def status(self) -> int:
        """The exit status of `rmqlab explain`."""
        states = [*(group.state for group in self.groups), *(finding.state for finding in self.settings)]
        lost = any(log.lines and log.worst == "loss" for log in self.logs)
        if lost or any(state >= State.AT_RISK for state in states) or any(look.status == LOSSES for look in self.looks):
            return LOSSES
        unknown = any(given.is_unknown and not given.inside for given in self.given) or any(
            piece.damaged for piece in self.pieces
        )
        if unknown or State.UNKNOWN in states or any(look.status for look in self.looks) or not self.given:
            return TOO_LITTLE_KNOWN
        return 0

    def as_json(self) -> dict[str, Any]:
        """Everything, as JSON."""
        counts = {name: getattr(self, name) for name in ("lines", "known", "unknown", "trace")}
        return {
            "what": ", ".join(given.source for given in self.given),
            **counts,
            "found": [explanation.as_json() for explanation in self.found],
            "near": [{"line": line, "texts": list(texts)} for line, texts in self.near],
            "evidence": [piece.as_json() for piece in self.pieces],
            "notes": [str.__str__(note) for given in self.given for note in given.notes],
            "groups": [group.as_json() for group in self.groups],
            "settings": [finding.as_json() for finding in self.settings],
            "looks": [look.as_json() for look in self.looks],
            "commands": list(self.commands),
            "status": self.status,
        }

    def __str__(self) -> str:
        """The text for people."""
        if len(self.given) == 1 and not self.pieces and self.logs and not self.given[0].notes:
            return str(self.logs[0])
        blocks = ["\n".join(self._given_lines())]
        if self.settings:
            heading = str(_("settings of brokers"))
            blocks.append("\n".join([heading, *(line for finding in self.settings for line in finding.lines())]))
        blocks += ["\n".join(_group_lines(group)) for group in self.groups if not self._is_brief(group)]
        brief = [line for group in self.groups if self._is_brief(group) for line in _brief_lines(group, self.room)]
        if brief:
            rest = len(brief) - MAX_BRIEF
            more = [ngettext("and {count} more group", "and {count} more groups", rest)] if rest > 0 else []
            blocks.append("\n".join(map(str, [*brief[:MAX_BRIEF], *more])))
        blocks += ["\n".join(look.lines()) for look in self.looks]
        blocks += [f"{log.what}\n{log}" for log in self.logs if log.lines > log.trace or log.found]
        if self.commands:
            blocks.append("\n".join([str(_("next")), *(f"  {command}" for command in self.commands)]))
        return "\n\n".join(blocks)

    __repr__ = __str__

    def _is_brief(self, report: GroupReport) -> bool:
        kinds = {piece.kind for piece in self.room.groups[report.name].pieces}
        return kinds <= BRIEF and report.state <= State.UNKNOWN

    def _given_lines(self) -> Iterator[str]:
        yield str(_("what was given"))
        for given in self.given:
            for piece in given.pieces:
                yield f"  {piece.place}: {piece.title!s}"
                yield from (f"    {note!s}" for note in piece.notes)
            log = given.log
            if log is not None and log.lines > log.trace:
                values = {"source": given.source, "known": log.known, "unknown": log.unknown}
                counted = ngettext(
                    "{source}: {count} line of a log: {known} known, {unknown} of which nothing is known",
                    "{source}: {count} lines of logs: {known} known, {unknown} of which nothing is known",
                    log.lines - log.trace, **values,
                )  # fmt: skip
                yield f"  {counted}"
            elif log is not None and log.found:
                yield f"  {log.what}"
            elif not given.pieces:
                yield "  " + str(_("{source}: there is nothing in it", source=given.source))
            yield from (f"    {note!s}" for note in given.notes)


def _group_lines(report: GroupReport) -> Iterator[str]:
    state = translate(str(report.state))
    named = _("group {name}: {state}", name=report.name, state=state)
    yield str(named if report.name else _("a group that nothing names: {state}", state=state))
    sections = (
        (_("members"), report.members), (_("each asks for"), report.asked), (_("the brokers held"), report.held),
        (_("offsets"), report.offsets), (_("lost"), tuple(_lost(report))),
    )  # fmt: skip
    for heading, lines in sections:
        if lines:
            yield f"  {heading!s}"
            yield from (f"    {line!s}" for line in lines)
    findings = [finding for finding in report.findings if finding.state is not State.LOSING]
    if findings:
        yield f"  {_('what was found')!s}"
        yield from (f"  {line}" for finding in findings for line in finding.lines())
    for heading, lines in ((_("taken to be so"), report.assumed), (_("missing to be sure"), report.missing)):
        if lines:
            yield f"  {heading!s}"
            yield from (f"    {line!s}" for line in lines)
    if report.commands:
        yield f"  {_('next')!s}"
        yield from (f"    {line}" for line in report.commands)


def _lost(report: GroupReport) -> Iterator[str]:
    losing = [finding for finding in report.findings if finding.state is State.LOSING]
    for finding in losing:
        for line in finding.lines():
            yield line[2:]
    if not losing and report.state is State.AT_RISK:
        yield _("whether messages were lost is not known: no offset and no message here tells it [unknown]")
    elif not losing and report.state is State.UNKNOWN:
        yield _("nothing that is here tells of a loss, and nothing rules it out [unknown]")


def _pop_retried(topic: str, group: str) -> str:
    """The topic whose retries of a group POP puts here; "" for any other topic."""
    rest = topic.removeprefix(retry_topic(group))
    return rest[1:] if rest != topic and rest[:1] in {"_", "+"} else ""


def _brief_lines(report: GroupReport, room: EvidenceRoom) -> Iterator[str]:
    group = room.groups[report.name]
    parts = [*report.members, *report.offsets]
    topics = sorted({queue.topic for queue in group.offsets})
    if topics and not report.offsets:
        parts.append(_("committed offsets of {topics}", topics=joined(", ", topics)))
    popped = [topic for topic, mode in sorted(group.request_modes.items()) if mode == "POP"]
    if popped:
        parts.append(_("its request mode for {topics} is POP", topics=joined(", ", popped)))
    retried = sorted(filter(None, (_pop_retried(topic, report.name) for topic in topics)))
    if retried:
        parts.append(_("it has POP's retry topics of {topics}", topics=joined(", ", retried)))
    if report.name == REVIVE_GROUP:
        parts.append(_("by which a 5.x broker reads POP's check points and acks"))
    behind = [row.behind for row in group.progress]
    parts += [ngettext("{count} message not consumed", "{count} messages not consumed", count) for count in behind]
    if group.config is not None and not group.config.consume_enable:
        parts.append(_("consumeEnable is false: its pulls are refused"))
    parts += report.held
    yield str(_("group {name}: {told}", name=report.name, told=joined("; ", parts or [_("it is named, no more")])))
