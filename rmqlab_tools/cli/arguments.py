"""Arguments of verbs: those that a verb's function has, a time in seconds, and `--example`, which prints a whole file.

`add_parameters` makes an argument of a function's parameter: name, kind and default are the signature's, the help is
what the block `Args:` of its docstring says. So both stand once.
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmqlab.checkout import data_path
from rmqlab.errors import BadInput
from rmqlab.language import _, joined
from rmqlab.rules import DEFAULT_VERSION, RULES
from rmqlab_tools.cli.printing import Printer

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Callable, Mapping

FORMATS = {
    "simulate": "scenario",
    "explore": "scenario",
    "lint": "members",
    "audit": _("subscriptions"),
}
"""Verb to the format of its file."""
MAX_SECONDS = 10**9
_FENCE = re.compile(r"^```json\n(.*?)^```\n", re.DOTALL | re.MULTILINE)


def seconds(text: str) -> float:
    """Read a time to wait, in seconds.

    >>> seconds("0.5")
    0.5

    Raises:
        ArgumentTypeError: it is no number above 0, or so large that no clock can wait for it.
    """
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value <= MAX_SECONDS:
        raise argparse.ArgumentTypeError(
            _(
                "{text}: a number of seconds above 0 is wanted, at most {max_seconds}",
                text=f"{text!r}",
                max_seconds=MAX_SECONDS,
            )
        )
    return value


def store_time(text: str | None) -> int | None:
    """A time of `--from` or `--to` in epoch ms; None for none.

    >>> store_time("1970-01-01T00:00:01")
    1000

    Raises:
        BadInput: it is no time.
    """
    if not text:
        return None
    if text.isdecimal():
        return int(text)
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        raise BadInput(
            _(
                "time {text}: {error}; right would be 2024-05-01T12:00:00 (UTC) or epoch ms",
                text=f"{text!r}",
                error=error,
            )
        ) from error
    return round((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)


def texts_of_arguments(docstring: str) -> dict[str, str]:
    r"""What the block `Args:` of a docstring says of each parameter, each as one line.

    >>> texts_of_arguments("Send.\n\nArgs:\n    tag: of the\n        message\n    size: in bytes\n\nRaises:\n    E: it")
    {'tag': 'of the message', 'size': 'in bytes'}
    """
    block = re.search(r"^Args:\n((?: .*\n?|\n(?= ))+)", docstring, re.MULTILINE)
    entries = re.split(r"^ {4}(\w+): ", block[1] if block else "", flags=re.MULTILINE)[1:]
    return {name: " ".join(text.split()) for name, text in zip(entries[::2], entries[1::2], strict=True)}


def add_parameters(
    parser: ArgumentParser | argparse._ArgumentGroup,
    function: Callable[..., object],
    *names: str,
    **changes: Mapping[str, Any],
) -> None:
    """Declare arguments by the parameters of a verb's function; `changes` has what the command line has otherwise.

    One without a default is positional, `yes: bool = False` is a switch, `names: Sequence[str]` is `--name` and may be
    repeated, `pause_ms` is `--pause MS`. A default is shown where the text has `{default}`, else after it. `changes`
    are arguments of `add_argument` by parameter, and `flags`, the option's names.
    """
    texts = texts_of_arguments(inspect.getdoc(function) or "")
    parameters = inspect.signature(function).parameters
    for name in names:
        if name == "version":
            add_version(parser)
            continue
        changed = dict(changes.get(name, {}))
        made = _argument(parameters[name], texts.get(name), changed.get("default")) | changed
        flags = made.pop("flags")
        parser.add_argument(*flags, **{key: value for key, value in made.items() if value is not None})


def _argument(parameter: inspect.Parameter, text: str | None, other_default: object) -> dict[str, Any]:
    """What `add_argument` takes for a parameter."""
    name, kind = parameter.name, str(parameter.annotation).removesuffix(" | None")
    default = parameter.default if other_default is None else other_default
    if default is parameter.empty:
        return {"flags": (name,), "metavar": name.upper(), "help": _help(text, None)}
    flag = name.removesuffix("_ms").removesuffix("s" if kind.startswith("Sequence") else "").replace("_", "-")
    made: dict[str, Any] = {"flags": (f"--{flag}",), "help": _help(text, default)}
    if kind == "bool":
        return made | {"action": "store_true"}
    if kind.startswith("Sequence"):
        return made | {"action": "append", "metavar": "NAME"}
    types = {"int": (int, "MS" if name.endswith("_ms") else "N"), "float": (float, "S"), "str": (str, "NAME")}
    of_type, metavar = types.get(kind, (Path, "FILE"))
    return made | {"type": of_type, "metavar": metavar, "default": default}


def _help(text: str | None, default: object) -> str | None:
    """The help of an argument: a default that says something is shown in it."""
    if text is None:
        return None
    shown = f"{default:g}" if isinstance(default, float) else default
    if default is None or default is False or isinstance(default, tuple) or text.endswith(f"({shown})"):
        return _(text)
    return _(text, default=shown) if "{default}" in text else _("{text} ({default})", text=_(text), default=shown)


def parts(name: str) -> tuple[str, str, str]:
    """What stands before the example in the page of a format, the example, and what follows."""
    text = (data_path("formats") / f"{name}.md").read_text(encoding="utf-8")
    about, example, fields = _FENCE.split(text, maxsplit=1)
    return about, example, fields


class PrintExample(argparse.Action):
    """Print the example on standard output, what its fields mean on standard error, and end."""

    def __call__(self, parser: ArgumentParser, *_: Any) -> None:
        """Print and end."""
        name = str(self.const)
        about, lines, fields = parts(name)
        Printer.on(sys.stderr).say(f"{about.rstrip()}\n{fields.rstrip()}")
        sys.stdout.write(lines)
        parser.exit(0)


def add_version(parser: ArgumentParser | argparse._ArgumentGroup, usual: str = DEFAULT_VERSION) -> None:
    """Declare `--version`, of broker and clients; the program's own stands before the verb. `rules_of` reads it."""
    parser.add_argument(
        "--version",
        metavar="VERSION",
        help=_(
            "the RocketMQ that broker and clients are: {versions} ({usual})",
            versions=joined(", ", RULES),
            usual=usual,
        ),
    )


def add_example(parser: ArgumentParser, verb: str) -> None:
    """Declare `--example` for a verb that reads a file."""
    parser.add_argument(
        "--example",
        action=PrintExample,
        nargs=0,
        const=FORMATS[verb],
        help=_("print a complete file of its format, {formats}, and what the fields mean", formats=FORMATS[verb]),
    )
