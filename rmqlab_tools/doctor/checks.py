"""What the doctor found as checks, for SARIF, JUnit and GitHub: one for each finding, and one for a healthy group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.language import _, sentences
from rmqlab_tools.check_reports import Check, Level
from rmqlab_tools.doctor.finding import State

if TYPE_CHECKING:
    from rmqlab_tools.doctor.diagnosis import Diagnosis
    from rmqlab_tools.doctor.finding import Finding

LEVELS = {
    State.HEALTHY: Level.NONE, State.NOTE: Level.NOTE, State.UNKNOWN: Level.WARNING, State.AT_RISK: Level.ERROR,
    State.LOSING: Level.ERROR,
}  # fmt: skip


def checks_of_diagnosis(diagnosis: Diagnosis) -> list[Check]:
    """Findings of the cluster, then of its groups, worst first."""
    checks = [_check(finding, "cluster") for finding in diagnosis.cluster]
    for group in diagnosis.groups:
        checks += [_check(finding, group.group) for finding in group.findings]
        if not group.findings:
            checks.append(Check("healthy", group.group, Level.NONE, _("Nothing is wrong.")))
    return checks


def _check(finding: Finding, subject: str) -> Check:
    text = _("{says} [{certainty}]", says=finding.says, certainty=_(finding.certainty.value))
    return Check(finding.kind, subject, LEVELS[finding.state], sentences(text, finding.advice))
