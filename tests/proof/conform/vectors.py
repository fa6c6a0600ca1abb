"""One conformance vector: what its kind takes, what it expects, and how far our answer is from that.

A vector is a JSON object: some fields are given, the others are what the real jar answered. A family is a file of
vectors. Each family has a module with `KINDS`, a table from the vector's `kind` ("" in families that have no such
field) to a `Kind`. `tests.proof.conform.conformance` does the rest: reading, comparing, counting.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import UnionType
from typing import TYPE_CHECKING, Any, TypeVar, overload

from rmqlab.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterator

Vector = Mapping[str, object]
Shape = type | UnionType
Value = TypeVar("Value")
_HEX = re.compile(r"(?:[0-9a-f]{2})*")
_LABELS = frozenset({"case", "kind", "family"})


class _Missing:
    """Stands where one side has nothing; equal to no JSON value."""

    def __repr__(self) -> str:
        return "(missing)"


_MISSING = _Missing()


class BadVector(BadInput):
    """A vector that cannot be run: `field` is where it is wrong, the text says what would be right."""

    def __init__(self, field_name: str, problem: str) -> None:
        super().__init__(f"field {field_name!r}: {problem}")
        self.field = field_name


@dataclass(frozen=True, slots=True)
class Difference:
    """One place in a vector where we answer something else. `field` is a path such as `decoded.properties.TAGS`."""

    case: str
    field: str
    expected: object
    got: object


@dataclass(frozen=True, slots=True)
class Kind:
    """How one kind of vector is run.

    `given`: the fields that `run` may read, with their types (`str | None`; `object` for anything).
    `expected`: the fields that `run` must return and that are compared, all of them, deeply and by type.
    `run`: takes the vector, returns {field: our answer} for every field of `expected`.
    `ignored`: fields that are neither, each with the reason why nothing can be said about it.
    `reduce`: for a field in which only part is meaningful: a function that both sides go through before comparison.
    `case`, `kind` and `family` are labels and need no mention. A vector must have exactly these fields.
    """

    given: Mapping[str, Shape]
    expected: tuple[str, ...]
    run: Callable[[Vector], Mapping[str, object]]
    ignored: Mapping[str, str] = field(default_factory=dict)
    reduce: Mapping[str, Callable[[object], object]] = field(default_factory=dict)

    def check(self, vector: Vector) -> None:
        """Raise `BadVector` for a field that is missing, unknown or of the wrong type."""
        for name, shape in self.given.items():
            take(vector, name, shape)
        for name in (*self.expected, *self.ignored):
            if name not in vector:
                raise BadVector(name, "is missing")
        known = _LABELS.union(self.given, self.expected, self.ignored)
        for name in vector:
            if name not in known:
                raise BadVector(name, f"is not known here; known are {', '.join(sorted(known))}")

    def differences(self, vector: Vector) -> list[Difference]:
        """Run `vector` and return where we differ; raise `BadVector` if it cannot be run."""
        self.check(vector)
        case = str(vector["case"])
        try:
            answer = self.run(vector)
        except BadVector:
            raise
        except Exception as error:  # noqa: BLE001 - whatever breaks, the case failed, and the others still run
            return [Difference(case, "(run)", "an answer", f"{type(error).__name__}: {error}")]
        unlike: list[Difference] = []
        for name in self.expected:
            expected, got = vector[name], answer.get(name, _MISSING)
            reduced = self.reduce.get(name)
            if reduced is not None:
                expected, got = _reduced(reduced, expected), _reduced(reduced, got)
            unlike.extend(Difference(case, path, left, right) for path, left, right in compare(expected, got, name))
        return unlike


def _reduced(reduced: Callable[[object], object], value: object) -> object:
    """Return the meaningful part of `value`, or all of it where it has not the form that `reduced` knows."""
    try:
        return reduced(value)
    except (TypeError, ValueError, AttributeError, LookupError):
        return value


@overload
def take(owner: Mapping[str, object], name: str, shape: type[Value], where: str = "") -> Value: ...


@overload
def take(owner: Mapping[str, object], name: str, shape: UnionType, where: str = "") -> Any: ...


def take(owner: Mapping[str, object], name: str, shape: Shape, where: str = "") -> Any:
    """Return `owner[name]`; raise `BadVector` naming the field if it is missing or not of type `shape`.

    `where` is the path of `owner` in the vector, for the message. True and False are no numbers here.
    """
    path = f"{where}.{name}" if where else name
    if name not in owner:
        raise BadVector(path, "is missing")
    value = owner[name]
    right = shape is object or (isinstance(value, shape) and (not isinstance(value, bool) or _admits_bool(shape)))
    if not right:
        wanted = shape.__name__ if isinstance(shape, type) else str(shape)
        raise BadVector(path, f"must be {wanted}, not {_brief(value)}")
    return value


def _admits_bool(shape: Shape) -> bool:
    return bool in (shape.__args__ if isinstance(shape, UnionType) else (shape,))


def _brief(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def from_hex(text: str, name: str) -> bytes:
    """Return the bytes of lower-case hex `text`; raise `BadVector` naming field `name` if it is something else."""
    if _HEX.fullmatch(text) is None:
        raise BadVector(name, f"must be pairs of lower-case hex digits, not {_brief(text)}")
    return bytes.fromhex(text)


def compare(expected: object, got: object, path: str) -> Iterator[tuple[str, object, object]]:
    """Yield (path, expected, got) for every place where two JSON values differ; 1, 1.0 and true are three values."""
    if isinstance(expected, dict) and isinstance(got, dict):
        for key in [*expected, *(key for key in got if key not in expected)]:
            yield from compare(expected.get(key, _MISSING), got.get(key, _MISSING), f"{path}.{key}")
    elif isinstance(expected, list) and isinstance(got, list | tuple):
        for index in range(max(len(expected), len(got))):
            left = expected[index] if index < len(expected) else _MISSING
            yield from compare(left, got[index] if index < len(got) else _MISSING, f"{path}[{index}]")
    elif type(expected) is not type(got) or expected != got:
        yield path, expected, got
