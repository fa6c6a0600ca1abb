"""The articles' experiments: read from data/experiments.toml, run, and set beside what must come out.

Each experiment is the article's own run with other settings (``eight``) or a scenario of its own (``scenario``); what
must come out are figures by name (``expect``), read from the run's events, facts and fates. Of E1 everything that the
article printed is compared as well, field by field.
"""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import msgspec

from rmqlab.broker.broker_config import BrokerConfig
from rmqlab.checkout import carried
from rmqlab.errors import BadInput
from rmqlab.lab.articles.derived_e1 import derived, set_up
from rmqlab.lab.articles.eight_messages import EightMessages
from rmqlab.lab.articles.printed_e1 import NOT_PRINTED, Figure, Kind, conclusions, consumer_figures, send_figures
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
PROPERTIES = "properties."


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
    seeds: int | None = None


class _Manifest(msgspec.Struct, forbid_unknown_fields=True):
    experiment: list[_Entry]


@dataclass(frozen=True, slots=True)
class Experiment:
    """One experiment: ``verdict`` in words, ``expect`` figures by name, ``prints``: the article's prints are there.

    With ``seeds`` the article's run is made that often, with other delays each time, and every figure is the list of
    all values that came out.
    """

    id: str
    title: str
    article: str
    verdict: str
    expect: dict[str, Any]
    eight: EightMessages | None
    scenario: Scenario | None
    prints: bool
    seeds: int | None = None

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


@dataclass(frozen=True, slots=True)
class Result:
    """A finished experiment and its figures, in groups."""

    experiment: Experiment
    run: Run
    figures: dict[str, list[Figure]] = field(default_factory=dict)

    @property
    def agrees(self) -> bool:
        """Whether no figure differs that has something to agree with."""
        return not any(figure.differs for group in self.figures.values() for figure in group)

    def as_json(self) -> dict[str, Any]:
        """Id, verdict, and all figures with both values and where the article's comes from (see ``Kind``)."""
        rows = [
            {
                "group": name,
                "figure": f.what,
                "kind": f.kind,
                "article": f.article if f.compared else None,
                "here": f.here,
                "equal": f.equal if f.compared else None,
            }
            for name, group in self.figures.items()
            for f in group
        ]
        one = self.experiment
        about = {"id": one.id, "title": one.title, "article": one.article, "verdict": one.verdict}
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
        entry.id, entry.title, entry.article, entry.verdict, entry.expect, eight, scenario, entry.prints is not None,
        entry.seeds,
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
        if runs:
            expected += _seeded(name, value, runs)
        else:
            expected.append(_expected(name, value, figure_of(run, name)))
    figures = {VERDICT: expected}
    if experiment.prints:
        figures["set-up"] = set_up(simulation)
        figures["send results"] = send_figures(run)
        for figure in consumer_figures(run):
            line, _, what = figure.what.rpartition(": ")
            group = line or "printed"
            if what.startswith(PROPERTIES):
                group, what = f"{line}, properties", what.removeprefix(PROPERTIES)
            figures.setdefault(group, []).append(figure._replace(what=what))
        figures["conclusions"] = conclusions(run)
        figures["from ids and bodies"] = derived(simulation)
    return Result(experiment, run, figures)


def _seeded(name: str, value: object, runs: list[Run]) -> list[Figure]:
    """The values of a figure in all runs, each once; and in how many runs each came out, if there are several."""
    counts = Counter(json.dumps(figure_of(run, name)) for run in runs)
    texts = sorted(counts)
    figures = [Figure(name, value, [json.loads(text) for text in texts], Kind.EXPECTED)]
    if len(texts) > 1:
        figures.append(Figure(f"… in runs of {len(runs)}", NOT_PRINTED, [counts[text] for text in texts]))
    return figures


def _expected(name: str, value: object, here: object) -> Figure:
    if isinstance(value, str) and BETWEEN in value and isinstance(here, int | float):
        low, high = map(float, value.split(BETWEEN))
        return Figure(name, value, value if low < here <= high else here, Kind.EXPECTED)
    if isinstance(value, str) and value.startswith(AT_LEAST) and isinstance(here, int):
        bound = int(value[len(AT_LEAST) :])
        # The text stays when the bound holds, so that both sides read alike.
        return Figure(name, value, value if here >= bound else here, Kind.EXPECTED)
    return Figure(name, value, here, Kind.EXPECTED)
