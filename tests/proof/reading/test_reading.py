"""The reading edition is what runs now, and says of each function what its docstring says."""

from __future__ import annotations

import difflib
import json
import re
import subprocess
import sys
from types import SimpleNamespace

import pytest

from rmqlab.checkout import ROOT
from tests.proof.reading.page import OUTLINE
from tests.proof.reading.sources import Function, function_of
from tests.proof.reading.walk import STORY
from tests.proof.reading.words import ACTS, READING_INTRODUCTION, WORDS

WALKED = """
import json
from tests.proof.reading.page import outline, page
from tests.proof.reading.walk import Walk
acts = Walk().run()
print(json.dumps({"outline": outline(acts), "en": page(acts, "en"), "zh": page(acts, "zh")}))
"""
HOPS = re.compile(r'<details class="reading-hop" id="hop-(\d+)"><summary><b>\1</b> (.+?) <small>')
CHANGES = re.compile(r'<p class="reading-change">.+?<code>(\w+), \S+ ([\d.]+) s;.+?</p>')


@pytest.fixture(scope="module")
def walked():
    """Outline and pages of a process in which nothing ran before."""
    command = [sys.executable, "-c", WALKED]
    made = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, encoding="utf-8").stdout
    return SimpleNamespace(**json.loads(made))


def test_the_outline_is_what_runs(walked):
    kept = OUTLINE.read_text(encoding="utf-8")
    lines = difflib.unified_diff(
        kept.splitlines(), walked.outline.splitlines(), "outline.txt", "what runs", "", "", 0, ""
    )
    assert kept == walked.outline, (
        "other functions run now; `python -m tests.proof.reading --outline` takes that down:\n" + "\n".join(lines)
    )


def test_every_line_of_the_story_is_told_in_both_languages(walked):
    assert ACTS.keys() == READING_INTRODUCTION.keys() == WORDS.keys() == {"en", "zh"}
    assert WORDS["en"].keys() == WORDS["zh"].keys()
    assert len(ACTS["en"]) == len(ACTS["zh"]) == len(STORY)
    for page in (walked.en, walked.zh):
        assert [line for line in STORY if f"`{line}`" not in page] == []


def test_both_pages_have_the_same_source_and_each_function_once(walked):
    sources = [
        re.findall(r"^```python\n(.+?)\n```$", page, re.MULTILINE | re.DOTALL) for page in (walked.en, walked.zh)
    ]
    assert sources[0] == sources[1]
    functions = [line for line in walked.outline.splitlines() if line.startswith("    ")]
    assert len(set(functions)) == len(functions) == len(sources[0]) > 500
    assert "def client_keeps(" in walked.en


def test_a_message_goes_from_hop_to_hop(walked):
    story = walked.en.split("\n## ")[6]
    hops = [title for _, title in HOPS.findall(story)]
    way = [
        "The producer sends", "The broker serves SEND_MESSAGE_V2 of the producer", "The store writes the commit log",
        "The store dispatches to the consume queue", "The hold service hears of a message", "The store reads: layer 1",
        "A reads an answer: the client&#x27;s filter", "B: the listener",
    ]  # fmt: skip
    places = [hops.index(title) for title in way]
    assert places == sorted(places)
    assert {"A rebalances", "A sends a heartbeat", "The network takes a frame"} <= {
        title for _, title in HOPS.findall(walked.en)
    }


def test_the_newest_subscription_wins_and_the_offsets_pass_the_losses(walked):
    versions = [(tag, float(seconds)) for tag, seconds in CHANGES.findall(walked.en)]
    assert {tag for tag, _ in versions} == {"tagA", "tagB"}
    assert versions == sorted(versions, key=lambda change: change[1])
    assert versions[-1][0] == "tagB"
    last = re.findall(r'<p class="reading-change">.+?</p>', walked.en)[-1]
    assert "ends of the queues [2, 2, 2, 2]; committed [2, 2, 2, 2]" in last


def test_each_rule_stands_with_its_java_method_and_row(walked):
    rules = re.findall(r"<code>rmqlab/rules.py</code>(.+?)</p>", walked.en)
    assert len(rules) > 12
    bare = [about for about in rules if not re.match(r" · Java <code>\w+\.\w+</code>.*<br>Rows? [SFH]-\d\d", about)]
    assert [about for about in bare if "require_rules" not in about] == bare[:1]  # it checks rules and is none


def test_utf_16_is_no_row():
    assert Function("rmqlab/message/java.py", "utf16_length", 1, 2).rows == ()


def test_what_is_inside_a_function_belongs_to_it():
    code = function_of.__code__
    inner = compile("[x for x in y]", code.co_filename, "eval").replace(co_firstlineno=code.co_firstlineno + 4)
    assert function_of(inner).name == function_of(code).name == "function_of"
