"""The checks of notebook 05: evaluations before a run, a ratio and an advice as functions, a wrong ratio hunted."""

from __future__ import annotations

import json
import math
from functools import lru_cache
from numbers import Real
from typing import TYPE_CHECKING, Any, Final

from rmqlab.checkout import data
from rmqlab.lab.lab import Lab
from rmqlab.language import _, joined
from rmqlab_tools.course.answers import called, needs_function, needs_keys
from rmqlab_tools.course.check import CheckFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rmqlab.filter.filter import CompiledExpression

MESSAGES, GROUPS = 100, 8
MEASURED_STAGES: Final = (
    "decode", _("bitmap"), _("write unit"), _("read unit"), _("check bits"), "layer 2, off", "layer 2, on",
)  # fmt: skip
WAYS = {False: _("without the switch"), True: _("with the switch")}


def _article(ns: Sequence[float]) -> float:
    return (ns[1] + ns[6]) / ns[5]


def _all_parts(ns: Sequence[float]) -> float:
    return (ns[1] + ns[2] + ns[3] + ns[4] + ns[6]) / ns[5]


COLLEAGUES: Final[Mapping[str, Callable[[Sequence[float]], float]]] = {
    "ann": lambda ns: 1 + (sum(ns[1:5]) - (ns[5] - ns[6])) / ns[5],
    "ben": _article,
    "cem": lambda ns: (sum(us := [one / 1_000 for one in ns]) - us[0] - us[5]) / us[5],
}
"""The ratios of the hunt, as the exercise has them; one leaves something out."""


def count(answer: Any) -> str:
    """Evaluations in all, without the switch and with it: {"nobody": (without, with), "everybody": (without, with)}."""
    form = _('Give {"nobody": (without, with), "everybody": (without, with)}.')
    needs_keys(answer, (_("nobody"), "everybody"), form)
    for name, condition in ((_("nobody"), "TAGS = 'B'"), ("everybody", "TAGS = 'A'")):
        said = answer[name]
        if not isinstance(said, tuple | list) or len(said) != len(("without", "with")):
            raise CheckFailed(form)
        for (switch, way), number in zip(WAYS.items(), said, strict=True):
            if number != sum(evaluations(condition, GROUPS, MESSAGES, switch=switch)):
                raise CheckFailed(
                    problem=_(
                        "{name}, {way}: the number of evaluations is not {number}.", name=name, way=way, number=number
                    ),
                    lines=_other_case(),
                )
    return _("All four counts are what the broker did.")


def _other_case() -> list[str]:
    """What is evaluated in another case: 10 messages, of which one group wants every second."""
    lines = []
    for switch, way in WAYS.items():
        at_write, on_pull = evaluations("TAGS = 'B'", 1, 10, switch=switch, tags=("A", "B"))
        lines.append(
            _(
                "broker  10 messages, 1 group that wants half of them, {way}: "
                "evaluations at the write {at_write}, on pull {on_pull}",
                way=way,
                at_write=at_write,
                on_pull=on_pull,
            )
        )
    return lines


class _Counted:
    """Stands in front of a compiled expression and counts."""

    def __init__(self, compiled: CompiledExpression) -> None:
        self.compiled, self.times = compiled, 0

    def evaluate(self, properties: Mapping[str, str] | None, /) -> object:
        self.times += 1
        return self.compiled.evaluate(properties)


def evaluations(
    condition: str, groups: int, messages: int, *, switch: bool, tags: Sequence[str] = ("A",)
) -> tuple[int, int]:
    """How often groups' conditions are evaluated while messages are stored, and while they are pulled."""
    settings: dict[str, Any] = {"enableCalcFilterBitMap": switch, "enableConsumeQueueExt": switch}
    lab = Lab(topics={"T": 1}, **settings)
    names = [f"C{number}" for number in range(groups)]

    def start() -> None:
        for name in names:
            lab.consumer(name, group=name, sql92={"T": condition})
        lab.run(seconds=30)

    start()
    counted = []
    for name in names:
        lab.stop(name)
        data = lab.broker.consumer_filter_manager.get("T", name)
        if data is not None and data.compiled_expression is not None:
            counted.append(_Counted(data.compiled_expression))
            data.compiled_expression = counted[-1]
    lab.run(seconds=30)  # pulls that the broker still holds run out
    lab.send("T", [tags[number % len(tags)] for number in range(messages)])
    at_write = sum(evaluation.times for evaluation in counted)
    start()
    return at_write, sum(evaluation.times for evaluation in counted) - at_write


def ratio(answer: Any) -> str:
    """A function of the seven stage times of a process that gives the cost with the switch / without it."""
    needs_function(answer)
    runs = [ns for by in ("java", _("ours")) for processes in stored(by).values() for ns in processes]
    for ns in runs:
        result = called(answer, ns)
        if not isinstance(result, Real) or not math.isclose(result, _all_parts(ns), rel_tol=1e-6):
            raise CheckFailed(
                problem=_(
                    "for {dict} your function gives {found}.",
                    dict=dict(zip(MEASURED_STAGES, ns, strict=True)),
                    found=f"{result!r}",
                )
            )
    return _("All {runs} measured processes.", runs=len(runs))


def advise(answer: Any) -> str:
    """A function of the ratios of several processes that says "on", "off" or "unclear"."""
    needs_function(answer)
    cases = [[0.5, 0.7], [1.5, 2.0], [0.9, 1.1], [0.2, 0.3, 0.4, 0.5, 1.2], [0.9, 1.1, 1.2, 1.3, 1.4]]
    cases += [[_all_parts(ns) for ns in processes] for processes in stored("java").values()]
    for ratios in cases:
        advice = called(answer, ratios)
        if advice != verdict(ratios):
            ratio_texts = joined(", ", (f"{measured:.2f}" for measured in ratios))
            raise CheckFailed(
                problem=_("for the ratios {told} your function gives {found}.", told=ratio_texts, found=f"{advice!r}")
            )
    return _("All {cases} cases.", cases=len(cases))


def hunt(answer: Any) -> str:
    """Whose ratio is wrong, and a cell (share, groups, expression) in which it gives another advice."""
    needs_keys(answer, ("who", "cell"), _('Give {"who": name, "cell": (share, groups, expression)}.'))
    if answer["who"] not in COLLEAGUES:
        raise CheckFailed(
            _("{who} is none of {colleagues}.", who=f"{answer['who']!r}", colleagues=joined(", ", COLLEAGUES))
        )
    cell = tuple(answer["cell"])
    if cell not in stored("java"):
        raise CheckFailed(
            _("{cell} was not measured; the columns selectivity, groups and expression say what was.", cell=cell)
        )
    right, theirs = ([rule(ns) for ns in stored("java")[cell]] for rule in (_all_parts, COLLEAGUES[answer["who"]]))
    if verdict(right) == verdict(theirs):
        ranges = {_("all parts"): right, answer["who"]: theirs}
        lines = [
            _("{name} {one} to {one2}", name=name, one=f"{min(interval):.2f}", one2=f"{max(interval):.2f}")
            for name, interval in ranges.items()
        ]
        raise CheckFailed(
            problem=_(
                "{who} says {verdict} there, and that is right.", who=answer["who"], verdict=f"{verdict(theirs)!r}"
            ),
            lines=lines,
        )
    return _(
        "{who} says {verdict}; with all parts it is {verdict2}.",
        who=answer["who"],
        verdict=f"{verdict(theirs)!r}",
        verdict2=f"{verdict(right)!r}",
    )


def verdict(ratios: Sequence[float]) -> str:
    """What to do by the ratios of several processes."""
    return "on" if max(ratios) < 1 else "off" if min(ratios) > 1 else "unclear"


@lru_cache(maxsize=2)
def stored(by: str) -> dict[tuple[Any, ...], list[list[float]]]:
    """The stage times of each process, by (share, groups, expression), of messages with user properties."""
    lines = data("bloom_profile/map.jsonl").read_text(encoding="utf-8").splitlines()
    cells = [cell for cell in map(json.loads, lines) if cell["user_properties"]]
    return {(cell["selectivity"], cell["groups"], cell["expression"]): cell[by] for cell in cells}


CHECKS = {"05-count": count, "05-ratio": ratio, "05-advise": advise, "05-hunt": hunt}
