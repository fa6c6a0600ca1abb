"""Python as terms."""

from __future__ import annotations

import ast
import warnings
from typing import TYPE_CHECKING, Final

from rmqlab_tools.source.syntax import (
    TOO_DEEP,
    child,
    first_error,
    line_of,
    named,
    parse,
    shown,
    summands,
    text_of,
    within,
)
from rmqlab_tools.source.terms import (
    Assign,
    Call,
    Do,
    Field,
    Function,
    Items,
    Join,
    Name,
    Pairs,
    Parameter,
    Return,
    Text,
    TypeOfCode,
    Unit,
    Unread,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from rmqlab_tools.source.terms import Statement, Term

_DEFINED: Final = frozenset({"class_definition", "function_definition"})


def read_python(source: str, file: str) -> Unit:
    """A file of Python; `file` is how it is named. What stands outside of functions is a function "" of the type ""."""
    root = parse(source, "python")
    unit = Unit(file, "python", damaged=first_error(root))
    made = unit.types[""] = TypeOfCode("")
    for node in within([root], _DEFINED):
        if node.type == "import_from_statement":
            module = text_of(node.child_by_field_name("module_name"))
            for each in node.children_by_field_name("name"):
                name, alias = _alias(each)
                unit.imports[alias] = f"{module}.{name}" if not module.endswith(".") else f"{module}{name}"
        elif node.type == "import_statement":
            for each in node.children_by_field_name("name"):
                name, alias = _alias(each)
                if alias == name:  # `import a.b` brings `a`
                    name = alias = name.partition(".")[0]
                unit.imports[alias] = name
    _body(unit, made, root)
    return unit


def _alias(node: Node) -> tuple[str, str]:
    if node.type == "aliased_import":
        return text_of(node.child_by_field_name("name")), text_of(node.child_by_field_name("alias"))
    return text_of(node), text_of(node)


def _body(unit: Unit, made: TypeOfCode, node: Node) -> None:
    """What stands in a file or a class: its variables, functions and classes; the rest is a function ""."""
    steps = tuple(_statements([*named(node)]))
    made.functions.append(Function("", (), steps, made.line))
    values: dict[str, list[Assign]] = {}
    for step in steps:
        if isinstance(step, Assign) and len(step.target) == 1:
            values.setdefault(step.target[0], []).append(step)
    for name, given in values.items():
        value = given[0].value if len({step.value for step in given}) == 1 else Unread(f"{name} = ...")
        made.fields[name] = Field(name, value, given[0].line, static=True)
    for inner in within(named(node), _DEFINED):
        if inner.type == "function_definition":
            made.functions.append(
                Function(
                    text_of(inner.child_by_field_name("name")),
                    tuple(_parameters(inner, method=made.name != "")),
                    tuple(_statements(named(inner.child_by_field_name("body")))),
                    line_of(inner),
                )
            )
        elif inner.type == "class_definition":
            supers = [text_of(each).rpartition(".")[2] for each in named(inner.child_by_field_name("superclasses"))]
            name = text_of(inner.child_by_field_name("name"))
            of_class = TypeOfCode(f"{made.name}.{name}".strip("."), line_of(inner), tuple(supers))
            unit.types[of_class.name] = of_class
            body = inner.child_by_field_name("body")
            if body is not None:
                _body(unit, of_class, body)


def _parameters(node: Node, *, method: bool) -> Iterator[Parameter]:
    for place, each in enumerate(named(node.child_by_field_name("parameters"))):
        name = each.child_by_field_name("name") or (
            each if each.type == "identifier" else next(iter(named(each)), each)
        )
        if method and place == 0 and text_of(name) in {"self", "cls"}:
            continue
        value = each.child_by_field_name("value")
        written = text_of(each.child_by_field_name("type")).rpartition(".")[2]
        yield Parameter(text_of(name), written, (), None if value is None else term(value))


def _statements(nodes: list[Node]) -> Iterator[Statement]:
    for node in within(nodes, _DEFINED):
        if node.type in {"assignment", "augmented_assignment", "for_statement"}:
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            target = None if left is None else term(left)
            if isinstance(target, Name) and right is not None:
                yield Assign(target.parts, _given(node, right), line_of(node))
        elif node.type == "as_pattern":
            value, alias = next(iter(named(node)), None), child(node, "as_pattern_target")
            if value is not None and alias is not None:
                yield Assign((text_of(alias),), term(value), line_of(node))
        elif node.type == "call":
            made = term(node)
            if isinstance(made, Call):
                yield Do(made)
        elif node.type == "return_statement":
            for value in named(node)[:1]:
                yield Return(term(value))


def _given(node: Node, right: Node) -> Term:
    """What a statement gives to the name on its left."""
    if node.type == "assignment":
        return term(right)
    return Unread(f"each of {shown(right)}" if node.type == "for_statement" else shown(node))


def term(node: Node, depth: int = 0) -> Term:
    """An expression."""
    kind = node.type
    if depth > TOO_DEEP:
        return Unread(shown(node))
    if kind == "string":
        return _string(node, depth)
    if kind == "concatenated_string":
        return Join(tuple(term(each, depth + 1) for each in named(node)))
    if kind in {"identifier", "none", "true", "false"}:
        return Name((text_of(node),))
    if kind == "parenthesized_expression":
        inner = next(iter(named(node)), None)
        return Unread(shown(node)) if inner is None else term(inner, depth + 1)
    if kind == "attribute":
        target = node.child_by_field_name("object")
        before = None if target is None else term(target, depth + 1)
        if isinstance(before, Name):
            return Name((*before.parts, text_of(node.child_by_field_name("attribute"))))
    if kind == "binary_operator" and (parts := summands(node)):
        return Join(tuple(term(part, depth + 1) for part in parts))
    if kind == "call":
        return _call(node, depth)
    if kind == "dictionary":
        pairs = [(each.child_by_field_name("key"), each.child_by_field_name("value")) for each in named(node, "pair")]
        return Pairs(
            tuple((term(key, depth + 1), term(value, depth + 1)) for key, value in pairs if key is not None and value)
        )
    if kind in {"list", "tuple"}:
        return Items(tuple(term(each, depth + 1) for each in named(node)))
    if kind in {"integer", "float"}:
        return Text(text_of(node))
    return Unread(shown(node))


def _call(node: Node, depth: int) -> Term:
    function = node.child_by_field_name("function")
    arguments, given = [], []
    for each in named(node.child_by_field_name("arguments")):
        if each.type == "keyword_argument":
            value = each.child_by_field_name("value")
            if value is not None:
                given.append((text_of(each.child_by_field_name("name")), term(value, depth + 1)))
        else:
            arguments.append(term(each, depth + 1))
    if function is None:
        return Unread(shown(node))
    if function.type == "attribute":
        target = function.child_by_field_name("object")
        before = None if target is None else term(target, depth + 1)
        name = text_of(function.child_by_field_name("attribute"))
        return Call(before, name, tuple(arguments), line_of(node), tuple(given))
    if function.type == "identifier":
        return Call(None, text_of(function), tuple(arguments), line_of(node), tuple(given))
    return Unread(shown(node))


def _string(node: Node, depth: int) -> Term:
    """A text; of an f-string the parts."""
    begin = text_of(child(node, "string_start") or node.children[0])
    raw = "r" in begin.lower()
    parts: list[Term] = []
    for each in node.children:
        if each.type == "string_content":
            parts.append(Text(_unescaped(each, raw=raw)))
        elif each.type == "interpolation":
            inner = each.child_by_field_name("expression")
            plain = len(named(each)) == 1 and inner is not None
            parts.append(term(inner, depth + 1) if plain and inner is not None else Unread(shown(each)))
    if len(parts) == 1 and isinstance(parts[0], Text):
        return parts[0]
    return Join(tuple(parts)) if parts else Text("")


def _unescaped(node: Node, *, raw: bool) -> str:
    text = text_of(node)
    if raw or "\\" not in text:
        return text
    try:
        quoted = text.replace("\n", "\\n").replace('"', '\\"') if '\\"' not in text else text
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of an escape that there is not
            return str(ast.literal_eval(f'"{quoted}"'))
    except (SyntaxError, ValueError):
        return text
