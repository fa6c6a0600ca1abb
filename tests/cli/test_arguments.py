"""Arguments of verbs come from the signatures of their functions: defaults and help stand once."""

from __future__ import annotations

import inspect
from argparse import ArgumentParser
from pathlib import Path

import pytest

from rmqlab.language import spoken
from rmqlab_tools import verbs
from rmqlab_tools.cli.arguments import add_parameters, texts_of_arguments
from rmqlab_tools.cli.cli import parser_of
from rmqlab_tools.doctor.doctor import doctor
from rmqlab_tools.doctor.snapshot import SnapshotOptions
from rmqlab_tools.live.serve import serve

# Verb, its function, and what the command line has otherwise.
OF_VERBS = [
    ("plan", verbs.plan, {"producers"}),
    ("explore", verbs.explore, set()),
    ("simulate", verbs.simulate, set()),
    ("serve", serve, {"listen", "namesrv"}),  # of the command line a broker.conf decides, and fixed ports
    ("doctor", SnapshotOptions, {"timeout_ms"}),  # --timeout is in seconds
    ("doctor", doctor, {"looks"}),  # with --watch it looks until it is stopped
]


def changed(
    old: str,
    *,
    budget: int = 7,
    pause_ms: int = 1_000,
    ratio: float = 2.0,
    among: bool = False,
    names: list[str] | None = None,
    store: str | Path | None = None,
) -> None:
    """Do it.

    Args:
        old: what it was
        budget: runs at most
        ratio: of both ({default}), about
        among: between the
            frames
    """


def parser_of_changed(**changes):
    parser = ArgumentParser(prog="t")
    add_parameters(parser, changed, "old", "budget", "pause_ms", "ratio", "among", "store", **changes)
    return parser


def test_a_default_that_is_changed_in_a_signature_changes_help_and_value(monkeypatch):
    with spoken("en"):
        assert "runs at most (7)" in parser_of_changed().format_help()
        monkeypatch.setattr(changed, "__kwdefaults__", changed.__kwdefaults__ | {"budget": 11, "ratio": 0.5})
        text = parser_of_changed().format_help()
    assert "runs at most (11)" in text
    assert "of both (0.5), about" in text
    assert parser_of_changed().parse_args(["a"]).budget == 11


def test_the_verb_s_help_follows_its_function(monkeypatch):
    monkeypatch.setattr(verbs.plan, "__kwdefaults__", verbs.plan.__kwdefaults__ | {"every_ms": 123})
    with spoken("en"):
        assert "one of each kind for each queue (123)" in " ".join(parser_of("plan").format_help().split())


def test_kinds_and_names_are_the_signature_s():
    args = parser_of_changed().parse_args(["a", "--pause", "5", "--among", "--ratio", "1.5", "--store", "x"])
    assert vars(args) == {"old": "a", "budget": 7, "pause": 5, "ratio": 1.5, "among": True, "store": Path("x")}
    other = parser_of_changed(budget={"flags": ("-b", "--most"), "default": 3, "metavar": "K"})
    assert other.parse_args(["a"]).most == 3
    with spoken("en"):
        assert "-b K, --most K" in other.format_help()


@pytest.mark.parametrize(("verb", "function", "otherwise"), OF_VERBS)
def test_what_a_verb_takes_by_default_is_what_its_function_takes(verb, function, otherwise):
    parameters = inspect.signature(function).parameters
    defaults = {action.dest: action.default for action in parser_of(verb)._actions}
    own = {
        name: (parameters[name].default, defaults[flag])
        for name in parameters
        if (flag := name.removesuffix("_ms")) in defaults and name not in otherwise
    }
    for default, of_verb in own.values():
        assert default is inspect.Parameter.empty or (default or None) == (of_verb or None)
    assert len(own) > 1 or verb == "simulate"


@pytest.mark.parametrize("function", [function for _, function, _ in OF_VERBS])
def test_an_args_block_names_parameters_alone(function):
    texts = texts_of_arguments(inspect.getdoc(function))
    assert texts
    assert texts.keys() <= inspect.signature(function).parameters.keys()
    assert all(texts.values())
