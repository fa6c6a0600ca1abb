"""Docstrings speak one dialect: one kind of quotes, one mood, errors in a block of their own, and plain words."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("rmqlab", "rmqlab_tools")
# A docstring names what a function gives, or orders what it does: it does not say that something is returned.
MOODS = re.compile(r"(Returns?|Yields?|Gives|Tells|Tell (whether|what|how|where|which))\b")
RAISES = re.compile(r"\b[Rr]aises? (the )?`?([A-Z]\w*(Error|Exception|Input|Refused|Failed|Damage|Frame)|Refused)\b")
# What the docstrings of rules say is printed by the checks of lessons, whose outputs are compared.
PRINTED = ("rmqlab/rules.py",)
WORDS = re.compile(r"\b(nobody|told|tells|behind)\b", re.IGNORECASE)
EXAMPLE = re.compile(r"^\s*>>>.*?(?=^\s*$|\Z)", re.MULTILINE | re.DOTALL)  # with what it prints
QUOTED = re.compile(r'`[^`]*`|"[^"]*"')


def faults_of(docstring: str, *, of_function: bool) -> list[str]:
    """What is wrong with a docstring, in words."""
    found = ["double backticks: one pair is enough"] if "``" in docstring else []
    if of_function and (match := MOODS.match(docstring)):
        found.append(f"begins with {match[0]}: name what it gives, as in 'The offset of a queue', 'Whether it is held'")
    prose = docstring.partition("Raises:")[0]
    if of_function and (match := RAISES.search(prose)) and not docstring.startswith("Raise "):
        found.append(f"{match[0]!r} belongs in a block 'Raises:'")
    said = WORDS.search(QUOTED.sub("", EXAMPLE.sub("", docstring)))
    return [*found, f"{said[0]!r}: a noun or a verb says it better"] if said else found


def docstrings(path: Path) -> Iterator[tuple[int, str, bool]]:
    """Line, text, and whether it is a function's, of each docstring of a module."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield node.body[0].lineno, text, isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


@pytest.mark.parametrize("package", PACKAGES)
def test_docstrings_speak_one_dialect(package):
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {fault}"
        for path in sorted((ROOT / package).rglob("*.py"))
        for line, text, of_function in docstrings(path)
        for fault in faults_of(text, of_function=of_function)
        if path.relative_to(ROOT).as_posix() not in PRINTED
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("docstring", "fault"),
    [
        ("The ``offset``.", "backticks"),
        ("Return the offset.", "Return"),
        ("Tell whether it is held.", "Tell whether"),
        ("Read a file; raises `BadInput` for none.", "Raises:"),
        ("Read a file.\n\nRaises SegmentError.", "Raises:"),
        ("The offset that nobody has committed.", "nobody"),
        ("What lies behind the last entry.", "behind"),
    ],
)
def test_each_fault_is_noticed(docstring, fault):
    assert [fault in said for said in faults_of(docstring, of_function=True)] == [True]


def test_what_is_right_passes():
    docstring = 'The lag behind a `behind`.\n\n>>> tells(1)\n\nRaises:\n    BadInput: "nobody" is no name.\n'
    assert faults_of(docstring.replace("lag behind", "lag"), of_function=True) == []
    assert faults_of("Raise `BadInput` unless it is a number.", of_function=True) == []
