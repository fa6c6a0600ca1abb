"""What the doctor says of a cluster: its groups with their findings, worst first, in words, as JSON and as a table."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput
from rmqlab.language import _, shortened
from rmqlab_tools.doctor.broker_findings import broker_findings
from rmqlab_tools.doctor.expression_findings import expression_findings
from rmqlab_tools.doctor.finding import Finding, GroupDiagnosis, State, counted
from rmqlab_tools.doctor.group_context import GroupCase
from rmqlab_tools.doctor.history import SnapshotHistory
from rmqlab_tools.doctor.loss_findings import lags_of, loss_findings, lost_messages
from rmqlab_tools.doctor.member_findings import member_findings
from rmqlab_tools.doctor.pop_findings import pop_findings
from rmqlab_tools.doctor.proxy_findings import proxy_findings
from rmqlab_tools.doctor.queue_findings import queue_findings
from rmqlab_tools.doctor.snapshot import ClusterSnapshot
from rmqlab_tools.doctor.subscription_findings import subscription_findings
from rmqlab_tools.show.tables import table

if TYPE_CHECKING:
    from rmqlab.lab.lab import Lab
    from rmqlab_tools.show.figure import Picture
    from rmqlab_tools.show.tables import Table

_SHOWN = 8  # healthy groups named in a line


@dataclass(frozen=True, slots=True, repr=False)
class Diagnosis:
    """What one look, and the one before if there was one, say of a cluster; `groups` worst first.

    `cluster` are findings that belong to no group: brokers' settings, servers that did not answer.
    """

    look: ClusterSnapshot
    groups: tuple[GroupDiagnosis, ...]
    cluster: tuple[Finding, ...] = ()

    @property
    def status(self) -> int:
        """The exit status: 3 losing or about to, 4 too little is known, else 0."""
        states = [group.state for group in self.groups] + [finding.state for finding in self.cluster]
        worst = max(states, default=State.HEALTHY)
        return 3 if worst >= State.AT_RISK else 4 if worst is State.UNKNOWN else 0

    def lab(self, group: str | None = None) -> Lab:
        """A group (None: the worst one) rebuilt in a lab that has just run: see `lab_from_snapshot.rebuild`."""
        from rmqlab_tools.doctor.lab_from_snapshot import rebuild

        worst = next((judged.group for judged in self.groups), None)
        return rebuild(self.look, worst if group is None else group)

    def picture(self, group: str | None = None, topic: str | None = None) -> Picture:
        """A group (None: the worst one) as a picture with its findings: see `rmqlab_tools.doctor.group_picture`."""
        from rmqlab_tools.doctor.group_picture import JudgedPicture, group_picture

        judged = next((diagnosed for diagnosed in self.groups if not group or diagnosed.group == group), None)
        if judged is None:
            raise BadInput(_("no group {group} was looked at", group=f"{group or ''!r}"))
        return JudgedPicture(group_picture(self.look, judged, topic), judged)

    def as_json(self) -> dict[str, Any]:
        """Everything that was found, and what it cost to look."""
        look = self.look
        return {
            **{name: getattr(look, name) for name in ("namesrv", "at", "since", "took_ms")},
            "status": self.status,
            "cluster": [finding.as_json() for finding in self.cluster],
            "groups": [group.as_json() for group in self.groups],
            "unanswered": [question._asdict() for question in look.unanswered],
            "cost": {server: asdict(cost) for server, cost in look.cost.items()},
        }

    def lines(self, *, verbose: bool = False) -> list[str]:
        """The same in the reader's language: a line a group, worst first, and under it what is wrong and what to do.

        Healthy groups share one line, and notes are left out, unless `verbose`.
        """
        sentences = [str(_("cluster: {says}", says=finding.says)) for finding in self.cluster]
        healthy = [group for group in self.groups if group.state <= State.NOTE]
        for group in self.groups if verbose else self.groups[: len(self.groups) - len(healthy)]:
            state = _("{state}, {members}", state=str(group.state), members=counted(group.members, "member"))
            sentences.append(str(_("{group}: {state}", group=group.group, state=state)))
            for finding in group.findings:
                if verbose or finding.state > State.NOTE:
                    sentences += finding.lines()
        if not verbose and healthy:
            names = shortened((group.group for group in healthy), _SHOWN)
            sentences.append(str(_("healthy: {names}", names=names)))
        return sentences or [str(_("{namesrv}: no consumer group was found", namesrv=self.look.namesrv))]

    def __repr__(self) -> str:
        """The text."""
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        return self.table().html()

    def table(self) -> Table:
        """Every finding, the worst group first; a group without one has a line of its own."""
        judged = [*((group.group, group.findings) for group in self.groups), (_("(cluster)"), self.cluster)]
        rows = [
            (name, str(finding.state), finding.kind, _(finding.certainty.value), finding.says, finding.advice)
            for name, findings in judged
            for finding in findings
        ]
        rows += [(group.group, str(group.state), "", "", "", "") for group in self.groups if not group.findings]
        bad = {str(State.LOSING), str(State.AT_RISK)}
        headers = (_("group"), _("state"), _("finding"), _("certainty"), _("what was seen"), _("what to do"))
        caption = _("Groups at {namesrv} (marked: losing or at risk)", namesrv=self.look.namesrv)
        return table(caption, rows, headers=headers, marked=lambda row: row["state"] in bad)


_OF_A_GROUP = (
    loss_findings, subscription_findings, pop_findings, expression_findings, member_findings, proxy_findings,
    queue_findings,
)  # fmt: skip


def diagnose(
    look: ClusterSnapshot, previous: ClusterSnapshot | None = None, history: SnapshotHistory | None = None
) -> Diagnosis:
    """Judge a look, by the look before if there was one.

    `history` has seen these looks and those before; None: there were no others.

    >>> from rmqlab_tools.doctor.snapshot import Look
    >>> diagnose(Look("127.0.0.1:9876", at=0))
    cluster: the name server lists no broker: its groups are not known
    """
    if history is None:
        history = SnapshotHistory()
        for snapshot in (look,) if previous is None else (previous, look):
            history.saw(snapshot)
    before = {} if previous is None else previous.groups
    groups = []
    for name, group in look.groups.items():
        earlier = before.get(name)
        case_before = None if previous is None or earlier is None else GroupCase(previous, earlier)
        groups.append(_of_group(GroupCase(look, group, case_before, history)))
    groups.sort(key=lambda diagnosed: (-diagnosed.state, diagnosed.group))
    return Diagnosis(look, tuple(groups), tuple(sorted(broker_findings(look, previous), key=_badness)))


def _of_group(case: GroupCase) -> GroupDiagnosis:
    group, findings = case.group, [finding for judge in _OF_A_GROUP for finding in judge(case)]
    raw_lag, filtered_lag = lags_of(case)
    return GroupDiagnosis(
        group.name,
        len(group.members) + len(group.proxied),
        tuple(sorted(findings, key=_badness)),
        lost=lost_messages(case, findings),
        raw_lag=raw_lag,
        filtered_lag=filtered_lag,
        flips_per_minute=case.history.flips_per_minute(group),
        silent_s=case.history.silent_s(group, case.now),
    )


def _badness(finding: Finding) -> tuple[int, str, str]:
    return -finding.state, finding.kind, finding.topic or ""
