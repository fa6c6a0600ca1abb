"""What is probably not meant by a TAG expression, and what to write instead.

A client splits it at `||` and trims the parts as Java's `trim` does (`FilterAPI.buildSubscriptionData`); everything
else in a part belongs to the tag. Nothing of that is refused, and no message has such a tag.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rmqlab.filter.filter import colliding_tag
from rmqlab.filter.sql92.errors import shown
from rmqlab.language import _
from rmqlab.message.java import split, trim, utf16_length
from rmqlab.protocol.subscription_data import SEPARATOR, SUB_ALL
from rmqlab_tools.search.expressions.examine import looks_like_sql92
from rmqlab_tools.search.expressions.hints import Hint
from rmqlab_tools.search.expressions.repair.characters import hidden_in, plain
from rmqlab_tools.search.expressions.repair.repair import is_whole, repair

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST_TAGS: Final = 20_000
"""Characters of a TAG expression that is examined."""
_SEPARATORS: Final = re.compile(r"\|+|&&|[,;、，；｜]+|\s(?:OR|AND|or|and|Or|And)\s")
_QUOTES: Final = "'\"‘’“”`＇＂"
_BRACKETS: Final = "()[]{}（）【】"
_PREFIX: Final = re.compile(r"\s*TAGS?\s*[:=]\s*(?=\S)", re.IGNORECASE)
_NEGATED: Final = re.compile(r"(?:!|(?i:NOT)\s)\s*(?=\S)")
_PATTERN: Final = re.compile(r"[*%?^]|\.\*|\\[wd]")
_CLEAN: Final = re.compile(r"[^\s|,;'\"*%?!()\[\]{}=<>]+")


def examine_tags(text: str | None) -> list[Hint]:
    """All findings on a TAG expression, in the order of the text. Null, empty and `*` mean every message.

    >>> [one.write for one in examine_tags("tagA|tagB") if one.severity == "warning"]
    ['tagA || tagB']
    """
    if text is None or text in {"", SUB_ALL} or len(text) > LONGEST_TAGS:
        return []
    parts = split(text, SEPARATOR)
    if not parts:
        says = _("it is made of separators only: the client refuses it (subString split error)")
        return [_hint("refused", "warning", text, (0, len(text)), says, _("* takes every message"), SUB_ALL)]
    if not any(map(trim, parts)):
        says = _("it names no tag, so no message ever passes")
        return [_hint("no-tag", "warning", text, (0, len(text)), says, _("* takes every message"), SUB_ALL)]
    if looks_like_sql92(text):
        return [_sql92(text)]
    return list(_of_parts(text, parts))


def _sql92(text: str) -> Hint:
    write = text.strip() if is_whole(text) else repair(text).write
    says = _("it looks like SQL92; as a TAG expression the whole text is the name of one tag")
    advice = _("subscribe by SQL92, with MessageSelector.bySql, if a condition is meant")
    return _hint("sql92-as-tag", "warning", text, (0, len(text)), says, advice, write)


def _of_parts(text: str, parts: list[str]) -> Iterator[Hint]:
    write = _as_meant(text)
    place = 0
    for part in parts:
        tag = trim(part)
        start = place + part.find(tag)
        place += len(part) + len(SEPARATOR)
        if not tag:
            says = _("a separator has no tag beside it: that part is left out")
            yield _hint("empty-part", "note", text, (start, start), says, _("leave the separator out"))
            continue
        span = (start, start + len(tag))
        oddity = _odd(tag)
        if oddity is not None:
            code, says, advice = oddity
            severity = "note" if code == "destination" else "warning"
            yield _hint(code, severity, text, span, says, advice, write)
        elif (twin := colliding_tag(tag)) is not None:
            says = _("{twin} has the same hash code as {tag}", twin=twin, tag=tag)
            advice = _("the broker sends messages with it too, and the client drops them")
            yield _hint("twin", "note", text, span, says, advice)


def _odd(tag: str) -> tuple[str, str, str] | None:
    """What is odd about one tag: a code, what it is to the broker, what to do."""
    hidden = " ".join(shown(character) for character in hidden_in(tag))
    bars = _("tags are separated by two bars: tagA || tagB")
    kinds = (
        (
            "hidden-characters", hidden,
            _("the tag {tag} has characters in it that nobody sees: {names}", tag=repr(tag), names=hidden),
            _("retype the tag"),
        ),
        ("prefix", _PREFIX.match(tag), _("{tag} is one tag", tag=repr(tag)), _("write the tag alone")),
        ("separator", _SEPARATORS.search(tag), _("{tag} is one tag", tag=repr(tag)), bars),
        (
            "negation", _NEGATED.match(tag), _("{tag} is one tag: there is no NOT", tag=repr(tag)),
            _("by SQL92 write {right}", right=f"TAGS <> {_NEGATED.sub('', tag)!r}"),
        ),
        (
            "pattern", _PATTERN.search(tag), _("{tag} is the name of one tag: there are no patterns", tag=repr(tag)),
            _("name each tag: tagA || tagB; only * alone takes every message"),
        ),
        (
            "quotes", tag[0] in _QUOTES or tag[-1] in _QUOTES, _("the quotes belong to the tag {tag}", tag=tag),
            _("write a tag without quotes"),
        ),
        (
            "brackets", tag.strip(_BRACKETS) != tag, _("the brackets belong to the tag {tag}", tag=tag),
            _("write tags without brackets"),
        ),
        (
            "destination", ":" in tag, _("{tag} is one tag, the colon too", tag=repr(tag)),
            _("write the tag alone, if a client's destination TOPIC:TAG is meant"),
        ),
        ("blank", re.search(r"\s", tag), _("{tag} is one tag, with the blank in it", tag=repr(tag)), bars),
    )  # fmt: skip
    return next(((code, says, advice) for code, applies, says, advice in kinds if applies), None)


def _as_meant(text: str) -> str | None:
    """The tags that are probably meant, with two bars between; None where that cannot be known."""
    meant = _PREFIX.sub("", plain(text)[0])
    meant = _SEPARATORS.sub("|", meant)
    tags = [name.strip().strip(_QUOTES + _BRACKETS).strip() for name in meant.split("|")]
    tags = list(dict.fromkeys(name for name in tags if name))
    if not tags or not all(_CLEAN.fullmatch(name) and ":" not in name for name in tags):
        return None
    return f" {SEPARATOR} ".join(tags)


def case_twins(text: str, tag: str) -> list[Hint]:
    """Tags of an expression that differ from a message's in capital letters alone."""
    hints = []
    for name in dict.fromkeys(map(trim, split(text, SEPARATOR))):
        if name != tag and name.lower() == tag.lower():
            says = _("{first} and {second} are two different tags: capital letters count", first=name, second=tag)
            start = text.find(name)
            hints.append(_hint("case", "warning", text, (start, start + len(name)), says, _("write both alike")))
    return hints


def _hint(
    code: str,
    severity: str,
    text: str,
    span: tuple[int, int],
    message: str,
    advice: str,
    write: str | None = None,
) -> Hint:
    start, end = (utf16_length(text[:place]) for place in span)
    return Hint(code, severity, start, end, 1, start + 1, message, advice, None if write == text else write)
