"""An expression that the broker refuses or reads in part, rewritten until it reads all of it, and why."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from rmqlab.filter.sql92.compiler import compile_sql92
from rmqlab.filter.sql92.errors import MQFilterException
from rmqlab.filter.sql92.nodes import Comparison, Equal, In, TextTest
from rmqlab.language import _, joined
from rmqlab.rules import DEFAULT_VERSION
from rmqlab_tools.search.expressions.repair import functions, operators, statements
from rmqlab_tools.search.expressions.repair.characters import plain
from rmqlab_tools.search.expressions.repair.lexemes import Draft
from rmqlab_tools.search.expressions.repair.refusals import by_reason

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab.filter.sql92.tokens import Version

LONGEST_REPAIRED: Final = 4_000
"""Characters of an expression that is rewritten: a longer one was made by a program."""
_ROUNDS: Final = 8
_TAGS: Final = re.compile(r"\s*([^\s|,;'\"=<>()]+)(?:\s*(?:\|\|?|[,;])\s*([^\s|,;'\"=<>()]+))*\s*(?:\|\|?|[,;])?\s*")
_TAG: Final = re.compile(r"[^\s|,;]+")
_RULES: Final = (
    statements.select, statements.texts, operators.signs, functions.casts, functions.quoted_names, operators.null,
    operators.negations, functions.patterns, functions.calls, operators.lists, operators.ranges, operators.left_out,
    operators.order_of_texts, functions.numbers, statements.edges, statements.brackets,
)  # fmt: skip


class Repair(NamedTuple):
    """What is wrong (`reasons`, in the order of their weight), and the expression as it would be right.

    `write` is None where it cannot be said what was meant; else the broker reads all of it.
    """

    reasons: tuple[str, ...]
    write: str | None

    @property
    def told(self) -> str | None:
        """The reasons in one text; None if nothing is known."""
        return joined("; ", self.reasons) if self.reasons else None


def repair(text: str, version: Version = DEFAULT_VERSION) -> Repair:
    """Look for what was meant by an expression that the broker refuses, or of which it reads only the beginning.

    A text of more than `LONGEST_REPAIRED` characters is not rewritten.

    >>> repair("WHERE amount ＞ 100").write
    'amount > 100'
    """
    if len(text) > LONGEST_REPAIRED:
        return Repair(tuple(_by_refusal(text, version)), None)
    if text.strip() == "*":
        return Repair((_("* is the TAG expression for every message; as SQL92 that is TRUE"),), "TRUE")
    tags = _as_condition_on_tags(text)
    if tags is not None:
        return tags
    reasons: dict[str, str] = {}
    written = _rewritten(text, version, reasons)
    if is_whole(written, version):
        write = written.strip() if written != text and _has_meaning(written, version) else None
        return Repair(tuple(reasons.values()), write)
    draft = Draft(written, version)
    for rule in (functions.names, functions.arithmetic):
        reasons |= {reason: reason for reason in rule(draft)}
    reasons |= {reason: reason for reason in _by_refusal(written, version)}
    return Repair(tuple(reasons.values()), None)


def _rewritten(text: str, version: Version, reasons: dict[str, str]) -> str:
    """The text after every rule, applied until nothing changes or the broker reads all of it."""
    for _round in range(_ROUNDS):
        before = text
        for step in (statements.unwrapped, plain, statements.without_comments):
            text, said = step(text)
            reasons |= {reason: reason for reason in said}
        draft = Draft(text, version)
        reasons |= {reason: reason for reason in _applied(draft, version)}
        text = str(draft)
        if text == before or is_whole(text, version):
            break
    return text


def _by_refusal(text: str, version: Version) -> Iterator[str]:
    try:
        compile_sql92(text, version)
    except MQFilterException as refusal:
        yield from by_reason(refusal, text)


def quoted_names_of(text: str) -> bool:
    """Whether a comparison has the name of a property in quotes."""
    return any(functions.quoted_names(Draft(text, DEFAULT_VERSION)))


def _applied(draft: Draft, version: Version) -> Iterator[str]:
    for rule in _RULES:
        yield from rule(draft)
    yield from statements.whole_in_quotes(draft, lambda text: is_condition(text, version))


def _as_condition_on_tags(text: str) -> Repair | None:
    """A list of tags, or a tag that is no name, as the condition on TAGS that means the same."""
    bare = text.replace("'", "").replace('"', "")
    if _TAGS.fullmatch(bare) is None or "." in bare or "/" in bare or bare.strip().startswith(("(", "!", "<")):
        return None
    tags = list(dict.fromkeys(_TAG.findall(bare)))
    listed = bool(re.search(r"[|,;]", bare))
    if not listed and (bare == text or text.strip()[:1] not in {"'", '"'}):
        return None
    right = f"TAGS IN ({', '.join(map(repr, tags))})" if len(tags) > 1 else f"TAGS = {tags[0]!r}"
    if not is_whole(right):
        return None
    return Repair((_("this is a TAG expression; as SQL92 write {right}", right=right),), right)


def is_whole(text: str, version: Version = DEFAULT_VERSION) -> bool:
    """Whether the broker accepts a text and reads all of it."""
    try:
        return not compile_sql92(text, version).ignored
    except MQFilterException:
        return False


def is_condition(text: str, version: Version = DEFAULT_VERSION) -> bool:
    """Whether a text is a whole condition that compares something."""
    return is_whole(text, version) and compares(text, version)


def _has_meaning(text: str, version: Version) -> bool:
    """Whether a text compares anything, or is TRUE: names alone are no conditions."""
    return text.strip().upper() == "TRUE" or compares(text, version)


def compares(text: str, version: Version = DEFAULT_VERSION) -> bool:
    """Whether a text that is accepted asks for the value of anything: `NOT tagA` does not."""
    root = compile_sql92(text, version).root
    return any(isinstance(node, Comparison | Equal | In | TextTest) for node in root.walk())
