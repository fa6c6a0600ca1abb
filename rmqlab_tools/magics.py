"""Magics of IPython: `%lint` and `%%sql92`, there after `%load_ext rmqlab`. A cell shows what the function answers.

>>> parse_condition("a=5 --version 5.5.0")
({'a': '5'}, '5.5.0')
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput
from rmqlab.language import _
from rmqlab.rules import DEFAULT_VERSION
from rmqlab_tools import verbs

if TYPE_CHECKING:
    from rmqlab_tools.search.expressions.answer import Sql92
    from rmqlab_tools.search.lint.findings import GroupLint
    from rmqlab_tools.source.groups import SourceLint


def load_ipython_extension(shell: Any) -> None:
    """Register the magics with a shell of IPython."""
    shell.register_magic_function(_plainly(lint_magic), "line", "lint")
    shell.register_magic_function(_plainly(sql92_magic), "cell", "sql92")


def _plainly(magic: Any) -> Any:
    """A magic whose `BadInput` is one line, as IPython shows it of a magic that is used wrongly."""

    def called(*texts: str) -> object:
        from IPython.core.error import UsageError

        try:
            answer: object = magic(*texts)
        except BadInput as error:
            raise UsageError(str(error)) from None
        return answer

    called.__doc__ = magic.__doc__
    return called


def lint_magic(line: str) -> GroupLint | SourceLint:
    """`%lint A:TopicTest=tagA B:TopicTest=tagB` compares members, `%lint FOLDER... --profile prod` reads code bases.

    `--profile` may be repeated, `--tests` reads tests too. A condition is written `A:T=SQL92:a > 3`, in quotes where it
    has blanks.
    """
    from rmqlab_tools.search.lint.members import split_subscription

    words: list[str] = []
    profiles: list[str] = []
    tests = False
    arguments = iter(shlex.split(line))
    for word in arguments:
        if word == "--tests":
            tests = True
        elif word == "--profile" and (profile := next(arguments, None)) is not None:
            profiles.append(profile)
        elif word.startswith("--"):
            raise BadInput(_("%lint: {word}: its options are --profile NAME and --tests", word=word))
        else:
            words.append(word)
    if not words:
        raise BadInput(_("%lint needs members, such as A:TopicTest=tagA B:TopicTest=tagB, or folders of code"))
    if not all("=" in word and ":" in word.partition("=")[0] for word in words):
        return verbs.lint([Path(word) for word in words], profiles=profiles, tests=tests)
    if profiles or tests:
        raise BadInput(_("--profile and --tests are of code bases; give the folder of one"))
    members: dict[str, dict[str, str]] = {}
    for word in words:
        client, topic, expression = split_subscription(word, members)
        members.setdefault(client, {})[topic] = expression
    return verbs.lint(members)


def sql92_magic(line: str, cell: str) -> Sql92:
    """`%%sql92 a=5 b=x`: the condition of the cell, evaluated on these properties; `--version 5.5.0` of that broker."""
    properties, version = parse_condition(line)
    return verbs.sql92(" ".join(cell.split("\n")).strip(), properties or None, version=version)


def parse_condition(line: str) -> tuple[dict[str, str], str]:
    """Properties and version of a line.

    Raises:
        BadInput: a word is neither NAME=VALUE nor `--version VERSION`.
    """
    words, version = shlex.split(line), DEFAULT_VERSION
    properties: dict[str, str] = {}
    while words:
        word = words.pop(0)
        name, equals, value = word.partition("=")
        if word == "--version" and words:
            version = words.pop(0)
        elif equals and name:
            properties[name] = value
        else:
            raise BadInput(_("%%sql92: {word} is no property; write NAME=VALUE, or --version VERSION", word=repr(word)))
    return properties, version
