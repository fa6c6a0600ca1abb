"""What clients in Go, C++ and Python say: texts of their logs and of their errors."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final, Literal

from tests.proof.said.said_text import (
    SaidText,
    Value,
    every_node,
    field_of,
    has_words,
    snake,
    source_of,
    template_of,
    with_values,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Language, Node

Spoken = Literal["go", "cpp", "python"]
_PLACES: Final = re.compile(r"%(?:\d+\$)?[-#+ 0]*\d*(?:\.\d+)?(?:hh|h|ll|l|z|j|t)?[a-zA-Z]|%%|\{\}|\{:[^}]*\}")
_LEVELS: Final = {"WARNING": "WARN", "EXCEPTION": "ERROR"}
_LOGS: Final = {
    "go": re.compile(r"(?:rlog|sugarBaseLogger|log)\.(Error|Warning|Warn|Info|Debug|Fatal)[fw]?"),
    "cpp": re.compile(r"(?:SPD)?LOG_(ERROR|WARN|INFO|DEBUG|TRACE|FATAL)\w*"),
    "python": re.compile(r"\w*(?:logger|log|logging)\.(error|warning|warn|info|debug|exception)"),
}
_ERRORS: Final = {
    "go": re.compile(r"errors2?\.New|fmt\.Errorf|primitive\.New\w*Err\w*|NewErrOf|perr\.\w+"),
    "cpp": re.compile(r"THROW_MQ_?EXCEPTION2?"),
    "python": re.compile(r"[\w.]*(?:Exception|Error)"),
}
_TEXTS: Final = {"string_literal", "interpreted_string_literal", "raw_string_literal", "string"}
_FUNCTIONS: Final = {"function_declaration", "method_declaration", "function_definition"}


def texts_of(source: bytes, path: str, spoken: Spoken) -> Iterator[SaidText]:
    """Every text of a file in the order of its source."""
    from tree_sitter import Parser

    root = Parser(_grammar(spoken)).parse(source).root_node
    for node in every_node(root):
        if node.type not in {"call_expression", "call"}:
            continue
        listed = node.child_by_field_name("arguments")
        arguments = [child for child in listed.named_children if child.type != "comment"] if listed is not None else []
        if not arguments:
            continue
        name = source_of(field_of(node, "function"))
        if logged := _LOGS[spoken].fullmatch(name):
            level = logged[1].upper()
            kind, level, at = "log", _LEVELS.get(level, level), 0
        elif _ERRORS[spoken].fullmatch(name):
            at = 1 if spoken == "cpp" and len(arguments) > 1 else 0
            kind, level = "exception", source_of(arguments[0]) if at else "error"
        else:
            continue
        pieces = with_values(
            _pieces(arguments[at], spoken), [_name(argument) for argument in arguments[at + 1 :]], _PLACES
        )
        if has_words(pieces):
            place = PurePosixPath(path).stem
            yield SaidText(place, _function(node), kind, level, "", template_of(pieces))


def _grammar(spoken: Spoken) -> Language:
    import tree_sitter_cpp
    import tree_sitter_go
    import tree_sitter_python
    from tree_sitter import Language

    grammars = {"go": tree_sitter_go, "cpp": tree_sitter_cpp, "python": tree_sitter_python}
    return Language(grammars[spoken].language())


def _pieces(node: Node, spoken: Spoken) -> list[str | Value]:
    kind = node.type
    if kind == "string" and any(child.type == "interpolation" for child in node.children):
        return [
            Value(_name(child)) if child.type == "interpolation" else source_of(child)
            for child in node.children
            if child.type in {"interpolation", "string_content"}
        ]
    if kind in _TEXTS:
        return [_literal(source_of(node))]
    if kind == "concatenated_string":
        return [piece for child in node.named_children if child.type in _TEXTS for piece in _pieces(child, spoken)]
    if kind in {"binary_expression", "binary_operator"}:
        sign = source_of(field_of(node, "operator"))
        left = _pieces(field_of(node, "left"), spoken)
        return left + _pieces(field_of(node, "right"), spoken) if sign == "+" else left
    if kind == "parenthesized_expression":
        return _pieces(node.named_children[0], spoken)
    if kind in {"call_expression", "call"}:
        name, listed = source_of(field_of(node, "function")), node.child_by_field_name("arguments")
        arguments = listed.named_children if listed is not None else []
        if arguments and re.fullmatch(r"fmt\.Sprintf|(std::)?string|(absl::)?StrFormat|fmt::format", name):
            return with_values(_pieces(arguments[0], spoken), [_name(argument) for argument in arguments[1:]], _PLACES)
    return [Value(_name(node))]


def _literal(source: str) -> str:
    source = re.sub(r"^(?:[fubrLR]|u8|rb|fr)(?=[\"'])", "", source)
    mark = source[:3] if source[:3] in {'"""', "'''"} else source[:1]
    inner = source[len(mark) : -len(mark)]
    return inner if mark == "`" else re.sub(r"\\(.)", lambda sign: {"n": "\n", "t": "\t"}.get(sign[1], sign[1]), inner)


def _name(node: Node) -> str:
    """What to call the value of an expression: `mqs[i].toString().c_str()` is mqs."""
    plain = re.sub(r"(?:\.|->)(?:c_str|data|String|what|toString|ToString|size|Error)\(\)|\[\w+\]", "", source_of(node))
    words = re.findall(r"[A-Za-z_]\w*", plain)
    return snake(re.sub(r"^(?:[gG]et(?=[A-Z_])|m_)", "", words[-1])) if words else "value"


def _function(node: Node) -> str:
    above: Node | None = node
    while above is not None:
        if above.type in _FUNCTIONS:
            named = above.child_by_field_name("name") or above.child_by_field_name("declarator")
            match = re.match(r"[*&\s]*([\w:~]+)", source_of(named)) if named is not None else None
            if match:
                return match[1].split("::")[-1]
        above = above.parent
    return ""
