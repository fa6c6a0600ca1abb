"""Texts in the reader's language: by entry, by template, part by part, or as they are."""

from __future__ import annotations

import copy
import json
import os
import pickle
import re
import subprocess
import sys
from contextlib import suppress

import pytest

from rmqlab.checkout import checkout_path
from rmqlab.errors import BadInput
from rmqlab.language import LOCALE, SETTING, _, catalogue_of, joined, language, ngettext, spoken
from rmqlab.language import sentences as told_together
from rmqlab_tools.cli.cli import main
from tests.proof.catalogue.english import sentences

CHINESE = re.compile("[\u4e00-\u9fff]")


def test_another_language_is_refused_by_name(monkeypatch):
    monkeypatch.setenv("RMQLAB_LANG", "fr")
    with pytest.raises(BadInput, match="RMQLAB_LANG is 'fr'; it is one of en, zh"):
        language()


@pytest.mark.parametrize(
    ("environment", "asked"),
    [
        ({}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh"}, "zh"),
        ({"LANG": "zh_TW@latin"}, "zh"),
        ({"LANG": "C.UTF-8"}, "en"),
        ({"LANG": "POSIX"}, "en"),
        ({"LANG": "fr_FR.UTF-8"}, "en"),
        ({"LANG": "en_US.UTF-8", "LC_MESSAGES": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_MESSAGES": "", "LC_ALL": "en_GB.UTF-8"}, "en"),
        ({"LC_ALL": "en_US.UTF-8", "LANGUAGE": "fr:zh_CN:en"}, "zh"),
        ({"LC_ALL": "zh_CN.UTF-8", "LANGUAGE": "en_US"}, "en"),
        ({"LC_ALL": "C", "LANGUAGE": "zh_CN"}, "en"),
        ({"LANG": "zh_CN.UTF-8", "RMQLAB_LANG": "en"}, "en"),
        ({"LC_ALL": "en_US.UTF-8", "RMQLAB_LANG": "zh"}, "zh"),
    ],
)
def test_the_language_is_that_of_the_setting_or_else_of_the_locale(monkeypatch, environment, asked):
    for name in (SETTING, *LOCALE):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert language() == asked


@pytest.fixture
def catalogue(monkeypatch, tmp_path):
    """A catalogue of another language."""
    (tmp_path / "zh.po").write_text(CATALOGUE, encoding="utf-8")
    monkeypatch.setattr("rmqlab.language._catalogues", lambda _: [tmp_path / "zh.po"])
    catalogue_of.cache_clear()
    yield
    catalogue_of.cache_clear()


CATALOGUE = """
msgid ""
msgstr "Plural-Forms: nplurals=2; plural=(n != 1);\\n"

msgid "{surely} surely lost, {probably} probably lost"
msgstr "很可能丢失 {probably}，确定丢失 {surely}"

msgid "{count} message in {where}"
msgid_plural "{count} messages in {where}"
msgstr[0] "{where}：一条消息"
msgstr[1] "{where}：{count} 条消息"

msgid "the retry topic"
msgstr "重试主题"

msgid ", "
msgstr "、"

msgid "{first} {second}"
msgstr "{first}{second}"
"""


def test_a_message_is_english_as_data_and_the_readers_language_where_it_is_shown(catalogue):
    lost = _("{surely} surely lost, {probably} probably lost", surely=6, probably=23)
    assert (lost, f"{lost}", json.dumps(lost)) == ("6 surely lost, 23 probably lost",) * 2 + (f'"{lost}"',)
    with spoken("zh"):
        assert (lost, json.dumps([lost])) == ("6 surely lost, 23 probably lost", '["6 surely lost, 23 probably lost"]')
        assert (str(lost), f"{lost}", format(lost)) == ("很可能丢失 23，确定丢失 6",) * 3
        assert lost % () == "很可能丢失 23，确定丢失 6"
        assert str(BadInput(lost)) == "很可能丢失 23，确定丢失 6"
        assert {lost: 1}["6 surely lost, 23 probably lost"] == 1
    assert str(lost) == lost


def test_messages_are_values_and_parts_of_messages(catalogue):
    where = _("the retry topic")
    one, many = (ngettext("{count} message in {where}", "{count} messages in {where}", n, where=where) for n in (1, 3))
    listed, added = joined(", ", [where, "T"]), "T: " + where + "."
    told = told_together(one, "", many)
    parts = (one, many, listed, added, told)
    english = (
        "1 message in the retry topic", "3 messages in the retry topic", "the retry topic, T", "T: the retry topic.",
        "1 message in the retry topic 3 messages in the retry topic",
    )  # fmt: skip
    chinese = (
        "重试主题：一条消息",
        "重试主题：3 条消息",
        "重试主题、T",
        "T: 重试主题.",
        "重试主题：一条消息重试主题：3 条消息",
    )
    assert parts == english == tuple(map(str, parts))
    with spoken("zh"):
        assert parts == english
        assert tuple(map(str, parts)) == chinese
        assert tuple(map(str, pickle.loads(pickle.dumps(parts)))) == chinese  # noqa: S301 - our own
        assert tuple(map(str, copy.deepcopy(parts))) == chinese
        made = ngettext("{count} message in {where}", "{count} messages in {where}", 3, where=where)
        assert (made, str(made)) == (many, chinese[1])


def test_a_message_without_a_translation_stays_english(catalogue):
    with spoken("zh"):
        assert str(_("{n} of none", n=3)) == "3 of none"
        assert [str(ngettext("{count} way", "{count} ways", n)) for n in (1, 2)] == ["1 way", "2 ways"]
        assert str(_("{braces} that are no field")) == "{braces} that are no field"


def test_english_reads_no_catalogue():
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
    "a diagnosis": ["doctor", "--recorded", str(checkout_path("data") / "doctor" / "4.8.0-1.json"), "--verbose"],
    "a missing file": ["explain", "no/such.log"],
    "an unknown code": ["explain", "9999"],
}


@pytest.mark.parametrize("arguments", CALLS.values(), ids=CALLS)
def test_what_a_verb_prints_is_translated_and_its_json_is_not(arguments, capsys, monkeypatch):
    told = {}
    for asked in ("en", "zh"):
        monkeypatch.setenv("RMQLAB_LANG", asked)
        status, text = main(arguments), capsys.readouterr()
        main([*arguments, "--json", "-"])
        told[asked] = status, capsys.readouterr().out, f"{text.out}\n{text.err}".splitlines()
    assert told["en"][:2] == told["zh"][:2]
    lines = [line.replace("no answer within 1000 ms", "") for line in told["zh"][2]]  # as the saved look has it
    assert [one for line in lines for one in sentences(line)] == []
    assert CHINESE.search(" ".join(told["zh"][2]))


DOCTOR = [f"data/doctor/4.8.0-{number}.json" for number in (1, 2)]


@pytest.mark.parametrize(
    ("arguments", "said", "wrong"),
    [
        (["doctor", "--recorded", *DOCTOR], "确定丢失 6 条，很可能丢失 23 条", "很可能丢失 确定丢失"),
        (["doctor", "--recorded", *DOCTOR], "没有成员拉取 broker-a 的队列 2、3", "queues 2"),
        (["doctor", "--recorded", *DOCTOR, "--verbose"], "17 V4_8_0、16 V5_3_3", "17 V4_8_0, 16"),
        (["replay", "data/golden/broker-4.8.0/lite"], "消息的存储时间", "the store time of a message"),
        (["explain", "24"], "停止工作", "; stop"),
        (["plan", "--help"], "用法：", "usage"),
        (["lint", "--help"], "退出码：", "exit status"),
        (["lint", "--queues", "x"], "不是有效的 int 值", "invalid"),
        (["lint", "--nothing"], "无法识别的参数：--nothing", "unknown"),
        (["lnt"], "没有命令 'lnt'", "no verb"),
        ([], "规划一次不丢消息的订阅关系变更", "plan a change"),
    ],
)
def test_what_was_said_wrongly_in_chinese_is_right(root, monkeypatch, capsys, arguments, said, wrong):
    """By halves, in English, or with values in each other's places, while finished English was taken apart."""
    monkeypatch.setenv("RMQLAB_LANG", "zh")
    monkeypatch.chdir(root)
    with suppress(SystemExit):
        main(arguments)
    told = "".join(capsys.readouterr())
    assert said in told
    assert wrong not in told


def test_the_locale_alone_makes_the_command_line_chinese(root, monkeypatch, capsys):
    monkeypatch.delenv("RMQLAB_LANG")
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert main([]) == 0
    assert "用法：" in capsys.readouterr().out


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
    print(error.args[0].startswith("9999 is no code"))

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
    assert "没有 '3' 版本的规则；可选的版本有 4.8.0、5.3.3、5.5.0" in error
