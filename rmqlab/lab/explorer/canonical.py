"""Objects as plain tuples, so that two states of a run can be compared: equal tuples mean equal states.

The walk takes in everything that is reachable, coroutines included (where each stands, its variables, the iterators
it is in the middle of), unless a type is handled by a function of its own or an attribute is left out by name. So an
attribute that somebody adds tomorrow counts as state; the worst that can happen is that equal states look different.
"""

from __future__ import annotations

import gc
from collections import deque
from enum import Enum
from functools import partial
from types import (
    BuiltinMethodType,
    CellType,
    CodeType,
    CoroutineType,
    FrameType,
    FunctionType,
    GeneratorType,
    MethodType,
)
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    Way = Callable[["Walk", Any], "Canonical"]

Canonical = Any  # None, bool, int, float, str, bytes, or a tuple of these
_PLAIN = frozenset({int, str, bytes, bool, float, type(None)})
_OF_FRAMES = frozenset({CodeType, FrameType})
_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))
_ITERATORS = (enumerate, zip, map, filter, reversed)


class UnknownKindError(TypeError):
    """An object whose state cannot be read; its type needs a function of its own."""


class Reader:
    """How the state of each type is read.

    ``handlers``: {type: function(walk, object) -> plain value}, for exactly that type. ``left_out``: {class name: names
    of attributes}, for the class and those derived from it. One reader serves any number of walks.
    """

    def __init__(self, handlers: Mapping[type, Way], left_out: Mapping[str, Collection[str]]) -> None:
        self.ways: dict[type, Way] = dict(handlers)
        self._left_out = left_out
        self._slots: dict[type, tuple[str, ...]] = {}
        self._without: dict[type, frozenset[str]] = {}

    def way(self, kind: type) -> Way:
        """How objects of a type are read, found once for each type."""
        way = self.ways[kind] = self._find(kind)
        return way

    def _find(self, kind: type) -> Way:
        for base, way in _WAYS:
            if issubclass(kind, base):
                return way
        if kind in _ITERATORS or kind.__name__.endswith("iterator"):
            return _iterator
        self._without[kind] = frozenset(
            name for base in kind.__mro__ for name in self._left_out.get(base.__name__, ())
        )  # fmt: skip
        self._slots[kind] = self._names(kind)
        return _instance

    def names(self, kind: type) -> tuple[tuple[str, ...], frozenset[str]]:
        """Slots that are state, and names in the dictionary of attributes that are not."""
        if kind not in self._slots:
            self._find(kind)
        return self._slots[kind], self._without[kind]

    def _names(self, kind: type) -> tuple[str, ...]:
        names: dict[str, None] = {}
        for base in kind.__mro__:
            slots = base.__dict__.get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                private = name.startswith("__") and not name.endswith("__")
                names[f"_{base.__name__.lstrip('_')}{name}" if private else name] = None
        names.update(dict.fromkeys(getattr(kind, "__struct_fields__", ())))
        known = names or hasattr(kind, "__dataclass_fields__") or kind.__dictoffset__ or "__slots__" in kind.__dict__
        if not known:
            raise UnknownKindError(f"the state of a {kind.__module__}.{kind.__qualname__} cannot be read")
        without = self._without[kind] | {"__dict__", "__weakref__"}
        return tuple(name for name in names if name not in without)


class Walk:
    """One walk over a state. The second time it meets an object that can change, it says "the same as before"."""

    __slots__ = ("_kept", "_met", "_reader", "_ways")

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._ways = reader.ways
        self._met: dict[int, int] = {}
        self._kept: list[object] = []  # what was met lives on, so that no id is used twice

    def again(self, thing: object) -> Canonical:
        """None at the first meeting with ``thing``, later its number."""
        number = self._met.get(id(thing))
        if number is not None:
            return ("=", number)
        self._met[id(thing)] = len(self._kept)
        self._kept.append(thing)
        return None

    def of(self, thing: Any) -> Canonical:
        """The plain form of ``thing``."""
        kind = type(thing)
        if kind in _PLAIN:
            return thing
        return (self._ways.get(kind) or self._reader.way(kind))(self, thing)

    def instance(self, thing: Any) -> Canonical:
        """The attributes of ``thing``, whether it was met before or not."""
        kind = type(thing)
        slots, without = self._reader.names(kind)
        of = self.of
        state: list[Canonical] = [kind.__name__]
        for name in slots:
            value = getattr(thing, name, None)
            state.append(value if type(value) in _PLAIN else of(value))
        more = getattr(thing, "__dict__", None)
        if more:
            for name, value in more.items():
                if name not in without:
                    state.append(name)
                    state.append(value if type(value) in _PLAIN else of(value))
        return tuple(state)


def _tuple(walk: Walk, thing: tuple[Any, ...]) -> Canonical:
    told = tuple(map(walk.of, thing))
    return told if type(thing) is tuple else (type(thing).__name__, told)


def _dict(walk: Walk, thing: dict[Any, Any]) -> Canonical:
    of = walk.of
    return walk.again(thing) or ("dict", *[(of(key), of(value)) for key, value in thing.items()])


def _list(walk: Walk, thing: list[Any]) -> Canonical:
    return walk.again(thing) or ("list", *map(walk.of, thing))


def _set(walk: Walk, thing: set[Any]) -> Canonical:
    return ("set", *sorted(map(repr, map(walk.of, thing))))


def _view(walk: Walk, thing: Any) -> Canonical:
    return ("view", *map(walk.of, thing))


def _function(walk: Walk, thing: FunctionType) -> Canonical:
    return ("function", thing.__qualname__, *(walk.of(cell) for cell in thing.__closure__ or ()))


def _method(walk: Walk, thing: MethodType) -> Canonical:
    return ("method", thing.__func__.__qualname__, walk.of(thing.__self__))


def _partial(walk: Walk, thing: partial[Any]) -> Canonical:
    return ("partial", walk.of(thing.func), walk.of(thing.args), walk.of(thing.keywords))


def _coroutine(walk: Walk, thing: Any) -> Canonical:
    again = walk.again(thing)
    if again is not None:
        return again
    frame = thing.cr_frame if type(thing) is CoroutineType else thing.gi_frame
    if frame is None:
        return ("ended", thing.__qualname__)
    # The garbage collector sees what no debugger shows: the values between two variables, iterators above all.
    own = frame.f_code
    held = [value for value in gc.get_referents(thing) if type(value) not in _OF_FRAMES]
    values = [value for value in held if not (type(value) is FunctionType and value.__code__ is own)]
    return ("coroutine", thing.__qualname__, frame.f_lasti, *map(walk.of, values))


def _iterator(walk: Walk, thing: Any) -> Canonical:
    return walk.again(thing) or ("iterator", *map(walk.of, thing.__reduce__()[1:]))


def _instance(walk: Walk, thing: Any) -> Canonical:
    return walk.again(thing) or walk.instance(thing)


_WAYS: tuple[tuple[type, Way], ...] = (
    (Enum, lambda _, thing: (type(thing).__name__, thing.name)),
    (type, lambda _, thing: ("class", thing.__qualname__)),
    (int, lambda _, thing: (type(thing).__name__, str(thing))),
    (str, lambda _, thing: (type(thing).__name__, str(thing))),
    (tuple, _tuple),
    (dict, _dict),
    (list, _list),
    (deque, _list),
    (range, lambda _, thing: ("range", thing.start, thing.stop, thing.step)),
    (bytearray, lambda _, thing: ("bytearray", bytes(thing))),
    *((view, _view) for view in _VIEWS),
    (set, _set),
    (frozenset, _set),
    (FunctionType, _function),
    (MethodType, _method),
    (BuiltinMethodType, lambda _, thing: ("builtin", thing.__name__)),
    (partial, _partial),
    (CellType, lambda walk, thing: walk.of(thing.cell_contents)),
    (CoroutineType, _coroutine),
    (GeneratorType, _coroutine),
)
