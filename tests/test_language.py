"""Texts in the reader's language: by entry, by template, part by part, or as they are."""

from __future__ import annotations

import subprocess
import sys

import pytest

from rmqlab.errors import BadInput
from rmqlab.language import language, translate
from rmqlab.translations import Words

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
