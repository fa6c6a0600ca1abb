"""What the judges of tasks have in common: the form of an answer, a learner's function called, and the two hunts."""

from __future__ import annotations

import copy
import traceback
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from inspect import isgenerator
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple

from rmqlab.checkout import data
from rmqlab.errors import BadInput
from rmqlab.events import (
    ClientFiltered,
    Commit,
    CorrectOffset,
    Expired,
    Filtered,
    Heartbeat,
    HeartbeatSent,
    Notify,
    Pull,
    PullAnswered,
    Rebalance,
    Register,
    Restamp,
    SubscriptionChanged,
    Unregister,
)
from rmqlab.lab.lab import Lab
from rmqlab.language import _, joined
from rmqlab.rules import Rules
from rmqlab.run.recorded_events import Consumed
from rmqlab.run.run_view import RunView
from rmqlab_tools.course.check import OF_TASK, CheckFailed
from rmqlab_tools.course.mutants import WRONG_RULES
from rmqlab_tools.recordings.store import RECORDED
from rmqlab_tools.show.evidence import line
from rmqlab_tools.show.figure import Picture

if TYPE_CHECKING:
    from rmqlab.run.results import LabResult
    from rmqlab.run.run import Run

SHOWN = 3  # differences of two runs
YIELDS = _("your function has a yield, so it answers nothing yet: it must return.")
BY_HAND = _("Call your function by hand, with small inputs.")
# Facts that say in a line what broker and clients do; of views and stored offsets there are more, for the recordings.
TELLING = (
    Heartbeat, HeartbeatSent, Restamp, SubscriptionChanged, Register, Unregister, Expired, Notify, Rebalance, Pull,
    Filtered, PullAnswered, ClientFiltered, CorrectOffset, Consumed, Commit,
)  # fmt: skip


def needs_keys(answer: object, names: Iterable[str], form: str = "", *, rule: str = "") -> None:
    """Raise `CheckFailed` unless the answer is a dict with just these keys; `form` says otherwise what to give."""
    if not isinstance(answer, Mapping) or set(answer) != set(names):
        raise CheckFailed(
            form or _("Give a dict with the keys {names}.", names=joined(", ", map(repr, names))), rule=rule
        )


def needs_function(
    answer: object, form: str = _("Give the function itself, not what it returns."), *, rule: str = ""
) -> None:
    """Raise `CheckFailed` unless the answer can be called; `form` says what to give."""
    if not callable(answer):
        raise CheckFailed(form, rule=rule)


def needs_rules(answer: object, form: str = _('Give rules: rmqlab.RULES["4.8.0"].replace(...).')) -> None:
    """Raise `CheckFailed` unless the answer is a set of rules; `form` says what to give."""
    if not isinstance(answer, Rules):
        raise CheckFailed(form)


def needs_number(answer: object, form: str, *, least: int | None = None) -> None:
    """Raise `CheckFailed` with the task's rule unless the answer is a whole number (also pandas'), `least` or more."""
    if isinstance(answer, bool) or not isinstance(answer, Integral) or (least is not None and int(answer) < least):
        raise CheckFailed(form, rule=OF_TASK)


@lru_cache(maxsize=8)
def recorded(name: str, scenario: str) -> LabResult:
    """A scenario of the recorded set `name`, by the frames that real clients and the real broker exchanged."""
    return Lab.from_recording(data(RECORDED) / name, scenario)


def rows_of(answer: Any) -> list[dict[str, Any]]:
    """The rows of a Spark frame, a pandas frame, or a list of dicts.

    Raises:
        BadInput: the answer is none of these.
    """
    if hasattr(answer, "toPandas"):
        answer = answer.toPandas()
    if hasattr(answer, "to_dict"):
        answer = answer.to_dict("records")
    if not isinstance(answer, list) or not all(isinstance(row, dict) for row in answer):
        raise BadInput(_("rows are a Spark frame, a pandas frame, or a list of dicts"))
    return answer


class FunctionElsewhere:
    """A learner's function that runs in another process: what the call itself cannot show stands beside it.

    `real` names the rule of 4.8.0 that it stands for, for the other process to see whether it asks that one.
    """

    real = ""
    changed_its_arguments = False
    asks_the_real_rule = False


class StoppedElsewhere(Exception):
    """Mixed into what a learner's function raised in another process: `says` is its `in_a_sentence` there."""

    says = ""


def stopped_elsewhere(kind: type[Exception], text: str, says: str) -> Exception:
    """An exception of `kind` with a text, as it was raised in another process."""
    raised: Exception = type(kind.__name__, (StoppedElsewhere, kind), {"says": says})(text)
    return raised


def called(function: Any, *args: Any, context: str = "") -> Any:
    """The answer of a learner's function, which gets copies; `context` says before an error with what it was called.

    Raises:
        CheckFailed: the function raises.
    """
    try:
        answer = function(*copy.deepcopy(args))
    except Exception as error:  # noqa: BLE001 - whatever a learner's code raises
        problem = f"{context}{in_a_sentence(error, function)}"
        raise CheckFailed(BY_HAND, problem=problem) from None
    if isgenerator(answer):
        raise CheckFailed(BY_HAND, problem=f"{context}{YIELDS}")
    return answer


def called_in_lab(function: Any, *args: Any) -> Any:
    """The answer of a learner's function that does steps on a lab, which it gets itself.

    Raises:
        CheckFailed: the function raises.
    """
    try:
        return function(*args)
    except CheckFailed:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a learner's code raises
        raise CheckFailed(BY_HAND, problem=in_a_sentence(error, function)) from None


def in_a_sentence(error: BaseException, mine: object) -> str:
    """Where a learner's function stopped, by its own line, and why."""
    if isinstance(error, StoppedElsewhere):
        return error.says
    file = getattr(getattr(mine, "__code__", None), "co_filename", None)
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    why = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, NotImplementedError):
        return _("your function is not written yet.")
    if isinstance(error, RecursionError):
        why = _("it calls itself without an end")
    if not frames and isinstance(error, TypeError) and "argument" in why:
        return _("your function cannot be called with what it gets here ({error}).", error=str(error))
    if not frames or frames[-1].lineno is None:
        return _("your function stops: {why}.", why=why)
    if frames[-1].line:
        return _("your function stops at `{line}`: {why}.", line=frames[-1].line, why=why)
    return _("your function stops in line {lineno}: {why}.", lineno=frames[-1].lineno, why=why)


def hunt_by_name(
    hunted: Iterable[str], suspects: Iterable[str], evidence: Callable[[str, str], CheckFailed], right: str
) -> Callable[[Any], str]:
    """A judge: for each lab of `hunted` the name of the rule that is wrong in it.

    `evidence(lab, said)` is what is raised for another one of the `suspects`, `right` is said when all are found.
    """
    names, known = list(hunted), list(suspects)

    def hunt(answer: Any) -> str:
        needs_keys(answer, names)
        for name, said in answer.items():
            if said not in known:
                raise CheckFailed(
                    _("{name}: {said} is none of {known}.", name=name, said=f"{said!r}", known=joined(", ", known))
                )
        for name, said in answer.items():
            if said not in WRONG_RULES[name]:
                raise evidence(name, said)
        return right

    return hunt


def differences(sound: Run, here: Run) -> list[str]:
    """What differs first between a run on a sound broker and the same with a wrong rule."""
    tables = []
    for run in (sound, here):
        view = RunView(run)
        tables.append(
            {str(described): described.t for described in (line(fact, view) for fact in view.facts(*TELLING))}
        )
    all_differing = [(_("only on a sound broker"), entry) for entry in tables[0].items() if entry[0] not in tables[1]]
    all_differing += [(_("only here"), entry) for entry in tables[1].items() if entry[0] not in tables[0]]
    return [
        f"{where}  {text.strip()}"
        for where, (text, _) in sorted(all_differing, key=lambda difference: difference[1][1])[:SHOWN]
    ]


class HuntExample(NamedTuple):
    """What is to show that a rule is wrong: how it ends in 4.8.0 and in the broken lab, and the `rule` that is meant.

    `same` is shown where both end alike, `differs` where they do not and the rule is a sound one.
    """

    sound: str
    here: str
    rule: str
    same: str
    differs: str
    picture: Picture


def hunt_by_example(hunted: Iterable[str], example: Callable[[str, Any], HuntExample]) -> Callable[[Any], str]:
    """A judge: for each set of rules of `hunted` something that ends otherwise with it, and the rule that is wrong."""
    names = list(hunted)

    def hunt(answer: Any) -> str:
        needs_keys(answer, names)
        for name in names:
            shown = example(name, answer[name])
            if shown.sound == shown.here:
                raise CheckFailed(problem=shown.same, picture=shown.picture)
            if shown.rule not in WRONG_RULES[name]:
                raise CheckFailed(case="rule-is-sound", problem=shown.differs, picture=shown.picture)
        return _(
            "You found all three: {name}.",
            name=joined(", ", (_("{name} in {iter}", name=name, iter=next(iter(WRONG_RULES[name]))) for name in names)),
        )

    return hunt
