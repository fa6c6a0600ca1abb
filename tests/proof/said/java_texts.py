"""What a Java class says: texts of its logs, its exceptions, the remarks of its answers, and what it prints."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

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

    from tree_sitter import Node

LEVELS: Final = {"trace", "debug", "info", "warn", "error"}
REMARKS: Final = {"setRemark", "createResponseCommand", "buildErrorResponse", "buildStatus", "setCodeAndRemark"}
FILES: Final = {
    "BROKER_LOGGER_NAME": "broker.log",
    "COMMON_LOGGER_NAME": "broker.log",
    "STORE_LOGGER_NAME": "store.log",
    "STORE_ERROR_LOGGER_NAME": "storeerror.log",
    "FILTER_LOGGER_NAME": "filter.log",
    "REBALANCE_LOCK_LOGGER_NAME": "lock.log",
    "ROCKETMQ_POP_LOGGER_NAME": "pop.log",
    "ROCKETMQ_COLDCTR_LOGGER_NAME": "coldctr.log",
    "ROCKETMQ_REMOTING": "remoting.log",
    "ROCKETMQ_REMOTING_NAME": "remoting.log",
    "REMOTING_LOGGER_NAME": "remoting.log",
    "NAMESRV_LOGGER_NAME": "namesrv.log",
    "TOOLS_LOGGER_NAME": "tools.log",
    "CLIENT_LOGGER_NAME": "rocketmq_client.log",
    "PROXY_LOGGER_NAME": "proxy.log",
    "DLQ_LOGGER_NAME": "dlq.log",
    "DLQ_STATS_LOGGER_NAME": "dlq_stats.log",
    "COMMERCIAL_LOGGER_NAME": "commercial.log",
    "PROTECTION_LOGGER_NAME": "protection.log",
    "WATER_MARK_LOGGER_NAME": "watermark.log",
    "ROCKETMQ_STATS_LOGGER_NAME": "stats.log",
    "ROCKETMQ_TRAFFIC_NAME": "broker_traffic.log",
    "ROCKSDB_LOGGER_NAME": "rocksdb.log",
}
"""The log of a logger's name, as conf/logback_*.xml of 4.8.0 and 5.x have it."""
_LOGGER: Final = re.compile(r"(?i)(\w+\.)?\w*(log|logger)$")
_NAME: Final = re.compile(r"(?:LoggerName|RemotingHelper|Logger)\.(\w+)")
_FORMAT: Final = re.compile(r"%(?:\d+\$)?[-#+ 0,(]*\d*(?:\.\d+)?[a-zA-Z]|%%")
_BRACES: Final = re.compile(r"\{\}")
_SPEAKING: Final = {"toString", "getMessage", "valueOf", "get", "format", "toJson", "toJSONString", "name", "join",
                    "parseChannelRemoteAddr", "exceptionSimpleDesc"}  # fmt: skip
_DEEP: Final = 3


class JavaTexts:
    """The texts of one Java file."""

    def __init__(self, source: bytes, log: str) -> None:
        """`log` is where a logger writes that the file does not name."""
        import tree_sitter_java
        from tree_sitter import Language, Parser

        self._root = Parser(Language(tree_sitter_java.language())).parse(source).root_node
        self._texts: dict[str, Node] = {}
        self._log = log
        self._logs: dict[str, str] = {}
        for node in every_node(self._root):
            if node.type == "variable_declarator" and (value := node.child_by_field_name("value")) is not None:
                name = source_of(field_of(node, "name"))
                if _LOGGER.fullmatch(name) and (match := _NAME.search(source_of(value))):
                    self._logs[name] = FILES.get(match[1], log)
                elif self._is_text(value):
                    self._texts.setdefault(name, value)

    def _is_text(self, value: Node) -> bool:
        if value.type == "method_invocation":
            return source_of(field_of(value, "name")) == "format" and has_words(self._pieces(value))
        return value.type in {"string_literal", "binary_expression"} and has_words(self._pieces(value))

    def texts(self, *, prints: bool = False) -> Iterator[SaidText]:
        """Every text in the order of the source; `prints`: also what it writes to a terminal."""
        for node in every_node(self._root):
            if node.type == "method_invocation":
                text = self._called(node, prints=prints)
            elif node.type == "object_creation_expression":
                text = self._created(node)
            elif node.type == "explicit_constructor_invocation":
                text = self._made(node)
            else:
                continue
            if text is not None:
                kind, level, file, pieces = text
                place, method = _place(node)
                yield SaidText(place, method, kind, level, file, template_of(pieces))

    def _called(self, node: Node, *, prints: bool) -> tuple[str, str, str, list[str | Value]] | None:
        name, owner = source_of(field_of(node, "name")), node.child_by_field_name("object")
        arguments = _arguments(node)
        logger = "" if owner is None else source_of(owner).replace("this.", "")
        if not arguments:
            return None
        names = [_name(value) for argument in arguments[1:] for value in _values(argument)]
        if name in LEVELS and _LOGGER.fullmatch(logger):
            pieces = with_values(self._pieces(arguments[0]), names, _BRACES)
            return "log", name.upper(), self._logs.get(logger, self._log), pieces
        if name in REMARKS:
            texts = [text_pieces for text_pieces in map(self._pieces, arguments) if has_words(text_pieces)]
            return ("remark", "", "", texts[-1]) if texts else None
        if prints and logger in {"System.out", "System.err"} and name in {"printf", "println", "print"}:
            pieces = self._pieces(arguments[0])
            return "print", "", "", with_values(pieces, names, _FORMAT) if name == "printf" else pieces
        return None

    def _created(self, node: Node) -> tuple[str, str, str, list[str | Value]] | None:
        name = source_of(field_of(node, "type")).split(".")[-1]
        if not name.endswith(("Exception", "Error")):
            return None
        texts = [pieces for pieces in map(self._pieces, _arguments(node)) if has_words(pieces)]
        return ("exception", name, "", texts[0]) if texts else None

    def _made(self, node: Node) -> tuple[str, str, str, list[str | Value]] | None:
        """What an exception's own constructor passes on as its text."""
        name = _place(node)[0]
        texts = [pieces for pieces in map(self._pieces, _arguments(node)) if has_words(pieces)]
        return ("exception", name, "", texts[0]) if texts and name.endswith("Exception") else None

    def _pieces(self, node: Node, deep: int = 0) -> list[str | Value]:
        """What an expression is made of: texts, and values by name."""
        kind = node.type
        if kind in {"string_literal", "character_literal"}:
            return [_literal(source_of(node))]
        if kind == "parenthesized_expression":
            return self._pieces(node.named_children[0], deep)
        if kind == "binary_expression" and source_of(field_of(node, "operator")) == "+":
            return self._pieces(field_of(node, "left"), deep) + self._pieces(field_of(node, "right"), deep)
        if kind == "identifier" and deep < _DEEP and source_of(node) in self._texts:
            return self._pieces(self._texts[source_of(node)], deep + 1)
        if kind == "method_invocation":
            name, arguments = source_of(field_of(node, "name")), _arguments(node)
            if name == "suggestTodo":  # an address of the documentation
                return []
            if name == "format" and arguments and has_words(pieces := self._pieces(arguments[0], deep)):
                return with_values(pieces, [_name(argument) for argument in arguments[1:]], _FORMAT)
        return [Value(_name(node))]


def _arguments(node: Node) -> list[Node]:
    return [child for child in field_of(node, "arguments").named_children if not child.type.endswith("comment")]


def _values(node: Node) -> list[Node]:
    """The values of `new Object[] {a, b}`, or the expression itself."""
    listed = node.child_by_field_name("value") if node.type == "array_creation_expression" else None
    return (
        [node] if listed is None else [child for child in listed.named_children if not child.type.endswith("comment")]
    )


def _literal(source: str) -> str:
    inner = source[1:-1].replace("\\'", "'")
    return str(json.loads(f'"{inner}"')) if "\\" in inner else inner


def _name(node: Node) -> str:
    """What to call the value of an expression: `header.getConsumerGroup()` is consumer_group."""
    if node.type == "method_invocation":
        name, arguments = source_of(field_of(node, "name")), _arguments(node)
        inner = arguments[0] if arguments else node.child_by_field_name("object")
        if name in _SPEAKING and inner is not None:
            return _name(inner)
        return snake(re.sub(r"^(get|is)(?=[A-Z])", "", name))
    if node.type == "field_access":
        return snake(source_of(field_of(node, "field")))
    if node.type == "binary_expression":
        return "value"
    words = re.findall(r"[A-Za-z_]\w*", source_of(node))
    return snake(words[-1]) if words else "value"


def _place(node: Node) -> tuple[str, str]:
    """Outer class and innermost method."""
    place = method = ""
    above: Node | None = node
    while above is not None:
        if above.type in {"method_declaration", "constructor_declaration"} and not method:
            method = source_of(field_of(above, "name"))
        if above.type in {"class_declaration", "interface_declaration", "enum_declaration"}:
            place = source_of(field_of(above, "name"))
        above = above.parent
    return place, method
