"""The checks of notebook 15: a rule for the line of waiters, an order of tags, members that may differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rmqlab.lab.lab import Lab
from rmqlab.language import _, joined, ngettext
from rmqlab.rules import RULES, Rules
from rmqlab_tools.course.answers import called, called_in_lab, needs_function
from rmqlab_tools.course.check import OF_TASK, OPEN_ANSWER, CheckFailed
from rmqlab_tools.course.rule_judge import IsOneOf

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

RULES_5: Final = [*RULES.values()][-1]  # the newest version
EVERY_MS: Final = 2_500
QUEUES: Final = 4
ORDERS: Final = ("AAAABBBB", "ABABABAB", "BBBBAAAA", "AABBAABB", "ABBAABBA", "BAAABBAB")
FIRST: Final = ("AB", "BA")
MOST_LOST: Final = 7
KINDS: Final = ("push", "pop", "grpc")


def members(kind: str, first: str = "AB") -> Callable[[Lab], None]:
    """A step that starts A and B in one group, each with its own tag, in this order."""

    def start(lab: Lab) -> None:
        for who in first:
            lab.consumer(who, group="G", subscribe={"T": f"tag{who}"}, kind=kind)  # type: ignore[arg-type]
            lab.run(ms=200)

    return start


def slow(start: Callable[[Lab], object], tags: Sequence[str], rules: Rules = RULES_5) -> Lab:
    """A lab with the members that `start` starts, to which a message comes every 2.5 s."""
    lab = Lab(topics={"T": QUEUES}, rules=rules)
    start(lab)
    lab.run(seconds=8)
    for number, tag in enumerate(tags):
        lab.send("T", [f"tag{tag}"], queues=[number % QUEUES])
        lab.run(ms=EVERY_MS)
    lab.run(seconds=20)
    return lab


def burst(start: Callable[[Lab], object], tags: Sequence[str]) -> Lab:
    """The same, with all messages at once."""
    lab = Lab(topics={"T": QUEUES}, rules=RULES_5)
    start(lab)
    lab.run(seconds=30)
    lab.send("T", [f"tag{tag}" for tag in tags])
    lab.run(seconds=30)
    return lab


def _lost(lab: Lab) -> list[str]:
    return [f"{fate.body} ({fate.tag})" for fate in lab.fates() if fate.lost]


def waiter(answer: Any) -> str:
    """A rule for the line with which slow streams lose nothing, in every order of the tags that is tried."""
    needs_function(answer, _("Give the function itself: it takes (waiters, wants) and answers with a waiter or None."))
    if called(answer, ["waiter"], IsOneOf(("waiter",))) is ...:
        raise CheckFailed(OPEN_ANSWER)
    longest = 0

    def judged(waiters: Sequence[Any], wants: Callable[[Any], bool]) -> Any:
        nonlocal longest
        calls = 0

        def counted(waiter: Any) -> bool:
            nonlocal calls
            calls += 1
            return wants(waiter)

        chosen = answer(list(waiters), counted)
        longest = max(longest, calls)
        if chosen is not None and not any(chosen is waiter for waiter in waiters):
            raise CheckFailed(
                _("Return one of the waiters, or None."), problem=_("It returned {chosen}.", chosen=repr(chosen))
            )
        return chosen

    rules = RULES_5.replace(waiter_to_wake=judged)
    for kind in ("pop", "grpc"):
        for first in FIRST:
            for tags in ORDERS:
                lab = slow(members(kind, first), tags, rules)
                if lost := _lost(lab):
                    usual = len(_lost(slow(members(kind, first), tags)))
                    problem = ngettext(
                        "{kind}, {first} first in line, tags {tags}: {count} of {sent} is lost, {body}. "
                        "{version} loses {usual}.",
                        "{kind}, {first} first in line, tags {tags}: {count} of {sent} are lost, first {body}. "
                        "{version} loses {usual}.",
                        len(lost),
                        kind=kind,
                        first=first[0],
                        tags=tags,
                        sent=len(tags),
                        body=lost[0],
                        version=RULES_5.version,
                        usual=usual,
                    )
                    raise CheckFailed(problem=problem, lines=lost, picture=lab.waiting_line())
    return _(
        "Nothing was lost in {runs} streams. The price: for one message it asked up to {longest} waiters.",
        runs=2 * len(FIRST) * len(ORDERS),
        longest=longest,
    )


def order(answer: Any) -> str:
    """An order of four tagA and four tagB of which a POP group, A first in line, loses seven."""
    if answer is ...:
        raise CheckFailed(OPEN_ANSWER)
    tags = [str(tag).removeprefix("tag") for tag in answer] if isinstance(answer, list | tuple) else answer
    if not isinstance(tags, str | list) or sorted(tags := "".join(tags).replace(" ", "")) != list("AAAABBBB"):
        raise CheckFailed(_('Give a text of four A and four B, such as "ABABABAB".'), rule=OF_TASK)
    lab = slow(members("pop"), tags)
    lost = _lost(lab)
    if len(lost) < MOST_LOST:
        problem = _("{tags}: {lost} of eight are lost.", tags=tags, lost=len(lost))
        raise CheckFailed(problem=problem, lines=lost, picture=lab.waiting_line())
    return _("Seven of the eight messages of {tags} are lost.", tags=tags)


def design(answer: Any) -> str:
    """Members A and B that get all messages of their own tag and no other, however they receive."""
    needs_function(answer, _("Give the function itself: it takes (lab, kind) and starts A and B."))
    for kind in KINDS:

        def start(lab: Lab, kind: str = kind) -> None:
            if called_in_lab(answer, lab, kind) is ...:
                raise CheckFailed(OPEN_ANSWER)

        for send in (burst, slow):
            lab = send(start, "AAAABBBB")
            if set(lab.clients) != {"A", "B"}:
                running = joined(", ", sorted(lab.clients)) or _("nobody")
                raise CheckFailed(_("Start two consumers, A and B."), problem=_("{running} runs.", running=running))
            got = {(row.who, row.body) for row in lab.consumed()}
            for message in lab.messages():
                owner = (message.tag or "").removeprefix("tag")
                takers = sorted(who for who, body in got if body == message.body)
                if takers != [owner]:
                    raise CheckFailed(
                        problem=_(
                            "{kind}: {body} ({tag}) went to {takers}.",
                            kind=kind,
                            body=message.body,
                            tag=message.tag,
                            takers=joined(", ", takers) or _("nobody"),
                        )
                    )
    return _("Each got its own four messages and no other, with {kinds}.", kinds=joined(", ", KINDS))


CHECKS = {"15-waiter": waiter, "15-order": order, "15-design": design}
