"""The articles' experiments: read from data/experiments.toml, run, and set beside what must come out.

Each experiment is the article's own run with other settings (`eight`) or a scenario of its own (`scenario`); what
must come out are figures by name (`expect`), read from the run's events, facts and fates. Of E1 everything that the
article printed is compared as well, field by field.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from rmqlab.checkout import data_path
from rmqlab.errors import BadInput, there_are
from rmqlab.language import _, joined
from rmqlab.run.run import Run
from rmqlab.scenario.scenario import parse_scenario
from rmqlab.sim.cluster import default_settings
from rmqlab.sim.simulate import Simulation
from rmqlab_tools.beside import Beside
from rmqlab_tools.course.articles.e1_actual import figure_of
from rmqlab_tools.course.articles.e1_expected import (
    NOT_PRINTED,
    Figure,
    FigureKind,
    Heading,
    all_sends,
    conclusions,
    consumer_figures,
    derived,
    headings,
    send_figures,
    set_up,
)
from rmqlab_tools.course.articles.eight_messages import EightMessages
from rmqlab_tools.gc_tuning import gc_tuning

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

AT_LEAST = ">="
BETWEEN = ".."  # "120..130": above the first, up to the second
_SEED = 2  # bytes of a seed in a pipe
VERDICT = _("what must come out")
OF_THE_ARTICLE = (FigureKind.PRINTED, FigureKind.GIVEN, FigureKind.FOLLOWS)


class Experiment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One experiment, as the manifest has it: `verdict` in words, `expect` figures by name.

    `sections`: places of the article's headings that it comes from; `source`: where else; `printed` and
    `follows`: names of figures that the article states itself, or that follow from it; `prints`: the file of what
    the article printed; `chosen`: what was put in. `eight` are settings of the article's run; without them
    `scenario` is a line of a scenario file. With `seeds` the article's run is made that often, with other delays
    each time, and every figure is the list of all values that came out.
    """

    id: str
    title: str
    verdict: str
    expect: dict[str, Any]
    sections: list[str] = []
    source: str = ""
    printed: list[str] = []
    follows: list[str] = []
    eight: dict[str, Any] | None = None
    scenario: str = ""
    prints: str | None = None
    chosen: str = ""
    seeds: int | None = None

    @property
    def headings(self) -> list[Heading]:
        """The article's headings that it comes from."""
        return [headings()[place] for place in self.sections]

    @property
    def kinds(self) -> dict[str, FigureKind]:
        """Of the figures that the article states itself, or that follow from it: which of the two."""
        return dict.fromkeys(self.printed, FigureKind.PRINTED) | dict.fromkeys(self.follows, FigureKind.FOLLOWS)

    @property
    def cited(self) -> str:
        """Where it comes from: headings of an article, with their places, and what else."""
        return joined("; ", [*map(str, self.headings), *filter(None, [self.source])])

    def simulation(self) -> Simulation:
        """The experiment before it runs, with the usual delays."""
        if self.eight is not None:
            return EightMessages(**self.eight).simulation()
        return Simulation(parse_scenario(self.scenario), cluster=default_settings())

    def run(self) -> Run:
        """Run it in virtual time."""
        return self.simulation().run()

    def seeded(self, seed: int) -> dict[str, str]:
        """The figures of a run with other delays, as JSON, by name."""
        run = EightMessages(**(self.eight or {}) | {"seed": seed}).run()
        return {name: json.dumps(figure_of(run, name)) for name in self.expect}


@dataclass(frozen=True, slots=True, repr=False)
class Result:
    """A finished experiment and its figures, in groups."""

    experiment: Experiment
    run: Run
    figures: dict[str, list[Figure]] = field(default_factory=dict)

    def __repr__(self) -> str:
        """The experiment and whether it agrees."""
        return str(
            _("{id} agrees: {title}", id=self.experiment.id, title=self.experiment.title)
            if self.agrees
            else _("{id} DIFFERS: {title}", id=self.experiment.id, title=self.experiment.title)
        )

    @property
    def agrees(self) -> bool:
        """Whether no figure differs that has something to agree with."""
        return not any(figure.differs for group in self.figures.values() for figure in group)

    def tally(self) -> dict[FigureKind, tuple[int, int]]:
        """Of each kind of figure: how many are equal to what stands beside them, of how many."""
        figures = [figure for group in self.figures.values() for figure in group]
        return {
            kind: (
                sum(compared.equal for compared in figures if compared.kind is kind),
                sum(compared.kind is kind for compared in figures),
            )
            for kind in FigureKind
        }

    def as_json(self) -> dict[str, Any]:
        """Id, verdict, and all figures: the article's value or the expected one, ours, whether they agree.

        `equal` is known of figures that the article printed, and of no others (see `FigureKind`).
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
        experiment = self.experiment
        about = {
            "id": experiment.id,
            "title": experiment.title,
            "article": experiment.cited,
            "verdict": experiment.verdict,
            "chosen": experiment.chosen,
        }
        return about | {"agrees": self.agrees, "figures": rows}


def read_manifest() -> dict[str, Experiment]:
    """The experiments by id, in the order of the file."""
    data = tomllib.loads(data_path("experiments.toml").read_text(encoding="utf-8"))
    return {entry.id: entry for entry in msgspec.convert(data["experiment"], list[Experiment])}


def chosen(names: list[str] | None, experiments: dict[str, Experiment]) -> list[Experiment]:
    """The experiments named (E2 stands for all that begin with it), or all.

    Raises:
        BadInput: a name that no experiment has.
    """
    if not names:
        return list(experiments.values())
    picked: list[Experiment] = []
    for name in names:
        hits = [experiments[name]] if name in experiments else [
            experiment for key, experiment in experiments.items()
            if key.startswith(name) and key[len(name)].isdigit() != name[-1:].isdigit()
        ]  # fmt: skip
        if not hits:
            raise BadInput(_("no experiment {name}{near}", name=f"{name!r}", near=there_are(name, experiments)))
        picked += [experiment for experiment in hits if experiment not in picked]
    return picked


def reproduce(experiment: Experiment, seeded: Mapping[int, dict[str, str]] | None = None) -> Result:
    """Run an experiment and set its figures beside those of the article; `seeded`: runs that were made already."""
    simulation = experiment.simulation()
    run = simulation.run()
    made = seeded or {}
    runs = [made[seed] if seed in made else experiment.seeded(seed) for seed in range(experiment.seeds or 0)]
    expected = []
    for name, value in experiment.expect.items():
        kind = experiment.kinds.get(name, FigureKind.EXPECTED)
        if runs:
            expected += _seeded(name, value, kind, [figures[name] for figures in runs])
        else:
            expected.append(Figure(name, value, _in_bounds(value, figure_of(run, name)), kind))
    figures = {VERDICT: expected}
    if experiment.prints:
        figures["set-up"] = set_up(simulation)
        figures["send results"] = [*all_sends(simulation), *send_figures(run)]
        figures |= consumer_figures(run)
        figures["conclusions"] = conclusions(run)
        figures["from ids and bodies"] = derived(simulation)
    return Result(experiment, run, figures)


def reproduced(experiments: Sequence[Experiment]) -> Iterator[Result]:
    """Run experiments, in their order; the runs of one that has many are shared with a process beside this one."""
    with gc_tuning():
        many = {each.id: _Shared(each) for each in experiments if each.seeds and len(experiments) > 1}
        try:
            # All others first: one of many runs stands early in the list, and is waited for last.
            here = {each.id: reproduce(each) for each in experiments if each.id not in many}
            for each in experiments:
                yield reproduce(each, many[each.id].runs()) if each.id in many else here[each.id]
        finally:
            for shared in many.values():
                shared.end()


class _Shared:
    """The runs of an experiment that has many: a process beside begins, this one joins it when `runs` is asked for.

    Each takes the next seed from a pipe; which of them makes a run changes nothing in it.
    """

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self._seeds, filled = os.pipe()
        os.write(filled, b"".join(seed.to_bytes(_SEED) for seed in range(experiment.seeds or 0)))
        os.close(filled)
        self._beside = Beside(self._take)

    def _take(self) -> dict[int, dict[str, str]]:
        taken = map(int.from_bytes, iter(partial(os.read, self._seeds, _SEED), b""))
        return {seed: self._experiment.seeded(seed) for seed in taken}

    def runs(self) -> dict[int, dict[str, str]]:
        """The figures of the runs, by seed; those that a process took which then ended are not there."""
        return self._take() | self._beside.result()

    def end(self) -> None:
        """Leave nothing open."""
        self._beside.end()
        os.close(self._seeds)


def _seeded(name: str, value: object, kind: FigureKind, figures: list[str]) -> list[Figure]:
    """The values of a figure in all runs, each once; and in how many runs each came out, if there are several."""
    counts = Counter(figures)
    texts = sorted(counts)
    rows = [Figure(name, value, [json.loads(text) for text in texts], kind)]
    if len(texts) > 1:
        rows.append(Figure(_("… in runs of {runs}", runs=len(figures)), NOT_PRINTED, [counts[text] for text in texts]))
    return rows


def _in_bounds(value: object, here: object) -> object:
    """Our value; or the bounds, when they are given and hold, so that both sides read alike."""
    if isinstance(value, str) and BETWEEN in value and isinstance(here, int | float):
        low, high = map(float, value.split(BETWEEN))
        return value if low < here <= high else here
    if isinstance(value, str) and value.startswith(AT_LEAST) and isinstance(here, int):
        return value if here >= int(value[len(AT_LEAST) :]) else here
    return here
