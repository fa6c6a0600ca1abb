"""An audit as one HTML page: what each group lost, by which stage, since when, what is damaged, what to send again."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from html import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from rmqlab.lab.audit_report import CERTAINTIES, PERHAPS_WANTED, UNWANTED, kind_of, remarks
from rmqlab.lab.fates import LOSING, Fate
from rmqlab.show.tables import PAGE_STYLE, Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rmqlab.show.figure import Picture

MOST_GROUPS: Final = 24
MOST_ROWS: Final = 200
MOST_BINS: Final = 60
MINUTE_MS: Final = 60_000
_Row = dict[str, Any]


def audit_page(
    name: str, summary: dict[str, dict[str, _Row]], counts: Sequence[_Row], damage: Sequence[_Row], plan: Sequence[_Row]
) -> str:
    """Return the page. The arguments are what `rmqlab.spark.audit.auditing.Audit` has under these names.

    `plan` is the resend plan, `counts` are rows. Without matplotlib the page has its tables only, and says so.
    """
    rows = [(group, topic, one) for group, topics in summary.items() for topic, one in topics.items()]
    rows.sort(key=lambda row: (-row[2]["lost"], -row[2]["may_be_lost"], row[0], row[1]))
    lost, may, unknown = (sum(one[name] for _, _, one in rows) for name in ("lost", "may_be_lost", "unknown"))
    groups = sum(1 for _, _, one in rows if one["lost"])
    told = (
        f"{lost} messages lost in {groups} of {len(rows)} groups and topics, {may} more may be; what "
        f"became of {unknown} is unknown; {len(damage)} damaged places in the log."
    )
    is_fine = not (lost or may or damage) and any(one["sent"] for _, _, one in rows)
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        f"<title>Audit of {escape(name)}</title><style>{PAGE_STYLE}</style></head><body>",
        f"<h1>Audit of {escape(name)}</h1><p class='{'yes' if is_fine else 'no'}'>{told}</p>",
    ]
    parts += [f"<p>{escape(one)}</p>" for one in remarks(summary)]
    if find_spec("matplotlib") is None:
        parts.append("<p>There are no pictures: matplotlib is not installed.</p>")
    else:
        parts += [picture.html() for picture in _pictures(rows, counts)]
    parts += [_groups(rows).html(), _stages(rows).html()]
    parts += [_cells(rows, "tag", "Lost by tag").html(), _cells(rows, "queue", "Lost by queue").html()]
    parts += ["<h2>Damage</h2>", _damage(damage)]
    parts += ["<h2>What to send again</h2>", "<p>Nothing here sends anything.</p>", _plan(plan).html()]
    return "\n".join([*parts, "</body></html>\n"])


def _groups(rows: Iterable[tuple[str, str, _Row]]) -> Table:
    table = [
        (group, topic, one["sent"], one["delivered"], one["lost"], one["unknown"], one["may_be_lost"],
         _moment(one.get("first_lost")), _moment(one.get("last_lost")))
        for group, topic, one in rows
    ]  # fmt: skip
    headers = ("group", "topic", "sent", "delivered", "lost", "unknown", "may be lost", "first lost", "last lost")
    marked = frozenset(number for number, row in enumerate(table) if row[4])
    caption = "Groups and topics; delivered and lost: what is proved or implied; times are UTC"
    return Table(caption, headers, table, marked)


def _stages(rows: Sequence[tuple[str, str, _Row]]) -> Table:
    table = [
        (group, topic, fate, certainty, one["by_certainty"][certainty][fate])
        for group, topic, one in rows
        for certainty in CERTAINTIES
        for fate in Fate
        if fate in one["by_certainty"].get(certainty, {})
    ]
    caption = "What became of the messages, those that nobody asked for among them"
    shown = caption if len(table) <= MOST_ROWS else f"{caption}: the first {MOST_ROWS} of {len(table)}"
    return Table(shown, ("group", "topic", "fate", "certainty", "messages"), table[:MOST_ROWS])


def _cells(rows: Iterable[tuple[str, str, _Row]], part: str, caption: str) -> Table:
    table = [
        (group, topic, cell or "none", number)
        for group, topic, one in rows
        for cell, number in sorted(one[f"lost_by_{part}"].items(), key=lambda item: (-item[1], item[0]))
    ]
    shown = caption if len(table) <= MOST_ROWS else f"{caption}: the first {MOST_ROWS} of {len(table)}"
    return Table(shown, ("group", "topic", part, "lost"), table[:MOST_ROWS], folded=True)


def _damage(damage: Sequence[_Row]) -> str:
    if not damage:
        return "<p>Every record is whole.</p>"
    names = ("physicalOffset", "size", "reason", "topic", "queueId", "queueOffset")
    table = [tuple("" if row[name] is None else row[name] for name in names) for row in damage[:MOST_ROWS]]
    more = "" if len(damage) <= MOST_ROWS else f": the first {MOST_ROWS} of {len(damage)}; damage.json has them all"
    headers = ("commit log offset", "bytes", "what is wrong", "topic", "queue", "queue offset")
    return Table(f"Damaged places in the commit log{more}", headers, table).html()


def _plan(plan: Sequence[_Row]) -> Table:
    table = [
        (one["group"], one["topic"], len(one["messages"]), one["to_topic"]["duplicates"],
         one["to_retry_topic"]["topic"], one["to_retry_topic"]["duplicates"], len(one["perhaps"]))
        for one in plan
    ]  # fmt: skip
    headers = (
        "group", "topic", "messages", "twice for others, if sent to the topic", "or to", "twice for others",
        "that may be lost, besides",
    )  # fmt: skip
    return Table("The plan (resend.json names every message); repair the subscriptions first", headers, table)


def _pictures(rows: Sequence[tuple[str, str, _Row]], counts: Sequence[_Row]) -> list[Picture]:
    made = [fates_by_group(rows, counts)]
    worst = rows[0] if rows and rows[0][2]["lost"] else None
    return [*made, losses_over_time(worst[0], worst[1], counts)] if worst else made


def fates_by_group(rows: Sequence[tuple[str, str, _Row]], counts: Iterable[_Row]) -> Picture:
    """One bar for each group and topic, the most lost first: which share of its messages met which fate."""
    from rmqlab.show.audit.pictures import look_of
    from rmqlab.show.chart import canvas, svg_of
    from rmqlab.show.figure import Picture
    from rmqlab.show.palette import BLACK

    keys = [(group, topic) for group, topic, _ in rows[:MOST_GROUPS]]
    cells: Counter[tuple[str, str, str]] = Counter()
    for row in counts:
        cells[row["group"], row["topic"], kind_of(row)] += row["messages"]
    kinds = [kind for kind in (*map(str, Fate), PERHAPS_WANTED, UNWANTED) if any(cells[(*key, kind)] for key in keys)]
    sums = [max(1, sum(cells[(*key, kind)] for kind in kinds)) for key in keys]
    title = f"What became of the messages of {len(keys)} groups and topics"
    with canvas(8.2, 1.3 + 0.26 * len(keys)) as figure:
        height = 1.3 + 0.26 * len(keys)
        axes = figure.add_axes((0.36, 0.95 / height, 0.61, 1 - 1.3 / height))
        left = [0.0] * len(keys)
        for kind in kinds:
            colour, hatch, words = look_of(kind)
            shares = [100 * cells[(*key, kind)] / total for key, total in zip(keys, sums, strict=True)]
            axes.barh(
                range(len(keys)), shares, 0.8, left=left, color=colour, hatch=hatch, edgecolor=BLACK, linewidth=0.4,
                label=words,
            )  # fmt: skip
            left = [low + share for low, share in zip(left, shares, strict=True)]
        axes.set_yticks(range(len(keys)), [_short(f"{group} · {topic}") for group, topic in keys])
        axes.invert_yaxis()
        axes.set_xlim(0, 100)
        axes.set_xlabel("% of the messages sent to the topic")
        axes.spines[["top", "right"]].set_visible(False)
        figure.text(0.012, 1 - 0.16 / height, title, fontsize=10.5, fontweight="bold", va="center")
        figure.legend(loc="lower left", bbox_to_anchor=(0.01, 0.0), ncols=3, frameon=False, fontsize=8)
        svg = svg_of(figure)
    table = Table(title, ("group", "topic", *kinds), [(*key, *(cells[(*key, kind)] for kind in kinds)) for key in keys])
    lost, unknown = (sum(one[name] for _, _, one in rows) for name in ("lost", "unknown"))
    alt = f"A bar for each group and topic, divided by fate. {lost} messages were lost, {unknown} are unknown."
    if rows and rows[0][2]["lost"]:
        alt += f" {rows[0][0]} lost the most, {rows[0][2]['lost']} of {rows[0][2]['sent']}."
    return Picture(svg, title=title, alt=alt, table=table)


def losses_over_time(group: str, topic: str, counts: Iterable[_Row]) -> Picture:
    """Messages of a topic by the time they were stored: which were lost for the group, and by which stage."""
    from matplotlib.ticker import MaxNLocator

    from rmqlab.show.audit.pictures import look_of
    from rmqlab.show.chart import canvas, svg_of
    from rmqlab.show.figure import Picture
    from rmqlab.show.palette import BLACK

    mine = [row for row in counts if (row["group"], row["topic"]) == (group, topic)]
    first = min(row["minute"] for row in mine)
    width = -(-(max(row["minute"] for row in mine) - first + 1) // MOST_BINS)
    cells: Counter[tuple[int, str]] = Counter()
    for row in mine:
        cells[(row["minute"] - first) // width, kind_of(row)] += row["messages"]
    bins = range(max(number for number, _ in cells) + 1)
    # What was lost is at the bottom, so that its heights can be compared.
    order = sorted(Fate, key=lambda fate: fate not in LOSING)
    kinds = [
        kind for kind in (*map(str, order), PERHAPS_WANTED, UNWANTED) if any(cells[number, kind] for number in bins)
    ]
    unit = "minute" if width == 1 else f"{width} minutes"
    title = f"{_short(group)}, {_short(topic)}: losses by {unit}"
    with canvas(8.2, 3.1) as figure:
        axes = figure.add_axes((0.09, 0.35, 0.89, 0.52))
        base = [0] * len(bins)
        for kind in kinds:
            colour, hatch, words = look_of(kind)
            heights = [cells[number, kind] for number in bins]
            axes.bar(
                bins, heights, 0.86, bottom=base, color=colour, hatch=hatch, edgecolor=BLACK, linewidth=0.4, label=words
            )
            base = [low + one for low, one in zip(base, heights, strict=True)]
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_ylabel(f"messages in {unit}")
        axes.set_xlabel(f"{unit} since {_moment(first * MINUTE_MS)} UTC")
        axes.spines[["top", "right"]].set_visible(False)
        figure.text(0.012, 0.95, title, fontsize=10.5, fontweight="bold", va="center")
        figure.legend(loc="lower left", bbox_to_anchor=(0.01, 0.0), ncols=3, frameon=False, fontsize=8)
        svg = svg_of(figure)
    rows = [
        (_moment((first + number * width) * MINUTE_MS), *(cells[number, kind] for kind in kinds)) for number in bins
    ]
    lost = sum(number for (_, kind), number in cells.items() if kind in set(map(str, LOSING)))
    alt = f"Bars over time: {lost} of {sum(cells.values())} messages of {topic} were lost for {group}."
    return Picture(svg, title=title, alt=alt, table=Table(title, ("from", *kinds), rows))


def _short(text: str, most: int = 40) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _moment(time: int | None) -> str:
    """Return a time (epoch ms) as text, to the second."""
    if time is None:
        return ""
    try:
        return datetime.fromtimestamp(time / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, ValueError, OSError):  # a damaged record may name any time
        return f"{time} ms"
