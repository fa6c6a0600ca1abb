"""What a caller gives to be run: a scenario in any form, one of a file, a file of schedules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput
from rmqlab.files import exists, json_value, lines_of, read_text
from rmqlab.language import _, joined
from rmqlab.rules import DEFAULT_RULES, Rules
from rmqlab.scenario.scenario import Scenario, convert_scenario, numbered_scenarios, parse_scenario
from rmqlab.scenario.schedule import Schedule
from rmqlab.sim.cluster import ClusterConfig, cluster_of, settings_beside

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def chosen_scenario(text: str) -> tuple[Path, Scenario]:
    """The file and the scenario that FILE, FILE#ID or FILE#LINE (the first line is 1) means.

    Raises:
        BadInput: the file cannot be read, has several scenarios and none is chosen, or has not the one wanted.
    """
    path, wanted = Path(text), None
    if "#" in text and not exists(path):
        name, _ignored, wanted = text.rpartition("#")
        path = Path(name)
    numbered = numbered_scenarios(path)
    by_id = {scenario.id: scenario for scenario in numbered.values()}
    if wanted is None:
        if len(by_id) == 1:
            return path, next(iter(by_id.values()))
        raise BadInput(
            _(
                "{path} has {by_id} scenarios; choose one with {path}#ID: {some}",
                path=path,
                by_id=len(by_id),
                some=_some(by_id),
            )
        )
    chosen = by_id.get(wanted) or (numbered.get(int(wanted)) if wanted.isdecimal() else None)
    if chosen is None:
        raise BadInput(
            _(
                "{wanted}: no scenario of {path} has this id or line; it has {some}",
                wanted=wanted,
                path=path,
                some=_some(by_id),
            )
        )
    return path, chosen


def scenario_and_settings(
    given: Scenario | Mapping[str, Any] | str | Path, settings: Mapping[str, object], rules: Rules = DEFAULT_RULES
) -> tuple[Scenario, ClusterConfig]:
    """A scenario that a caller gave, and the cluster that runs it: with these settings, else those beside its file.

    Raises:
        BadInput: it is no scenario, no file, or a setting is unknown.
    """
    if isinstance(given, Scenario):
        return given, cluster_of(settings, rules)
    if isinstance(given, str) and given.lstrip().startswith("{"):
        return parse_scenario(given), cluster_of(settings, rules)
    if isinstance(given, Mapping):
        return convert_scenario(given), cluster_of(settings, rules)
    if not isinstance(given, str | Path):
        raise BadInput(
            _(
                "scenario is {given}; right is lab.scenario(), its JSON as a dict or a text, or a file",
                given=f"{given!r}",
            )
        )
    path, scenario = chosen_scenario(str(given))
    return scenario, cluster_of(settings, rules) if settings else replace(settings_beside(path.parent), rules=rules)


def _some(names: Iterable[str]) -> str:
    known = list(names)
    return joined(", ", known[:8]) + (", ..." if len(known) > 8 else "")


def named_scenarios(path: Path, ids: Sequence[str] | None) -> dict[int, Scenario]:
    """The scenarios of a file that have one of these ids (all, without any), by the number of their line.

    FILE#ID and FILE#LINE name one too, as `chosen_scenario` reads them.

    Raises:
        BadInput: the file cannot be read, or has no scenario of an id.
    """
    if "#" in str(path) and not exists(path):
        path, chosen = chosen_scenario(str(path))
        ids = [*(ids or ()), chosen.id]
    numbered = numbered_scenarios(path)
    known = [scenario.id for scenario in numbered.values()]
    for name in ids or ():
        if name not in known:
            raise BadInput(_("--id {name}: not in {path}; it has {some}", name=name, path=path, some=_some(known)))
    return {number: scenario for number, scenario in numbered.items() if not ids or scenario.id in ids}


def read_schedules(path: Path, scenarios: Sequence[str]) -> dict[str, Schedule]:
    """The schedules in `path` by the scenario they belong to; one that names none fits a single scenario.

    Raises:
        BadInput: the file cannot be read, or a schedule is malformed or belongs to none of `scenarios`.
    """
    text = read_text(path, _("a file that --schedule-out has written"))
    by_scenario: dict[str, Schedule] = {}
    for where, part in _parts(str(path), text):
        schedule = Schedule.from_json(part, where)
        name = schedule.scenario or (scenarios[0] if len(scenarios) == 1 else "")
        if name not in scenarios:
            raise BadInput(
                _(
                    '{where}: "scenario" is {scenario}; it must be one of those run: {some}',
                    where=where,
                    scenario=f"{schedule.scenario!r}",
                    some=_some(scenarios),
                )
            )
        if name in by_scenario:
            raise BadInput(
                _("{where}: a second schedule for scenario {name}; one is enough", where=where, name=f"{name!r}")
            )
        by_scenario[name] = schedule
    if not by_scenario:
        raise BadInput(_("{path}: no schedule in it; one JSON object, or one a line, is expected", path=path))
    return by_scenario


def _parts(name: str, text: str) -> list[tuple[str, str]]:
    try:
        json_value(text)
    except ValueError:
        return [(_("{name}, line {number}", name=name, number=number), line) for number, line in lines_of(text)]
    return [(name, text)]
