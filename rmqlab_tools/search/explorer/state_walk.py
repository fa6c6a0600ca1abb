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
from operator import attrgetter
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
    # class, slots, all of them at once, names left out, has a dictionary
    Attributes = tuple[str, tuple[str, ...], Callable[[Any], tuple[Any, ...]] | None, frozenset[str], bool]

Canonical = Any  # None, bool, int, float, str, bytes, or a tuple of these
_PLAIN = frozenset({int, str, bytes, bool, float, type(None)})
_OF_FRAMES = frozenset({CodeType, FrameType})
_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))
_ITERATORS = (enumerate, zip, map, filter, reversed)


class UnknownKindError(TypeError):
    """An object whose state cannot be read; its type needs a function of its own."""


class Reader(dict[type, "Way"]):
    """How the state of each type is read; a type that is new is looked up once.

    `handlers`: {type: function(walk, object) -> plain value}, for exactly that type. `left_out`: {class name: names
    of attributes}, for the class and those derived from it. One reader serves any number of walks.
    """

    def __init__(self, handlers: Mapping[type, Way], left_out: Mapping[str, Collection[str]]) -> None:
        super().__init__(handlers)
        self.known: dict[type, Attributes] = {}
        self._left_out = left_out

    def __missing__(self, kind: type) -> Way:
        self[kind] = way = self._find(kind)
        return way

    def _find(self, kind: type) -> Way:
        for base, way in _WAYS:
            if issubclass(kind, base):
                return way
        if kind in _ITERATORS or kind.__name__.endswith("iterator"):
            return _iterator
        self.attributes(kind)
        return _instance

    def attributes(self, kind: type) -> Attributes:
        """What is read of an instance of `kind`, found once."""
        if kind not in self.known:
            without = frozenset(name for base in kind.__mro__ for name in self._left_out.get(base.__name__, ()))
            slots = self._slots(kind, without)
            # of a single name it would give the value alone
            at_once = attrgetter(*slots) if len(slots) > 1 else None
            self.known[kind] = (kind.__name__, slots, at_once, without, bool(kind.__dictoffset__))
        return self.known[kind]

    def _slots(self, kind: type, without: frozenset[str]) -> tuple[str, ...]:
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
        return tuple(name for name in names if name not in without and name not in {"__dict__", "__weakref__"})


class Walk:
    """One walk over a state. The second time it meets an object that can change, it says "the same as before".

    A search spends most of its time here, so what is plain is distinguished where it stands, without a call.
    """

    __slots__ = ("kept", "met", "ways")

    def __init__(self, reader: Reader) -> None:
        self.ways = reader
        self.met: dict[int, int] = {}
        self.kept: list[object] = []  # what was met lives on, so that no id is used twice

    def again(self, thing: object) -> Canonical:
        """None at the first meeting with `thing`, later its number."""
        met, me = self.met, id(thing)
        if me in met:
            return ("=", met[me])
        met[me] = len(met)
        self.kept.append(thing)
        return None

    def of(self, thing: Any) -> Canonical:
        """The plain form of `thing`."""
        kind = type(thing)
        return thing if kind in _PLAIN else self.ways[kind](self, thing)

    def instance(self, thing: Any) -> Canonical:
        """The attributes of `thing`, whether it was met before or not."""
        ways, kind = self.ways, type(thing)
        name, slots, at_once, without, more = ways.known.get(kind) or ways.attributes(kind)
        try:
            values = at_once(thing) if at_once else [getattr(thing, slot) for slot in slots]
        except AttributeError:  # one that was never set counts as None
            values = [getattr(thing, slot, None) for slot in slots]
        state: list[Canonical] = [name]
        state += [value if type(value) in _PLAIN else ways[type(value)](self, value) for value in values]
        if more:
            for name, value in thing.__dict__.items():
                if name not in without:
                    state += (name, value if type(value) in _PLAIN else ways[type(value)](self, value))
        return tuple(state)


def _tuple(walk: Walk, thing: tuple[Any, ...]) -> Canonical:
    ways = walk.ways
    items = tuple([item if type(item) in _PLAIN else ways[type(item)](walk, item) for item in thing])
    return items if type(thing) is tuple else (type(thing).__name__, items)


def _dict(walk: Walk, thing: dict[Any, Any]) -> Canonical:
    if again := walk.again(thing):
        return again
    of = walk.of
    return ("dict", *[(key if type(key) in _PLAIN else of(key), of(value)) for key, value in thing.items()])


def _list(walk: Walk, thing: list[Any]) -> Canonical:
    if again := walk.again(thing):
        return again
    ways = walk.ways
    return ("list", *[item if type(item) in _PLAIN else ways[type(item)](walk, item) for item in thing])


def _coroutine(walk: Walk, thing: Any) -> Canonical:
    if again := walk.again(thing):
        return again
    frame = thing.cr_frame if type(thing) is CoroutineType else thing.gi_frame
    if frame is None:
        return ("ended", thing.__qualname__)
    # The garbage collector sees what no debugger shows: the values between two variables, iterators above all.
    own = frame.f_code
    state: list[Canonical] = ["coroutine", thing.__qualname__, frame.f_lasti]
    for value in gc.get_referents(thing):
        kind = type(value)
        if kind in _PLAIN:
            state.append(value)
        elif not (kind in _OF_FRAMES or (kind is FunctionType and value.__code__ is own)):
            state.append(walk.ways[kind](walk, value))
    return tuple(state)


def _method(walk: Walk, thing: MethodType) -> Canonical:
    owner = thing.__self__
    return ("method", thing.__func__.__qualname__, walk.ways[type(owner)](walk, owner))


def _cell(walk: Walk, thing: CellType) -> Canonical:
    try:
        return walk.of(thing.cell_contents)
    except ValueError:  # a variable that its function has not set yet
        return ("unset",)


def _iterator(walk: Walk, thing: Any) -> Canonical:
    return walk.again(thing) or ("iterator", *map(walk.of, thing.__reduce__()[1:]))


def _instance(walk: Walk, thing: Any) -> Canonical:
    met, me = walk.met, id(thing)
    if me in met:
        return ("=", met[me])
    met[me] = len(met)
    walk.kept.append(thing)
    return walk.instance(thing)


_WAYS: tuple[tuple[type, Way], ...] = (
    (Enum, lambda _, thing: (type(thing).__name__, thing._name_)),
    (type, lambda _, thing: ("class", thing.__qualname__)),
    (int, lambda _, thing: (type(thing).__name__, str(thing))),
    (str, lambda _, thing: (type(thing).__name__, str(thing))),
    (tuple, _tuple),
    (dict, _dict),
    (list, _list),
    (deque, _list),
    (range, lambda _, thing: ("range", thing.start, thing.stop, thing.step)),
    (bytearray, lambda _, thing: ("bytearray", bytes(thing))),
    *((view, lambda walk, thing: ("view", *map(walk.of, thing))) for view in _VIEWS),
    *((kind, lambda walk, thing: ("set", *sorted(map(repr, map(walk.of, thing))))) for kind in (set, frozenset)),
    (FunctionType, lambda walk, thing: ("function", thing.__qualname__, *map(walk.of, thing.__closure__ or ()))),
    (MethodType, _method),
    (BuiltinMethodType, lambda _, thing: ("builtin", thing.__name__)),
    (partial, lambda walk, thing: ("partial", *map(walk.of, (thing.func, thing.args, thing.keywords)))),
    (CellType, _cell),
    (CoroutineType, _coroutine),
    (GeneratorType, _coroutine),
)
