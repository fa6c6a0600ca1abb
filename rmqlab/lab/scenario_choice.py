"""Scenarios of a file: the only one, the one that FILE#ID or FILE#LINE names, or those of some ids."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rmqlab.errors import BadInput
from rmqlab.lab.scenario import numbered_scenarios

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rmqlab.lab.scenario import Scenario


def chosen_scenario(text: str, wanted: str | None = None) -> tuple[Path, Scenario]:
    """The file and the scenario that FILE, FILE#ID or FILE#LINE (the first line is 1) means, or FILE with an id.

    Raises:
        BadInput: the file cannot be read, has several scenarios and none is chosen, or has not the one wanted.
    """
    path = Path(text)
    if not path.exists() and "#" in text:
        name, _, after = text.rpartition("#")
        if wanted is not None and wanted != after:
            raise BadInput(f"--id {wanted}: {text} chooses another one; give one of the two")
        path, wanted = Path(name), after
    numbered = numbered_scenarios(path)
    by_id = {scenario.id: scenario for scenario in numbered.values()}
    if wanted is None:
        if len(by_id) == 1:
            return path, next(iter(by_id.values()))
        raise BadInput(f"{path.name} has {len(by_id)} scenarios; choose one with {path.name}#ID: {_some(by_id)}")
    found = by_id.get(wanted) or (numbered.get(int(wanted)) if wanted.isdecimal() else None)
    if found is None:
        raise BadInput(f"{wanted}: no scenario of {path.name} has this id or line; it has {_some(by_id)}")
    return path, found


def named_scenarios(path: Path, ids: Sequence[str] | None) -> dict[int, Scenario]:
    """The scenarios of a file that have one of these ids (all, without any), by the number of their line.

    Raises:
        BadInput: the file cannot be read, or has no scenario of an id.
    """
    numbered = numbered_scenarios(path)
    known = [scenario.id for scenario in numbered.values()]
    for name in ids or ():
        if name not in known:
            raise BadInput(f"--id {name}: not in {path.name}; it has {_some(known)}")
    return {number: scenario for number, scenario in numbered.items() if not ids or scenario.id in ids}


def _some(names: Iterable[str]) -> str:
    known = list(names)
    return ", ".join(known[:8]) + (", ..." if len(known) > 8 else "")
