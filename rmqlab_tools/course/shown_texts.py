"""Texts for people in Python source: the strings of a module or a code cell that a reader will see.

An f-string becomes a template: `f"queue {message.queue}"` is the text "queue {message.queue}". Where a string depends
on a condition (`f"{n} queue{'s' if n > 1 else ''}"`) each way is a text of its own.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PLACEHOLDER = re.compile(r"\{[A-Za-z_][\w.]*\}")
MESSAGE_CALLS = {"_": None, "N_": None, "ngettext": (1, 2)}
"""The calls that make a message, and which of their arguments are its texts, as Babel wants to know it."""
MAX_WAYS = 8  # of one f-string; with more, its conditions are placeholders too
# Two words beside each other, or a word that ends a sentence: prose. A single word is one only where words are shown.
_PROSE = re.compile(
    r"[A-Za-z]{2,}[,:;]? +[(\"'`]?[A-Za-z{]|[A-Za-z}]'?s? [a-z]{2,}|[a-z]{2,}: |[a-z]{2,} := |[A-Za-z]{2,}[.!?]$"
)
_WORD = re.compile(r"[A-Za-z]{2,}")
_CODE = re.compile(
    r"[=!<>]=|\|\||&&|</?\w+|\bhref=|\bimport |^[\w.]+\(.*\)$|"
    r"^[\w-]+: [\w-]+;|"
    r"^TAGS\b|^[a-zA-Z] [<>=]|^\(?[?\\^$]|@\w|[\w]/[\w*]+/|^[\w.]+ = |\\[dswb]|^[\w.]+ (and|or) [\w.]+ [=<>!]|"
    r"^\w+ in \(|^\w+ (int|string|long|double)\b|\b(between \d|is not null|sans-serif|monospace|row wrap)\b|\bAS \w|"
    r"^(\w+, )+\w*[a-z][A-Z]"
)
# A whole sentence is for people, whatever it quotes; so are three words of a text with a word of SQL.
_SENTENCE = re.compile(r"[A-Z][^<>]*(?: [^<> ]+){3}[^<>]*[\w)}\]\"][.?]")
_SQL = re.compile(r"\b(AND|OR|NOT|IS|IN|BETWEEN|LIKE|SELECT|FROM)\b")
_CLAUSE = re.compile(r"[a-z]{2,} [a-z]{2,} [a-z]{2,}|\bwrite [A-Z]")
# What Java programs say themselves is the same in every language, and so are units.
_JAVA = re.compile(
    r"java\.lang\.|org\.apache\.|^(Receive New Messages|Invalid MessageSelector|Lexical error|Encountered)\b"
)
_UNITS = {"ms"}
# Calls and keywords whose strings are shown, though they be one word; and those whose strings are code.
_SHOWN = {"headers", "title", "caption", "label", "labels", "text", "heading", "alt", "unit", "x_label", "y_label"}
_SHOWN_NAMES = {"headers", "heads"}
# Single words of sentences and pictures that are no ids.
_WORDS = {
    "all", "answers", "arrives", "beats", "bitmap", "commit", "commits", "dropped", "drops", "empty", "entry", "fates",
    "fault",
    "forgotten", "healthy", "heartbeat", "inconsistent", "joins", "leaves", "losing", "message", "minute", "never",
    "no", "nobody", "Nobody",
    "none", "note", "nothing", "notification", "pauses", "proved", "implied", "pulls", "rebalance", "returned",
    "returns", "right", "Rule:", "under 1 ms",
    "layer 1", "layer 2", "subscriptions", "deliveries",
    "agrees", "conclusions", "DIFFERS", "expected", "follows", "given", "here", "ours", "permission", "set-up",
    "nobody's", "starts", "stops", "subscribes", "taken", "waits", "wait",
}  # fmt: skip
_SHOWN_PLACES = {"Table": slice(2), "FateStyle": slice(3, 4)}  # of the arguments of these calls
_HIDDEN = {"query", "sql", "sql92", "eval", "compile", "filter", "get", "getattr", "open", "read_csv", "strftime",
           "startswith", "removeprefix", "removesuffix", "endswith", "partition", "split", "sub", "encode", "fullmatch",
           "Random", "Case"}  # fmt: skip
_HIDDEN_KEYWORDS = {"subscribe", "expression", "sql92", "orient", "regex", "columns_of"}
_UNSEEN = {"ValueError", "TypeError", "AssertionError", "RuntimeError", "NotImplementedError", "KeyError",
           "AttributeError"}  # fmt: skip


class Text(NamedTuple):
    """A text and the line where it stands."""

    text: str
    line: int


@cache
def texts_of(source: str, *, raised: bool = False) -> list[Text]:
    """The texts for people of Python source, in its order, each once; `raised`: only those of its errors."""
    tree: ast.AST = ast.parse(source)
    if raised:
        tree = ast.List(
            [child.exc for child in ast.walk(tree) if isinstance(child, ast.Raise) and child.exc is not None]
        )
    line_of: dict[str, int] = {}
    for node, shown in strings(tree, shown=False):
        for text in _ways(node):
            if is_text(text, shown=shown or text in _WORDS):
                line_of.setdefault(text, node.lineno)
    return [Text(text, line) for text, line in sorted(line_of.items(), key=lambda entry: entry[1])]


def names_of(source: str) -> list[str]:
    """What a picture of a code cell writes of names: keys of dicts of three words and more, and a heat map's value."""
    nodes = list(ast.walk(ast.parse(source)))
    keys = [key for node in nodes if isinstance(node, ast.Dict) for key in node.keys]
    names = [str(key.value) for key in keys if isinstance(key, ast.Constant)]
    phrases = [name.replace("_", " ") for name in names if re.fullmatch(r"(?!is_)[a-z]+(_[a-z]+){2,}", name)]
    maps = [node for node in nodes if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("heat_map")]
    values = [keyword.value for node in maps for keyword in node.keywords if keyword.arg == "value"]
    return [*phrases, *(str(value.value) for value in values if isinstance(value, ast.Constant))]


def is_text(text: str, *, shown: bool = False) -> bool:
    """Whether a string is for people: prose, or where words are shown one word is enough."""
    words = PLACEHOLDER.sub("", text)
    if not words.replace("\n", " ").isprintable():
        return False
    if _SENTENCE.fullmatch(text) and "{{" not in text and not _JAVA.search(text):
        return True
    if "{" in words or "}" in words or not words.replace("\n", " ").isprintable():
        return False
    if _CODE.search(text) or _JAVA.search(text) or words.strip() in _UNITS:
        return False
    if _SQL.search(text) and not _CLAUSE.search(words):
        return False
    return bool(_WORD.search(words) if shown else _WORD.search(words) and _PROSE.search(text))


def strings(node: ast.AST, *, shown: bool) -> Iterator[tuple[ast.Constant | ast.JoinedStr, bool]]:
    """The strings below a node that are no docstrings, no annotations and not hidden from the reader."""
    if isinstance(node, ast.JoinedStr):
        yield node, shown
        for part in node.values:
            if isinstance(part, ast.FormattedValue) and not constants(part.value):
                yield from strings(part.value, shown=False)
        return
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            yield node, shown
        return
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and _name(node.exc.func) in _UNSEEN:
        return
    for child in _children(node):
        yield from strings(child, shown=_is_shown(node, child, shown=shown))


def _children(node: ast.AST) -> Iterable[ast.AST]:
    """The children in which texts may be."""
    match node:
        case ast.Module() | ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            if isinstance(node, ast.Module | ast.ClassDef):
                shown = body[-1:] if isinstance(node, ast.Module) else []
                return [child for child in body if child in shown or not _is_remark(child)]
            return [*node.args.defaults, *filter(None, node.args.kw_defaults), *body]
        case ast.AnnAssign():
            return [] if node.value is None else [node.value]
        case ast.Call() if _name(node.func) in MESSAGE_CALLS:  # Babel finds those; a text may be among its values
            return node.keywords
        case ast.Call():
            hidden = _name(node.func) in _HIDDEN
            given = [child for child in node.keywords if child.arg not in _HIDDEN_KEYWORDS]
            return [node.func, *given] if hidden else [node.func, *node.args, *given]
        case ast.Subscript():
            named = isinstance(node.value, ast.Dict) or isinstance(node.ctx, ast.Store)
            return [node.value, node.slice] if named else [node.value]
        case ast.Compare():
            return [child for child in (node.left, *node.comparators) if not isinstance(child, ast.Constant)]
        case _:
            return ast.iter_child_nodes(node)


def _is_remark(statement: ast.stmt) -> bool:
    """Whether it is a string alone, which says what stands above it; at the end of a cell it is shown."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _is_shown(node: ast.AST, child: ast.AST, *, shown: bool) -> bool:
    """Whether a word alone that stands here is shown to the reader."""
    match node:
        case ast.keyword():
            return node.arg in _SHOWN
        case ast.Assign():
            return _name(node.targets[0]) in _SHOWN_NAMES
        case ast.Call():
            name = _name(node.func)
            if name in _SHOWN_PLACES:
                return child in node.args[_SHOWN_PLACES[name]]
            return child in node.args and name in _SHOWN
        case ast.Tuple() | ast.List() | ast.Starred() | ast.IfExp() | ast.BinOp() | ast.BoolOp():
            return shown
        case _:
            return False


def _name(function: ast.AST) -> str:
    return (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )


def _ways(node: ast.Constant | ast.JoinedStr) -> list[str]:
    """The texts that a string can be, with placeholders for what is computed."""
    if isinstance(node, ast.Constant):
        return [str(node.value)]
    names: dict[str, str] = {}
    parts = [_part(part, names) for part in node.values]
    count = 1
    for part in parts:
        count *= len(part)
    if count > MAX_WAYS:
        parts = [part if len(part) == 1 else ["{case}"] for part in parts]
    return ["".join(way) for way in product(*parts)]


def part_of(part: ast.expr) -> str:
    """The text of a constant part of an f-string, as a template has it."""
    return str(part.value).replace("{", "{{").replace("}", "}}") if isinstance(part, ast.Constant) else ""


def _part(part: ast.expr, names: dict[str, str]) -> list[str]:
    if isinstance(part, ast.Constant):
        return [part_of(part)]
    if not isinstance(part, ast.FormattedValue):
        return [""]
    return constants(part.value) or [f"{{{placeholder(part.value, names)}}}"]


def constants(node: ast.expr) -> list[str]:
    """Both texts of `"one" if condition else "other"`; of anything else nothing."""
    if not isinstance(node, ast.IfExp):
        return []
    both = [
        [branch.value] if isinstance(branch, ast.Constant) and isinstance(branch.value, str) else constants(branch)
        for branch in (node.body, node.orelse)
    ]
    return [text for texts in both for text in texts] if all(both) else []


def placeholder(node: ast.expr, names: dict[str, str]) -> str:
    """A short name for an expression: itself if it is a name or an attribute, else the first name in it."""
    whole = ast.unparse(node)
    if whole not in names:
        short = whole
        if not re.fullmatch(r"[A-Za-z_][\w.]*", whole):
            inside = [child.id for child in ast.walk(node) if isinstance(child, ast.Name) and child.id not in _BUILTIN]
            short = inside[0] if inside else "value"
        taken, free = set(names.values()), short
        number = 2
        while free in taken:
            free, number = f"{short}{number}", number + 1
        names[whole] = free
    return names[whole]


_BUILTIN = {"len", "sum", "max", "min", "str", "sorted", "map", "round", "abs", "next", "type", "number_text", "repr"}
