"""What code says, in the few words that all its languages share: terms, statements, functions, types, a file of them.

A reader of a language turns its syntax tree into these; whoever looks for consumers, or for the text of a name, reads
these alone. What no reader follows is an `Unread` with its own source text.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Text:
    """A text, as it stands in the source."""

    value: str


@dataclass(frozen=True, slots=True)
class Name:
    """A name with its dots: `Topics.ORDERS` is ("Topics", "ORDERS")."""

    parts: tuple[str, ...]

    def __str__(self) -> str:
        """As it is written."""
        return ".".join(self.parts)


@dataclass(frozen=True, slots=True)
class Join:
    """Texts one after the other: `"a" + B`, a template, an f-string."""

    parts: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function; `target` is what stands before its last dot."""

    target: Term | None
    function: str
    arguments: tuple[Term, ...]
    line: int
    named: tuple[tuple[str, Term], ...] = ()


@dataclass(frozen=True, slots=True)
class Make:
    """An object that is made: `new T(...)`, a composite literal of Go. `named`: its fields that are given by name."""

    type: str
    arguments: tuple[Term, ...]
    line: int
    named: tuple[tuple[str, Term], ...] = ()


@dataclass(frozen=True, slots=True)
class Pairs:
    """Keys and values."""

    items: tuple[tuple[Term, Term], ...]


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    items: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Setting:
    """A text with placeholders of Spring, which stand for settings."""

    text: str


@dataclass(frozen=True, slots=True)
class Unread:
    """Anything else, by the beginning of its source."""

    text: str


Term = Text | Name | Join | Call | Make | Pairs | Items | Setting | Unread


@dataclass(frozen=True, slots=True)
class Assign:
    """A name is given a value, or, with None, only declared."""

    target: tuple[str, ...]
    value: Term | None
    line: int
    type: str = ""


@dataclass(frozen=True, slots=True)
class Do:
    """A call that stands anywhere in a function."""

    call: Call


@dataclass(frozen=True, slots=True)
class Return:
    """What a function gives back."""

    value: Term


Statement = Assign | Do | Return


@dataclass(frozen=True, slots=True)
class Annotation:
    """An annotation and its values by name; a single value is called `value`."""

    name: str
    values: dict[str, Term]
    line: int


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter, its type as it is written without what it is of, and the value that it has if none is given."""

    name: str
    type: str = ""
    annotations: tuple[Annotation, ...] = ()
    default: Term | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Function:
    """A function: what it is given, and what it does in the order of its text, blocks in it too."""

    name: str
    parameters: tuple[Parameter, ...]
    statements: tuple[Statement, ...]
    line: int
    type: str = ""
    annotations: tuple[Annotation, ...] = ()


@dataclass(frozen=True, slots=True)
class Field:
    """A variable of a type, or of a whole file."""

    name: str
    value: Term | None
    line: int
    type: str = ""
    annotations: tuple[Annotation, ...] = ()
    static: bool = False


@dataclass(eq=False, slots=True)
class TypeOfCode:
    """A class, interface, enum or object by its name with those around it; "" has what stands outside of all.

    `entries` are an enum's constants with their arguments; `parameters` those of a constructor that stands at the name.
    """

    name: str
    line: int = 1
    supers: tuple[str, ...] = ()
    annotations: tuple[Annotation, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    fields: dict[str, Field] = field(default_factory=dict)
    entries: dict[str, tuple[Term, ...]] = field(default_factory=dict)
    functions: list[Function] = field(default_factory=list)

    @property
    def simple(self) -> str:
        """The last part of its name."""
        return self.name.rpartition(".")[2]


@dataclass(eq=False, slots=True)
class Unit:
    """A file of code. `imports`: what a name stands for; `wildcards`: packages and types of which all is imported.

    `damaged`: the first line where its grammar does not fit, None where all does.
    """

    file: str
    language: str
    package: str = ""
    imports: dict[str, str] = field(default_factory=dict)
    wildcards: list[str] = field(default_factory=list)
    types: dict[str, TypeOfCode] = field(default_factory=dict)
    damaged: int | None = None

    @property
    def of_jvm(self) -> bool:
        """Whether names are looked up by packages and types."""
        return self.language in {"java", "kotlin"}


def chain(term: Term | None) -> list[Call]:
    """The calls of a chain such as `a.b().c()`, the first one first."""
    calls: list[Call] = []
    while isinstance(term, Call):
        calls.append(term)
        term = term.target
    return calls[::-1]


def root(term: Term | None) -> Term | None:
    """What a chain of calls begins with."""
    while isinstance(term, Call):
        term = term.target
    return term
