"""An entry of the decoder's data: one thing that a server or a client says, how bad it is, and what it means."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, Literal

import msgspec

from rmqlab.errors import BadInput
from rmqlab.language import _
from rmqlab.protocol.subscription_data import TAG, build_subscription
from rmqlab_tools.doctor.printed import printed_value
from rmqlab_tools.search.consistency import CannotTellError, tell_apart

Effect = Literal["loss", "stop", "watch", "normal"]
EFFECTS: Final[dict[Effect, str]] = {
    "loss": _("messages can be lost for the group"),
    "stop": _("something does not work until somebody changes it"),
    "watch": _("often harmless, but not when it goes on"),
    "normal": _("part of ordinary work"),
}
"""How bad it is, the worst first."""
SURE: Final = {
    "recorded": _("a real broker said it in a recording of data/golden"),
    "provoked": _("our broker or client says it in a test, as the source does"),
    "read": _("read in the source"),
}
"""How we know an entry."""
LONGEST_COMPARED: Final = 1_000
"""Characters of an expression that is compared by meaning."""
_CONDITION: Final = re.compile(r"(\S+) (<|>|=) (\S+)")


class Said(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who says it, in which versions: `by` is class and method, or the constant; `level` and `file` belong to a log."""

    versions: tuple[str, ...]
    by: str
    level: str = ""
    file: str = ""


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a line means when its values are so: every condition of `when` holds, as in "value.key > other"."""

    when: tuple[str, ...]
    effect: Effect
    means: str
    do: str = ""

    def holds(self, values: dict[str, str]) -> bool:
        """Whether the values of a line fulfil every condition; a value that is not there fulfils none."""
        return all(_holds(condition, values) for condition in self.when)


def _holds(condition: str, values: dict[str, str]) -> bool:
    """One condition: an operand is a number, a 'word', or a value of the line."""
    match = _CONDITION.fullmatch(condition)
    if match is None:
        raise ValueError(f"{condition!r} is no condition")
    if match[3].startswith("'"):
        return match[2] == "=" and _valued(values, match[1]) == match[3].strip("'")
    left, right = (
        int(operand) if _is_number(operand) else _number(_valued(values, operand)) for operand in (match[1], match[3])
    )
    if left is None or right is None:
        return False
    return {"<": left < right, ">": left > right, "=": left == right}[match[2]]


def _is_number(text: str) -> bool:
    return text.lstrip("-").isdecimal()


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and _is_number(text.strip()) else None


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One thing that a server or a client says.

    `texts` are templates. `older` has those of other versions, each with the one of `texts` that it is now, or "";
    values of both have the same names. A code has `number` and `name` instead, the status of a pull a `name`, a topic
    of the system the beginning of its name. `rules` are fields of `rmqlab.RULES["4.8.0"]`, `rows` are the articles',
    `findings` kinds of the doctor's, `see` names other entries. `cases` depend on a line's values. With `differs`
    (expression and type of the old and the new subscription, as values of the line) it is part of ordinary work when
    both let the same messages pass.
    """

    id: str
    kind: Literal["response", "request", "status", "remark", "log", "exception", "print", "topic"]
    speaker: Literal["broker", "name server", "client", "admin tool", "proxy"]
    number: int | None = None
    name: str = ""
    texts: tuple[str, ...] = ()
    older: dict[str, str] = {}
    effect: Effect
    cases: tuple[Case, ...] = ()
    differs: tuple[str, str, str, str] | None = None
    means: str
    do: str
    rules: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    see: tuple[str, ...] = ()
    said: tuple[Said, ...]
    sure: Literal["recorded", "provoked", "read"]

    @property
    def title(self) -> str:
        """The code with its name, or the first text."""
        if self.texts:
            return self.texts[0].strip()
        return self.name if self.number is None else f"{self.number} {self.name}"

    @property
    def versions(self) -> list[str]:
        """The versions that say it."""
        return sorted({version for place in self.said for version in place.versions})

    @property
    def sentences(self) -> list[str]:
        """Every sentence for people."""
        cases = [text for case in self.cases for text in (case.means, case.do) if text]
        return [self.means, self.do, *cases]

    @property
    def languages(self) -> frozenset[str]:
        """The languages of the clients that say it: "Go" of the version "Go 2.1.2"; none for Java."""
        return frozenset(version.rpartition(" ")[0] for version in self.versions) - {""}

    def case_of(self, values: dict[str, str]) -> Case | None:
        """The first case that these values of a line fulfil."""
        return next((case for case in self.cases if case.holds(values)), None)

    def effect_with(self, values: dict[str, str]) -> Effect:
        """How bad it is with these values of a line."""
        case = self.case_of(values)
        if case is not None:
            return case.effect
        if self.differs is None:
            return self.effect
        old, old_type, new, new_type = (_valued(values, path) for path in self.differs)
        # Java prints a type that is not there as null: `ExpressionType.isTagType` takes it, and an empty one, for TAG
        old_type, new_type = (TAG if kind in {"null", "", None} else kind for kind in (old_type, new_type))
        return "normal" if _is_same(old, old_type, new, new_type) else self.effect


def _valued(values: dict[str, str], path: str) -> str | None:
    """A value of a line, or with `value.key` what the Java object that it prints has under the key."""
    name, *keys = path.split(".")
    value = values.get(name)
    for key in keys:
        value = None if value is None else printed_value(value, key)
    return value


@lru_cache(1_000)
def _is_same(old: str | None, old_type: str | None, new: str | None, new_type: str | None) -> bool:
    """Whether two expressions let the same messages pass: by text, or proven by meaning."""
    if None in {old, new} or (old, old_type) == (new, new_type):
        return old == new is not None
    if max(len(old or ""), len(new or "")) > LONGEST_COMPARED:
        return False
    try:
        apart = tell_apart(build_subscription("T", old, old_type), build_subscription("T", new, new_type))
    except (BadInput, CannotTellError):
        return False
    return apart.proven and apart.only_first is None and apart.only_second is None
