"""The articles' experiments: read from data/experiments.toml, run, and set beside what must come out.

Each experiment is the article's own run with other settings (``eight``) or a scenario of its own (``scenario``); what
must come out are figures by name (``expect``), read from the run's events, facts and fates. Of E1 everything that the
article printed is compared as well, field by field.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from rmqlab.broker.broker_config import BrokerConfig
from rmqlab.checkout import folder
from rmqlab.errors import BadInput
from rmqlab.lab.article_e1 import Figure, conclusions, consumer_figures, send_figures
from rmqlab.lab.cluster import ClusterConfig
from rmqlab.lab.eight_messages import EightMessages
from rmqlab.lab.fates import Fate
from rmqlab.lab.run import Run
from rmqlab.lab.scenario import Scenario, parse_scenario
from rmqlab.lab.simulate import simulate

if TYPE_CHECKING:
    from pathlib import Path


AT_LEAST = ">="
SUBSCRIPTION_NOT_EXIST = 24


class _Entry(msgspec.Struct, forbid_unknown_fields=True):
    """One entry of the manifest, as the file has it."""

    id: str
    title: str
    article: str
    verdict: str
    expect: dict[str, Any]
    eight: dict[str, Any] | None = None
    scenario: str | None = None
    prints: str | None = None


class _Manifest(msgspec.Struct, forbid_unknown_fields=True):
    experiment: list[_Entry]


@dataclass(frozen=True, slots=True)
class Experiment:
    """One experiment: ``verdict`` in words, ``expect`` figures by name, ``prints``: the article's prints are there."""

    id: str
    title: str
    article: str
    verdict: str
    expect: dict[str, Any]
    eight: EightMessages | None
    scenario: Scenario | None
    prints: bool

    def run(self) -> Run:
        """Run it in virtual time."""
        if self.eight is not None:
            return self.eight.run()
        if self.scenario is None:
            raise BadInput(f"experiment {self.id}: neither eight nor scenario is given")
        # SQL92 needs the broker's switch; for the others it changes nothing.
        return simulate(self.scenario, cluster=ClusterConfig(broker=BrokerConfig(enable_property_filter=True)))


@dataclass(frozen=True, slots=True)
class Result:
    """A finished experiment and its figures, in groups."""

    experiment: Experiment
    run: Run
    figures: dict[str, list[Figure]] = field(default_factory=dict)

    @property
    def agrees(self) -> bool:
        """Whether every figure does."""
        return all(figure.equal for group in self.figures.values() for figure in group)

    def as_json(self) -> dict[str, Any]:
        """Id, verdict, and all figures with both values."""
        rows = [
            {"group": name, "figure": f.what, "article": f.article, "here": f.here, "equal": f.equal}
            for name, group in self.figures.items()
            for f in group
        ]
        one = self.experiment
        return {"id": one.id, "title": one.title, "verdict": one.verdict, "agrees": self.agrees, "figures": rows}


def read_manifest(path: Path | None = None) -> dict[str, Experiment]:
    """The experiments by id, in the order of the file.

    Raises:
        BadInput: the file is no manifest; the text names file, entry, field and what would be right.
    """
    path = path or folder("data") / "experiments.toml"
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadInput(f"{path.name}: {error}; the manifest of experiments is a TOML file") from error
    try:
        entries = msgspec.convert(data, _Manifest).experiment
    except msgspec.ValidationError as error:
        fields = ", ".join(one.name for one in msgspec.structs.fields(_Entry))
        raise BadInput(f"{path.name}: {error}; an experiment has {fields}") from error
    experiments: dict[str, Experiment] = {}
    for entry in entries:
        where = f"{path.name}, experiment {entry.id!r}"
        if entry.id in experiments:
            raise BadInput(f"{where}: the id is used twice; ids must differ")
        experiments[entry.id] = _experiment(entry, where)
    return experiments


def _experiment(entry: _Entry, where: str) -> Experiment:
    if (entry.eight is None) == (entry.scenario is None):
        raise BadInput(f"{where}: give either eight (settings of the article's run) or scenario (a scenario's text)")
    unknown = [name for name in entry.expect if not _is_known(name)]
    if unknown:
        raise BadInput(
            f"{where}: expect.{unknown[0]!r} is no figure; there are {', '.join(_FIXED)}, consumed by WHO, …"
        )
    eight = None
    if entry.eight is not None:
        try:
            eight = EightMessages(**entry.eight)
        except TypeError as error:
            raise BadInput(f"{where}: eight: {error}; its settings are {', '.join(EightMessages.__slots__)}") from error
    scenario = None if entry.scenario is None else parse_scenario(entry.scenario, f"{where}, scenario")
    return Experiment(
        entry.id, entry.title, entry.article, entry.verdict, entry.expect, eight, scenario, entry.prints is not None
    )


def chosen(names: list[str] | None, experiments: dict[str, Experiment]) -> list[Experiment]:
    """The experiments named (E2 stands for all that begin with it), or all.

    Raises:
        BadInput: a name that no experiment has.
    """
    if not names:
        return list(experiments.values())
    found: list[Experiment] = []
    for name in names:
        hits = [experiments[name]] if name in experiments else [
            one for key, one in experiments.items()
            if key.startswith(name) and key[len(name)].isdigit() != name[-1:].isdigit()
        ]  # fmt: skip
        if not hits:
            raise BadInput(f"no experiment {name!r}; there are {', '.join(experiments)}")
        found += [one for one in hits if one not in found]
    return found


def reproduce(experiment: Experiment) -> Result:
    """Run an experiment and set its figures beside those of the article."""
    run = experiment.run()
    figures = {"verdict": [_expected(run, name, value) for name, value in experiment.expect.items()]}
    if experiment.prints:
        figures |= {
            "send results": send_figures(run),
            "printed by the consumers": consumer_figures(run),
            "conclusions": conclusions(run),
        }
    return Result(experiment, run, figures)


def _expected(run: Run, name: str, value: object) -> Figure:
    here = figure_of(run, name)
    if isinstance(value, str) and value.startswith(AT_LEAST) and isinstance(here, int):
        bound = int(value[len(AT_LEAST) :])
        # The text stays when the bound holds, so that both sides read alike.
        return Figure(name, value, value if here >= bound else here)
    return Figure(name, value, here)


def figure_of(run: Run, name: str) -> object:
    """A figure of a run by its name in the manifest."""
    if name in _FIXED:
        return _FIXED[name](run)
    if name in set(Fate):
        return sum(fate.fate == name for fate in run.fates)
    kind, _, who = name.partition(" by ")
    if who and kind == "consumed":
        return sum(event["ev"] == "consume" and event["who"] == who for event in run.events)
    who = name.partition("bodies of ")[2]
    return sorted({event["body"] for event in run.events if event["ev"] == "consume" and event["who"] == who})


def _is_known(name: str) -> bool:
    return name in _FIXED or name in set(Fate) or name.startswith(("consumed by ", "bodies of "))


def _lag(run: Run) -> int:
    offsets = [event for event in run.events if event["ev"] == "offset"]
    return sum(event["max"] - event["committed"] for event in offsets)


def _subscription(run: Run) -> object:
    views = [event["view"] for event in run.events if event["ev"] == "broker" and "subs" in event["view"]]
    both = [view for view in views if len(view["clients"]) > 1]
    own = [text for topic, text in (both or views)[-1]["subs"].items() if not topic.startswith("%RETRY%")]
    return own[0].partition(":")[2].rpartition("@")[0] if len(own) == 1 else sorted(own)


def _topic_changes(run: Run) -> int:
    changes = list(run.facts.of("subscription"))
    return sum((fact["old"] is None) != (fact["new"] is None) for fact in changes)


def _refused(run: Run) -> int:
    return sum(fact["code"] == SUBSCRIPTION_NOT_EXIST for fact in run.facts.of("pull"))


_FIXED = {
    "lost": lambda run: sum(fate.lost for fate in run.fates),
    "consumed": lambda run: sum(event["ev"] == "consume" for event in run.events),
    "lag": _lag,
    "subscription": _subscription,
    "topic changes": _topic_changes,
    "pulls refused with 24": _refused,
}
