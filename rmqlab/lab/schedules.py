"""Files of schedules: one run's choices as one JSON object, or several, one a line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rmqlab.errors import BadInput
from rmqlab.files import lines_of, read_text
from rmqlab.runtime.schedule import Schedule

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def read_schedules(path: Path, scenarios: Sequence[str]) -> dict[str, Schedule]:
    """The schedules in ``path`` by the scenario they belong to; one that names none fits a single scenario.

    Raises:
        BadInput: the file cannot be read, or a schedule is malformed or belongs to none of ``scenarios``.
    """
    text = read_text(path, "a file that --schedule-out has written")
    found: dict[str, Schedule] = {}
    for where, part in _parts(path.name, text):
        schedule = Schedule.from_json(part, where)
        name = schedule.scenario or (scenarios[0] if len(scenarios) == 1 else "")
        if name not in scenarios:
            known = ", ".join(scenarios[:8]) + (", ..." if len(scenarios) > 8 else "")
            raise BadInput(f'{where}: "scenario" is {schedule.scenario!r}; it must be one of those run: {known}')
        if name in found:
            raise BadInput(f"{where}: a second schedule for scenario {name!r}; one is enough")
        found[name] = schedule
    if not found:
        raise BadInput(f"{path.name}: no schedule in it; one JSON object, or one a line, is expected")
    return found


def _parts(name: str, text: str) -> list[tuple[str, str]]:
    try:
        json.loads(text)
    except ValueError:
        return [(f"{name}, line {number}", line) for number, line in lines_of(text)]
    return [(name, text)]
