"""Conformance: every vector found in a folder, run against our rooms and compared with what the real jar answered."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, cast

from rmqlab.errors import BadInput
from tests.proof.conform.vectors import BadVector, Difference, Kind, Vector

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

# family: the module that has its KINDS
FAMILIES: Mapping[str, str] = {
    "messageid": "tests.proof.conform.messageid",
    "properties": "tests.proof.conform.properties",
    "record": "tests.proof.conform.record",
    "tags": "tests.proof.conform.tags",
    "subscription": "tests.proof.conform.subscription",
    "rebalance": "tests.proof.conform.rebalance",
    "remoting": "tests.proof.conform.remoting",
    "bloom": "tests.proof.conform.bloom",
    "filter_bitmap": "tests.proof.conform.filter_bitmap",
    "sql92_compile": "tests.proof.conform.sql92_compile",
    "sql92_eval": "tests.proof.conform.sql92_eval",
}
NOT_IMPLEMENTED = "not implemented"
_ENDINGS = (".jsonl", ".jsonl.gz")


class BadVectors(BadInput):
    """A folder or a line of a vector file that cannot be used."""


@dataclass(slots=True)
class FamilyResult:
    """What came out for one family: `total` cases, `passed` of them without a difference, and all differences."""

    family: str
    total: int = 0
    passed: int = 0
    failures: list[str] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)
    problem: str | None = None

    def add(self, case: str, differences: list[Difference]) -> None:
        """Count one case."""
        self.total += 1
        if differences:
            self.failures.append(case)
            self.differences.extend(differences)
        else:
            self.passed += 1

    def as_json(self) -> dict[str, object]:
        """Return {passed, total, failures: [case], differences: [{case, field, expected, got}], problem}."""
        rows = [
            {
                "case": difference.case,
                "field": difference.field,
                "expected": plain(difference.expected),
                "got": plain(difference.got),
            }
            for difference in self.differences
        ]
        return {
            "passed": self.passed,
            "total": self.total,
            "failures": self.failures,
            "differences": rows,
            "problem": self.problem,
        }


def plain(value: object) -> object:
    """Return `value` as JSON can hold it; what it cannot hold becomes its text."""
    return json.loads(json.dumps(value, default=repr))


def conform(folder: Path) -> dict[str, FamilyResult]:
    """Run every vector file of `folder` and return a result for each family, in the order of `FAMILIES`.

    A file belongs to the family whose name it begins with, the longest such name (`record.jsonl`, `record-2.jsonl`,
    `sql92_eval.more.jsonl.gz`), or else to the one its first case is named after (`record-0001`). A file of no known
    family and a family without a runner count as failed with every case. `folder` may be one such file.

    Raise `BadVectors`, naming file, line and field, for anything that cannot be read or run.
    """
    files = _files(folder)
    if not files:
        raise BadVectors(f"{folder}: nothing to run; a *.jsonl file of one of {', '.join(FAMILIES)} is needed")
    results: dict[str, FamilyResult] = {}
    for path in files:
        cases = list(_read(path))
        family = _family(path.name, cases)
        _run(path, cases, results.setdefault(family, FamilyResult(family)))
    order = [*FAMILIES, *results]
    return {family: results[family] for family in dict.fromkeys(order) if family in results}


def _files(folder: Path) -> list[Path]:
    if folder.is_file():
        return [folder]
    if not folder.is_dir():
        raise BadVectors(f"{folder}: there is no such folder")
    return sorted(path for path in folder.iterdir() if path.name.endswith(_ENDINGS))


def _read(path: Path) -> Iterator[tuple[int, Vector]]:
    """Yield (line number, vector) and check what holds for every family: JSON objects with a unique `case`."""
    try:
        data = path.read_bytes()
        lines = (gzip.decompress(data) if path.suffix == ".gz" else data).split(b"\n")
    except (OSError, EOFError) as error:
        raise BadVectors(f"{path}: cannot be read: {error}") from error
    seen: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        if line.strip():
            vector = _vector(line, f"{path}:{number}")
            first = seen.setdefault(str(vector["case"]), number)
            if first != number:
                raise BadVectors(f"{path}:{number}: field 'case': {vector['case']!r} is on line {first} already")
            yield number, vector
    if not seen:
        raise BadVectors(f"{path}: is empty; one JSON object a line is needed")


def _vector(line: bytes, where: str) -> Vector:
    try:
        vector = json.loads(line)
    except (ValueError, RecursionError) as error:  # wrong JSON, wrong UTF-8, or brackets without end
        raise BadVectors(f"{where}: not JSON: {error}") from error
    if not isinstance(vector, dict):
        raise BadVectors(f"{where}: a JSON object is needed, with the fields of one vector")
    if not isinstance(vector.get("case"), str):
        raise BadVectors(f"{where}: field 'case': must be the name of the vector")
    return vector


def _family(name: str, cases: list[tuple[int, Vector]]) -> str:
    for text in (name, *(str(vector["case"]) for _, vector in cases[:1])):
        fitting = [family for family in FAMILIES if text.startswith(family)]
        if fitting:
            return max(fitting, key=len)
    return name


def kinds_of(family: str) -> Mapping[str, Kind] | None:
    """Return the kinds of `family`, or None if there is no runner for it."""
    module = FAMILIES.get(family)
    if module is None:
        return None
    try:
        return cast("Mapping[str, Kind]", import_module(module).KINDS)
    except ModuleNotFoundError as error:
        if error.name == module:
            return None
        raise


def _run(path: Path, cases: list[tuple[int, Vector]], result: FamilyResult) -> None:
    kinds = kinds_of(result.family)
    if kinds is None:
        unknown = f"{path.name} is of no known family" if result.family not in FAMILIES else NOT_IMPLEMENTED
        result.problem = unknown
        for _, vector in cases:
            result.add(str(vector["case"]), [Difference(str(vector["case"]), "(run)", "a runner", unknown)])
        return
    for number, vector in cases:
        try:
            result.add(str(vector["case"]), _kind(kinds, vector).differences(vector))
        except BadVector as error:
            raise BadVectors(f"{path}:{number}: {error}") from error


def _kind(kinds: Mapping[str, Kind], vector: Vector) -> Kind:
    if "" in kinds:
        return kinds[""]
    name = vector.get("kind")
    if not isinstance(name, str) or name not in kinds:
        raise BadVector("kind", f"must be one of {', '.join(kinds)}, not {name!r}")
    return kinds[name]
