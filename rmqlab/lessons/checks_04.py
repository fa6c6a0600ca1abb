"""The checks of notebook 04: where six messages stop, a group that layer 1 is wrong about, settings for 200 groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rmqlab.filter.bloom import BITS_PER_BYTE, BitsArray, BloomFilter, BloomFilterError
from rmqlab.lab.bloom.rates import counted, theory
from rmqlab.lab.filters.filter_bench import TOPIC
from rmqlab.lab.filters.late_group import TASK
from rmqlab.lessons.check import CheckFailed
from rmqlab.protocol.subscription_data import TAG

if TYPE_CHECKING:
    from rmqlab.lab.filter_funnel import Passage, Step

PLACES = ("layer 1", "layer 2", "client", "arrives")
MATCHING = tuple(f"CID_{number:02d}" for number in range(32))
GROUPS, MOST_BYTES, MOST_RATE, NEAR = 200, 170, 0.05, 0.02
BY_BITS = "Layer 1 drops what lacks one of the group's bits, and lets pass what it cannot judge (F-59..F-62)."
BY_LAYER_2 = "Layer 2 evaluates the expression on the message; only true passes (F-65)."
BY_TEXT = "TAG subscriptions pass layer 2 untouched; the client compares the text (F-53, F-64)."
FALSE_HIT = "A false hit: every bit of the group was set by others, though it did not match (F-62, F-77)."
RATE = "After n groups a bit is 0 with the chance (1 - 1/m)^(k·n); a false hit needs k bits that are 1 (F-76)."
HINTS = {
    "one_stage": "Go through the places in order: what can each one see of the message?",
    "false_hit": "Which bits must be set for layer 1 to let a message pass, and who may have set them?",
    "settings": "Two things pull against each other: the bytes a message carries, and how many bits are still 0.",
}


def stages(answer: Any) -> str:
    """Where each of the six messages stops for each group: {group: {message: place}}."""
    passages = TASK.passages()
    names = [passage.group for passage in passages]
    if not isinstance(answer, dict) or set(answer) != set(names):
        raise CheckFailed(f"Give a dict with the keys {', '.join(map(repr, names))}.", rule="Two groups, six messages.")
    for passage in passages:
        said = answer[passage.group]
        if not isinstance(said, dict) or set(said) != {step.name for step in passage.steps}:
            raise CheckFailed(f"{passage.group}: give a place for m0 to m5.", rule=f"Places: {', '.join(PLACES)}.")
        for step in passage.steps:
            _one_stage(passage, step, said[step.name])
    return "All twelve stop, or arrive, where you said."


def _one_stage(passage: Passage, step: Step, said: object) -> None:
    found = "arrives" if step.stage is None else str(step.stage)
    if said not in PLACES:
        raise CheckFailed(
            f"{step.name}: {said!r} is none of {', '.join(PLACES)}.", rule="A message stops at one place."
        )
    if said != found:
        rule = BY_TEXT if passage.kind == TAG else f"{BY_BITS} {BY_LAYER_2}"
        line = f"broker  {passage.group} subscribes {passage.subscription}; {step.name} has {step.detail}"
        raise CheckFailed(
            HINTS["one_stage"], problem=f"{step.name} for {passage.group}: not {said}.", rule=rule, lines=[line]
        )


def false_hit(answer: Any) -> str:
    """The name of a group that is none of ``MATCHING`` and finds all its bits set by them."""
    if not isinstance(answer, str) or not answer:
        raise CheckFailed("Give the name of a group.", rule=FALSE_HIT)
    if answer in MATCHING:
        raise CheckFailed(HINTS["false_hit"], problem=f"{answer} is one of the groups that match.", rule=FALSE_HIT)
    bloom, bits = _array()
    positions = bloom.calc_bit_positions(f"{answer}#{TOPIC}")
    zeros = [position for position in positions if not bits.get_bit(position)]
    if zeros:
        lines = [f"layer 1  {answer} looks at bits {positions}; not set: {zeros}"]
        raise CheckFailed(
            HINTS["false_hit"],
            problem=f"Layer 1 is right about {answer}: it drops the message.",
            rule=FALSE_HIT,
            lines=lines,
        )
    return f"{answer} looks at bits {positions}; all are set, and none by it."


def _array() -> tuple[BloomFilter, BitsArray]:
    """The bits of a message that all of ``MATCHING`` match, with 4.8.0's settings."""
    bloom = BloomFilter.create_by_fn(20, 32)
    bits = BitsArray.of_length(bloom.m)
    for group in MATCHING:
        bloom.hash_to(f"{group}#{TOPIC}", bits)
    return bloom, bits


def settings(answer: Any) -> str:
    """Settings for ``GROUPS`` groups that all match, and the rate to expect: (error rate %, expected groups, rate)."""
    form = 'Give {"maxErrorRateOfBloomFilter": …, "expectConsumerNumUseFilter": …, "false_hits": …}, the last 0 to 1.'
    keys = ("maxErrorRateOfBloomFilter", "expectConsumerNumUseFilter", "false_hits")
    if not isinstance(answer, Mapping) or set(answer) != set(keys):
        raise CheckFailed(form, rule=RATE)
    error_rate, expected, said = (answer[key] for key in keys)
    try:
        bloom = BloomFilter.create_by_fn(error_rate, expected)
    except (BloomFilterError, TypeError) as error:
        raise CheckFailed(
            f"The broker would not start: {error}.", rule="1 to 99 %, one group or more (F-76)."
        ) from None
    size, by_theory = bloom.m // BITS_PER_BYTE, theory(bloom, GROUPS)
    lines = [f"broker  k = {bloom.k} bits a group, m = {bloom.m} bits = {size} bytes for every message"]
    if size > MOST_BYTES:
        raise CheckFailed(
            HINTS["settings"],
            problem=f"{size} bytes a message are more than {MOST_BYTES}.",
            rule="m grows with expected groups.",
            lines=lines,
        )
    if by_theory > MOST_RATE:
        problem = f"{by_theory:.1%} false hits with {GROUPS} matching groups are more than {MOST_RATE:.0%}."
        raise CheckFailed(HINTS["settings"], problem=problem, rule=RATE, lines=lines)
    seen = counted(bloom, GROUPS, 4)
    if not isinstance(said, (int, float)) or abs(said - seen) > NEAR:
        raise CheckFailed(
            HINTS["settings"],
            problem=f"You expect {said} false hits; that is not what is counted.",
            rule=RATE,
            lines=lines,
        )
    return f"{size} bytes a message, {seen:.1%} false hits counted, {by_theory:.1%} by theory."


CHECKS = {"04-stages": stages, "04-false-hit": false_hit, "04-settings": settings}
