"""Translations of one language: a text by its entry, by a template that fits, or put together from known parts.

An entry like "{n} of {all} lost" is a template: it fits a text that says the same with other values. Of several ways to
translate a text, the one that leaves the least English is taken; `rmqlab.language` reads the entries.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

PLACEHOLDER = re.compile(r"\{([A-Za-z_][\w.]*)\}")
# What a text is taken apart at when no entry is the whole of it, and what joins its parts in Chinese.
_SENTENCE = r"(?<=\S[.!?]) (?=\S)"
_LINES = (("\n", "\n"),)
MAX_SENTENCES = 4  # of one entry
ONE_WORD = {"count", "quoted"}  # a value of these names is one word
_PARTS = (("; ", "；"), (": ", "："), (", ", "，"), (" · ", " · "), (" and ", " 和 "))
_BREAK = re.compile(rf"\n|{_SENTENCE}")
_ENDS = {".": "。", ":": "：", ";": "；", ",": "，", "?": "？", "!": "！"}
_WORD = re.compile(r"[A-Za-z]{2,}")
_PROSE = re.compile(r"[A-Za-z']+,? [a-z]{2,}\b|\b[a-z]{2,},? [A-Za-z]|; ")
_TWO_WORDS = re.compile(r"[A-Za-z']{2,}\W[^\u4e00-\u9fff]*?[A-Za-z]{2,}|; ")
_SQL = re.compile(r"[<>=]|\b(?:IS|AND|OR|NOT|BETWEEN|IN|is|between)\b")
# A template of few words says nothing of a text in whose gaps there is prose, unless it is the head of a list ("your
# guess: {all}"); one of few letters ("{a} of {b}") says nothing where two English words are left in a gap.
STRONG, FAINT = 3, 5
# A comparison of SQL92, with what joins it to the next one.
_SQL92 = re.compile(
    r"(?:\(|not )*\b[a-z]\w* (?:is (?:not )?null|(?:not )?in \([^()]*\)|between \S+ and \S+|"
    r"[<>=]{1,2} (?:'[^']*'|[^\s,;]+))\)*(?:\s*(?:and|or) (?=[(a-z]))?",
    re.IGNORECASE,
)
# An English word, no name and no unit; it may stand beside a Chinese character.
_LEFT = re.compile(r"(?<![\w.`/'-])(?!m?s\b)[A-Za-z]?[a-z]+(?![\w(.=/-])", re.ASCII)
_LEAD = re.compile(
    r"((?:[▸✓✗○●◆–-] )?(?:\d[\d,.]* |[A-Z][A-Z0-9]{0,3} |'[^']*'…? |\d+\. |[a-d]\) )?)(.+?)"
    r"((?: \(\d[^()]*\)| -?\d[\d,.]*%?)*)",
    re.DOTALL,
)
_BRACKET = re.compile(r"(.+) \(([^()]+)\)")
_NAMED = re.compile(r"(\S+) (.+)")
_COUNTED = re.compile(r"(.+) (\(\d+\)) (.+)")
_NAMES = re.compile(r"[A-Z]\w*( and [A-Z]\w*)+")
_OWNERS = re.compile(r"[^\s,]+'s(, [^\s,]+'s)*")  # names alone: Chinese says by other words that something is theirs


class Template(NamedTuple):
    """An entry with placeholders: what a text must contain, begin and end with, what it fits, and its translation."""

    literal: str
    head: str
    tail: str
    word: str
    breaks: int
    barred: re.Pattern[str] | None
    patterns: tuple[re.Pattern[str], ...]
    translated: str

    def may_fit(self, text: str, breaks: int | None) -> bool:
        """Whether a text with `literal` in it may be fitted: most are ruled out by what stands at an end."""
        return breaks in {None, self.breaks} and text.startswith(self.head) and text.endswith(self.tail)


class Words:
    """Translations of one language. Each text is looked up once."""

    def __init__(self, entries: dict[str, str]) -> None:
        """`entries`: text to translation; "{name}" in both stands for what differs from time to time."""
        self._entries = {text: told for text, told in entries.items() if not PLACEHOLDER.search(text)}
        # "messages:" and a number: there the colon is put between them again
        self._entries |= {text[:-1]: told.rstrip("：:") for text, told in self._entries.items() if text.endswith(":")}
        self._told: dict[str, str] = {}
        found = [(text, told) for text, told in entries.items() if text not in self._entries]
        found.sort(key=lambda one: -len(PLACEHOLDER.sub("", one[0])))
        self._templates: dict[str, list[tuple[int, Template]]] = {}
        for number, one in enumerate(found):
            template = _template(*one)
            self._templates.setdefault(template.word, []).append((number, template))
        told = [one for templates in self._templates.values() for _, one in templates]
        self._in_columns = [one for template in told for one in template.patterns if r"\ \ " in one.pattern]
        self._fits: dict[tuple[str, int | None], str | None] = {}

    def of(self, text: str) -> str:
        """The translation of a text, or the text itself if nothing is known about it."""
        if text not in self._told:
            self._told[text] = self._looked_up(text)
        return self._told[text]

    def _looked_up(self, text: str) -> str:
        if not _WORD.search(_SQL92.sub("", text)) or (text.endswith("…") and _SQL92.match(text)):
            return text
        if text in self._entries:
            return self._entries[text]
        bare = text.strip()
        told = self._entries.get(bare) or self._found(bare) or bare
        before, after = text[: text.index(bare)], text[text.index(bare) + len(bare) :]
        if told != bare:
            before = "" if before == " " else before  # Chinese sentences follow each other without a space
            told = told[:-1] + _ENDS.get(told[-1], told[-1]) if told[-1:] == bare[-1:] else told
        return f"{before}{told}{after}"

    def _found(self, text: str) -> str | None:
        """By whole sentences, then by any template or part by part: the way that leaves the least English.

        A line in columns goes cell by cell, unless an entry has columns too.
        """
        breaks = len(_BREAK.findall(text))
        if "  " in text and not breaks and not any(one.fullmatch(text) for one in self._in_columns):
            return "".join(part if part.isspace() else self.of(part) for part in re.split("( {2,})", text))
        found = self._sentence(text) if not breaks else None
        if not found or _english(found):
            found = self._by_template(text, breaks) or (self._by_sentences(text) if breaks else None)
        if found and not _english(found):
            return found
        ways = (
            found, self._by_template(text), self._sentence(text), self._headed(text), self._tailed(text),
            self._edged(text), *(self._by_parts(text, (one,)) for one in _PARTS), self._ended(text),
        )  # fmt: skip
        return min((way for way in ways if way), key=_english, default=None)

    def _by_sentences(self, text: str) -> str | None:
        """Line by line, or sentence by sentence; some entries are several sentences."""
        if "\n" in text:
            return self._by_parts(text, _LINES)
        left, told, parts = re.split(_SENTENCE, text), [], []
        while left:
            runs = [" ".join(left[:count]) for count in range(min(len(left), MAX_SENTENCES), 0, -1)]
            known = (
                self._entries.get(run) or self._by_template(run, len(runs) - at - 1) for at, run in enumerate(runs)
            )
            count, found = next(((len(runs) - at, one) for at, one in enumerate(known) if one), (1, None))
            part = " ".join(left[:count])
            parts.append(part)
            told.append(self.of(part) if found is None or count == 1 else found)
            left = left[count:]
        return "".join(self._joined(told, parts, "", " ")) if told != parts else None

    def _tailed(self, text: str) -> str | None:
        """A head and a colon, and behind it what is known as a whole; values that are given stay as they are."""
        for colon in re.finditer(": ", text):
            head, tail = text[: colon.start()], text[colon.end() :]
            told = self._entries.get(tail) or self._by_template(tail, len(_BREAK.findall(tail)))
            if told:
                return f"{head}：{told}" if "=" in head else f"{self.of(f'{head}:')}{told}"
        return None

    def _by_template(self, text: str, breaks: int | None = None) -> str | None:
        """By the templates that fit: the one that leaves the least English, of equals the one that says most."""
        if (text, breaks) not in self._fits:
            self._fits[text, breaks] = self._least_english(text, breaks)
        return self._fits[text, breaks]

    def _least_english(self, text: str, breaks: int | None) -> str | None:
        told: list[str] = []
        words = {"", *_WORD.findall(text)}
        near = [one for word in words for one in self._templates.get(word, ()) if one[1].literal in text]
        for _, template in sorted(near, key=lambda one: one[0]):
            if not template.may_fit(text, breaks):
                continue
            for pattern in template.patterns:
                found = pattern.fullmatch(text)
                if found is None:
                    break  # the next one differs in what falls into which gap
                values = self._values(found, template.barred)
                if values is not None:
                    told.append(_filled(template.translated, values))
                    if not _english(told[-1]):
                        return told[-1]
        return min(told, key=_english, default=None)

    def _values(self, found: re.Match[str], barred: re.Pattern[str] | None) -> dict[str, str] | None:
        """What stands in the gaps, translated; None if something that is barred is left there."""
        values = {name: self.of(value) for name, value in found.groupdict().items()}
        values = {name: one.replace("'s", "") if _OWNERS.fullmatch(one) else one for name, one in values.items()}
        if barred and any(barred.search(one) and not _is_sql(one, barred) for one in values.values()):
            return None
        return values

    def _by_parts(self, text: str, marks: Iterable[tuple[str, str]]) -> str | None:
        for mark, joint in marks:
            parts = re.split(mark, text)
            told = [self.of(part) for part in parts] if len(parts) > 1 else parts
            if told != parts:
                return "".join(self._joined(told, parts, joint, mark))
        return None

    def _headed(self, text: str) -> str | None:
        """A title that is known, with more behind a colon."""
        for colon in reversed([found.start() for found in re.finditer(": ", text)]):
            head = text[:colon]
            told = self._entries.get(head) or self._by_template(head)
            if told and not _english(told):
                return f"{told}：{self.of(text[colon + 2 :])}"
        return None

    def _edged(self, text: str) -> str | None:
        """What is known with a mark or a number before or behind it, a name before it, or more in brackets."""
        if _NAMES.fullmatch(text):
            return text.replace(" and ", " 和 ")
        if ", then " in text:
            return "，然后 ".join(map(self.of, text.split(", then ")))
        found = _LEAD.fullmatch(text)
        if found and found[2] != text and self.of(found[2]) != found[2]:
            return f"{found[1]}{self.of(found[2])}{found[3]}"
        found = _NAMED.fullmatch(text)
        if found and found[2] in self._entries:
            return f"{found[1]} {self.of(found[2])}"
        found = _COUNTED.fullmatch(text)
        if found:
            return f"{self.of(found[1])} {found[2]} {self.of(found[3])}"
        found = _BRACKET.fullmatch(text)
        if found and (self.of(found[1]) != found[1] or found[2] in self._entries):
            return f"{self.of(found[1])}（{self.of(found[2])}）"
        return None

    def _sentence(self, text: str) -> str | None:
        """What an entry says without the full stop."""
        told = self._by_template(text[:-1]) if text[-1:] in _ENDS else None
        return told and told + _ENDS[text[-1]]

    def _ended(self, text: str) -> str | None:
        bare = text[:-1]
        return self.of(bare) + _ENDS[text[-1]] if text[-1:] in _ENDS and self.of(bare) != bare else None

    def _joined(self, told: list[str], parts: list[str], joint: str, plain: str) -> Iterator[str]:
        for number, part in enumerate(told):
            if number:
                yield joint if part != parts[number] or told[number - 1] != parts[number - 1] else plain
            yield part


def _english(text: str) -> int:
    """How many English words are left in a text, SQL92 aside."""
    return len(_LEFT.findall(_SQL92.sub("", text)))


def _is_sql(text: str, barred: re.Pattern[str]) -> bool:
    return barred is _PROSE and bool(_SQL.search(text))


def _filled(text: str, values: Mapping[str, str]) -> str:
    return PLACEHOLDER.sub(lambda name: values[_group(name[1])], text)


def _group(name: str) -> str:
    return name.replace(".", "__")


def _gap(before: str, after: str, said: str, *, few: bool, whole: bool) -> str:
    """What a value may be made of; a list with semicolons stands behind a colon, opens a sentence, or ends the text.

    In a gap of a template of `few` words its own longest words `said` do not come again: that is a list of such texts.
    """
    if whole or before.endswith((": ", ". ")) or after in {"", "."} or after.startswith(": "):
        return ".*?"
    again = f"|{re.escape(said)}" if said else ""
    return rf"(?:(?!; |, \d{again}).)*?(?<!:)" if few else "(?:(?!; ).)*?"


def _template(text: str, translated: str) -> Template:
    parts = PLACEHOLDER.split(text)  # literal, name, literal, name, ..., literal
    said = _WORD.findall(" ".join(parts[::2]))
    few = len(said) < STRONG and ": {" not in text
    literal = max(parts[::2], key=len)
    longest = literal if _WORD.search(literal) else ""
    seen: set[str] = set()
    pattern = ""
    for number, part in enumerate(parts):
        if number % 2 == 0:
            pattern += re.escape(part)
        else:
            gap = (
                r"\S+"
                if part in ONE_WORD
                else _gap(parts[number - 1], "".join(parts[number + 1 :]), longest, few=few, whole="; " in text)
            )
            pattern += f"(?P={_group(part)})" if part in seen else f"(?P<{_group(part)}>{gap})"
            seen.add(part)
    patterns = tuple(re.compile(one) for one in dict.fromkeys((pattern, pattern.replace("*?", "*"))))
    barred = _TWO_WORDS if len("".join(said)) <= FAINT else _PROSE if few else None
    # a word that stands alone in the text too: not beside a gap
    inside = [found[0] for found in _WORD.finditer(literal) if found.start() > 0 and found.end() < len(literal)]
    word, breaks = max(inside, key=len, default=""), len(_BREAK.findall(text))
    return Template(literal, parts[0], parts[-1], word, breaks, barred, patterns, translated)
