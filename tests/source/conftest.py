"""A code base of a few small files, and what `lint` finds in it."""

from __future__ import annotations

import textwrap

import pytest

pytest.importorskip("tree_sitter_kotlin", reason="the extra `source` is not installed: ./lab test installs it")

IMPORTS = {
    ".java": (
        "import org.apache.rocketmq.spring.annotation.*; import org.apache.rocketmq.client.consumer.*;"
        " import org.apache.rocketmq.client.apis.consumer.*; "
    ),
    ".kt": (
        "import org.apache.rocketmq.spring.annotation.*; import org.apache.rocketmq.client.consumer.*;"
        " import org.apache.rocketmq.client.apis.consumer.*; "
    ),
}


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """Writes files; the working folder is theirs, so that they are named from there.

    In a file of Java or Kotlin `IMPORTS` stands for the client's.
    """
    monkeypatch.chdir(tmp_path)

    def write(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(text, bytes):
                path.write_bytes(text)
            else:
                written = textwrap.dedent(text).replace("IMPORTS", IMPORTS.get(path.suffix, ""))
                path.write_text(written, encoding="utf-8")
        return tmp_path

    return write


@pytest.fixture
def linted(tree):
    """What is found in files: by group, topic and expression of each consumer, and what is not known."""
    from pathlib import Path

    from rmqlab_tools.source.consumers import read_code_base
    from rmqlab_tools.source.groups import lint_sources

    def read(files, *profiles, sources=(".",), **options):
        tree(files)
        return lint_sources(read_code_base(map(Path, sources), profiles, **options))

    return read


@pytest.fixture
def wishes(linted):
    """As `linted`, of each consumer: (group, topic, kind and text), or what is not known and why."""

    def read(files, *profiles, **options):
        lint = linted(files, *profiles, **options)
        known = [
            (group.group, topic.topic, str(wish))
            for group in lint.groups
            for topic in group.topics
            for wish in topic.wishes
            if wish.data is not None
        ]
        return known, [str(gap.why) for gap in lint.gaps]

    return read
