"""The checks of notebook 02: two tags that collide, both tag checks as functions, three wrong rules found."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput
from rmqlab.filter.filter import match_in_two_layers
from rmqlab.lab.lab import Lab
from rmqlab.language import _
from rmqlab.message.java import string_hash, trim
from rmqlab.protocol.subscription_data import build_subscription_data
from rmqlab.rules import DEFAULT_RULES
from rmqlab_tools.course.answers import HuntExample, hunt_by_example
from rmqlab_tools.course.check import OF_TASK, CheckFailed
from rmqlab_tools.course.mutants import broken
from rmqlab_tools.course.order_judge import must_be_like
from rmqlab_tools.show.funnels import tag_checks

if TYPE_CHECKING:
    from rmqlab.rules import Rules
    from rmqlab_tools.show.figure import Picture

KNOWN = frozenset({"Aa", "BB", "AaAa", "BBBB"})
HUNTED = ("moss", "lapis", "flint")


def collide(answer: Any) -> str:
    """Two tags of one's own with one hash code: a pair of texts."""
    if not isinstance(answer, (tuple, list)) or len(answer) != 2 or not all(isinstance(text, str) for text in answer):
        raise CheckFailed(_('Give two tags, ("first", "second").'), rule=OF_TASK)
    first, second = answer
    if first == second:
        raise CheckFailed(_("The two are the same tag."), rule=_("Two different tags may share a hash code (F-52)."))
    if KNOWN & {first, second}:
        raise CheckFailed(_("Aa, BB and their doubles are the lesson's. Find two of your own."), rule=OF_TASK)
    for tag in answer:
        if not tag or trim(tag) != tag or "|" in tag:
            raise CheckFailed(
                _("{tag} is no tag that can be subscribed.", tag=f"{tag!r}"),
                rule=_("Tags are split at || and trimmed (F-04)."),
            )
    codes = [string_hash(tag) for tag in answer]
    if codes[0] != codes[1]:
        lines = [
            _("entry   {tag} has the code {code}", tag=f"{tag!r}", code=code)
            for tag, code in zip(answer, codes, strict=True)
        ]
        raise CheckFailed(problem=_("Their hash codes differ."), lines=lines)
    return _(
        "Both have the code {codes}: the broker returns both for {first}, and the client drops {second}.",
        codes=codes[0],
        first=f"{first!r}",
        second=f"{second!r}",
    )


def rule(field: str, answer: Any) -> str:
    """One of the two checks, (subscription, code) or (subscription, tag), as a function."""
    must_be_like(field, answer, [_four_messages()], order_hint="")
    return _("It agrees with 4.8.0 in every case of the real broker, and in every order of the four messages.")


def _four_messages() -> Lab:
    """A consumer of `Aa`, and four messages."""
    lab = Lab(topics={"T": 1})
    lab.consumer("A", group="G", subscribe={"T": "Aa"})
    lab.run(seconds=6)
    lab.send("T", ["Aa", "BB", "TagA", None])
    lab.run(seconds=20)
    return lab


def _example(name: str, given: Any) -> HuntExample:
    """A subscription, a tag (or None) and a rule's name."""
    match given:
        case (str() as text, str() | None as tag, str() as rule):
            pass
        case _:
            raise CheckFailed(
                _('{name}: give a subscription, a tag (or None) and a rule, ("TagA", "TagB", "tags_code").', name=name)
            )
    try:
        sound, here = (_end(rules, text, tag) for rules in (DEFAULT_RULES, broken(name)))
    except BadInput as error:
        raise CheckFailed(
            _("{name}: nobody can subscribe {text}: {error}.", name=name, text=f"{text!r}", error=error)
        ) from error
    same = _(
        "{name}: with {text} the tag {tag} {sound} in both.", name=name, text=f"{text!r}", tag=f"{tag!r}", sound=sound
    )
    differs = _(
        "{name}: the tag {tag} {sound} in 4.8.0, and here it {here}; {rule} is as it should be.",
        name=name,
        tag=f"{tag!r}",
        sound=sound,
        here=here,
        rule=rule,
    )
    return HuntExample(sound, here, rule, same, differs, _picture(broken(name), text, tag))


def _end(rules: Rules, text: str, tag: str | None) -> str:
    steps = match_in_two_layers(build_subscription_data(None, "T", text), tag, rules)
    if steps.delivered:
        return _("arrives")
    return _("is dropped by the client") if steps.broker else _("is dropped by the broker")


def _picture(rules: Rules, text: str, tag: str | None) -> Picture:
    """What these rules make of the tag."""
    subscription = build_subscription_data(None, "T", text)
    steps = match_in_two_layers(subscription, tag, rules)
    row = {"tag": tag, "code": steps.tags_code, "broker": steps.broker, "client": steps.client}
    return tag_checks([row], subscription)


def code(answer: Any) -> str:
    """What a queue entry keeps of a tag, as a function of the tag or None."""
    must_be_like("tags_code", answer, [_four_messages()], order_hint="")
    return _("It gives the codes of 4.8.0, and every order of the four messages ends as there.")


CHECKS = {
    "02-collide": collide,
    "02-code": code,
    "02-broker": partial(rule, "is_matched_by_consume_queue"),
    "02-client": partial(rule, "client_keeps"),
    "02-hunt": hunt_by_example(HUNTED, _example),
}
