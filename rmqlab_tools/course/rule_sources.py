"""The lines of Python of a rule that a learner wrote, with all that they use: so a file can hold what a cell has."""

from __future__ import annotations

import ast
import builtins
import dis
import inspect
import io
import linecache
import sys
import textwrap
import tokenize
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final

from rmqlab.language import _, joined
from rmqlab.rules import RULES, Rules

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_MISSING: Final = object()
_LOADS_A_NAME: Final = {"LOAD_GLOBAL", "LOAD_NAME"}


class NotWritable(Exception):
    """This rule has no lines that could stand alone in a file; the text says why."""


def lines_of_rule(field: str, rule: object, taken: Mapping[str, str]) -> str:
    """Lines that make `rule` under the name `field`: what it imports and uses first, then the rule.

    `taken` has the names that stand in the file already, outside of these lines, and what they are (`meaning`): a name
    that means something else there gets another one here.

    >>> print(lines_of_rule("heartbeat_period_ms", 3_000, {}))
    heartbeat_period_ms = 3000

    Raises:
        NotWritable: it is no plain function or constant, or needs something that cannot be written down.
    """
    if not callable(rule):
        return f"{field} = {rule!r}"
    parts = _Parts()
    name = parts.add(rule, field)
    if name != field:
        parts.lines.append(f"{field} = {name}")
    text = "\n\n".join([*(["\n".join(sorted(parts.imports))] if parts.imports else []), *parts.lines])
    others = [
        used
        for used, line in parts.made.items()
        if used != field and (used in Rules.__dataclass_fields__ or taken.get(used, meaning(line)) != meaning(line))
    ]
    return _renamed(text, {used: f"{used}_of_{field}" for used in others})


def meaning(text: str) -> str:
    """What Python reads in the lines, whatever their spaces and comments.

    >>> meaning("a = 1  # one") == meaning("a=1")
    True
    """
    return ast.dump(ast.parse(text))


class _Parts:
    """What a rule is made of: imports, and lines for each name that it needs, those that others need first."""

    def __init__(self) -> None:
        self.imports: set[str] = set()
        self.lines: list[str] = []
        self.made: dict[str, str] = {}

    def add(self, rule: Any, field: str) -> str:
        """Add a function with all that it uses; its name in the lines."""
        if not isinstance(rule, FunctionType):
            raise NotWritable(_("it is a {kind}, not a function that was written with def", kind=type(rule).__name__))
        if rule.__code__.co_freevars:
            inner = joined(", ", rule.__code__.co_freevars)
            raise NotWritable(_("it uses {names} of a function around it", names=inner))
        if rule.__name__ == "<lambda>":
            name, text = field, f"{field} = {_lambda_text(rule.__code__)}"
        else:
            name, text = rule.__name__, _text(rule)
        self._define(name, text, _used(rule.__code__, text), rule.__globals__)
        return name

    def _define(self, name: str, text: str, used: Iterable[str], scope: dict[str, Any]) -> None:
        if name in self.made:
            return
        self.made[name] = text
        for other in used:
            value = scope.get(other, _MISSING)
            if other != name and value is not _MISSING and other not in self.made:
                self._need(other, value, scope)
        self.lines.append(text)

    def _need(self, name: str, value: Any, scope: dict[str, Any]) -> None:
        """Add what a name stands for: an import, a function or class of the same place, or a value."""
        if isinstance(value, ModuleType):
            self.imports.add(_import("import", value.__name__, name))
        elif isinstance(value, FunctionType | type) and _is_of(value, scope):
            if value.__name__ != name or (isinstance(value, FunctionType) and value.__code__.co_freevars):
                raise NotWritable(_("it uses {names}, whose lines are not at hand", names=name))
            text = _text(value)
            code = value.__code__ if isinstance(value, FunctionType) else None
            self._define(name, text, _used(code, text), scope)
        elif isinstance(value, Rules) and value in RULES.values():
            self.imports.add("import rmqlab")
            self._define(name, f"{name} = rmqlab.RULES[{value.version!r}]", (), scope)
        elif _can_be_imported(value, scope):
            self.imports.add(_import("from", value.__qualname__, name, value.__module__))
        elif _is_plain(value):
            self._define(name, f"{name} = {value!r}", (), scope)
        else:
            raise NotWritable(_("it uses {name}, which is no function, module or plain value", name=name))


def _import(begin: str, imported: str, name: str, *module: str) -> str:
    """A line that imports something, of a module if it is one's, under another name if need be."""
    place = (*module, "import") if module else ()
    return " ".join([begin, *place, imported, *(("as", name) if imported != name else ())])


def _is_of(value: Any, scope: dict[str, Any]) -> bool:
    """Whether a function or class was written where the rule was."""
    if isinstance(value, FunctionType):
        return value.__globals__ is scope
    return bool(value.__module__ == scope.get("__name__"))


def _can_be_imported(value: Any, scope: Mapping[str, Any]) -> bool:
    """Whether another module has it under its own name."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
    if not isinstance(module, str) or module in {"__main__", "builtins", scope.get("__name__")}:
        return False
    return getattr(sys.modules.get(module), name, None) is value


def _is_plain(value: object) -> bool:
    try:
        return bool(ast.literal_eval(repr(value)) == value)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return False


def _text(written: Any) -> str:
    """The lines of a function or a class."""
    try:
        text = textwrap.dedent(inspect.getsource(written)).rstrip()
        ast.parse(text)
    except (OSError, TypeError, SyntaxError):
        raise NotWritable(_("its lines are not at hand")) from None
    return text


def _lambda_text(code: CodeType) -> str:
    """A lambda as it is written: of those in its line the one that does the same."""
    try:
        source = "".join(linecache.getlines(code.co_filename))
        nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Lambda)]
    except SyntaxError:
        nodes = []
    for node in nodes:
        text = ast.get_source_segment(source, node) or ""
        if node.lineno == code.co_firstlineno:
            made = compile(f"({text}\n)", code.co_filename, "eval").co_consts[0]
            if (made.co_code, made.co_names, made.co_varnames) == (code.co_code, code.co_names, code.co_varnames):
                return f"({text})" if "\n" in text else text
    raise NotWritable(_("its lines are not at hand"))


def _used(code: CodeType | None, text: str) -> list[str]:
    """The names of the module that lines use: in the body, and in what is worked out when they are read."""
    tree = ast.parse(text)
    if code is None:
        names = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]
    else:
        names = list(_loaded(code))
        for node in tree.body:
            if isinstance(node, ast.FunctionDef):
                around = [*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)]
                around += [node.returns] if node.returns else []
                around += [
                    given.annotation for given in ast.walk(node.args) if isinstance(given, ast.arg) and given.annotation
                ]
                names += [inner.id for part in around for inner in ast.walk(part) if isinstance(inner, ast.Name)]
    return [name for name in dict.fromkeys(names) if not hasattr(builtins, name)]


def _loaded(code: CodeType) -> Iterator[str]:
    for step in dis.get_instructions(code):
        if step.opname in _LOADS_A_NAME:
            yield str(step.argval)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _loaded(inner)


def _renamed(text: str, names: Mapping[str, str]) -> str:
    """The lines with other names; attributes of the same name stay."""
    if not names:
        return text
    lines = text.splitlines(keepends=True)
    places, before = [], ""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NAME and token.string in names and before != ".":
            places.append((token.start, token.string))
        before = token.string
    for (row, column), name in reversed(places):
        line = lines[row - 1]
        lines[row - 1] = line[:column] + names[name] + line[column + len(name) :]
    renamed = "".join(lines)
    left = {node.id for node in ast.walk(ast.parse(renamed)) if isinstance(node, ast.Name)} & names.keys()
    if left:  # inside of a text of the form f"{name}"
        raise NotWritable(_("it uses {name}, and the file has another one: give it another name", name=min(left)))
    return renamed
