"""Pictures and tables of notebook 13: the guess, the same answer everywhere, what it costs, how many workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rmqlab.lab.cluster_times import GIB
from rmqlab.show.chart import canvas, svg_of
from rmqlab.show.explore import ChoiceControl, Mode, explore
from rmqlab.show.figure import Picture
from rmqlab.show.palette import BLACK, BLUE, GREY, ORANGE, SKY, VERMILLION
from rmqlab.show.tables import Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rmqlab.lab.cluster_times import ClusterTimes
    from rmqlab.lab.interval import Interval

ONE, TWO = "local, 1 core", "cluster, 2 workers"
PARTS: Final = (("session", ORANGE, "//"), ("first job", SKY, ".."), ("the data", BLUE, ""))
STORES: Final = {"1 GiB": 1.0, "32 GiB": 32.0, "256 GiB": 256.0, "2 TiB": 2048.0, "16 TiB": 16384.0}
TIMES: Final = {"2 minutes": 2.0, "10 minutes": 10.0, "an hour": 60.0}
WORKERS: Final = tuple(2**power for power in range(9))


def same_answer(ran: Sequence[Sequence[Any]], stored: Sequence[Sequence[Any]] = ()) -> Table:
    """What each place said: where, address, workers, messages, lost, digest of the lost ids.

    `ran` was run just now; of `stored`, an earlier run, the places that are not in `ran` are shown too.
    """
    live = {one[0] for one in ran}
    rows = [(*one, "just now") for one in ran] + [(*one, "stored") for one in stored if one[0] not in live]
    same = len({one[5] for one in rows}) == 1
    headers = ("where", "address", "workers that ran it", "messages", "lost", "digest of their ids", "run")
    told = "the same answer everywhere" if same else "the answers differ"
    marked = frozenset() if same else frozenset(range(len(rows)))
    return Table(f"The audit at {len(rows)} addresses: {told}", headers, rows, marked)


def guessed(guess: Mapping[str, object], ran: Sequence[Sequence[Any]], times: ClusterTimes) -> Table:
    """The guess of notebook 13 beside what came out: lines that change, and the small store on one core and on two."""
    shared, alone = (times.sizing(name, 0).seconds(workers) for name, workers in ((TWO, 2), (ONE, 1)))
    told = f"one core is done after {alone.median:.0f} s of CPU, the cluster of two workers after {shared.median:.0f} s"
    rows = [
        ("lines that change", guess["lines"], "0: the same command ran" if ran else "0, as stored"),
        ("a small store on two workers", guess["small store"], "later" if shared.low > alone.high else "sooner"),
        ("", "", told),
    ]
    return Table("Your guess and what came out", ("", "guess", "here"), rows)


def cost_picture(times: ClusterTimes) -> Picture:
    """CPU seconds at every place: the session, the first job, and the data of the store that was measured."""
    costs = [(one.name, one.session, one.first, one.spent.median) for one in times.places]
    gib = times.bytes / GIB
    messages = f"{times.messages:,}".replace(",", "\u2009")
    title = f"Where the time goes: an audit of {gib:.2g} GiB, {messages} messages"
    with canvas(8.2, 0.42 * len(costs) + 1.35) as figure:
        height = 0.42 * len(costs) + 1.35
        axes = figure.add_axes((0.17, 0.78 / height, 0.8, 0.42 * len(costs) / height))
        left = [0.0] * len(costs)
        columns = ([row[1] for row in costs], [row[2] for row in costs], [row[3] for row in costs])
        for (part, colour, hatch), widths in zip(PARTS, columns, strict=True):
            axes.barh(
                range(len(costs)), widths, 0.66, left=left, color=colour, hatch=hatch, edgecolor=BLACK, linewidth=0.5,
                label=part,
            )  # fmt: skip
            left = [start + width for start, width in zip(left, widths, strict=True)]
        axes.set_yticks(range(len(costs)), [row[0] for row in costs])
        axes.invert_yaxis()
        axes.set_xlabel("CPU seconds, all processes together")
        axes.spines[["top", "right"]].set_visible(False)
        figure.text(0.012, 1 - 0.2 / height, title, fontsize=10.5, fontweight="bold", va="center")
        figure.legend(loc="lower left", bbox_to_anchor=(0.16, 0.0), ncols=3, frameon=False, fontsize=8.5)
        svg = svg_of(figure)
    told = (
        f"{name}: session {session:.1f}, first job {first:.1f}, the data {data:.1f}"
        for name, session, first, data in costs
    )
    alt = f"CPU seconds of an audit at each place. {'. '.join(told)}."
    rows = [(one.name, f"{one.session:.1f}", f"{one.first:.1f}", str(one.spent)) for one in times.places]
    headers = ("place", "session", "first job", "the data: median (bounds)")
    return Picture(svg, title=title, alt=alt, table=Table(title, headers, rows))


def workers_picture(times: ClusterTimes, gib: float, minutes: float = 10.0) -> Picture:
    """Time on the clock over the number of workers, for a store of so many GiB; dashed, the time one has.

    The band lies between the bounds of what was measured; beyond the store that was measured it is extrapolated.
    """
    sizing = times.sizing(TWO, gib)
    seconds = [sizing.seconds(workers) for workers in WORKERS]
    surely = next((n for n, s in zip(WORKERS, seconds, strict=True) if s.high <= minutes * 60), None)
    size = f"{gib / 1024:g} TiB" if gib >= 1024 else f"{gib:g} GiB"
    title = f"A store of {size}: minutes over workers of one core"
    with canvas(8.2, 3.2) as figure:
        axes = figure.add_axes((0.1, 0.2, 0.87, 0.66))
        axes.plot(
            WORKERS, [one.median / 60 for one in seconds], color=BLUE, marker="o", markeredgecolor=BLACK, linewidth=1.8,
            label=f"extrapolated from {times.bytes / GIB:.2g} GiB",
        )  # fmt: skip
        axes.fill_between(
            WORKERS, [one.low / 60 for one in seconds], [one.high / 60 for one in seconds], color=SKY, alpha=0.4,
            linewidth=0, label="bounds of what was measured",
        )  # fmt: skip
        axes.axhline(minutes, color=VERMILLION, linestyle=(0, (4, 3)), linewidth=1.4, label=f"{minutes:g} minutes")
        axes.axhline(
            sizing.place.fixed / 60, color=GREY, linestyle=(0, (1, 2)), linewidth=1.4, label="what no worker takes away"
        )
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.set_xticks(WORKERS, [str(one) for one in WORKERS])
        axes.set_xlabel("workers")
        axes.set_ylabel("minutes")
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=8.5)
        figure.text(0.012, 0.95, title, fontsize=10.5, fontweight="bold", va="center")
        svg = svg_of(figure)
    done = "1 worker is" if surely == 1 else f"{surely} workers are"
    told = f"{done} done within {minutes:g} minutes by the upper bound" if surely else "no number here is surely enough"
    first, last = (one.scaled(1 / 60) for one in (seconds[0], seconds[-1]))
    alt = (
        f"Minutes for {size} over the number of workers, both on logarithmic scales, extrapolated from "
        f"{times.bytes / GIB:.2g} GiB: {_minutes(first)} with one, {_minutes(last)} with {WORKERS[-1]}; {told}. "
        f"{sizing.place.fixed:.0f} s stay however many there are."
    )
    rows = [(n, *(f"{one / 60:.3g}" for one in s)) for n, s in zip(WORKERS, seconds, strict=True)]
    return Picture(svg, title=title, alt=alt, table=Table(title, ("workers", "minutes", "at least", "at most"), rows))


def _minutes(one: Interval) -> str:
    return f"{one.median:.3g} ({one.low:.3g} to {one.high:.3g})"


def play_cluster(times: ClusterTimes, *, mode: Mode = "live", store: str = "2 TiB") -> None:
    """A size of the store and a time to choose."""

    def draw(*, gib: float, minutes: float) -> Picture:
        return workers_picture(times, gib, minutes)

    explore(
        draw,
        mode=mode,
        gib=ChoiceControl("Store", STORES, start=store, slider=True),
        minutes=ChoiceControl("Time", TIMES, start="10 minutes", slider=True),
    )
