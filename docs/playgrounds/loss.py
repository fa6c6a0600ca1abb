# ruff: noqa: INP001 - pages import it by its own name
"""The playground "the loss": the state in a link becomes a run, and the run becomes pictures, tables and facts.

A state is what a link holds (`rmqlab_tools.show.link`). The page edits its scenario as plain data, so that a link made
elsewhere opens here too.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput
from rmqlab.language import translate
from rmqlab.rules import RULES
from rmqlab.run.results import LabResult
from rmqlab.run.run_view import RunView, seconds
from rmqlab_tools.show.by_night import letters_marked
from rmqlab_tools.show.link import LINK_FORMAT, Link, digest, unpack
from rmqlab_tools.show.moments import scenes
from rmqlab_tools.show.palette import look_of
from rmqlab_tools.show.swimlane import swimlane
from rmqlab_tools.show.tag_colours import css_paint, paint

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.run.run import Run
    from rmqlab_tools.show.moments import Moment

AFTER_MS = 30_000  # the run goes on so long after its last step: a round of rebalance and a commit of offsets
ASKS = ("alloc", "offsets")
REFUSALS = ("startFailed", "error")
_shown: tuple[Run, bool] | None = None  # what `step` tells of, and whether with the unusual choices


def versions() -> list[str]:
    """The versions of RocketMQ that there are rules of, the usual one first."""
    return list(RULES)


def example(name: str) -> dict[str, Any]:
    """A state to begin with.

    "loss": two members of one group, two tags. "same": both ask for both tags. "groups": each has a group of its own.
    """
    asks = {"A": "tagA || tagB", "B": "tagA || tagB"} if name == "same" else {"A": "tagA", "B": "tagB"}
    groups = {"A": "G1", "B": "G2"} if name == "groups" else {"A": "G", "B": "G"}
    starts = [
        {"do": "start", "at": at, "who": who, "group": groups[who], "subscribe": {"T": {"expr": asks[who]}}}
        for who, at in (("A", 0), ("B", 60_000))
    ]
    tags = ["tagA"] * 4 + ["tagB"] * 4
    messages = [{"body": f"MsgStr{number}", "tag": tag} for number, tag in enumerate(tags)]
    send = {"do": "send", "at": 120_000, "topic": "T", "messages": messages}
    scenario = {"id": "loss", "topics": {"T": 4}, "plainNames": True, "steps": [*starts, send]}
    return {"format": LINK_FORMAT, "scenario": _ended(scenario)}


def read(text: str) -> dict[str, Any]:
    """The state in a link. Raises `BadInput` if it is none."""
    Link.read(text)
    state: dict[str, Any] = unpack(text)
    return state


def show(state: dict[str, Any]) -> dict[str, Any]:
    """Run a state; what the page shows of it: its link, a digest of its events, fates, the grid, the story's length."""
    global _shown  # noqa: PLW0603 - a page shows one run, and asks for its moments one by one
    wanted = _link(state)
    if not wanted.scenario.groups():
        raise BadInput("no consumer starts, so there is nothing to see; add a member")
    run = wanted.run()
    _shown = run, wanted.schedule is not None
    groups = run.scenario.groups()
    result = LabResult(run)
    return {
        "state": wanted.to_builtins(),
        "link": wanted.text(),
        "digest": digest(run),
        "moments": {group: len(_story(group)) for group in groups},
        "colours": {who: colour for group in groups for who, colour in _colours(run, group).items()},
        "grids": [letters_marked(result.grid(group=group).html()) for group in groups],
        "groups": groups,
        "messages": [fate for group in groups for fate in _messages(run, group)],
        "refused": [
            translate(str(event["message"])) for event in run.events if event["ev"] in {"startFailed", "error"}
        ],
    }


def link(state: dict[str, Any]) -> str:
    """What stands behind the # of the page's address for a state."""
    return _link(state).text()


def step(number: int | None, group: str | None = None) -> dict[str, str]:
    """The swimlane up to a moment of the story (the whole one without), and what happens in it."""
    story = _story(group)
    run, unusual = _shown or (None, False)
    picture = swimlane(run, group=group, unusual=unusual, step=number)
    moment = story[-1 if number is None else number - 1] if story else None
    said = [] if moment is None else [", ".join(moment.who), moment.text, moment.at_broker]
    return {
        "html": letters_marked(picture.html()),
        "t": "" if moment is None else seconds(moment.t),
        "says": translate("; ".join(filter(None, said))),
        "slot": "" if moment is None else moment.slot or "",
    }


def _story(group: str | None) -> list[Moment]:
    """The moments of the run that is shown, as its group lived it."""
    if _shown is None:
        raise BadInput("nothing was run yet")
    run, unusual = _shown
    return [moment for scene in scenes(RunView(run, group), unusual=unusual) for moment in scene.moments]


def orders(state: dict[str, Any], budget: int, progress: Callable[[Any], None] = lambda _: None) -> dict[str, Any]:
    """Every outcome that the scenario of a state can have, found by at most about `budget` runs, likeliest first."""
    from rmqlab_tools.search.explorer.explore import Explorer

    wanted = _link(state)
    explored = Explorer(wanted.scenario, budget=budget, cluster=wanted.cluster()).explore(progress)
    return {
        "exhausted": explored.exhausted,
        "runs": explored.runs,
        "sampled": explored.sampled,
        "outcomes": [
            {
                "share": found.share,
                "consumed": found.outcome.as_json()["consumed"],
                "lost": list(found.lost),
                "sent": len(found.run.fates),
                "schedule": json.loads(found.schedule.to_json()),
            }
            for found in explored.outcomes
        ],
    }


def _link(state: dict[str, Any]) -> Link:
    return Link.of({**state, "scenario": _ended(state.get("scenario"))})


def _ended(scenario: Any) -> Any:
    """The scenario with its steps in order of time, and the two questions at its end; what is none is left as it is.

    A link made elsewhere may end later than `AFTER_MS` after its last step: it ends as it says. The page takes the
    questions away when a step is changed.
    """
    try:
        steps = sorted((step for step in scenario["steps"] if step["do"] not in ASKS), key=lambda step: step["at"])
        asked = [step["at"] for step in scenario["steps"] if step["do"] in ASKS]
        end = max([AFTER_MS + max((step["at"] for step in steps), default=0), *asked])
    except (TypeError, KeyError):
        return scenario
    return {**scenario, "steps": [*steps, *({"do": kind, "at": end} for kind in ASKS)]}


def _colours(run: Run, group: str) -> dict[str, str]:
    """The colours of what each member of a group asks for, as in the pictures, as CSS backgrounds."""
    return {who: css_paint(paint(expression)) for who, expression in RunView(run, group).asked.items()}


def _messages(run: Run, group: str) -> list[dict[str, Any]]:
    """What is known of each message of a group: where it went, who owned its queue, what became of it and why."""
    owners = RunView(run, group).owners
    return [
        {
            "body": fate.body,
            "tag": fate.tag,
            "group": group,
            "queue": fate.queue,
            "offset": fate.offset,
            "owner": owners.get(fate.queue),
            "fate": str(fate.fate),
            "mark": look_of(fate).mark,
            "colour": look_of(fate).colour,
            "culprit": fate.culprit,
            "subscription": fate.subscription,
            "asked": fate.asked,
            "lost": fate.lost,
        }
        for fate in run.fates
        if fate.group == group
    ]
