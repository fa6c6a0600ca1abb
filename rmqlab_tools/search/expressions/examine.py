"""What is probably not meant by a SQL92 expression, and what to write instead.

Findings are about what the broker accepts; for what it refuses `repair` says what was probably meant. A whole
expression that is suggested (`write`) is compiled before: the broker accepts it and reads all of it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rmqlab_tools.search.expressions.findings import Findings
from rmqlab_tools.search.expressions.repair.repair import compares, is_whole, repair

if TYPE_CHECKING:
    from rmqlab.filter.sql92.compiler import CompiledSql92
    from rmqlab_tools.search.expressions.hints import Hint


def examine(compiled: CompiledSql92) -> list[Hint]:
    """All findings on an expression the broker accepts, in the order of the text; the switch comes last.

    Of more than `findings.LONGEST_EXAMINED` characters the conditions are not examined, and that is said.
    """
    findings = Findings(compiled)
    hints = [*findings.rest(), *findings.depth()]
    hints += findings.length() if findings.is_long else (*findings.conditions(), *findings.names(), *findings.upgrade())
    hints.sort(key=lambda finding: (finding.start, finding.code))
    return [*hints, *findings.switch()]


def looks_like_sql92(text: str) -> bool:
    """Whether what is given as a TAG expression is a SQL92 condition, right or nearly so, and no list of tags.

    Example: true for `a > 3` and `a == 3`, false for `tagA || tagB`, `tagA` and `*`.
    """
    if is_whole(text):
        return compares(text)
    if re.search(r"(?i)\s(LIKE|CONTAINS|STARTSWITH|ENDSWITH|REGEXP)\s+'", text):
        return True
    if not re.search(r"[<>=＜＞＝≥≤]|(?i:\b(?:IN|IS|BETWEEN|WHERE)\b)", text):
        return False
    write = repair(text).write
    return write is not None and compares(write)
