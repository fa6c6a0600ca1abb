"""The checks of notebook 06: the rule that forgets a member, periods within a budget, two broken brokers."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from rmqlab.events import Expired
from rmqlab.lab.lab import Lab
from rmqlab.language import _, joined, ngettext
from rmqlab.rules import DEFAULT_RULES, Rules
from rmqlab.run.recorded_events import Control
from rmqlab_tools.course.answers import differences, hunt_by_name, needs_rules
from rmqlab_tools.course.check import OF_TASK, CheckFailed
from rmqlab_tools.course.mutants import broken
from rmqlab_tools.course.order_judge import must_be_like
from rmqlab_tools.show.clock_lanes import clock_lane

if TYPE_CHECKING:
    from rmqlab.run.run import Run
    from rmqlab_tools.show.figure import Picture

    Row = tuple[str, float, str]

WITHIN_S, CLIENTS, LOST_IN_A_ROW, MAX_BEATS = 20, 10_000, 2, 4_000
PERIODS = ("heartbeat_period_ms", "channel_expired_ms", "scan_period_ms", "rebalance_period_ms")
TRIALS = 12
HUNTED = ("kelp", "larch")
SUSPECTS = ("update_channel", "update_subscription", "is_notified", "is_expired", "allocate")


def group(rules: Rules = DEFAULT_RULES, *, wait_ms: int = 0, second_ms: int = 500, at_ms: int = 45_000) -> Lab:
    """A and B share four queues, as in the lesson."""
    lab = Lab(topics={"T": 4}, rules=rules)
    lab.run(ms=wait_ms)
    lab.consumer("A", group="G", subscribe={"T": "*"})
    lab.run(ms=second_ms)
    lab.consumer("B", group="G", subscribe={"T": "*"})
    lab.run(ms=at_ms - second_ms)
    return lab


def marks(lab: Lab) -> list[Row]:
    """Who, when (ms since A disappeared, else since the first start), what."""
    events = lab.events()
    zero = [*events.where(ev="control"), *events.where(ev="starting")][0].t
    rows = [(event.who, event.t - zero, _("heartbeat")) for event in lab.heartbeats()]
    rows += [
        (event.who, event.t - zero, _("takes a queue") if event.held else _("loses a queue"))
        for event in lab.rebalances()
    ]
    notices = lab.frames().where(request="NOTIFY_CONSUMER_IDS_CHANGED")
    rows += [(event.target, event.t - zero, _("told to rebalance")) for event in notices]
    return sorted(rows, key=lambda row: row[1])


def is_expired(answer: Any) -> str:
    """A function (now, last_update_timestamp, channel_expired_ms): whether a scan forgets the member."""
    try:
        must_be_like("is_expired", answer, [_gone()], _forgotten_in_time)
    except CheckFailed as failed:
        if not failed.hint and "function gives" in failed.problem:  # a case by hand, and the function did not stop
            with suppress(Exception):  # it may stop in the lab
                failed.picture = _picture(
                    DEFAULT_RULES.replace(is_expired=answer), "function gives False" in failed.problem
                )
        raise
    return _("It agrees with 4.8.0 in every case, and in every order of a run in which a machine goes.")


def _gone() -> Lab:
    """A lives for a while, loses three heartbeats, and later its machine goes."""
    lab = Lab(topics={"T": 1})
    lab.consumer("A", group="G", subscribe={"T": "*"})
    lab.run(seconds=40)
    lab.lose_heartbeat("A", 3)
    lab.run(seconds=130)
    lab.kill("A", silent=True)
    lab.run(seconds=140)
    return lab


def _forgotten_in_time(run: Run) -> str | None:
    """What is wrong with the moment at which a scan forgets A."""
    gone = [fact.t for fact in run.recorded(Control)][-1]
    times = [fact.t for fact in run.facts.of(Expired) if fact.event.group == "G"]
    if any(t < gone for t in times):
        return _("A lives, and a scan forgets it")
    return None if times else _("A's machine is gone, and no scan forgets it")


def _picture(rules: Rules, gone: bool) -> Picture | None:
    """What the rule makes of a machine that goes, or of a group in which all live; None if 4.8.0 makes the same."""
    mine, sound = group(rules), group()
    for lab in (mine, sound):
        if gone:
            lab.kill("A", silent=True)
        lab.run(seconds=160)
    title = _("A's machine goes, with your rule") if gone else _("A and B live, with your rule")
    marked = marks(mine)
    return clock_lane(marked, title=title, limit_ms=rules.channel_expired_ms) if marked != marks(sound) else None


def periods(answer: Any) -> str:
    """Rules with four periods replaced, so that silence is dealt with within 20 s and within the budget."""
    needs_rules(answer, _('Give rules: rmqlab.RULES["4.8.0"].replace(heartbeat_period_ms=..., ...).'))
    if answer.replace(**{name: getattr(DEFAULT_RULES, name) for name in PERIODS}) != DEFAULT_RULES:
        raise CheckFailed(_("Replace the four periods only: {periods}.", periods=joined(", ", PERIODS)))
    beat, expiry, scan, rebalance = (getattr(answer, name) for name in PERIODS)
    if not all(period >= 1_000 for period in (beat, expiry, scan, rebalance)):
        raise CheckFailed(_("Periods are whole numbers of ms, 1,000 or more."))
    if CLIENTS * 1_000 / beat > MAX_BEATS:
        problem = _(
            "{clients} heartbeats a second are more than {max_beats}.",
            clients=f"{CLIENTS * 1000 / beat:,.0f}",
            max_beats=f"{MAX_BEATS:,}",
        )
        raise CheckFailed(case="cost", problem=problem)
    for wait_ms in range(0, scan, max(scan // 4, 1)):
        lab = group(answer, wait_ms=wait_ms)
        lab.lose_heartbeat("A", LOST_IN_A_ROW)
        lab.run(ms=expiry + (LOST_IN_A_ROW + 2) * beat)
        if len({row.t for row in lab.rebalances().where(who="A", held=False)}) > 1:
            problem = ngettext(
                "{count} lost heartbeat costs A its place.",
                "{count} lost heartbeats in a row cost A its place.",
                LOST_IN_A_ROW,
            )
            picture = clock_lane(marks(lab), title=_("A's heartbeats get lost"), limit_ms=expiry)
            raise CheckFailed(case="lost", problem=problem, picture=picture)
    silence = (LOST_IN_A_ROW + 1) * beat
    if silence >= expiry:  # a scan can come just then, though in none of these runs
        problem = _(
            "If {lost_in_a_row} get lost, A is silent for {silence} ms; the expiry is {expiry} ms.",
            lost_in_a_row=LOST_IN_A_ROW,
            silence=f"{silence:,}",
            expiry=f"{expiry:,}",
        )
        raise CheckFailed(case="lost", problem=problem)
    runs = [_silence(answer, number) for number in range(TRIALS)]
    worst, lab = max(runs, key=lambda measured: measured[0])
    bound = (expiry + scan + rebalance) / 1_000
    if worst > WITHIN_S or bound > WITHIN_S:
        sentence = _(
            "From A's last heartbeat until B has its queues: {worst} s in one of {trials} runs, at worst more.",
            worst=f"{worst:.1f}",
            trials=TRIALS,
        )
        picture = clock_lane(marks(lab), title=_("A's machine goes"), limit_ms=expiry, start=-20_000)
        raise CheckFailed(case="worst", problem=sentence, picture=picture)
    return _(
        "The longest of {trials} runs is {worst} s; {clients} heartbeats a second.",
        trials=TRIALS,
        worst=f"{worst:.1f}",
        clients=f"{CLIENTS * 1000 / beat:,.0f}",
    )


def _silence(rules: Rules, number: int) -> tuple[float, Lab]:
    """Seconds from A's last heartbeat until B has its queues (endless if it never has), and the lab."""
    beat, _ignored, scan, rebalance = (getattr(rules, name) for name in PERIODS)
    lab = group(
        rules,
        wait_ms=scan * (number * 7 % TRIALS) // TRIALS,
        second_ms=500 + rebalance * (number * 11 % TRIALS) // TRIALS,
        at_ms=65_000 + beat * number // TRIALS,
    )
    last = max(row.t for row in lab.heartbeats().where(who="A"))
    lab.kill("A", silent=True)
    at = lab.events().where(ev="control")[0].t
    lab.run(ms=sum(getattr(rules, name) for name in PERIODS))
    taken = [row.t for row in lab.rebalances().where(who="B", held=True) if row.t > at]
    return ((taken[0] - last) / 1_000 if taken else float("inf")), lab


def _other_story(name: str, said: str) -> CheckFailed:
    lab, sound = story(broken(name)), story(DEFAULT_RULES)
    # drawn before the end: that shuts everybody down, which is no part of the story
    picture = clock_lane(marks(lab), title=_("The story with {name}", name=name), limit_ms=120_000)
    return CheckFailed(
        _("{name}: compare its story with the sound one. What happens too early, too late, or not at all?", name=name),
        rule=OF_TASK,
        problem=_("{name}: it is not {said}.", name=name, said=said),
        lines=differences(sound.finish().run, lab.finish().run),
        picture=picture,
    )


def story(rules: Rules) -> Lab:
    """A and B live for three minutes, C joins, and later A's machine goes."""
    lab = group(rules, at_ms=185_000)
    lab.consumer("C", group="G", subscribe={"T": "*"})
    lab.run(seconds=60)
    lab.kill("A", silent=True)
    lab.run(seconds=280)
    return lab


CHECKS = {
    "06-rule": is_expired,
    "06-periods": periods,
    "06-hunt": hunt_by_name(HUNTED, SUSPECTS, _other_story, _("{hunted}: both found.", hunted=joined(", ", HUNTED))),
}
