"""Code cells in another language: texts with values in them, and what is printed, are those of the catalogue.

An f-string becomes the translation's f-string, with the same expressions in it; where a text depends on a condition,
so does its translation. A text without values that a picture or a table is given stays: the package looks it up where
it is shown. All else is code.
"""

from __future__ import annotations

import ast
import copy
import re
from typing import TYPE_CHECKING, TypeGuard

from rmqlab_tools.course.shown_texts import PLACEHOLDER, constants, is_text, part_of, placeholder

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping


def code_in(
    source: str, translations: Mapping[str, str], names: Collection[str] = (), lookups: Collection[str] = ()
) -> str:
    """Python source with its texts in another language; `translations` maps each text to its translation.

    `names` are texts that are called so in several places, such as the columns of a frame: they are replaced wherever
    they stand. An f-string that may have made what is `lookups` for by its name stays.

    >>> code_in('print(f"{n} of {len(rows)} lost")', {"{n} of {rows} lost": "{rows} 条中丢失 {n} 条"})
    'print(f"{len(rows)} 条中丢失 {n} 条")'
    """
    tree = ast.parse(source)
    printed = {arg for node in ast.walk(tree) if isinstance(node, ast.Call) for arg in _printed(node)}
    whole = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    inside = {child for node in whole for child in ast.walk(node)}
    data, begins = source.encode(), [0]
    for line in data.splitlines(keepends=True):
        begins.append(begins[-1] + len(line))
    edits = []
    for node in ast.walk(tree):
        text = None
        if not isinstance(node, ast.JoinedStr | ast.Constant):
            continue
        if isinstance(node, ast.JoinedStr):
            is_asked = _makes_names(node) and any(_pattern(node).fullmatch(name) for name in lookups)
            text = None if is_asked else _written(node, translations, names)
            if text is None and _has(node, names):
                text = ast.unparse(_named(node, translations, names))
        elif node not in inside and isinstance(node.value, str):
            text = _written(node, translations) if node in printed or node.value in names else None
        if text is not None and node.end_lineno is not None and node.end_col_offset is not None:
            begin = begins[node.lineno - 1] + node.col_offset
            edits.append((begin, begins[node.end_lineno - 1] + node.end_col_offset, text))
    last = len(data) + 1
    for begin, end, text in sorted(edits, reverse=True):
        if end <= last:  # what lies in an f-string that is replaced goes with it
            data, last = data[:begin] + text.encode() + data[end:], begin
    return data.decode()


def names_in(sources: Iterable[str], translations: Mapping[str, str]) -> set[str]:
    """The texts of several words that stand alone in code, such as titles and columns of frames.

    What stands in a cell that asks for a check or a guess is compared there, and what an f-string may have made is
    asked for by what comes out: both stay.
    """
    texts_in_code: set[str] = set()
    kept: set[str] = set()
    trees = [(source, ast.parse(source)) for source in sources]
    for source, tree in trees:
        texts = {
            child.value for child in ast.walk(tree) if isinstance(child, ast.Constant) and isinstance(child.value, str)
        }
        kept |= texts if "rmqlab.check(" in source or "guess" in source else set()
        texts_in_code |= texts
    lookups = asked_in(source for source, _ in trees)
    made = [_pattern(node) for _, tree in trees for node in ast.walk(tree) if _makes_names(node)]
    kept |= {text for text in lookups if any(pattern.fullmatch(text) for pattern in made)}
    kept |= {text for text in texts_in_code if any(text in name for name in lookups & kept)}
    return {text for text in texts_in_code - kept if " " in text and text in translations and is_text(text, shown=True)}


def asked_in(sources: Iterable[str]) -> set[str]:
    """What is asked for by its name, as in `row["A beats"]`: an f-string that may have made it stays as it is."""
    slices = (
        part.slice for source in sources for part in ast.walk(ast.parse(source)) if isinstance(part, ast.Subscript)
    )
    texts = (child.value for node in slices for child in ast.walk(node) if isinstance(child, ast.Constant))
    return {text for text in texts if isinstance(text, str) and " " in text}


def _makes_names(node: ast.AST) -> TypeGuard[ast.JoinedStr]:
    """Whether it is an f-string of several values or words."""
    return isinstance(node, ast.JoinedStr) and any(
        isinstance(part, ast.Constant) and " " in str(part.value) for part in node.values
    )


def _pattern(node: ast.JoinedStr) -> re.Pattern[str]:
    """What an f-string can come to."""
    return re.compile(
        "".join(re.escape(str(part.value)) if isinstance(part, ast.Constant) else ".+" for part in node.values)
    )


class _Named(ast.NodeTransformer):
    def __init__(self, translations: Mapping[str, str], names: Collection[str]) -> None:
        self._told, self._names = translations, names

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        """A name in the other language."""
        return ast.Constant(self._told[str(node.value)]) if node.value in self._names else node


def _named(node: ast.expr, translations: Mapping[str, str], names: Collection[str]) -> ast.AST:
    named: ast.AST = _Named(translations, names).visit(copy.deepcopy(node))
    return named


def _has(node: ast.AST, names: Collection[str]) -> bool:
    return any(isinstance(child, ast.Constant) and child.value in names for child in ast.walk(node))


def _printed(call: ast.Call) -> list[ast.expr]:
    return call.args if isinstance(call.func, ast.Name) and call.func.id == "print" else []


def _written(
    node: ast.Constant | ast.JoinedStr, translations: Mapping[str, str], names: Collection[str] = ()
) -> str | None:
    """The translated text as Python writes it, None where there is nothing to write."""
    if isinstance(node, ast.Constant):
        text = str(node.value)
        if text.strip() not in translations:
            return None
        return _quoted(text.replace(text.strip(), translations[text.strip()]))
    tests = {ast.unparse(choice.test): choice.test for part in node.values for choice in _choices(part)}
    return _branch(node, translations, names, list(tests.items()), {})


def _choices(part: ast.expr) -> list[ast.IfExp]:
    if not isinstance(part, ast.FormattedValue) or not constants(part.value):
        return []
    return [child for child in ast.walk(part.value) if isinstance(child, ast.IfExp)]


def _branch(
    node: ast.JoinedStr,
    translations: Mapping[str, str],
    names: Collection[str],
    tests: list[tuple[str, ast.expr]],
    chosen: dict[str, bool],
) -> str | None:
    """The text where these conditions are so; a conditional expression where one is open."""
    if not tests:
        return _template(node, translations, names, chosen)
    (name, _), *others = tests
    both = [_branch(node, translations, names, others, chosen | {name: way}) for way in (True, False)]
    if both[0] is None or both[1] is None:
        return None
    return both[0] if both[0] == both[1] else f"({both[0]} if {name} else {both[1]})"


def _template(
    node: ast.JoinedStr, translations: Mapping[str, str], called: Collection[str], chosen: Mapping[str, bool]
) -> str | None:
    names: dict[str, str] = {}
    values: dict[str, str] = {}
    text = ""
    for part in node.values:
        value = part.value if isinstance(part, ast.FormattedValue) else None
        while isinstance(value, ast.IfExp) and ast.unparse(value.test) in chosen:
            value = value.body if chosen[ast.unparse(value.test)] else value.orelse
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            text += value.value
        elif value is None:
            text += part_of(part)
        else:
            name = placeholder(value, names)
            text += f"{{{name}}}"
            values[name] = ast.unparse(_named(ast.JoinedStr([part]), translations, called))[2:-1]
    other = translations.get(text.strip())
    if other is None:
        return None
    parts = PLACEHOLDER.split(text.replace(text.strip(), other))
    fields = [field[1:-1] for field in PLACEHOLDER.findall(other)]
    if not fields:
        return _quoted("".join(parts))
    told_parts = [
        _quoted(part)[1:-1] + (values[fields[number]] if number < len(fields) else "")
        for number, part in enumerate(parts)
    ]
    inside = "".join(told_parts)
    quote = '"' if '"' not in "".join(values.values()) else "'" if "'" not in "".join(values.values()) else '"""'
    return f"f{quote}{inside}{quote}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
