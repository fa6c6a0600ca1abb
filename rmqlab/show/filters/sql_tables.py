"""The tables of notebook 03: matches, the article's rules with cases, predictions, the doctor's findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.filter.sql92 import MQFilterException, ParseCache, compile_sql92
from rmqlab.filter.sql92.doctor import examine, hint
from rmqlab.filter.sql92.satisfiability import NOT_TRUE, Can, Search
from rmqlab.lab.articles.sql_filter import REFUSED, RULES, SURPRISES, TOPIC, SqlFilter, outcome_of
from rmqlab.lab.filter_funnel import passage_of
from rmqlab.protocol.codes import ResponseCode
from rmqlab.show.tables import Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rmqlab.lab.articles.sql_filter import Rule
    from rmqlab.lab.run import Run

LONGEST = 64
# Conversion of a property's text, asked by the type of the literal (row F-16).
CONVERSIONS = (
    ("a > 100", "101"), ("a > 100", "100.5"), ("a > 100.0", "100.5"), ("a > 100", "3000000000"),
    ("a > 2147483648", "3000000000"), ("a = 100", "100.0"), ("a = 100", " 100"), ("a > 100.0", "1e3"), ("a > 0", "٣"),
)  # fmt: skip


def matches(run: Run, follows: Mapping[str, Sequence[int]], guess: Mapping[str, Sequence[int]]) -> Table:
    """A row for each message: tag, a, and for each group whether it arrived.

    The caption compares with what follows from the article's text (it prints no output) and with the guess.
    """
    passages = [passage_of(run, group) for group in run.scenario.groups()]
    arrived = {
        one.group: [number for number, step in enumerate(one.steps) if step.name in one.delivered] for one in passages
    }
    rows = []
    for number, step in enumerate(passages[0].steps):
        cells = ["✓" if number in arrived[one.group] else "–" for one in passages]
        rows.append((step.name, step.detail, number, *cells))
    told = []
    for said, words in ((follows, "follows from the article"), (guess, "you guessed")):
        for group, numbers in said.items():
            told.append(f"{group}: {'' if list(numbers) == arrived[group] else 'not '}as {words}")
    headers = ("message", "tag", "a", *(one.group for one in passages))
    return Table(f"What arrived. {'; '.join(told)}", headers, rows)


def rules(only: Sequence[Rule] = RULES) -> Table:
    """The article's table of the grammar, with cases (marked: not what its words lead one to expect)."""
    rows = []
    for rule in only:
        for expression, properties, expected in rule.cases:
            found = outcome_of(expression, properties)
            wanted = expected if isinstance(expected, str) else "match" if expected else "no match"
            rows.append((rule.syntax, expression, _message(properties), wanted, found))
    marked = frozenset(number for number, row in enumerate(rows) if not _as_expected(row[3], row[4]))
    headers = ("syntax", "expression", "message", "the article's words suggest", "4.8.0")
    caption = f"{len(rows) - len(marked)} of {len(rows)} cases are as the article's words suggest (marked: the others)"
    return Table(caption, headers, rows, marked)


def _as_expected(wanted: str, found: str) -> bool:
    return wanted == (REFUSED if found == REFUSED else "match" if found == "true" else "no match")


def rule_words() -> Table:
    """What the article says of each syntax."""
    return Table("The article's table of the grammar", ("syntax", "meaning"), [(one.syntax, one.says) for one in RULES])


def predictions(guess: Sequence[str]) -> Table:
    """The surprising cases: the reader's guess beside what happens, and why (marked: not as guessed)."""
    rows = []
    for number, one in enumerate(SURPRISES):
        mine = guess[number] if number < len(guess) else ""
        rows.append(
            (one.expression, _message(one.properties), mine, outcome_of(one.expression, one.properties), one.why)
        )
    marked = frozenset(number for number, row in enumerate(rows) if row[2] != row[3])
    right = len(rows) - len(marked)
    headers = ("expression", "message", "your guess", "4.8.0", "because")
    return Table(f"{right} of {len(rows)} guessed (marked: the others)", headers, rows, marked)


def conversions() -> Table:
    """How a property's text is read: as the literal's type says."""
    rows = [(expression, repr(value), outcome_of(expression, {"a": value})) for expression, value in CONVERSIONS]
    marked = frozenset(number for number, row in enumerate(rows) if row[2] not in {"true", "false"})
    caption = "The literal's type decides how the value is read (marked: an exception, no match)"
    return Table(caption, ("expression", "value of a", "4.8.0"), rows, marked)


def compiled(expressions: Sequence[str]) -> Table:
    """How expressions are read, or why they are refused."""
    rows = []
    for text in expressions:
        try:
            one = compile_sql92(text)
            rows.append((text, str(one), f"ignored: {one.ignored}" if one.ignored else ""))
        except MQFilterException as refusal:
            meant = hint(refusal, text)
            rows.append((text, REFUSED, f"{refusal}{f' ({meant})' if meant else ''}"))
    marked = frozenset(number for number, row in enumerate(rows) if row[1] == REFUSED or row[2])
    caption = "How 4.8.0 reads it (marked: refused, or partly ignored)"
    return Table(caption, ("expression", "read as", "remark"), rows, marked)


def doctor(expression: str) -> Table:
    """The doctor's findings about an expression that the broker accepts, or the refusal."""
    try:
        one = compile_sql92(expression)
    except MQFilterException as refusal:
        rows = [("refused", str(refusal), hint(refusal, expression) or "")]
        return Table(f"Findings: {_cut(expression)}", ("severity", "finding", "advice"), rows)
    rows = [(finding.severity, finding.message, finding.advice) for finding in examine(one) if finding.code != "switch"]
    marked = frozenset(number for number, row in enumerate(rows) if row[0] == "warning")
    caption = f"Findings: {_cut(expression)}" + ("" if rows else ": none")
    return Table(caption, ("severity", "finding", "advice"), rows, marked)


def witnesses(expressions: Sequence[str]) -> Table:
    """For each expression a message that passes and one that does not, found by search."""
    rows = []
    for text in expressions:
        search = Search(compile_sql92(text).root)
        found = [search.find(wanted) for wanted in (Can.TRUE, NOT_TRUE)]
        told = [
            _message(one.properties) if one.properties is not None else "there is none" if one.proven else "none found"
            for one in found
        ]
        rows.append((text, *told))
    return Table("Messages found by search", ("expression", "passes", "does not pass"), rows)


def switched_off() -> Table:
    """A broker as it comes, `enablePropertyFilter=false`: what becomes of a consumer with SQL92 (rows F-08, F-98)."""
    run = SqlFilter(property_filter=False).run()
    who = run.scenario.groups()[0]
    refused = next(event for event in run.events if event["ev"] == "startFailed" and event["who"] == who)
    registered = [fact for fact in run.facts.of("subscription") if fact["group"] == who and fact["topic"] == TOPIC]
    beats = [fact for fact in run.facts.of("heartbeat") if fact.source == "broker" and fact["client"] == who]
    pulls = [fact for fact in run.facts.of("pull") if fact["group"] == who and fact["topic"] == TOPIC]
    codes = sorted({f"{fact['code']} ({ResponseCode(fact['code']).name})" for fact in pulls})
    rows = [
        ("its start", f"fails: {refused['message']}"),
        ("its heartbeats", f"go on: {len(beats)} reach the broker"),
        ("its subscription in the broker", "is there" if registered else "is not there"),
        ("its pulls", f"{len(pulls)}, refused with code {', '.join(codes)}"),
        ("messages", f"{sum(fact.kind == 'consumed' for fact in run.facts.facts)} arrive"),
    ]
    return Table("A consumer with SQL92 on a broker as it comes", ("of the consumer", "what happens"), rows)


def parse_cache(expression: str, times: int) -> Table:
    """The parser's cache: the same text is parsed once, refusals too, and the hundred last used are kept."""
    cache = ParseCache()
    for _ in range(times):
        cache.compile(expression)
    after = (cache.hits, cache.misses)
    for number in range(100):
        cache.compile(f"a = {number}")
    cache.compile(expression)
    rows = [
        (f"{times} times the same text", after[0], after[1]),
        ("then 100 others, then the first again", cache.hits, cache.misses),
    ]
    return Table("Parsing, or finding it in the cache", ("compiled", "found", "parsed"), rows)


def _message(properties: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in properties.items()) or "no properties"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
