"""What was probably meant, by what the compiler says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rmqlab.filter.sql92.tokens import as_units
from rmqlab.language import _

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab.filter.sql92.errors import MQFilterException

_NOT_COMPARED: Final = re.compile(r"Value '\(NOT .*\)' cannot be compared\.", re.DOTALL)


def by_reason(refusal: MQFilterException, text: str) -> Iterator[str]:
    """What a refusal says; nothing where it says all itself."""
    units = as_units(text)
    at = "" if refusal.offset is None else units[refusal.offset :]
    reason = refusal.reason.text or ""
    if not text.strip():
        yield _("an expression is a condition, such as a > 3")
    elif at.startswith("*"):
        yield _("there are neither wildcards nor arithmetic")
    elif _NOT_COMPARED.fullmatch(reason):
        yield _("NOT binds tighter than the comparison: write NOT (...) around the whole comparison")
    elif "is less than" in reason:
        yield _("0.0 cannot be written: compare with 0, or with 0.1")
    elif reason == "'NULL' cannot be compared.":
        yield _("write IS NULL or IS NOT NULL")
    elif reason.startswith("Value ''"):
        yield _("the order of texts cannot be asked; a number is written without quotes")
    elif reason.startswith("Illegal values of between, left"):
        yield _("the lower bound comes first")
    elif refusal.cause_name == "NumberFormatException":
        yield _("whole numbers end at 9223372036854775807; write 1e19")
