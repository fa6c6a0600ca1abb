"""The page of the Python interface, made from the docstrings of what `import rmqlab` offers."""

from __future__ import annotations

import importlib
import inspect
from typing import TYPE_CHECKING, Any

import rmqlab
from rmqlab.run.results import Records
from rmqlab_tools import show
from tests.proof.site.docstrings import markdown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LONGEST = 90  # a signature in one line
API_INTRODUCTION = {
    "en": """# Python

What `import rmqlab` offers, made from the docstrings. `help(rmqlab)` says the same in a terminal.

""",
    "zh": """# Python 接口

`import rmqlab` 给出的东西。本页由源代码的英文文档字符串生成，`help(rmqlab)` 在终端里说的也是这些。

""",
}


def write(target: Path, language: str) -> None:
    """Write the page; docstrings are English, and the Chinese page says so."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(API_INTRODUCTION[language] + "".join(_parts()), encoding="utf-8")


def _parts() -> Iterator[str]:
    yield _class("Lab", rmqlab.Lab)
    yield _class("Records", Records)
    yield "## Functions\n\n"
    for name in rmqlab.__all__:
        thing = getattr(rmqlab, name)
        if inspect.isfunction(thing):
            yield _entry(f"rmqlab.{name}", thing)
    yield _class("Rules", type(rmqlab.RULES["4.8.0"]), "`rmqlab.RULES` has them by version. ")
    yield f"## `rmqlab.show`\n\n{markdown(inspect.getdoc(show) or '')}\n\n"
    for name in dir(show):
        thing = getattr(show, name)
        if inspect.isfunction(thing):
            yield _entry(f"rmqlab.show.{name}", thing)
    spark = importlib.import_module("rmqlab_tools.spark")
    yield f"## `rmqlab.spark`\n\n{markdown(inspect.getdoc(spark) or '')}\n\n"


def _class(name: str, thing: type, before: str = "") -> str:
    about = markdown(inspect.getdoc(thing) or "")
    parts = [f"(api-{name})=\n## `{name}`\n\n{before}{about}\n\n"]
    for inner, member in sorted(inspect.getmembers_static(thing)):
        member = getattr(thing, inner) if isinstance(member, classmethod | staticmethod) else member  # noqa: PLW2901
        if inner.startswith("_") or not inspect.getdoc(member):
            continue
        if inspect.isroutine(member) and inspect.isfunction(getattr(member, "__func__", member)):
            parts.append(_entry(f"{name}.{inner}", member))
        elif isinstance(member, property):
            parts.append(f"(api-{name}.{inner})=\n### `{name}.{inner}`\n\n{markdown(inspect.getdoc(member) or '')}\n\n")
    return "".join(parts)


def _entry(name: str, thing: Any) -> str:
    text = f"{name.rpartition('.')[2]}{_signature(thing)}"
    return f"(api-{name})=\n### `{name}`\n\n```python\n{text}\n```\n\n{markdown(inspect.getdoc(thing) or '')}\n\n"


def _signature(thing: Any) -> str:
    """The arguments as they are written; a default that is no plain value is only named."""
    shown = inspect.signature(thing)
    parts: list[str] = []
    kinds = [parameter.kind for parameter in shown.parameters.values()]
    for at, (name, parameter) in enumerate(shown.parameters.items()):
        if name == "self":
            continue
        if (
            parameter.kind is parameter.KEYWORD_ONLY
            and parameter.VAR_POSITIONAL not in kinds
            and kinds[at - 1] is not parameter.KEYWORD_ONLY
        ):
            parts.append("*")
        star = (
            "*"
            if parameter.kind is parameter.VAR_POSITIONAL
            else "**"
            if parameter.kind is parameter.VAR_KEYWORD
            else ""
        )
        kind = "" if parameter.annotation is parameter.empty else f": {parameter.annotation}"
        default = "" if parameter.default is parameter.empty else f" = {_value(parameter.default)}"
        parts.append(f"{star}{name}{kind}{default}")
    result = "" if shown.return_annotation is shown.empty else f" -> {shown.return_annotation}"
    line = f"({', '.join(parts)}){result}"
    return line if len(line) <= LONGEST else "(\n" + "".join(f"    {part},\n" for part in parts) + f"){result}"


def _value(value: object) -> str:
    """A default as it is written; one that is no plain value by its name."""
    if value is None or isinstance(value, str | int | float | bool | tuple):
        return repr(value)
    return getattr(value, "__name__", None) or f"{type(value).__name__}(...)"
