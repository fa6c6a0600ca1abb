"""No text says "1 messages": what counts a thing has its singular beside it."""

from __future__ import annotations

import ast

import pytest

from rmqlab.checkout import ROOT
from tests.proof.catalogue.plurals import CHECKS, nouns, without_singular

ALWAYS_SEVERAL = {
    "{processes} of {members} members have the client id {id}: the broker lists it {processes} times": "two or more",
    "{topic}: read by {processes} members at once: queues {shared}; read by nobody: queues {unowned}": "two or more",
    "{path}: {count} files; name those that matter, at most {most}": "more than the limit",
    "{count} messages": "more than the film names",
    "{code} ({count} times)": "said of two and more",
    "{line}, listed {count} times": "said of two and more",
    "{what} {count} times": "said of two and more",
    "not asked: {silent_members_to_give_up} other {language} members did not answer": "a constant, before a language",
}
"""Texts whose number is never one, and why."""


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ('_("{sent} messages", sent=sent)', [1]),
        ('\n_("and {more} more messages", more=more)', [2]),
        ('N_("{sent:,} messages were lost")', [1]),
        ('_("{sent} messages in {files} files", sent=1, files=2)', [1, 1]),
        ('ngettext("{count} message", "{count} messages", sent)', []),
        ('_("more than {most} messages", most=most)', []),
        ('_("all {cases} messages", cases=CASES)', []),
        ('_("{size} bytes", size=size)', []),
        ('_("{who} keeps messages", who=who)', []),
        ('_("{given} of your messages", given=given)', []),
    ],
)
def test_a_plural_without_its_singular_is_found(source, lines):
    assert [line for line, _ in without_singular(ast.parse(source), {"messages", "files"})] == lines


def test_what_counts_a_thing_has_its_singular():
    paths = [path for room in ("rmqlab", "rmqlab_tools") for path in sorted((ROOT / room).rglob("*.py"))]
    sources = {path: path.read_text(encoding="utf-8") for path in paths}
    trees = {path: ast.parse(source) for path, source in sources.items() if "rmqlab.language" in source}
    counted = nouns(trees.values())
    assert {"messages", "groups", "queues", "runs"} <= counted
    said = [
        (path.relative_to(ROOT).as_posix(), line, text)
        for path, tree in trees.items() if not path.name.startswith(CHECKS)
        for line, text in without_singular(tree, counted)
    ]  # fmt: skip
    assert [place for place in said if place[2] not in ALWAYS_SEVERAL] == [], "say it with ngettext()"
    assert set(ALWAYS_SEVERAL) == {text for _, _, text in said if text in ALWAYS_SEVERAL}, "an exception is stale"
