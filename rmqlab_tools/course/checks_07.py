"""The checks of notebook 07: a strategy of one's own, an id for a newcomer, two broken rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from rmqlab.lab.lab import Lab
from rmqlab.language import _, joined, ngettext
from rmqlab.rules import DEFAULT_RULES, Rules
from rmqlab_tools.course.answers import called, hunt_by_name, needs_function
from rmqlab_tools.course.check import OF_TASK, CheckFailed
from rmqlab_tools.course.mutants import broken
from rmqlab_tools.course.order_judge import must_hold_in_every_order
from rmqlab_tools.search.explorer.properties import every_queue_owned, one_owner
from rmqlab_tools.show.ribbons import allotment_grid

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rmqlab_tools.show.figure import Picture

# Task 1: groups and numbers of queues that a strategy must divide; the simplest first.
GROUPS = (("A",), ("A", "B"), ("A", "B", "C"), ("ann", "bob", "eve", "joe"), ("n1", "n2", "n3", "n4", "n5"))
NUMBERS = (2, 4, 60)
FAIR_FROM, FAIR = 60, 2  # from so many queues on nobody has more than twice the fair share
# Task 2.
IDS, QUEUES, MIN_MOVES = ("10.0.0.20@A", "10.0.0.30@B", "10.0.0.40@C"), 8, 2
HUNTED = ("olive", "poppy")
SUSPECTS = ("allocate", "is_notified", "is_expired", "stamp_sub_version", "compute_pull_from_where")


def own_strategy(answer: Any) -> str:
    """A function (current_cid, mq_all, cid_all): the member's queues. A leaver's queues move, and no others."""
    needs_function(answer, _("Give the function itself: allocate, without brackets."))
    for ids in GROUPS:
        for count in NUMBERS:
            shares = _shares(answer, ids, count)
            _owned_once(shares, ids, count)
            if count >= FAIR_FROM and max(map(len, shares.values())) > FAIR * count / len(ids):
                sizes = joined(", ", (f"{client} {len(share)}" for client, share in shares.items()))
                raise CheckFailed(
                    case="fair",
                    problem=_(
                        "members {ids}, number of queues {count}: {sizes}.",
                        count=count,
                        ids=joined(", ", ids),
                        sizes=sizes,
                    ),
                )
            for leaver in ids if len(ids) > 1 else ():
                _only_its_own_move(answer, ids, leaver, count)
    rules = DEFAULT_RULES.replace(allocate=answer)
    for wanted in (every_queue_owned, one_owner):
        must_hold_in_every_order([_lab()], rules, wanted)
    return _(
        "{groups} groups, and every order of a run: only a leaver's queues move.", groups=len(GROUPS) * len(NUMBERS)
    )


def _shares(answer: Any, ids: Sequence[str], count: int) -> dict[str, list[int]]:
    shares = {}
    for client in ids:
        context = _("{who} of {ids}, number of queues {count}:", who=client, ids=joined(", ", ids), count=count) + " "
        shares[client] = share = called(answer, client, list(range(count)), list(ids), context=context)
        if not isinstance(share, list) or not set(share) <= set(range(count)):
            problem = _("{told}it gives {found}.", told=context, found=f"{share!r}")
            raise CheckFailed(_("The answer is a list with some of the queues in mq_all."), problem=problem)
    return shares


def _owners(shares: Mapping[str, Sequence[int]], count: int) -> list[str]:
    return ["+".join(client for client, share in shares.items() if queue in share) for queue in range(count)]


def _owned_once(shares: Mapping[str, Sequence[int]], ids: Sequence[str], count: int) -> None:
    owners = _owners(shares, count)
    problems = [
        _("{who} takes queue {one} twice", who=client, one=number)
        for client, share in shares.items()
        for number in share
        if share.count(number) > 1
    ]
    for queue, owner in enumerate(owners):
        if owner not in ids:
            problems.append(
                _(
                    "queue {queue} belongs to {who}",
                    queue=queue,
                    who=joined(" and ", owner.split("+")) if owner else _("nobody"),
                )
            )
    if problems:
        _wrong("once", problems[0], ids, _("every member computes"), owners, owners)


def _only_its_own_move(answer: Any, ids: Sequence[str], leaver: str, count: int) -> None:
    before = _owners(_shares(answer, ids, count), count)
    after = _owners(_shares(answer, [client for client in ids if client != leaver], count), count)
    moved = [queue for queue in range(count) if before[queue] not in {leaver, after[queue]}]
    if moved:
        problem = _(
            "{leaver} leaves, and queue {moved} of {before} moves",
            leaver=leaver,
            moved=moved[0],
            before=before[moved[0]],
        )
        _wrong("leaver", problem, ids, _("{leaver} leaves", leaver=leaver), before, after)


def _wrong(case: str, problem: str, ids: Sequence[str], title: str, before: list[str], after: list[str]) -> NoReturn:
    count = len(before)
    picture = _picture(title, before, after) if count <= NUMBERS[1] else None
    raise CheckFailed(
        case=case,
        problem=_("members {ids}, number of queues {count}: {told}.", count=count, ids=joined(", ", ids), told=problem),
        picture=picture,
    )


def _picture(title: str, before: list[str], after: list[str], name: str = _("your strategy")) -> Picture:
    return allotment_grid([{"name": name, "before": before, "after": after}], title=title)


def _lab() -> Lab:
    """A joins, then B; small enough for every order."""
    lab = Lab(topics={"T": 2})
    for name in "AB":
        lab.consumer(name, group="G", subscribe={"T": "*"})
        lab.run(seconds=25)
    lab.send("T", [None] * 2, queues=[0, 1])
    lab.run(seconds=5)
    return lab


def newcomer(answer: Any) -> str:
    """A client id for a newcomer, so that under the default strategy no more queues move than must."""
    if not isinstance(answer, str) or not answer or answer in IDS:
        raise CheckFailed(_("Give one text: an id that no member has."))

    def owners(ids: Sequence[str]) -> list[str]:
        shares = {client: DEFAULT_RULES.allocate(client, range(QUEUES), sorted(ids)) for client in ids}
        return _owners(shares, QUEUES)

    before, after = owners(IDS), owners([*IDS, answer])
    moved = sum(owner != other for owner, other in zip(before, after, strict=True))
    if moved > MIN_MOVES:
        old, new = (
            [client.partition("@")[2] if client in IDS else "N" for client in owners_of]
            for owners_of in (before, after)
        )
        picture = _picture(_("{answer} joins", answer=answer), old, new, _("the default"))
        raise CheckFailed(problem=ngettext("{count} queue moves.", "{count} queues move.", moved), picture=picture)
    return ngettext(
        "{count} of {queues} queues moves: as few as the newcomer needs.",
        "{count} of {queues} queues move: as few as the newcomer needs.",
        moved,
        queues=QUEUES,
    )


def _other_ribbons(name: str, said: str) -> CheckFailed:
    return CheckFailed(
        _("{name}: compare its ribbons with the sound ones: owners, and the ticks of who is told.", name=name),
        rule=OF_TASK,
        problem=_("{name}: it is not {said}.", name=name, said=said),
        picture=story(broken(name)).ribbons(),
    )


def story(rules: Rules) -> Lab:
    """A, B and C join on five queues; later B leaves."""
    lab = Lab(topics={"T": 5}, rules=rules)
    for name in "ABC":
        lab.consumer(name, group="G", subscribe={"T": "*"})
        lab.run(seconds=10)
    lab.run(seconds=45)
    lab.stop("B")
    lab.run(seconds=45)
    return lab


CHECKS = {
    "07-rule": own_strategy,
    "07-newcomer": newcomer,
    "07-hunt": hunt_by_name(HUNTED, SUSPECTS, _other_ribbons, _("{hunted}: both found.", hunted=joined(", ", HUNTED))),
}
