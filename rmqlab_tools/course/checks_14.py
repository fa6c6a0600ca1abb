"""The checks of notebook 14: a rule of the doctor, losses counted from real queue entries, a group mended in a lab."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rmqlab.checkout import data
from rmqlab.language import _, joined, ngettext, sentences
from rmqlab.message.topics import is_retry_topic
from rmqlab.protocol.subscription_data import build_subscription
from rmqlab.run.fates import Fate, fate_words
from rmqlab_tools.course.answers import called, called_in_lab, needs_function, needs_number
from rmqlab_tools.course.check import OF_TASK, OPEN_ANSWER, CheckFailed
from rmqlab_tools.course.price import price_of
from rmqlab_tools.doctor.doctor import doctor
from rmqlab_tools.search.lint.findings import LintVerdict
from rmqlab_tools.search.lint.meaning import lint
from rmqlab_tools.search.lint.members import LintGroup, LintMember

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab_tools.doctor.diagnosis import Diagnosis

COMPARED_VERSIONS: Final = ("4.8.0", "5.3.3")
COUNTED: Final = ("5.3.3", "Wider")
ROUNDS: Final = 3
WISHES: Final = {"A": "tagA", "B": "tagB"}  # before anybody mends anything
Members = dict[str, dict[str, str]]
SMALL: Final[tuple[Members, ...]] = (
    {"A": {"T": "tagA"}},
    {"A": {"T": "tagA"}, "B": {"T": "tagB"}},
    {"A": {"T": "tagA || tagB"}, "B": {"T": "tagB||tagA"}},
    {"A": {"T": "*"}, "B": {"T": "tagA"}},
    {"A": {"T": "tagA || tagA"}, "B": {"T": "tagA"}},
    {"A": {"T": "tagA || tagB"}, "B": {"T": "tagA"}},
    {"A": {"T": "taga"}, "B": {"T": "tagA"}},
    {"A": {"T": "tagA", "U": "*"}, "B": {"T": "tagA"}},
    {"A": {"T": "x", "U": "y"}, "B": {"T": "x", "U": "z"}, "C": {"T": "x", "U": "y"}},
    {"A": {"T": "Aa"}, "B": {"T": "Aa"}, "C": {"T": "BB"}},  # one code
)


def recorded(version: str) -> Diagnosis:
    """What the two looks at the scene on the real broker of a version say."""
    return doctor(recorded=[data(f"doctor/{version}-{look}.json") for look in (1, 2)])


def disagree(answer: Any) -> str:
    """A function from members (client to topic to tag expression) to the set of topics on which they disagree."""
    needs_function(answer, _("Give a function of one argument, the members."), rule=OF_TASK)
    for number, (where, members) in enumerate(_cases(), 1):
        right, given = _disagreeing(members), called(answer, members)
        if given is ...:
            raise CheckFailed(OPEN_ANSWER)
        if not isinstance(given, set | frozenset):
            raise CheckFailed(_("Return a set of topics."), rule=OF_TASK)
        if set(given) != right:
            problem = _(
                "Case {number}, {where}: {members}: your rule gives {given}, rmqlab.lint gives {right}.",
                number=number,
                where=where,
                members=members,
                given=joined(", ", sorted(map(str, given))) or _("no topic"),
                right=joined(", ", sorted(right)) or _("no topic"),
            )
            raise CheckFailed(problem=problem)
    return _(
        "It agrees with rmqlab.lint in {number} groups, real ones of {versions} among them.",
        number=number,
        versions=joined(" and ", COMPARED_VERSIONS),
    )


def _cases() -> Iterator[tuple[str, Members]]:
    """Small groups first, then those of the recorded clusters that ask by tags alone and whose members all answered."""
    yield from ((_("a small group"), members) for members in SMALL)
    for version in COMPARED_VERSIONS:
        for name, group in recorded(version).look.groups.items():
            reported = {client: member.subscriptions or {} for client, member in group.members.items()}
            if (
                reported
                and all(reported.values())
                and all(data.is_tag for subscriptions in reported.values() for data in subscriptions.values())
            ):
                asked_for = {
                    client: {
                        topic: str(data.sub_string)
                        for topic, data in subscriptions.items()
                        if not is_retry_topic(topic)
                    }
                    for client, subscriptions in reported.items()
                }
                yield _("group {name} on {version}", name=name, version=version), asked_for


def _disagreeing(members: Members) -> set[str]:
    group = LintGroup("G")
    for client, subscriptions in members.items():
        group.hear(
            LintMember(client, {topic: build_subscription(topic, text, "TAG") for topic, text in subscriptions.items()})
        )
    return {topic_lint.topic for topic_lint in lint(group).topics if topic_lint.verdict is not LintVerdict.CONSISTENT}


def lost(answer: Any) -> str:
    """How many entries of the group `Wider` on the real 5.3.3 were asked for and dropped: a whole number."""
    needs_number(answer, _("Give a whole number."))
    version, name = COUNTED
    judged = next(group for group in recorded(version).groups if group.group == name)
    if answer != judged.lost:
        read = sum(passed.read for passed in recorded(version).look.groups[name].passed.values())
        raise CheckFailed(problem=_("Not {answer} of {read} entries.", answer=answer, read=read))
    return _("The owner that asks for one tag drops the others, in its own queues.")


def mend(answer: Any) -> str:
    """A function that takes the lab of the group `Article`, and does steps after which nothing is lost any more."""
    needs_function(answer, _("Give a function of one argument, the lab."), rule=OF_TASK)
    lab = recorded("4.8.0").lab("Article")
    if called_in_lab(answer, lab) is ...:
        raise CheckFailed(OPEN_ANSWER)
    if sorted(lab.clients) != ["A", "B"]:
        raise CheckFailed(
            _("Both members must run in the end."),
            problem=_("{clients} runs.", clients=joined(", ", lab.clients) or _("Nobody")),
        )
    before = len(lab.fates())
    for _ignored in range(ROUNDS):
        lab.send("Orders", tags=["tagA", "tagB"] * 4, queues=[0, 0, 1, 1, 2, 2, 3, 3])
        lab.run(seconds=1)
    lab.run(seconds=60)
    after = lab.fates()[before:]
    gone = [fate for fate in after if fate.fate != Fate.DELIVERED]
    if gone:
        lines = [
            _(
                "{body} {tag}, queue {queue}: {fate_words}",
                body=fate.body,
                tag=fate.tag,
                queue=fate.queue,
                fate_words=fate_words(fate.fate),
            )
            for fate in gone[:3]
        ]
        problem = _(
            "{gone} of {after} messages that were sent afterwards did not arrive.", gone=len(gone), after=len(after)
        )
        raise CheckFailed(problem=problem, lines=lines)
    unasked = price_of(lab.finish().run, WISHES).unasked
    said = _("All {after} messages that were sent afterwards arrived.", after=len(after))
    return sentences(said, _price(len(unasked))) if unasked else said


def _price(unasked: int) -> str:
    return ngettext(
        "The price: {count} message of the other tag went to a member.",
        "The price: {count} messages of the other tag went to members.",
        unasked,
    )


CHECKS = {"14-disagree": disagree, "14-lost": lost, "14-mend": mend}
