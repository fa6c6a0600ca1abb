"""Texts in the reader's language: by entry, by template, part by part, or as they are."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from rmqlab.checkout import folder
from rmqlab.cli import main
from rmqlab.errors import BadInput
from rmqlab.language import language, translate
from rmqlab.translations import Words
from tests.proof.catalogue.english import sentences

CHINESE = re.compile("[\u4e00-\u9fff]")

WORDS = Words({
    "broker": "Broker",
    "no tag": "无标签",
    "Who owns it": "归谁所有",
    "queue {n}": "队列 {n}",
    "{who} owns queue {n}": "{who} 拥有队列 {n}",
    "{n} messages: {summary}": "{n} 条消息：{summary}",
    "messages lost": "条消息丢失",
})  # fmt: skip


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Who owns it", "归谁所有"),
        (" Who owns it", "归谁所有"),
        ("  Who owns it", "  归谁所有"),
        ("queue 4", "队列 4"),
        ("broker owns queue 12", "Broker 拥有队列 12"),
        ("8 messages: 2 messages lost, no tag", "8 条消息：2 条消息丢失，无标签"),
        ("Who owns it\nA owns queue 1", "归谁所有\nA 拥有队列 1"),
        ("A owns queue 1. B owns queue 2.", "A 拥有队列 1。B 拥有队列 2。"),
        ("tagA || tagB", "tagA || tagB"),
        ("A owns queue 1; B owns queue 2", "A 拥有队列 1；B 拥有队列 2"),
        ("a > 3 and TAGS in ('queue 4')", "a > 3 and TAGS in ('queue 4')"),
        ("nothing is known of this", "nothing is known of this"),
    ],
)
def test_a_text_is_translated_by_what_is_known_of_it(text, told):
    assert WORDS.of(text) == told
    assert WORDS.of(told) == told


def test_the_longest_template_goes_first():
    words = Words({"{a} lost": "丢了 {a}", "{a} of {b} lost": "{b} 条里丢了 {a}"})
    assert words.of("3 of 8 lost") == "8 条里丢了 3"


def test_another_language_is_refused_by_name(monkeypatch):
    monkeypatch.setenv("RMQLAB_LANG", "fr")
    with pytest.raises(BadInput, match="RMQLAB_LANG is 'fr'; it is one of en, zh"):
        translate("text")


def test_english_reads_no_catalogue(monkeypatch):
    monkeypatch.delenv("RMQLAB_LANG", raising=False)
    assert language() == "en"
    code = (
        "import sys, rmqlab.language as l; assert l.translate('no tag') == 'no tag'; assert 'polib' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


CALLS = {
    "a verdict": ["lint", "--member", "A:T=tagA", "--member", "B:T=tagB"],
    "a refusal": ["sql92", "a >"],
    "an evaluation": ["sql92", "a > 3 and b", "--set", "a=5", "--witness"],
    "a plan": [
        "plan",
        "tagA",
        "tagA||tagB",
        "--members",
        "1",
        "--budget",
        "1",
        "--procedure",
        "stop-all",
        "--producers",
        "keep",
    ],
    "a code": ["explain", "25"],
    "a warning": ["sql92", "a LIKE 'x%'"],
    "a diagnosis": ["doctor", "--recorded", str(folder("data") / "doctor" / "4.8.0-1.json"), "--verbose"],
    "a missing file": ["explain", "no/such.log"],
    "an unknown code": ["explain", "9999"],
}


@pytest.mark.parametrize("arguments", CALLS.values(), ids=CALLS)
def test_what_a_verb_prints_is_translated_and_its_json_is_not(arguments, capsys, monkeypatch):
    told = {}
    for spoken in ("en", "zh"):
        monkeypatch.setenv("RMQLAB_LANG", spoken)
        status, text = main(arguments), capsys.readouterr()
        main([*arguments, "--json", "-"])
        told[spoken] = status, capsys.readouterr().out, f"{text.out}\n{text.err}".splitlines()
    assert told["en"][:2] == told["zh"][:2]
    assert [one for line in told["zh"][2] for one in sentences(line)] == []
    assert CHINESE.search(" ".join(told["zh"][2]))


def test_headings_and_severities_are_translated(capsys, monkeypatch):
    monkeypatch.setenv("RMQLAB_LANG", "zh")
    main(["explain", "24"])
    main(["sql92", "warning"])
    told = capsys.readouterr().out
    assert not re.search(r"^ *(means|do|rule|said by|known|see|warning|note)\b", told, re.MULTILINE)


def test_an_unknown_language_is_one_line_and_status_2(capsys, monkeypatch):
    monkeypatch.setenv("RMQLAB_LANG", "fr")
    assert main(["lint", "nothing.json"]) == 2
    assert capsys.readouterr().err == "rmqlab lint: RMQLAB_LANG is 'fr'; it is one of en, zh\n"


CELLS = """\
import rmqlab
rmqlab.sql92("a >")
print(rmqlab.sql92("a > 3 and b").findings[0].message)
found = rmqlab.lint({"A": {"T": "tagA"}, "B": {"T": "SQL92:a > 3"}})
found.notes
print(found)
try:
    rmqlab.explain(9999)
except rmqlab.errors.BadInput as error:
    print(error)
    print(str(error).startswith("9999 is no code"))

rmqlab.sql92("a", version="3")
"""


def test_reports_and_errors_of_a_cell_are_translated_and_the_objects_are_not():
    run = "\n".join(f"shell.run_cell({cell!r})" for cell in re.split(r"\n+(?! |except)", CELLS))
    code = f"from IPython.core.interactiveshell import InteractiveShell as S; shell = S.instance()\n{run}"
    environment = os.environ | {"RMQLAB_LANG": "zh", "NO_COLOR": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    shown, _, error = done.stdout.partition("Traceback")
    assert [one for line in shown.splitlines() for one in sentences(line)] == []
    assert "这里不认得码 9999" in shown
    assert "\nTrue\n" in shown
    assert "版本 '3'；现有 4.8.0, 5.3.3" in error
