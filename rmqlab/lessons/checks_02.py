"""The checks of notebook 02: two tags that collide, both tag checks as functions, three wrong rules found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput
from rmqlab.filter.filter import both_steps
from rmqlab.filter.filter_api import build_subscription_data
from rmqlab.lab.lab import Lab
from rmqlab.lessons.check import OF_TASK, CheckFailed, needs_keys
from rmqlab.lessons.mutants import WRONG, broken
from rmqlab.lessons.order_judge import must_be_like
from rmqlab.message.java import string_hash, trim
from rmqlab.rules import DEFAULT_RULES
from rmqlab.show.tag_rows import tag_checks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rmqlab.rules import Rules
    from rmqlab.show.figure import Picture

KNOWN = frozenset({"Aa", "BB", "AaAa", "BBBB"})
HUNTED = ("moss", "lapis", "flint")


def collide(answer: Any) -> str:
    """Two tags of one's own with one hash code: a pair of texts."""
    if not isinstance(answer, (tuple, list)) or len(answer) != 2 or not all(isinstance(one, str) for one in answer):
        raise CheckFailed('Give two tags, ("first", "second").', rule=OF_TASK)
    first, second = answer
    if first == second:
        raise CheckFailed("The two are the same tag.", rule="Two different tags may share a hash code (F-52).")
    if KNOWN & {first, second}:
        raise CheckFailed("Aa, BB and their doubles are the lesson's. Find two of your own.", rule=OF_TASK)
    for tag in answer:
        if not tag or trim(tag) != tag or "|" in tag:
            raise CheckFailed(
                f"{tag!r} is no tag that can be subscribed.", rule="Tags are split at || and trimmed (F-04)."
            )
    codes = [string_hash(tag) for tag in answer]
    if codes[0] != codes[1]:
        lines = [f"entry   {tag!r} has the code {code}" for tag, code in zip(answer, codes, strict=True)]
        raise CheckFailed(problem="Their hash codes differ.", lines=lines)
    return f"Both have the code {codes[0]}: the broker returns both for {first!r}, and the client drops {second!r}."


def broker(answer: Any) -> str:
    """The broker's check, `is_matched_by_consume_queue(subscription, code)`, as a function."""
    return _rule("is_matched_by_consume_queue", answer)


def client(answer: Any) -> str:
    """The client's check, `client_keeps(subscription, tag)`, as a function."""
    return _rule("client_keeps", answer)


def _rule(field: str, answer: Any) -> str:
    must_be_like(field, answer, [_four_messages()], order_hint="")
    return "It agrees with 4.8.0 in every case of the real broker, and in every order of the four messages."


def _four_messages() -> Lab:
    """A consumer of `Aa`, and four messages."""
    lab = Lab(topics={"T": 1})
    lab.consumer("A", group="G", subscribe={"T": "Aa"})
    lab.run(seconds=6)
    lab.send("T", ["Aa", "BB", "TagA", None])
    lab.run(seconds=20)
    return lab


def hunt(answer: Any) -> str:
    """For each wrong set of rules a subscription and a tag that show it, and the name of the rule that is wrong."""
    needs_keys(answer, HUNTED)
    for name in HUNTED:
        _found(name, answer[name])
    return f"You found all three: {', '.join(f'{name} in {next(iter(WRONG[name]))}' for name in HUNTED)}."


def _found(name: str, given: Any) -> None:
    """A subscription, a tag (or None) and a rule's name."""
    match given:
        case (str() as text, str() | None as tag, str() as rule):
            pass
        case _:
            raise CheckFailed(
                f'{name}: give a subscription, a tag (or None) and a rule, ("TagA", "TagB", "tags_code").'
            )
    try:
        ends = [_end(rules, text, tag) for rules in (DEFAULT_RULES, broken(name))]
    except BadInput as error:
        raise CheckFailed(f"{name}: nobody can subscribe {text!r}: {error}.") from error
    if ends[0] == ends[1]:
        problem = f"{name}: with {text!r} the tag {tag!r} {ends[0]} in both."
        raise CheckFailed(problem=problem, picture=_picture(broken(name), text, [tag]))
    if rule not in WRONG[name]:
        problem = f"{name}: the tag {tag!r} {ends[0]} in 4.8.0, and here it {ends[1]}; {rule} is as it should be."
        raise CheckFailed(case="rule-is-sound", problem=problem, picture=_picture(broken(name), text, [tag]))


def _end(rules: Rules, text: str, tag: str | None) -> str:
    steps = both_steps(build_subscription_data(None, "T", text), tag, rules)
    if steps.delivered:
        return "arrives"
    return "is dropped by the client" if steps.broker else "is dropped by the broker"


def _picture(rules: Rules, text: str, tags: Sequence[str | None]) -> Picture:
    """What these rules make of the tags."""
    asked = build_subscription_data(None, "T", text)
    rows = []
    for tag in tags:
        steps = both_steps(asked, tag, rules)
        rows.append({"tag": tag, "code": steps.tags_code, "broker": steps.broker, "client": steps.client})
    return tag_checks(rows, asked)


CHECKS = {"02-collide": collide, "02-broker": broker, "02-client": client, "02-hunt": hunt}
