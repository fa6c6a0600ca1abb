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
from rmqlab.run.fates import Fate
from rmqlab.run.results import LabResult
from rmqlab.run.run_view import RunView
from rmqlab_tools.show.by_night import letters_marked
from rmqlab_tools.show.film.film import Film
from rmqlab_tools.show.link import LINK_FORMAT, Link, digest, unpack
from rmqlab_tools.show.tag_colours import css_paint, paint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rmqlab.run.run import Run

AFTER_MS = 30_000  # the run goes on so long after its last step: a round of rebalance and a commit of offsets
ASKS = ("alloc", "offsets")
REFUSALS = ("startFailed", "error")


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
    """Run a state; what the page shows of it: its link, a digest of its events, fates, the grid, the films."""
    wanted = _link(state)
    if not wanted.scenario.groups():
        raise BadInput("no consumer starts, so there is nothing to see; add a member")
    run = wanted.run()
    groups = run.scenario.groups()
    result = LabResult(run)
    return {
        "state": wanted.to_builtins(),
        "link": wanted.text(),
        "digest": digest(run),
        "films": dict(_films(run, unusual=wanted.schedule is not None)),
        "colours": {who: colour for group in groups for who, colour in _colours(run, group).items()},
        "grids": [letters_marked(result.grid(group=group).html()) for group in groups],
        "groups": groups,
        "sent": len(run.fates),
        "lost": sum(fate.lost for fate in run.fates),
        "arrived": sum(fate.fate is Fate.DELIVERED for fate in run.fates),
        "refused": [
            translate(str(event["message"])) for event in run.events if event["ev"] in {"startFailed", "error"}
        ],
    }


def link(state: dict[str, Any]) -> str:
    """What stands behind the # of the page's address for a state."""
    return _link(state).text()


def _films(run: Run, *, unusual: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each group's film as the component takes it, or why there is none."""
    for group in run.scenario.groups():
        try:
            film = Film(run, group, unusual=unusual)
        except BadInput as error:
            yield group, {"problem": translate(str(error))}
        else:
            yield group, {"data": film.data(), "steps": film.steps()}


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
