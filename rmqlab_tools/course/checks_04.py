"""The checks of notebook 04: where six messages stop, the positions of a bloom filter, a broken rule, settings."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from rmqlab.errors import BadInput
from rmqlab.filter.bloom import BITS_PER_BYTE, BloomFilter, murmur3_128
from rmqlab.lab.lab import Lab
from rmqlab.language import _, joined
from rmqlab.message.java import to_utf8
from rmqlab.rules import DEFAULT_RULES, Rules
from rmqlab.run.fates import fate_words
from rmqlab_tools.course.answers import needs_keys
from rmqlab_tools.course.check import CheckFailed
from rmqlab_tools.course.rule_judge import RuleCase, must_agree_in_cases, vectors

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

BOTH: Final[dict[str, Any]] = {"enableCalcFilterBitMap": True, "enableConsumeQueueExt": True}
CONDITION: Final = "a BETWEEN 3 AND 7 OR TAGS = 'TagC'"
# Tag and property a of the messages stored before the group subscribes, and after.
EARLY: Final = (("Aa", "5"), ("TagB", "9"), (None, "x"))
LATE: Final = (("TagC", "8"), ("TagC", "4.0"), ("BB", "7"))
DROP_LAYERS: Final = {
    "delivered": _("arrives"), "dropped_by_broker_bitmap": _("layer 1"), "dropped_by_broker_sql": _("layer 2"),
}  # fmt: skip
REWRITTEN: Final[Mapping[str, Callable[..., Any]]] = {
    "is_hit": lambda positions, is_set: is_set(positions[0]),
    "bit_positions": lambda hash64, k, m: [(hash64 + i * 31) % m for i in range(k)],
    "is_matched_by_commit_log": lambda value: value is not False,
}
"""The three rules as the exercise has them; one of them changes what a group receives."""
GROUPS, MAX_BYTES, MAX_RATE = 200, 170, 0.05


def stages(answer: Any) -> str:
    """Where each of the six messages stops: {message: place}."""
    names = [f"m{number}" for number in range(len(EARLY + LATE))]
    needs_keys(answer, names, _("Give a dict with a place for each of m0 to m5."))
    stage_of = _stages()
    for name in names:
        if answer[name] not in DROP_LAYERS.values():
            raise CheckFailed(
                _(
                    "{name}: {answer} is none of {places}.",
                    name=name,
                    answer=f"{answer[name]!r}",
                    places=joined(", ", sorted(DROP_LAYERS.values())),
                )
            )
    wrong = [name for name in names if answer[name] != stage_of[name]]
    if wrong:
        side = _("before it knows the group") if wrong[0] in names[: len(EARLY)] else _("after it knows the group")
        line = _(
            "broker  stores {wrong} {side}; the group wants {condition}", wrong=wrong[0], side=side, condition=CONDITION
        )
        raise CheckFailed(problem=_("{wrong} does not end there.", wrong=wrong[0]), lines=[line])
    return _("All six stop, or arrive, where you said.")


def _stages(rules: Rules = DEFAULT_RULES) -> dict[str, str]:
    lab = Lab(topics={"T": 1}, rules=rules, **BOTH)
    _send(lab, EARLY, 0)
    lab.run(seconds=1)
    lab.consumer("S", group="BY_SQL", sql92={"T": CONDITION}, consume_from="first")
    lab.run(seconds=1)
    _send(lab, LATE, len(EARLY))
    lab.run(seconds=30)
    return {fate.body: DROP_LAYERS[fate.fate] for fate in lab.fates()}


def _send(lab: Lab, messages: Sequence[tuple[str | None, str]], first: int) -> None:
    bodies = [f"m{first + number}" for number in range(len(messages))]
    lab.send("T", [tag for tag, _ in messages], bodies=bodies, properties=[{"a": a} for _, a in messages])


def positions(answer: Any) -> str:
    """A `bit_positions` of the learner's, judged by what the real filter answered."""
    cases = _recorded()
    must_agree_in_cases("bit_positions", answer, cases)
    return _("All {cases} keys have the positions that the real filter gave them.", cases=len(cases))


def _recorded() -> list[RuleCase]:
    """Hash, k and m of the recorded keys with their positions, the easy ones first."""
    cases = [
        RuleCase((murmur3_128(to_utf8(vector["key"]))[0], vector["k"], vector["m"]), vector["positions"])
        for vector in vectors("bloom")
        if vector["kind"] == "positions" and vector["ok"]
    ]
    return sorted(cases, key=lambda case: (case.args[1], case.args[0]))


def hit(answer: Any) -> str:
    """An `is_hit` of the learner's: whether all positions of a group are set."""
    must_agree_in_cases("is_hit", answer)
    here, sound = (_stages(rules) for rules in (DEFAULT_RULES.replace(is_hit=answer), DEFAULT_RULES))
    wrong = [name for name in sound if here[name] != sound[name]]
    if wrong:
        problem = _(
            "In a lab {body} {here} with your rule, {sound} with that of 4.8.0.",
            body=wrong[0],
            here=here[wrong[0]],
            sound=sound[wrong[0]],
        )
        raise CheckFailed(problem=problem)
    return _("It answers as 4.8.0 does, and the six messages of the first task end as there.")


def hunt(answer: Any) -> str:
    """The broken one of `REWRITTEN`, and a condition and properties that show it."""
    keys = ("rule", "condition", "properties")
    needs_keys(answer, keys, _('Give {"rule": name, "condition": SQL92, "properties": {name: text}}.'))
    name, condition, properties = (answer[key] for key in keys)
    if name not in REWRITTEN:
        raise CheckFailed(
            _("{name} is none of the three: {rewritten}.", name=f"{name!r}", rewritten=joined(", ", REWRITTEN))
        )
    sound = _received(DEFAULT_RULES, condition, properties)
    broken = _received(DEFAULT_RULES.replace(**{name: REWRITTEN[name]}), condition, properties)
    if [fate == "delivered" for fate in sound] == [fate == "delivered" for fate in broken]:
        lines = [
            _(
                "message {when} the group subscribed {condition}: {before}; with {name} rewritten: {after}",
                when=when,
                condition=condition,
                before=fate_words(before),
                name=name,
                after=fate_words(after),
            )
            for when, before, after in zip((_("stored before"), _("stored after")), sound, broken, strict=True)
        ]
        raise CheckFailed(problem=_("with {name} rewritten the group receives the same.", name=name), lines=lines)
    return _(
        "4.8.0: {sound}. With {name} rewritten: {broken}.",
        sound=joined(", ", map(fate_words, sound)),
        name=name,
        broken=joined(", ", map(fate_words, broken)),
    )


def _received(rules: Rules, condition: str, properties: Mapping[str, str]) -> list[str]:
    """What becomes of a message that is stored before a group subscribes, and of the same stored after."""
    lab = Lab(topics={"T": 1}, rules=rules, **BOTH)
    lab.send("T", properties=properties)
    lab.run(seconds=1)
    lab.consumer("C", group="G", sql92={"T": condition}, consume_from="first")
    lab.run(seconds=1)
    lab.send("T", properties=properties)
    lab.run(seconds=30)
    return [fate.fate for fate in islice(lab.fates(), 2)]


def settings(answer: Any) -> str:
    """The two settings of the bloom filter, by their names, for `GROUPS` groups that all match."""
    keys = ("maxErrorRateOfBloomFilter", "expectConsumerNumUseFilter")
    needs_keys(answer, keys)
    try:
        bloom = BloomFilter.create_by_fn(*(answer[key] for key in keys))
    except (BadInput, TypeError) as error:
        hint = _("The broker would not start: {error}.", error=error)
        raise CheckFailed(hint, rule=_("1 to 99 %, one group or more (F-76).")) from None
    size, rate = bloom.m // BITS_PER_BYTE, (1 - (1 - 1 / bloom.m) ** (bloom.k * GROUPS)) ** bloom.k
    too_much = (
        [_("{size} bytes a message are more than {max_bytes}", size=size, max_bytes=MAX_BYTES)]
        if size > MAX_BYTES
        else []
    )
    too_often = (
        [_("{rate} false hits are more than {max_rate}", rate=f"{rate:.2%}", max_rate=f"{MAX_RATE:.0%}")]
        if rate > MAX_RATE
        else []
    )
    if too_much or too_often:
        line = _(
            "broker  k = {k} bits a group, m = {m} bits = {size} bytes for every message",
            k=bloom.k,
            m=bloom.m,
            size=size,
        )
        raise CheckFailed(problem=_("{problems}.", problems=joined(" and ", too_much + too_often)), lines=[line])
    return _("{size} bytes a message, {rate} false hits by theory.", size=size, rate=f"{rate:.1%}")


CHECKS = {"04-stages": stages, "04-positions": positions, "04-hit": hit, "04-hunt": hunt, "04-settings": settings}
