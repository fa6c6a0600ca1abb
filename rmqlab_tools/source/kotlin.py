"""Kotlin as terms."""

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
    root,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from rmqlab_tools.source.terms import Statement, Term

_TYPES: Final = frozenset({"class_declaration", "object_declaration", "companion_object"})
_SCOPES: Final = {"apply", "also", "let", "run"}
_REFERENCE: Final = re.compile(r"\$([A-Za-z_]\w*)")
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b"}


def read_kotlin(source: str, file: str) -> Unit:
    """A file of Kotlin; `file` is how it is named. What stands outside of classes is of the type ""."""
    tree = parse(source, "kotlin")
    unit = Unit(file, "kotlin", damaged=first_error(tree))
    made = unit.types[""] = TypeOfCode("")
    for node in named(tree):
        if node.type == "package_header":
            unit.package = text_of(child(node, "qualified_identifier", "identifier"))
        elif node.type == "import":
            _import(unit, node)
        else:
            _member(unit, made, node)
    return unit


def _import(unit: Unit, node: Node) -> None:
    name = text_of(child(node, "qualified_identifier"))
    alias = text_of(child(node, "identifier"))
    if text_of(node).rstrip().endswith("*"):
        unit.wildcards.append(name)
    else:
        unit.imports[alias or name.rpartition(".")[2]] = name


def _member(unit: Unit, made: TypeOfCode, node: Node) -> None:
    if node.type == "companion_object":
        for each in named(child(node, "class_body")):  # its names are those of the class
            _member(unit, made, each)
    elif node.type in _TYPES:
        _type(unit, node, made.name)
    elif node.type == "property_declaration":
        variable = child(node, "variable_declaration")
        name, value = text_of(child(variable, "identifier")), _value(node)
        if value is None and (getter := child(node, "getter")) is not None:
            value = _single(getter)
        static = "const" in text_of(child(node, "modifiers")).split()
        made.fields[name] = Field(
            name,
            value,
            line_of(node),
            simple_type(child(variable, "user_type", "nullable_type")),
            _annotations(node),
            static,
        )
    elif node.type == "function_declaration":
        made.functions.append(
            Function(
                text_of(node.child_by_field_name("name")),
                _parameters(child(node, "function_value_parameters")),
                tuple(_function_body(child(node, "function_body"))),
                line_of(node),
                simple_type(child(node, "user_type", "nullable_type")),
                _annotations(node),
            )
        )
    elif node.type in {"anonymous_initializer", "secondary_constructor"}:
        made.functions.append(Function("", (), tuple(_statements(named(node))), line_of(node)))
    elif node.type == "enum_entry":
        arguments = named(child(node, "value_arguments"), "value_argument")
        made.entries[text_of(child(node, "identifier"))] = tuple(_argument(each)[1] for each in arguments)


def _type(unit: Unit, node: Node, around: str) -> None:
    name = text_of(node.child_by_field_name("name"))
    made = TypeOfCode(f"{around}.{name}" if around else name, line_of(node), annotations=_annotations(node))
    unit.types[made.name] = made
    supers = within([each for each in [child(node, "delegation_specifiers")] if each])
    made.supers = tuple(
        simple_type(each)
        for each in supers
        if each.type == "user_type" and each.parent is not None and each.parent.type != "type_projection"
    )
    parameters = child(child(node, "primary_constructor"), "class_parameters")
    made.parameters = _parameters(parameters)
    body = child(node, "class_body", "enum_class_body")
    for each in named(body):
        _member(unit, made, each)


def _parameters(node: Node | None) -> tuple[Parameter, ...]:
    """Parameters; the annotations of a function's stand before them as modifiers of their own."""
    made: list[Parameter] = []
    annotations: tuple[Annotation, ...] = ()
    for each in named(node):
        if each.type == "parameter_modifiers":
            annotations = _annotations_in(each)
        elif each.type in {"class_parameter", "parameter"}:
            value = next((part for part in named(each)[::-1] if part.type.endswith(("literal", "expression"))), None)
            made.append(
                Parameter(
                    text_of(child(each, "identifier")),
                    simple_type(child(each, "user_type", "nullable_type")),
                    (*annotations, *_annotations(each)),
                    None if value is None else term(value),
                )
            )
            annotations = ()
    return tuple(made)


def _annotations(node: Node) -> tuple[Annotation, ...]:
    return _annotations_in(child(node, "modifiers"))


def _annotations_in(modifiers: Node | None) -> tuple[Annotation, ...]:
    made = []
    for each in named(modifiers, "annotation"):
        call = child(each, "constructor_invocation")
        values: dict[str, Term] = {}
        for argument in named(child(call, "value_arguments"), "value_argument"):
            name, value = _argument(argument)
            values[name or "value"] = value
        made.append(Annotation(simple_type(child(call or each, "user_type")), values, line_of(each)))
    return tuple(made)


def _argument(node: Node) -> tuple[str, Term]:
    """A value and the name that it is given by, "" without one."""
    parts = named(node)
    if not parts:
        return "", Unread(shown(node))
    is_named = len(parts) > 1 and parts[0].type == "identifier" and "=" in text_of(node)
    return (text_of(parts[0]) if is_named else ""), term(parts[-1])


def _value(node: Node) -> Term | None:
    """The value that a property is given, or None."""
    given = False
    for each in node.children:
        if each.type == "=":
            given = True
        elif given and each.is_named and not each.type.endswith("comment"):
            return term(each)
    return None


def _single(node: Node) -> Term | None:
    """What a function gives back that has no block."""
    body = child(node, "function_body") or node
    inner = [each for each in named(body) if each.type not in {"block", "modifiers"}]
    return term(inner[-1]) if inner and child(body, "block") is None else None


def _function_body(body: Node | None) -> Iterator[Statement]:
    if body is None:
        return
    yield from _statements(named(body))
    value = _single(body)
    if value is not None:
        yield Return(value)


def _statements(nodes: list[Node]) -> Iterator[Statement]:
    """What blocks do. In `x.apply { f() }` the call is `x.f()`; a consumer that is made there has the line as name."""
    waiting: list[tuple[Node, Term | None]] = [(node, None) for node in nodes[::-1]]
    while waiting:
        node, this = waiting.pop()
        inside = this
        if node.type in _TYPES:
            continue
        if node.type == "property_declaration":
            variable = child(node, "variable_declaration")
            written = simple_type(child(variable, "user_type", "nullable_type"))
            name = text_of(child(variable, "identifier"))
            value = _value(node)
            scoped = _scoped(value)
            yield Assign((name,), value if scoped is None else scoped, line_of(node), written)
            inside = Name((name,)) if scoped is not None else this
        elif node.type == "assignment":
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            target = None if left is None else term(left)
            if isinstance(target, Name) and right is not None:
                own = this.parts if isinstance(this, Name) and len(target.parts) == 1 else ()
                value = term(right)
                scoped = _scoped(value)
                yield Assign((*own, *target.parts), value if scoped is None else scoped, line_of(node))
                inside = target if scoped is not None else this
        elif node.type == "call_expression":
            made = term(node)
            if isinstance(made, Call | Make):
                scoped = _scoped(made)
                if scoped is not None and child(node, "annotated_lambda") is not None:
                    inside = this if isinstance(this, Name) and _is_value_of(node) else scoped
                    if isinstance(scoped, Make) and inside is scoped:
                        inside = Name((f"line {line_of(node)}",))
                        yield Assign(inside.parts, scoped, line_of(node))
                parent = node.parent
                if parent is None or parent.type != "navigation_expression":
                    yield Do(_on(made, this))
        elif node.type in {"return_expression", "jump_expression"}:
            for given_back in named(node)[:1]:
                yield Return(term(given_back))
        elif node.type == "for_statement":
            variable = child(node, "variable_declaration")
            yield Assign((text_of(child(variable, "identifier")),), Unread(shown(node)), line_of(node))
        waiting.extend((each, inside) for each in node.named_children[::-1])


def _is_value_of(node: Node) -> bool:
    """Whether a call is the value that a variable is given, so that its block is about that variable."""
    return node.parent is not None and node.parent.type in {"property_declaration", "assignment"}


def _scoped(value: Term | None) -> Term | None:
    """What `x.apply { }` is: x; None of anything else."""
    return value.target if isinstance(value, Call) and value.function in _SCOPES and value.target is not None else None


def _on(made: Call | Make, this: Term | None) -> Call:
    """A call with the object that its block is about, where it names none."""
    if isinstance(made, Make):
        return Call(None, made.type, made.arguments, made.line, made.named)
    start = root(made)
    if this is None or start is not None:
        if isinstance(start, Name) and start.parts[0] in {"it", "this"} and this is not None:
            return _with_root(made, this)
        return made
    return _with_root(made, this)


def _with_root(call: Call, start: Term) -> Call:
    target = _with_root(call.target, start) if isinstance(call.target, Call) else start
    return Call(target, call.function, call.arguments, call.line, call.named)


def term(node: Node, depth: int = 0) -> Term:
    """An expression."""
    kind = node.type
    if depth > TOO_DEEP:
        return Unread(shown(node))
    if kind in {"string_literal", "multiline_string_literal"}:
        return _string(node, depth)
    if kind in {"identifier", "simple_identifier", "this_expression", "null"}:
        return Name((text_of(node),))
    if kind == "parenthesized_expression":
        inner = next(iter(named(node)), None)
        return Unread(shown(node)) if inner is None else term(inner, depth + 1)
    if kind == "navigation_expression":
        parts = named(node)
        before = term(parts[0], depth + 1) if parts else None
        if isinstance(before, Name) and len(parts) > 1:
            return Name((*before.parts, *(text_of(each) for each in parts[1:])))
        if isinstance(before, Call | Make) and len(parts) > 1:
            return Call(before, text_of(parts[-1]), (), line_of(node))
    if kind == "binary_expression" and (parts := summands(node)):
        return Join(tuple(term(part, depth + 1) for part in parts))
    if kind == "infix_expression":
        parts = named(node)
        if len(parts) == 3 and text_of(parts[1]) == "to":
            return Pairs(((term(parts[0], depth + 1), term(parts[2], depth + 1)),))
    if kind == "collection_literal":
        return Items(tuple(term(each, depth + 1) for each in named(node)))
    if kind == "call_expression":
        return _call(node, depth)
    if kind in {"number_literal", "boolean_literal", "character_literal"}:
        return Text(text_of(node))
    return Unread(shown(node))


def _call(node: Node, depth: int) -> Term:
    function = next(iter(named(node)), None)
    pairs = [_argument(each) for each in named(child(node, "value_arguments"), "value_argument")]
    arguments = tuple(value for name, value in pairs if not name)
    given = tuple((name, value) for name, value in pairs if name)
    if function is None:
        return Unread(shown(node))
    if function.type == "navigation_expression":
        parts = named(function)
        before = term(parts[0], depth + 1)
        if isinstance(before, Name) and len(parts) > 2:
            before = Name((*before.parts, *(text_of(each) for each in parts[1:-1])))
        return Call(before, text_of(parts[-1]), arguments, line_of(node), given)
    name = text_of(function)
    if function.type == "call_expression":  # f(x) { block }
        return term(function, depth + 1)
    if name[:1].isupper():
        return Make(name, arguments, line_of(node), given)
    return Call(None, name, arguments, line_of(node), given)


def _string(node: Node, depth: int) -> Term:
    """A text; of a template the parts. The grammar has `$name` among its plain text."""
    raw = node.type == "multiline_string_literal"
    parts: list[Term] = []
    plain = ""
    for each in node.named_children:
        if each.type == "interpolation":
            inner = next(iter(named(each)), None)
            parts += [*_split(plain), Unread(shown(each)) if inner is None else term(inner, depth + 1)]
            plain = ""
        elif each.type == "escape_sequence":
            escaped = _unescaped(text_of(each))
            parts += [*_split(plain), Text(escaped)]
            plain = ""
        else:
            plain += text_of(each)
    parts += _split(dedent(plain) if raw and not parts else plain)
    texts = [part for part in parts if isinstance(part, Text)]
    if len(texts) == len(parts):
        return Text("".join(part.value for part in texts))
    return Join(tuple(parts))


def _split(plain: str) -> list[Term]:
    made: list[Term] = []
    at = 0
    for match in _REFERENCE.finditer(plain):
        made += [Text(plain[at : match.start()]), Name((match[1],))]
        at = match.end()
    return [*made, Text(plain[at:])] if plain[at:] or made else []


def _unescaped(text: str) -> str:
    def character(match: re.Match[str]) -> str:
        code = match[1]
        return chr(int(code[1:], 16)) if len(code) == 5 else _ESCAPES.get(code, code)

    return _ESCAPE.sub(character, text)
