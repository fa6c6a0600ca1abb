"""A group of a diagnosis as a picture: who asks for what, what the brokers hold, what its queues pass and drop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from rmqlab.errors import BadInput
from rmqlab.language import _, joined, ngettext
from rmqlab_tools.doctor.finding import counted
from rmqlab_tools.doctor.group_context import GroupCase
from rmqlab_tools.show.canvas import WIDTH, Canvas, fitted, painted
from rmqlab_tools.show.figure import Picture
from rmqlab_tools.show.palette import GREEN, GREY, VERMILLION, WHITE
from rmqlab_tools.show.tables import Table
from rmqlab_tools.show.tag_colours import NOTHING, Paint, paint

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rmqlab.protocol.subscription_data import SubscriptionData
    from rmqlab_tools.doctor.finding import GroupDiagnosis
    from rmqlab_tools.doctor.snapshot import ClusterSnapshot, MemberSeen

SHOWN_MEMBERS: Final = 8
SHOWN_QUEUES: Final = 16
UNKNOWN_ASK = _("asks: not known")


@dataclass(frozen=True)
class GroupPictureLayout:
    """Sizes of the picture of a group, in inches."""

    top: float = 0.62
    row: float = 0.42
    box: float = 2.55
    slot_x: float = 2.75
    slot: float = 2.1
    queue_x: float = 5.0
    name: float = 1.15
    bar_x: float = 6.25
    bar: float = 1.2


GROUP_PICTURE = GroupPictureLayout()


class _QueueRow(NamedTuple):
    """A queue: its name, its owner's client id ("" without one), entries read, and those lost; None: not known."""

    name: str
    owner: str
    read: int | None
    lost: int


class JudgedPicture(Picture):
    """A group's picture, and in a table below it what was found, how certain that is, and what to do."""

    def __init__(self, picture: Picture, judged: GroupDiagnosis) -> None:
        self.title, self.alt, self.table, self.svg = picture.title, picture.alt, picture.table, picture.svg
        rows = [(_(found.certainty.value), found.says, found.advice) for found in judged.findings]
        headers = (_("certainty"), _("what was seen"), _("what to do"))
        caption = _("What was found in group {group}", group=judged.group)
        self.findings = Table(caption, headers, rows or [("", _("nothing was found"), "")])

    def words(self) -> str:
        """The findings, then description and table as folded HTML."""
        return f"{self.findings.html()}{super().words()}"


def group_picture(look: ClusterSnapshot, judged: GroupDiagnosis, topic: str | None = None) -> Picture:
    """One group and one topic of it (None: the topic of its worst finding, else the first).

    Members stand on the left with what they ask for, in the colour of their queues; in the middle is what each broker
    holds for the group; on the right each queue with its owner, and how much of what was read was asked for and
    dropped.

    Raises:
        BadInput: no member of the group asks for the topic, or for any.
    """
    case = GroupCase(look, look.groups[judged.group])
    if topic is None:
        worst = (finding.topic for finding in judged.findings if finding.topic in case.topics)
        topic = next(worst, case.topics[0] if case.topics else None)
    if topic is None or topic not in case.topics:
        raise BadInput(
            _(
                "group {name}: no member asks for {topic}, so there is nothing to draw",
                name=case.group.name,
                topic=topic or _("any topic"),
            )
        )
    members = [(client, _ask(member, topic)) for client, member in sorted(case.group.members.items())]
    slots = [(broker, _text(subscription)) for broker, subscription in sorted(case.slots(topic).items())]
    slot_paints = {broker: paint(subscription.sub_string) for broker, subscription in case.slots(topic).items()}
    queues = _queue_rows(case, judged, topic)
    title = _("{group}, {topic}: {state}", group=case.group.name, topic=topic, state=str(judged.state))
    rows = max(min(len(members), SHOWN_MEMBERS), len(slots), min(len(queues), SHOWN_QUEUES), 1)
    colours = {client: _paint(member, topic) for client, member in case.group.members.items()}
    names = _short_names(case.group.members)
    most = max((queue.read or 0 for queue in queues), default=0)
    left_out = max(0, len(members) - SHOWN_MEMBERS), max(0, len(queues) - SHOWN_QUEUES)
    more = (
        _(
            "; not shown: {members}, {queues}",
            members=counted(left_out[0], "member"),
            queues=counted(left_out[1], "queue"),
        )
        if any(left_out)
        else ""
    )

    def draw(canvas: Canvas) -> None:
        canvas.text(0.08, 0.17, title, ha="left", size=11, bold=True)
        heads = (
            (0.08, _("members")),
            (GROUP_PICTURE.slot_x, _("the broker holds")),
            (GROUP_PICTURE.queue_x, _("queue: owner")),
            (GROUP_PICTURE.bar_x, _("passed last")),
        )
        for x, words in heads:
            canvas.text(x, 0.45, words, ha="left", colour=GREY)
        for row, (client, ask) in enumerate(members[:SHOWN_MEMBERS]):
            with canvas.saying(f"{client} {ask}"):
                _draw_box(
                    canvas,
                    0.08,
                    GROUP_PICTURE.top + row * GROUP_PICTURE.row,
                    GROUP_PICTURE.box,
                    colours[client],
                    names[client],
                    ask,
                )
        for row, (broker, text) in enumerate(slots):
            with canvas.saying(_("{broker} holds {text}", broker=broker, text=text)):
                _draw_box(
                    canvas,
                    GROUP_PICTURE.slot_x,
                    GROUP_PICTURE.top + row * GROUP_PICTURE.row,
                    GROUP_PICTURE.slot,
                    slot_paints[broker],
                    broker,
                    text,
                )
        for row, queue in enumerate(queues[:SHOWN_QUEUES]):
            _draw_queue(canvas, GROUP_PICTURE.top + row * GROUP_PICTURE.row, queue, colours, names, most)
        words = _("red, hatched: asked for by a member, and dropped{more}", more=more)
        canvas.text(0.08, rows * GROUP_PICTURE.row + GROUP_PICTURE.top + 0.14, words, ha="left", colour=GREY)

    svg = painted(WIDTH, GROUP_PICTURE.top + GROUP_PICTURE.row * rows + 0.4, draw)
    return Picture(svg, title=title, alt=_alt(title, members, slots, queues), table=_table(title, members, queues))


def _short_names(clients: Iterable[str]) -> dict[str, str]:
    """Client ids without the address before the `@`, if no two are then alike."""
    names = {client: client.rpartition("@")[2] or client for client in clients}
    return names if len(set(names.values())) == len(names) else {client: client for client in names}


def _text(data: SubscriptionData) -> str:
    return f"{'' if data.is_tag else f'{data.expression_type} '}{data.sub_string}"


def _ask(member: MemberSeen, topic: str) -> str:
    """What a member asks of a topic, in words."""
    if member.subscriptions is None:
        return UNKNOWN_ASK
    data = member.subscriptions.get(topic)
    return _("asks: nothing here") if data is None else _("asks: {data}", data=_text(data))


def _paint(member: MemberSeen, topic: str) -> Paint:
    """The colours of what a member asks of a topic; of what is not known, those of nothing."""
    data = (member.subscriptions or {}).get(topic)
    return NOTHING if data is None else paint(data.sub_string)


def _queue_rows(case: GroupCase, judged: GroupDiagnosis, topic: str) -> list[_QueueRow]:
    losing = [finding for finding in judged.findings if finding.kind == "losing_messages" and finding.topic == topic]
    lost = losing[0].evidence["by_queue"] if losing else {}
    rows = []
    for queue in case.queues(topic):
        passed = case.group.passed.get(queue)
        read = passed.read or None if passed is not None else 0 if queue in case.group.offsets else None
        name = f"{queue.broker_name}/{queue.queue_id}"
        rows.append(_QueueRow(name, " + ".join(case.owners.get(queue, ())), read, lost.get(name, 0)))
    return rows


def _draw_box(canvas: Canvas, x: float, y: float, wide: float, face: Paint, name: str, says: str) -> None:
    """A name and below it what it says; of what is too long the end is shown, for client ids differ there."""
    canvas.block(x, y, wide, GROUP_PICTURE.row - 0.06, face, corner=0.05)
    for below, text in ((0.1, name), (0.27, says)):
        shown = fitted(text, wide - 0.16, at_end=True)
        canvas.text(x + 0.08, y + below, shown, ha="left", bold=text is says, on=face)


def _draw_queue(
    canvas: Canvas, y: float, queue: _QueueRow, colours: dict[str, Paint], names: dict[str, str], most: int
) -> None:
    owner = " + ".join(names.get(client, client) for client in queue.owner.split(" + ")) or _("nobody")
    face = colours.get(queue.owner, NOTHING if queue.owner else (WHITE,))
    with canvas.saying(_("queue {name}, {owner}: {passed}", name=queue.name, owner=owner, passed=_passed(queue))):
        canvas.block(
            GROUP_PICTURE.queue_x,
            y,
            GROUP_PICTURE.name,
            GROUP_PICTURE.row - 0.06,
            face,
            edge=GREY,
            edge_width=0.6,
            corner=0.05,
        )
        for below, text in ((0.1, queue.name), (0.27, owner)):
            shown = fitted(text, GROUP_PICTURE.name - 0.1, at_end=True)
            canvas.text(GROUP_PICTURE.queue_x + 0.06, y + below, shown, ha="left", on=face)
        if queue.read:
            wide, lost = GROUP_PICTURE.bar * queue.read / most, GROUP_PICTURE.bar * queue.lost / most
            canvas.block(GROUP_PICTURE.bar_x, y + 0.06, wide - lost, GROUP_PICTURE.row - 0.18, GREEN)
            canvas.block(
                GROUP_PICTURE.bar_x + wide - lost, y + 0.06, lost, GROUP_PICTURE.row - 0.18, VERMILLION, hatch="/"
            )
        canvas.text(
            GROUP_PICTURE.bar_x + GROUP_PICTURE.bar + 0.08,
            y + GROUP_PICTURE.row / 2 - 0.03,
            _passed(queue),
            ha="left",
            bold=bool(queue.lost),
        )


def _passed(queue: _QueueRow) -> str:
    if not queue.read:
        return _("nothing passed") if queue.read == 0 else _("not known")
    return (
        _("{lost} of {read} lost", lost=queue.lost, read=queue.read)
        if queue.lost
        else _("{read}, none lost", read=queue.read)
    )


def _alt(title: str, members: list[tuple[str, str]], slots: list[tuple[str, str]], queues: list[_QueueRow]) -> str:
    asking = [f"{client} {ask}" for client, ask in members[:SHOWN_MEMBERS]]
    holding = [_("{broker} holds {text}", broker=broker, text=text) for broker, text in slots]
    lost, read = sum(queue.lost for queue in queues), sum(queue.read or 0 for queue in queues)
    return ngettext(
        "{title}. {told}. {lost} of {read} message read was asked for and dropped.",
        "{title}. {told}. {lost} of {read} messages read were asked for and dropped.",
        read,
        title=title,
        told=joined("; ", [*asking, *holding]),
        lost=lost,
        read=read,
    )


def _table(title: str, members: list[tuple[str, str]], queues: list[_QueueRow]) -> Table:
    asks = dict(members)
    rows = [(queue.name, queue.owner or _("nobody"), asks.get(queue.owner, ""), _passed(queue)) for queue in queues]
    lost = frozenset(number for number, queue in enumerate(queues) if queue.lost)
    return Table(title, (_("queue"), _("owner"), _("its owner"), _("what passed last")), rows, marked=lost)
