"""What a verb can import, followed statically: through the package and tests/proof, lazy imports too.

A module is loaded when code that can run imports it, and then its top runs. A function of a loaded module can run when
code that can run names it: a method by an attribute of its name, a function by its name alone. So nothing is missed but
what is put together from texts, and sometimes a function is taken for one of the same name.
"""

from __future__ import annotations

import ast
import sys
from functools import cache
from importlib.metadata import packages_distributions
from typing import TYPE_CHECKING, NamedTuple

from rmqlab.checkout import ROOT
from rmqlab_tools.cli import VERBS

if TYPE_CHECKING:
    from collections.abc import Iterator

OURS = ("rmqlab", "rmqlab_tools", "tests")
_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class Imported(NamedTuple):
    """A package of others, by the name that pip knows it by, and where it is imported: MODULE or MODULE:FUNCTION."""

    package: str
    place: str


class Part(NamedTuple):
    """A piece of code that runs as a whole: what it imports, and the names and attributes that stand in it."""

    place: str
    imports: tuple[str, ...]
    names: frozenset[str]
    attributes: frozenset[str]
    requires: frozenset[str]  # extras that it asks for by `require`, with words for who has none


class Module(NamedTuple):
    """The top of a module, and its functions: name, whether it is a method, and its code."""

    top: Part
    functions: tuple[tuple[str, bool, Part], ...]


def top_imports(module: str) -> set[Imported]:
    """The packages of others that are imported with a module itself, before anything of it is called."""
    return _Walk([module], set()).found


def reachable(verb: str) -> set[Imported]:
    """The packages of others that a verb can import."""
    extras = {*VERBS[verb].extras, *VERBS[verb].option_extras}
    walk = _Walk(["rmqlab_tools.cli.cli", f"{VERBS[verb].package}.{verb}"], extras)
    walk.follow({"run", "add_arguments", "_main"})
    return walk.found


class _Walk:
    """What has been loaded and can run so far."""

    def __init__(self, modules: list[str], extras: set[str]) -> None:
        self._extras = extras
        self.found: set[Imported] = set()
        self._loaded: dict[str, Module] = {}
        self._names: set[str] = set()
        self._attributes: set[str] = set()
        for name in modules:
            self._load(name)

    def follow(self, names: set[str]) -> None:
        """Let all functions run that can, from those of these names."""
        self._names |= names
        done: set[str] = set()
        while True:
            ready = [
                part
                for module in list(self._loaded.values())
                for name, is_method, part in module.functions
                if part.place not in done and self._is_called(name, is_method)
            ]
            if not ready:
                return
            for part in ready:
                done.add(part.place)
                self._run(part)

    def _is_called(self, name: str, is_method: bool) -> bool:
        if name.startswith("__"):
            return True
        return name in self._attributes or (name in self._names and not is_method)

    def _load(self, name: str) -> None:
        """Load a module of ours with the packages above it; take down one of others."""
        parts = name.split(".")
        if parts[0] not in OURS:
            return
        for length in range(1, len(parts) + 1):
            part = ".".join(parts[:length])
            if part not in self._loaded and (module := _module(part)) is not None:
                self._loaded[part] = module
                self._run(module.top)

    def _run(self, part: Part) -> None:
        self._names |= part.names
        self._attributes |= part.attributes
        if not part.requires <= self._extras:
            return  # it raises, in words, before it imports anything
        for name in part.imports:
            self._load(name)
            self.found |= {Imported(package, part.place) for package in _packages_of(name.partition(".")[0])}


@cache
def _packages_of(top: str) -> tuple[str, ...]:
    if top in sys.stdlib_module_names or top in OURS:
        return ()
    return tuple(sorted({package.lower().replace("_", "-") for package in _distributions().get(top, [top])}))


@cache
def _distributions() -> dict[str, list[str]]:
    return dict(packages_distributions())


@cache
def _module(name: str) -> Module | None:
    """A module of ours, read and not run."""
    path = ROOT.joinpath(*name.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    if not file.is_file():
        return None
    functions: list[tuple[str, bool, Part]] = []
    top = _part(name, _statements(ast.parse(file.read_text(encoding="utf-8")).body, name, functions, in_class=False))
    return Module(top, tuple(functions))


def _statements(
    body: list[ast.stmt], place: str, functions: list[tuple[str, bool, Part]], *, in_class: bool
) -> Iterator[ast.AST]:
    """The nodes that run with the module; its functions are set apart, and what is for annotations is left out."""
    for node in body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                inner = [inner_node for statement in node.body for inner_node in ast.walk(statement)]
                functions.append((node.name, in_class, _part(f"{place}:{node.name}", inner)))
                for part in [*node.decorator_list, node.args]:
                    yield from ast.walk(part)
            case ast.ClassDef():
                for part in [*node.decorator_list, *node.bases, *node.keywords]:
                    yield from ast.walk(part)
                yield from _statements(node.body, place, functions, in_class=True)
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                yield from _statements(node.orelse, place, functions, in_class=in_class)
            case ast.If(test=ast.UnaryOp(operand=ast.Name(id="TYPE_CHECKING"))):
                yield from _statements(node.body, place, functions, in_class=in_class)
            case _:
                yield from ast.walk(node)


def _started(words: list[ast.expr]) -> Iterator[str]:
    """The module of a command `python -m MODULE`; pip comes with Python."""
    for program, option, name in zip(words, words[1:], words[2:], strict=False):
        match program, option, name:
            case ast.Attribute(attr="executable"), ast.Constant(value="-m"), ast.Constant(value=str(module)):
                yield from [] if module == "pip" else [module]


def _part(place: str, nodes: Iterator[ast.AST] | list[ast.AST]) -> Part:
    imports, names, attributes, requires = [], set(), set(), set()
    for node in nodes:
        match node:
            case ast.Import():
                imports += [alias.name for alias in node.names]
            case ast.ImportFrom(module=str(module)):
                imports += [module, *(f"{module}.{alias.name}" for alias in node.names)]
                names |= {alias.name for alias in node.names}
            case ast.Call(func=ast.Name(id="import_module"), args=[ast.Constant(value=str(name)), *_]):
                imports.append(name)
            case ast.Call(func=ast.Name(id="require"), args=args):
                requires |= {str(argument.value) for argument in args if isinstance(argument, ast.Constant)}
            case ast.List(elts=words):
                imports += _started(words)
            case ast.Name():
                names.add(node.id)
            case ast.Attribute():
                attributes.add(node.attr)
    return Part(place, tuple(imports), frozenset(names), frozenset(attributes), frozenset(requires))
