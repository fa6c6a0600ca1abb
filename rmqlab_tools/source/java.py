"""Java as terms."""

from __future__ import annotations

import re
from textwrap import dedent
from typing import TYPE_CHECKING, Final

from rmqlab_tools.source.syntax import (
    TOO_DEEP,
    child,
    first_error,
    line_of,
    named,
    parse,
    shown,
    simple_type,
    summands,
    text_of,
    within,
)
from rmqlab_tools.source.terms import (
    Annotation,
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

_TYPES: Final = {f"{kind}_declaration" for kind in ("annotation_type", "class", "enum", "interface", "record")}
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "s": " "}
_ESCAPE: Final = re.compile(r"\\(u+[0-9a-fA-F]{4}|[0-7]{1,3}|.)", re.DOTALL)


def read_java(source: str, file: str) -> Unit:
    """A file of Java; `file` is how it is named."""
    root = parse(source, "java")
    unit = Unit(file, "java", damaged=first_error(root))
    for node in named(root):
        if node.type == "package_declaration":
            unit.package = text_of(child(node, "scoped_identifier", "identifier"))
        elif node.type == "import_declaration":
            _import(unit, node)
        elif node.type in _TYPES:
            _type(unit, node, "")
    return unit


def _import(unit: Unit, node: Node) -> None:
    name = text_of(child(node, "scoped_identifier", "identifier"))
    if child(node, "asterisk") is not None:
        unit.wildcards.append(name)
    else:
        unit.imports[name.rpartition(".")[2]] = name


def _type(unit: Unit, node: Node, around: str) -> None:
    name = text_of(node.child_by_field_name("name"))
    made = TypeOfCode(f"{around}.{name}" if around else name, line_of(node), annotations=_annotations(node))
    unit.types[made.name] = made
    supers = [node.child_by_field_name("superclass"), node.child_by_field_name("interfaces")]
    made.supers = tuple(
        simple_type(each)
        for part in supers
        for each in within([part] if part else [])
        if each.type == "type_identifier"
    )
    made.parameters = _parameters(node)
    members = named(node.child_by_field_name("body"))
    for member in members:
        members_of = named(member) if member.type == "enum_body_declarations" else [member]
        for each in members_of:
            _member(unit, made, each)


def _member(unit: Unit, made: TypeOfCode, node: Node) -> None:
    if node.type in _TYPES:
        _type(unit, node, made.name)
    elif node.type == "enum_constant":
        arguments = named(node.child_by_field_name("arguments"))
        made.entries[text_of(node.child_by_field_name("name"))] = tuple(map(term, arguments))
    elif node.type in {"field_declaration", "constant_declaration"}:
        static = "static" in text_of(child(node, "modifiers")).split() or node.type == "constant_declaration"
        for declarator in named(node, "variable_declarator"):
            name, value = text_of(declarator.child_by_field_name("name")), declarator.child_by_field_name("value")
            made.fields[name] = Field(
                name, None if value is None else term(value), line_of(declarator),
                simple_type(node.child_by_field_name("type")), _annotations(node), static,
            )  # fmt: skip
    elif node.type in {"method_declaration", "constructor_declaration"}:
        made.functions.append(
            Function(
                text_of(node.child_by_field_name("name")), _parameters(node),
                tuple(statements(node.child_by_field_name("body"))), line_of(node),
                simple_type(node.child_by_field_name("type")), _annotations(node),
            )
        )  # fmt: skip
    elif node.type in {"block", "static_initializer"}:
        made.functions.append(Function("", (), tuple(statements(node)), line_of(node)))


def _parameters(node: Node) -> tuple[Parameter, ...]:
    listed = named(node.child_by_field_name("parameters"), "formal_parameter", "spread_parameter")
    return tuple(
        Parameter(
            text_of(each.child_by_field_name("name")), simple_type(each.child_by_field_name("type")), _annotations(each)
        )
        for each in listed
    )


def _annotations(node: Node) -> tuple[Annotation, ...]:
    made = []
    for each in named(child(node, "modifiers"), "annotation", "marker_annotation"):
        values: dict[str, Term] = {}
        for value in named(each.child_by_field_name("arguments")):
            if value.type == "element_value_pair":
                inner = value.child_by_field_name("value")
                values[text_of(value.child_by_field_name("key"))] = Unread("") if inner is None else term(inner)
            else:
                values["value"] = term(value)
        made.append(Annotation(text_of(each.child_by_field_name("name")).rpartition(".")[2], values, line_of(each)))
    return tuple(made)


def statements(body: Node | None) -> Iterator[Statement]:
    """What a body does; local classes are left out, blocks and lambdas are not."""
    for node in within([] if body is None else [body], frozenset(_TYPES)):
        if node.type == "local_variable_declaration":
            written = simple_type(node.child_by_field_name("type"))
            for declarator in named(node, "variable_declarator"):
                yield _assign(declarator, written)
        elif node.type == "resource":
            yield _assign(node, simple_type(node.child_by_field_name("type")))
        elif node.type == "assignment_expression":
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            target = None if left is None else term(left)
            if isinstance(target, Name) and right is not None:
                plain = text_of(node.child_by_field_name("operator")) == "="
                yield Assign(target.parts, term(right) if plain else Unread(shown(node)), line_of(node))
        elif node.type == "enhanced_for_statement":
            each_of = node.child_by_field_name("value")
            yield Assign(
                (text_of(node.child_by_field_name("name")),),
                Unread(f"each of {'' if each_of is None else shown(each_of)}"), line_of(node),
            )  # fmt: skip
        elif node.type == "method_invocation":
            parent = node.parent
            if parent is None or parent.type != "method_invocation" or parent.child_by_field_name("object") != node:
                made = term(node)
                if isinstance(made, Call):
                    yield Do(made)
        elif node.type == "object_creation_expression":
            made = term(node)
            if isinstance(made, Make):
                yield Do(Call(None, made.type, made.arguments, made.line))
        elif node.type == "return_statement":
            for value in named(node)[:1]:
                yield Return(term(value))


def _assign(node: Node, written: str) -> Assign:
    value = node.child_by_field_name("value")
    name = text_of(node.child_by_field_name("name"))
    return Assign((name,), None if value is None else term(value), line_of(node), written)


def term(node: Node, depth: int = 0) -> Term:
    """An expression."""
    kind = node.type
    if depth > TOO_DEEP:
        return Unread(shown(node))
    if kind == "string_literal":
        return Text(_string(node))
    if kind in {"identifier", "this", "super", "null_literal", "type_identifier"}:
        return Name((text_of(node),))
    if kind in {"parenthesized_expression", "cast_expression"}:
        inner = node.child_by_field_name("value") or next(iter(named(node)[-1:]), None)
        return Unread(shown(node)) if inner is None else term(inner, depth + 1)
    if kind == "field_access":
        target = node.child_by_field_name("object")
        before = None if target is None else term(target, depth + 1)
        if isinstance(before, Name):
            return Name((*before.parts, text_of(node.child_by_field_name("field"))))
        if isinstance(before, Call):
            return Call(before, text_of(node.child_by_field_name("field")), (), line_of(node))
    if kind == "binary_expression" and (parts := summands(node)):
        return Join(tuple(term(part, depth + 1) for part in parts))
    if kind == "method_invocation":
        target = node.child_by_field_name("object")
        arguments = tuple(term(each, depth + 1) for each in named(node.child_by_field_name("arguments")))
        before = None if target is None else term(target, depth + 1)
        return Call(before, text_of(node.child_by_field_name("name")), arguments, line_of(node))
    if kind == "object_creation_expression":
        return _made(node, depth)
    if kind in {"array_initializer", "element_value_array_initializer"}:
        return Items(tuple(term(each, depth + 1) for each in named(node)))
    if kind == "array_creation_expression":
        value = node.child_by_field_name("value")
        return Unread(shown(node)) if value is None else term(value, depth + 1)
    if kind == "character_literal":
        return Text(_unescaped(text_of(node)[1:-1]))
    if kind.endswith("_literal") or kind in {"true", "false"}:
        return Text(text_of(node).rstrip("lL") if kind.endswith("integer_literal") else text_of(node))
    return Unread(shown(node))


def _made(node: Node, depth: int) -> Term:
    """`new T(...)`; a map that is filled in braces is its pairs."""
    written = simple_type(node.child_by_field_name("type"))
    body = child(node, "class_body")
    puts = [
        made.arguments
        for each in within([body] if body else [])
        if each.type == "method_invocation"
        and isinstance(made := term(each, depth + 1), Call)
        and made.target is None
        and made.function == "put"
        and len(made.arguments) == 2
    ]
    if puts and written.endswith("Map"):
        return Pairs(tuple((key, value) for key, value in puts))
    arguments = tuple(term(each, depth + 1) for each in named(node.child_by_field_name("arguments")))
    return Make(written, arguments, line_of(node))


def _string(node: Node) -> str:
    text = text_of(node)
    if not text.startswith('"""'):
        return _unescaped(text[1:-1])
    lines = text[3:-3].split("\n")[1:]
    # the place of the closing quotes counts too: a last line of blanks alone says how far the others are indented
    return _unescaped(dedent("\n".join([*lines[:-1], lines[-1] + "|"]) if lines else "|")[:-1])


def _unescaped(text: str) -> str:
    def character(match: re.Match[str]) -> str:
        code = match[1]
        if code[0] == "u":
            return chr(int(code.lstrip("u"), 16))
        if code[0] in "01234567":
            return chr(int(code, 8))
        return "" if code == "\n" else _ESCAPES.get(code, code)

    return _ESCAPE.sub(character, text)
