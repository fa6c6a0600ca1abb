"""Go as terms."""

from __future__ import annotations

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
    Make,
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

_SPECS: Final = ("const_spec", "var_spec")


def read_go(source: str, file: str) -> Unit:
    """A file of Go; `file` is how it is named. What stands outside of functions is of the type ""."""
    root = parse(source, "go")
    unit = Unit(file, "go", damaged=first_error(root))
    made = unit.types[""] = TypeOfCode("")
    for node in named(root):
        if node.type == "package_clause":
            unit.package = text_of(child(node, "package_identifier"))
        elif node.type == "import_declaration":
            for spec in within([node]):
                if spec.type == "import_spec":
                    path = text_of(spec.child_by_field_name("path")).strip('"`')
                    name = text_of(spec.child_by_field_name("name")) or _package(path)
                    unit.imports[name] = path
        elif node.type in {"const_declaration", "var_declaration"}:
            for step in _declared(node):
                name = step.target[0]
                made.fields[name] = Field(name, step.value, step.line, step.type, static=True)
        elif node.type in {"function_declaration", "method_declaration"}:
            made.functions.append(
                Function(
                    text_of(node.child_by_field_name("name")),
                    tuple(_parameters(node)),
                    tuple(_statements(node.child_by_field_name("body"))),
                    line_of(node),
                )
            )
    return unit


def _package(path: str) -> str:
    """The name that a package has where it is imported by its path alone: a last `v2` is its version."""
    parts = [part for part in path.split("/") if part]
    if len(parts) > 1 and parts[-1][:1] == "v" and parts[-1][1:].isdigit():
        parts.pop()
    return parts[-1] if parts else ""


def _type_name(declared: Node) -> str:
    """The name of the type that something is declared with, without its package and what points to it."""
    return text_of(declared.child_by_field_name("type")).lstrip("*").rpartition(".")[2]


def _parameters(node: Node) -> Iterator[Parameter]:
    for each in named(node.child_by_field_name("parameters"), "parameter_declaration"):
        for name in each.children_by_field_name("name"):
            yield Parameter(text_of(name), _type_name(each))


def _declared(node: Node) -> Iterator[Assign]:
    for spec in within([node]):
        if spec.type in _SPECS:
            names, values = spec.children_by_field_name("name"), named(spec.child_by_field_name("value"))
            for place, name in enumerate(each for each in names if each.type == "identifier"):
                value = term(values[place]) if place < len(values) else None
                yield Assign((text_of(name),), value, line_of(spec), _type_name(spec))


def _statements(body: Node | None) -> Iterator[Statement]:
    for node in within([] if body is None else [body]):
        if node.type in {"short_var_declaration", "assignment_statement"}:
            left, right = named(node.child_by_field_name("left")), named(node.child_by_field_name("right"))
            for place, target in enumerate(left):
                name = term(target)
                if not isinstance(name, Name) or name.parts == ("_",):
                    continue
                if len(left) == len(right):
                    yield Assign(name.parts, term(right[place]), line_of(node))
                elif place == 0 and right:  # a value and its error
                    yield Assign(name.parts, term(right[0]), line_of(node))
        elif node.type in _SPECS:
            yield from _declared(node)
        elif node.type == "range_clause":
            for target in named(node.child_by_field_name("left")):
                name = term(target)
                if isinstance(name, Name):
                    yield Assign(name.parts, Unread(shown(node)), line_of(node))
        elif node.type == "call_expression":
            made = term(node)
            if isinstance(made, Call):
                yield Do(made)
        elif node.type == "return_statement":
            for value in named(child(node, "expression_list"))[:1]:
                yield Return(term(value))


def term(node: Node, depth: int = 0) -> Term:
    """An expression."""
    kind = node.type
    if depth > TOO_DEEP:
        return Unread(shown(node))
    if kind in {"interpreted_string_literal", "raw_string_literal"}:
        return Text(_string(node))
    if kind in {"identifier", "field_identifier", "package_identifier", "nil", "true", "false"}:
        return Name((text_of(node),))
    if kind in {"parenthesized_expression", "literal_element", "unary_expression"}:
        inner = node.child_by_field_name("operand") or next(iter(named(node)), None)
        if inner is not None and (kind != "unary_expression" or text_of(node).startswith("&")):
            return term(inner, depth + 1)
    if kind == "selector_expression":
        operand = node.child_by_field_name("operand")
        before = None if operand is None else term(operand, depth + 1)
        if isinstance(before, Name):
            return Name((*before.parts, text_of(node.child_by_field_name("field"))))
    if kind == "binary_expression" and (parts := summands(node)):
        return Join(tuple(term(part, depth + 1) for part in parts))
    if kind == "call_expression":
        return _call(node, depth)
    if kind == "composite_literal":
        return _literal(node, depth)
    return Unread(shown(node))


def _call(node: Node, depth: int) -> Term:
    function = node.child_by_field_name("function")
    arguments = tuple(term(each, depth + 1) for each in named(node.child_by_field_name("arguments")))
    if function is None:
        return Unread(shown(node))
    if function.type == "selector_expression":
        operand = function.child_by_field_name("operand")
        before = None if operand is None else term(operand, depth + 1)
        return Call(before, text_of(function.child_by_field_name("field")), arguments, line_of(node))
    if function.type == "identifier":
        return Call(None, text_of(function), arguments, line_of(node))
    return Unread(shown(node))


def _literal(node: Node, depth: int) -> Term:
    """`T{...}`: a map is its pairs, a list its items, a struct its fields."""
    written, body = node.child_by_field_name("type"), node.child_by_field_name("body")
    pairs, items = [], []
    for each in named(body):
        if each.type == "keyed_element":
            key, value = (named(part)[0] if part.type == "literal_element" else part for part in named(each)[:2])
            pairs.append((key, value))
        elif (inner := next(iter(named(each)), None)) is not None:
            items.append(term(inner, depth + 1))
    kind = "" if written is None else written.type
    if kind == "map_type":
        return Pairs(tuple((term(key, depth + 1), term(value, depth + 1)) for key, value in pairs))
    if kind in {"slice_type", "array_type", "implicit_length_array_type"}:
        return Items(tuple(items))
    fields = tuple((text_of(key), term(value, depth + 1)) for key, value in pairs)
    return Make(text_of(written).rpartition(".")[2], tuple(items), line_of(node), fields)


def _string(node: Node) -> str:
    text = text_of(node)
    if text.startswith("`"):
        return text[1:-1].replace("\r", "")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of an escape that there is not
            return text[1:-1].encode("latin-1", "backslashreplace").decode("unicode_escape")
    except UnicodeDecodeError:
        return text[1:-1]
