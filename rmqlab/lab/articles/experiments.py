"""The articles' experiments: read from data/experiments.toml, run, and set beside what must come out.

Each experiment is the article's own run with other settings (``eight``) or a scenario of its own (``scenario``); what
must come out are figures by name (``expect``), read from the run's events, facts and fates. Of E1 everything that the
article printed is compared as well, field by field.
"""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import msgspec

from rmqlab.broker.broker_config import BrokerConfig
from rmqlab.checkout import carried
from rmqlab.errors import BadInput
from rmqlab.lab.articles.derived_e1 import all_sends, derived, set_up
from rmqlab.lab.articles.eight_messages import EightMessages
from rmqlab.lab.articles.headings import Heading, headings
from rmqlab.lab.articles.printed_e1 import NOT_PRINTED, Figure, FigureKind, conclusions, consumer_figures, send_figures
from rmqlab.lab.articles.run_figures import NAMES, STARTS, figure_of, is_known
from rmqlab.lab.cluster import ClusterConfig
from rmqlab.lab.fates import Fate
from rmqlab.lab.run import Run
from rmqlab.lab.scenario import Scenario, parse_scenario
from rmqlab.lab.simulate import Simulation

if TYPE_CHECKING:
    from pathlib import Path


AT_LEAST = ">="
BETWEEN = ".."  # "120..130": above the first, up to the second
VERDICT = "what must come out"
OF_THE_ARTICLE = (FigureKind.PRINTED, FigureKind.GIVEN, FigureKind.FOLLOWS)
PROPERTIES = "properties."


class _Entry(msgspec.Struct, forbid_unknown_fields=True):
    """One entry of the manifest, as the file has it."""

    id: str
    title: str
    verdict: str
    expect: dict[str, Any]
    sections: list[str] = []
    source: str = ""
    printed: list[str] = []
    follows: list[str] = []
    eight: dict[str, Any] | None = None
    scenario: str | None = None
    prints: str | None = None
    chosen: str = ""
    seeds: int | None = None


class _Manifest(msgspec.Struct, forbid_unknown_fields=True):
    experiment: list[_Entry]


@dataclass(frozen=True, slots=True)
class Experiment:
    """One experiment: ``verdict`` in words, ``expect`` figures by name, ``prints``: the article's prints are there.

    ``sections``: the article's headings that it comes from; ``source``: where else; ``kinds``: of the figures that the
    article states itself, or that follow from it; ``chosen``: what was put in. With ``seeds`` the
    article's run is made that often, with other delays each time, and every figure is the list of all values that
    came out.
    """

    id: str
    title: str
    verdict: str
    expect: dict[str, Any]
    sections: Sequence[Heading]
    source: str
    kinds: dict[str, FigureKind]
    eight: EightMessages | None
    scenario: Scenario | None
    prints: bool
    chosen: str = ""
    seeds: int | None = None

    @property
    def cited(self) -> str:
        """Where it comes from: headings of an article, with their places, and what else."""
        return "; ".join([*map(str, self.sections), *filter(None, [self.source])])

    def simulation(self) -> Simulation:
        """The experiment before it runs, with the usual delays.

        Raises:
            BadInput: it has neither settings nor a scenario.
        """
        if self.eight is not None:
            return self.eight.simulation()
        if self.scenario is None:
            raise BadInput(f"experiment {self.id}: neither eight nor scenario is given")
        # SQL92 needs the broker's switch; for the others it changes nothing.
        return Simulation(self.scenario, cluster=ClusterConfig(broker=BrokerConfig(enable_property_filter=True)))

    def run(self) -> Run:
        """Run it in virtual time."""
        return self.simulation().run()

    def seeded_runs(self) -> list[Run]:
        """The runs with other delays, if it has ``seeds``."""
        return [replace(self.eight, seed=seed).run() for seed in range(self.seeds or 0)] if self.eight else []


@dataclass(frozen=True, slots=True, repr=False)
class Result:
    """A finished experiment and its figures, in groups."""

    experiment: Experiment
    run: Run
    figures: dict[str, list[Figure]] = field(default_factory=dict)

    def __repr__(self) -> str:
        """The experiment and whether it agrees."""
        return f"{self.experiment.id} {'agrees' if self.agrees else 'DIFFERS'}: {self.experiment.title}"

    @property
    def agrees(self) -> bool:
        """Whether no figure differs that has something to agree with."""
        return not any(figure.differs for group in self.figures.values() for figure in group)

    def tally(self) -> dict[FigureKind, tuple[int, int]]:
        """Of each kind of figure: how many are equal to what stands beside them, of how many."""
        figures = [figure for group in self.figures.values() for figure in group]
        return {
            kind: (sum(one.equal for one in figures if one.kind is kind), sum(one.kind is kind for one in figures))
            for kind in FigureKind
        }

    def as_json(self) -> dict[str, Any]:
        """Id, verdict, and all figures: the article's value or the expected one, ours, whether they agree.

        ``equal`` is told of figures that the article printed, and of no others (see ``FigureKind``).
        """
        rows = [
            {
                "group": name,
                "figure": f.what,
                "kind": f.kind,
                "article": f.article if f.kind in OF_THE_ARTICLE else None,
                "expected": f.article if f.kind is FigureKind.EXPECTED else None,
                "here": f.here,
                "equal": f.equal if f.kind is FigureKind.PRINTED else None,
                "agrees": f.equal if f.compared else None,
            }
            for name, group in self.figures.items()
            for f in group
        ]
        one = self.experiment
        about = {"id": one.id, "title": one.title, "article": one.cited, "verdict": one.verdict, "chosen": one.chosen}
        return about | {"agrees": self.agrees, "figures": rows}


def read_manifest(path: Path | None = None) -> dict[str, Experiment]:
    """The experiments by id, in the order of the file.

    Raises:
        BadInput: the file is no manifest; the text names file, entry, field and what would be right.
    """
    path = path or carried("experiments.toml")
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
    if entry.seeds is not None and (entry.eight is None or entry.seeds < 1):
        raise BadInput(f"{where}: seeds is {entry.seeds}; it is a number of runs, 1 or more, and goes with eight")
    if not entry.expect:
        raise BadInput(f"{where}: expect has no figure; an experiment tells at least one thing that must come out")
    for name in entry.expect:
        if not is_known(name):
            there = ", ".join([*NAMES, *Fate, *(f"{start}…" for start in STARTS)])
            raise BadInput(f"{where}: expect.{name!r} is no figure; there are {there}")
    kinds = dict.fromkeys(entry.printed, FigureKind.PRINTED) | dict.fromkeys(entry.follows, FigureKind.FOLLOWS)
    if stray := sorted(set(kinds) - set(entry.expect)):
        raise BadInput(f"{where}: printed or follows names {stray[0]!r}, which expect has not")
    places = headings()
    if unknown := [place for place in entry.sections if place not in places]:
        raise BadInput(f"{where}: sections has {unknown[0]!r}; data/articles/README.md has {', '.join(places)}")
    eight = None
    if entry.eight is not None:
        try:
            eight = EightMessages(**entry.eight)
            eight.scenario()
        except TypeError as error:
            raise BadInput(f"{where}: eight: {error}; its settings are {', '.join(EightMessages.__slots__)}") from error
        except BadInput as error:
            raise BadInput(f"{where}: eight: {error}") from error
    scenario = None if entry.scenario is None else parse_scenario(entry.scenario, f"{where}, scenario")
    return Experiment(
        entry.id, entry.title, entry.verdict, entry.expect, [places[place] for place in entry.sections], entry.source,
        kinds, eight, scenario, entry.prints is not None, entry.chosen, entry.seeds,
    )  # fmt: skip


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
    simulation = experiment.simulation()
    run = simulation.run()
    runs = experiment.seeded_runs()
    expected = []
    for name, value in experiment.expect.items():
        kind = experiment.kinds.get(name, FigureKind.EXPECTED)
        if runs:
            expected += _seeded(name, value, kind, runs)
        else:
            expected.append(Figure(name, value, _in_bounds(value, figure_of(run, name)), kind))
    figures = {VERDICT: expected}
    if experiment.prints:
        figures["set-up"] = set_up(simulation)
        figures["send results"] = [*all_sends(simulation), *send_figures(run)]
        for figure in consumer_figures(run):
            line, _, what = figure.what.rpartition(": ")
            group = line or "printed"
            if what.startswith(PROPERTIES):
                group, what = f"{line}, properties", what.removeprefix(PROPERTIES)
            figures.setdefault(group, []).append(figure._replace(what=what))
        figures["conclusions"] = conclusions(run)
        figures["from ids and bodies"] = derived(simulation)
    return Result(experiment, run, figures)


def _seeded(name: str, value: object, kind: FigureKind, runs: list[Run]) -> list[Figure]:
    """The values of a figure in all runs, each once; and in how many runs each came out, if there are several."""
    counts = Counter(json.dumps(figure_of(run, name)) for run in runs)
    texts = sorted(counts)
    figures = [Figure(name, value, [json.loads(text) for text in texts], kind)]
    if len(texts) > 1:
        figures.append(Figure(f"… in runs of {len(runs)}", NOT_PRINTED, [counts[text] for text in texts]))
    return figures


def _in_bounds(value: object, here: object) -> object:
    """Our value; or the bounds, when they are given and hold, so that both sides read alike."""
    if isinstance(value, str) and BETWEEN in value and isinstance(here, int | float):
        low, high = map(float, value.split(BETWEEN))
        return value if low < here <= high else here
    if isinstance(value, str) and value.startswith(AT_LEAST) and isinstance(here, int):
        return value if here >= int(value[len(AT_LEAST) :]) else here
    return here
