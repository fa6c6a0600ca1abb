"""`rmqlab explain`: a code, a line or a whole log, and what it means."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import msgspec

from rmqlab.errors import BadInput, did_you_mean
from rmqlab.files import exists, opened
from rmqlab.language import ENGLISH, N_, _, joined, language, ngettext, translate
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab_tools.doctor.decoder import coded, entries, match, templates
from rmqlab_tools.doctor.decoder_entry import EFFECTS, SURE, Case, Effect, Entry
from rmqlab_tools.doctor.finding import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LONGEST_QUERY: Final = 8_000
"""Characters of a line that are looked at; the rest of a longer one is skipped."""
TEXT_COLUMNS: Final = 100
NEAR_TEXTS: Final = 0.5
"""Share of a text's words that a line must have for the text to be offered."""
FEW_LINES_COMPARED: Final = 20
"""Lines that somebody pastes; in a log with more the unknown ones are counted and not shown."""
MANY: Final = 6
"""Places that are named of those that say a text."""
LONGEST_SHOWN: Final = 300
_TRACE: Final = re.compile(r"\s*$|\s+at [\w.$<>/]+\(|\s*\.\.\. \d+ (?:more|common)")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?")
_KINDS: Final = {
    "response": _("answer code"), "request": _("request code"), "status": _("status of a pull,"),
    "remark": _("remark"), "log": _("log"), "exception": _("exception"), "print": _("print"), "topic": _("topic"),
}  # fmt: skip
"""What an entry is, in words."""
_SPEAKERS: Final = (N_("broker"), N_("name server"), N_("client"), N_("admin tool"), N_("proxy"))
_EFFECT_NAMES: Final = (N_("loss"), N_("stop"), N_("watch"), N_("normal"))
"""Words of entries as they are translated."""
_HEADINGS: Final = {
    "here": _("here"),
    "rule": _("rule"),
    "doctor": _("doctor"),
    "said by": _("said by"),
    "means": _("what it means"),
    "do": _("what to do"),
    "known": _("how it is known"),
    "see": _("see also"),
}
"""Headings of one word, as they are translated."""
_PATH: Final = re.compile(r"\S+\.(log|txt|out|gz)(\.\d+)?|\S*/\S*")


@dataclass(slots=True)
class Explanation:
    """An entry and where it was found: how often, number and time of the first and last line, values of the first."""

    entry: Entry
    effect: Effect
    case: Case | None = None
    """What the values of these lines add to what the entry means."""
    count: int = 0
    first: int = 0
    last: int = 0
    first_time: str = ""
    last_time: str = ""
    values: dict[str, str] = field(default_factory=dict)
    text: str = ""
    """The text that the first line has, as it is now."""
    as_now: str = ""
    """What a newer version says in place of the first line, if that is an older wording."""

    def as_json(self) -> dict[str, Any]:
        """Everything, as JSON."""
        where = {name: getattr(self, name) for name in ("count", "first", "last", "first_time", "last_time", "values")}
        record = {
            "entry": msgspec.to_builtins(self.entry),
            "effect": self.effect,
            "case": msgspec.to_builtins(self.case),
            "as_now": self.as_now,
        }
        return record | (where if self.count else {})

    def lines(self, *, brief: bool = False) -> Iterator[str]:
        """The lines that a person reads, in the reader's language; `brief`: what it is and what to do."""
        entry = self.entry
        kind = _KINDS[entry.kind]
        if brief:
            times = (
                _(", {first_time} to {last_time}", first_time=self.first_time, last_time=self.last_time)
                if self.first_time != self.last_time
                else ""
            )
            where = (
                _("lines {first} to {last}{times}", first=self.first, last=self.last, times=times)
                if self.count > 1
                else _("line {first}", first=self.first)
            )
            lines = counted(self.count, "line")
            yield str(_("{effect}: {lines}, {where}", effect=_(self.effect), lines=lines, where=where))
        yield from _wrapped("", self.text or entry.title, code=True)
        if self.as_now:
            now = textwrap.shorten(self.as_now, LONGEST_SHOWN, placeholder=" ...")
            yield f"  {_('as 4.8.0 says it:')} {now}"
        if not brief:
            source = _(
                "{kind} of the {speaker}, {versions}",
                kind=kind,
                speaker=_(entry.speaker),
                versions=joined(", ", entry.versions),
            )
            effect = joined(": ", (_(self.effect), EFFECTS[self.effect]))
            yield f"  {joined('; ', (source, effect))}"
        for name, value in self.values.items():
            if value:
                shown = f"  {name} = {textwrap.shorten(value, LONGEST_SHOWN, placeholder=' ...')}"
                yield from textwrap.wrap(shown, TEXT_COLUMNS, subsequent_indent="    ", break_long_words=False)
        if self.case is not None:
            yield from _wrapped("  here     ", self.case.means)
        elif self.effect != entry.effect:
            yield from _wrapped(
                "  here     ", _("old and new let the same messages pass: only the version moved, or the text")
            )
        yield from _wrapped("  means    ", entry.means)
        yield from _wrapped("  do       ", entry.do if self.case is None else self.case.do or entry.do)
        if not brief:
            rules = [*(f'RULES["4.8.0"].{name}' for name in entry.rules), *entry.rows]
            yield from _wrapped("  rule     ", joined(", ", rules), code=True)
            yield from _wrapped(
                "  doctor   ",
                joined(", ", entry.findings) and _("finds it as {findings}", findings=joined(", ", entry.findings)),
            )
            said = [
                f"{place.by} ({', '.join(filter(None, (*place.versions, place.level, place.file)))})"
                for place in entry.said
            ]
            rest = [f"+{len(said) - MANY}"] if len(said) > MANY else []
            yield from _wrapped("  said by  ", joined(", ", [*said[:MANY], *rest]), code=True)
            yield from _wrapped("  known    ", SURE[entry.sure])
            yield from _wrapped(
                "  see      ", joined(", ", (entries()[entry_id].title for entry_id in entry.see)), code=True
            )


def _wrapped(head: str, text: str, *, code: bool = False) -> list[str]:
    """A text after its head, in lines; `code`: it is the same in every language.

    Where words have no blanks between them, it is a terminal that breaks the lines.
    """
    if language() != ENGLISH:
        translated = str(text) if code else translate(text)
        return [f"  {_HEADINGS[head.strip()]}  {translated}" if head else translated] if text else []
    return textwrap.wrap(text, TEXT_COLUMNS, initial_indent=head, subsequent_indent=" " * len(head)) if text else []


@dataclass(frozen=True, slots=True)
class Explained:
    """What was asked, and what is known of it, the worst first.

    Of `lines` that were read `known` are explained, `trace` are blank or of a stack trace, and nothing is known of the
    `unknown` ones: they may say anything.
    """

    what: str
    found: tuple[Explanation, ...]
    lines: int = 0
    known: int = 0
    trace: int = 0
    near: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Of a few lines: each of which nothing is known, and the known texts that resemble it."""

    @property
    def unknown(self) -> int:
        """Lines of which nothing is known."""
        return self.lines - self.known - self.trace

    @property
    def worst(self) -> Effect | None:
        """The worst effect among what was found."""
        return self.found[0].effect if self.found else None

    def as_json(self) -> dict[str, Any]:
        """Everything, as JSON."""
        explanations = [explanation.as_json() for explanation in self.found]
        counts = {name: getattr(self, name) for name in ("lines", "known", "unknown", "trace")}
        near = [{"line": line, "texts": list(texts)} for line, texts in self.near]
        return {"what": self.what, **counts, "found": explanations, "near": near}

    def __str__(self) -> str:
        """The text for people."""
        blocks = ["\n".join(explanation.lines(brief=self.lines > 1)) for explanation in self.found]
        if self.lines > 1:
            counted = ngettext(
                "{lines} line: {known} known, {unknown} of which nothing is known",
                "{lines} lines: {known} known, {unknown} of which nothing is known",
                self.lines,
                lines=self.lines,
                known=self.known,
                unknown=self.unknown,
            )
            trace = _("; {trace} blank or of a stack trace", trace=self.trace) if self.trace else ""
            blocks.insert(0, f"{counted}{trace}")
        elif not self.lines and not self.found:
            blocks.append(str(_("there is no line in it")))
        for line, texts in self.near:
            head = _("nothing is known of this line")
            shown = [f"  {textwrap.shorten(line, LONGEST_SHOWN, placeholder=' ...')}"] if self.lines > 1 else []
            near = [str(_("the nearest known texts:")), *(f"  {text}" for text in texts)] if texts else []
            blocks.append("\n".join([f"{head}:" if shown else str(head), *shown, *near]))
        return "\n\n".join(blocks)

    __repr__ = __str__


def explain(what: int | str | Path) -> Explained:
    """What a code, a remark, a line of a log or a whole log means, and what to do.

    `what` is a number or a name of RocketMQ (24, "SUBSCRIPTION_NOT_EXIST"), a text, or the path of a log, plain or .gz.
    A log is read line by line. Each known line is counted, with its first and last place; the worst come first.

    Source: the texts are those of RocketMQ 4.8.0, 5.3.3 and 5.5.0 and of its other clients (`data/said`).

    >>> explain(25).found[0].entry.name
    'SUBSCRIPTION_NOT_LATEST'
    >>> one = explain("the consumer's subscription not exist, group: Orders, topic:Paid").found[0]
    >>> one.effect, one.values
    ('stop', {'group': 'Orders', 'topic': 'Paid'})

    Raises:
        BadInput: there is no such code or file, or the file cannot be read.
    """
    text = str(what).strip()
    if isinstance(what, Path) or (not isinstance(what, int) and text and "\n" not in text and _is_file(text)):
        with opened(Path(text), _("a log, plain or .gz")) as stream:
            return explain_lines(_lines(stream), text)
    if not text:
        raise BadInput(
            _(
                'nothing to explain: give a code (24), the text of a line in quotes, or a log; "-" reads '
                "a log from a pipe"
            )
        )
    if isinstance(what, int) or re.fullmatch(r"-?\d+|[A-Z][A-Z0-9]*(_[A-Z0-9]+)+", text):
        return Explained(text, tuple(Explanation(entry, entry.effect) for entry in _of_code(text)))
    topics = [entry for entry in entries().values() if entry.kind == "topic" and text.startswith(entry.name)]
    if topics and len(text.split()) == 1:
        return Explained(text, tuple(Explanation(entry, entry.effect) for entry in topics))
    if _PATH.fullmatch(text):
        raise BadInput(
            _("{text}: there is no such file; give a log, a code, or the text of a line in quotes", text=text)
        )
    return explain_lines(text.splitlines(), text)


def explain_lines(lines: Iterable[str], what: str) -> Explained:
    """What the lines of a log mean; `what` names the log."""
    explanations: dict[tuple[str, Effect, Case | None], Explanation] = {}
    number = known = trace = 0
    unknown: list[str] = []
    for number, line in enumerate(lines, 1):
        said = match(line)
        if said is None:
            if _TRACE.match(line):
                trace += 1
            elif len(unknown) <= FEW_LINES_COMPARED:
                unknown.append(line.strip())
            continue
        known += 1
        entry, values = said.entry, said.values
        case, effect = entry.case_of(values), entry.effect_with(values)
        stamp = _TIME.search(line)
        time = stamp[0] if stamp else ""
        place = entry.id, effect, case
        if place not in explanations:
            explanations[place] = Explanation(
                entry, effect, case, 0, number, number, time, "", values, said.now, said.as_now
            )
        explanation = explanations[place]
        explanation.count += 1
        explanation.last, explanation.last_time = number, time or explanation.last_time
    rank = list(EFFECTS).index
    worst_first = sorted(explanations.values(), key=lambda explanation: (rank(explanation.effect), -explanation.count))
    near = tuple((line, nearest(line)) for line in unknown) if number <= FEW_LINES_COMPARED else ()
    return Explained(what, tuple(worst_first), number, known, trace, near)


def _is_file(text: str) -> bool:
    try:
        return exists(Path(text))
    except BadInput:  # behind a folder that may not be entered: a line of a log has more than a path
        if " " in text:
            return False
        raise


def _of_code(text: str) -> list[Entry]:
    by_number = list(coded(text))
    if by_number:
        return by_number
    values = {member.name: member.value for codes in (ResponseCode, RequestCode) for member in codes}
    for name, value in values.items():
        if text in {name, str(value)}:
            raise BadInput(
                _(
                    "{text}: {name} {value} of RocketMQ 4.8.0 is none about subscriptions, filters or heartbeats",
                    text=text,
                    name=name,
                    value=value,
                )
            )
    known = {entry.name for entry in entries().values() if entry.name}
    raise BadInput(
        _(
            "{text} is no code that is known here{near}; codes are 24, or SUBSCRIPTION_NOT_EXIST",
            text=text,
            near=did_you_mean(text, known),
        )
    )


def nearest(line: str) -> tuple[str, ...]:
    """Up to three known texts of which the line has half of the words or more, the nearest first."""
    has = set(re.findall(r"\w{3,}", line.lower()))
    shares = {}
    for each in templates():
        words = set(re.findall(r"\w{3,}", " ".join(each.parts).lower()))
        shares[each.text] = len(words & has) / max(3, len(words))
    best = sorted(shares, key=lambda text: -shares[text])[:3]
    return tuple(text for text in best if shares[text] >= NEAR_TEXTS)


def _lines(stream: IO[bytes]) -> Iterator[str]:
    """The lines of a stream, of each at most so much as is looked at."""
    while line := stream.readline(LONGEST_QUERY):
        rest = line
        while not rest.endswith(b"\n") and (rest := stream.readline(LONGEST_QUERY)):
            pass
        yield line.decode("utf-8", "replace")


def explain_stream(stream: IO[bytes], what: str) -> Explained:
    """What the lines of a binary stream mean, such as those of standard input."""
    return explain_lines(_lines(stream), what)
