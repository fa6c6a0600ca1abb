"""What a look says: every rule of the findings' modules, over every group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.diagnosis.broker_findings import broker_findings
from rmqlab.diagnosis.diagnosis import Diagnosis
from rmqlab.diagnosis.expression_findings import expression_findings
from rmqlab.diagnosis.finding import Finding, GroupDiagnosis
from rmqlab.diagnosis.group_case import GroupCase
from rmqlab.diagnosis.history import LookHistory
from rmqlab.diagnosis.loss_findings import loss_findings, lost_and_lag
from rmqlab.diagnosis.member_findings import member_findings
from rmqlab.diagnosis.queue_findings import queue_findings
from rmqlab.diagnosis.subscription_findings import subscription_findings

if TYPE_CHECKING:
    from rmqlab.diagnosis.look import GroupSeen, Look

_OF_A_GROUP = (loss_findings, subscription_findings, expression_findings, member_findings, queue_findings)


def diagnose(look: Look, previous: Look | None = None, history: LookHistory | None = None) -> Diagnosis:
    """Judge a look, by the look before if there was one.

    `history` has seen these looks and those before; None: there were no others.

    >>> from rmqlab.diagnosis.look import Look
    >>> diagnose(Look("127.0.0.1:9876", at=0))
    cluster: the name server lists no broker: its groups are not known
    """
    if history is None:
        history = LookHistory()
        for one in (look,) if previous is None else (previous, look):
            history.saw(one)
    before = {} if previous is None else previous.groups
    groups = []
    for name, group in look.groups.items():
        earlier = before.get(name)
        case_before = None if previous is None or earlier is None else GroupCase(previous, earlier)
        groups.append(_of_group(GroupCase(look, group, case_before, history), group))
    groups.sort(key=lambda one: (-one.state, one.group))
    return Diagnosis(look, tuple(groups), tuple(sorted(broker_findings(look, previous), key=_badness)))


def _of_group(case: GroupCase, group: GroupSeen) -> GroupDiagnosis:
    findings = [finding for judge in _OF_A_GROUP for finding in judge(case)]
    return GroupDiagnosis(
        group.name, len(group.members), tuple(sorted(findings, key=_badness)), *lost_and_lag(case, findings)
    )


def _badness(finding: Finding) -> tuple[int, str, str]:
    return -finding.state, finding.kind, finding.topic or ""
