"""The articles' experiments: every figure agrees, a wrong one is noticed, a bad manifest is named."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
from msgspec.structs import replace

from rmqlab.checkout import ROOT
from rmqlab.errors import BadInput
from rmqlab.language import columns
from rmqlab_tools.cli.cli import main
from rmqlab_tools.course.articles.e1_actual import figure_of
from rmqlab_tools.course.articles.e1_expected import NOT_PRINTED, FigureKind, printed
from rmqlab_tools.course.articles.experiments import VERDICT, Experiment, chosen, read_manifest, reproduce
from rmqlab_tools.course.articles.report_text import SCREEN, summary

pytestmark = pytest.mark.slow

MANIFEST = read_manifest()


def figures(result, group):
    return {figure.what: (figure.article, figure.here) for figure in result.figures[group]}


@pytest.mark.row("S-13", "S-14", "S-16", "S-17", "S-18", "S-19", "S-20", "S-21", "S-22", "S-23", "S-24", "S-25")
@pytest.mark.row("S-26", "S-27", "S-28", "S-29", "S-30", "S-31", "S-32", "S-33", "S-34", "S-35", "S-36")
def test_every_figure_that_the_article_printed_comes_out():
    result = reproduce(MANIFEST["E1"])
    assert [figure for group in result.figures.values() for figure in group if figure.differs] == []
    sent = figures(result, "send results")
    assert len(sent) == 4 + 8 * 4
    assert sent["MsgStr0 offsetMsgId"][1] == "AC10010F00002A9F00000017038663BE"
    assert sent["MsgStr7 msgId"][1] == "AC10DFD6121618B4AAC216EE4DE50007"
    first, second = (figures(result, f"B's message {number}") for number in (1, 2))
    properties = figures(result, "B's message 1, properties")
    assert first["bodyCRC"] == ("686395636", "686395636")
    assert second["storeTimestamp"][1] == "1630810316223"
    assert properties["CONSUME_START_TIME"][1] == "1630810316068"
    assert first["storeSize"][1] == "197"
    assert len(first) + len(properties) == 25
    assert len(result.figures["conclusions"]) == 6
    set_up = figures(result, "set-up")
    assert set_up["permission"] == (6, 6)
    assert set_up["send timeout, ms"] == (15_000, 15_000)
    assert set_up["producer group"][1] == "SUBSCRIBE_TEST_PRODUCER_GROUP"


@pytest.mark.row("S-21", "S-22", "S-27", "S-28", "S-29", "S-30")
def test_what_follows_from_the_prints_is_in_the_store_too():
    result = reproduce(MANIFEST["E1"])
    follows = figures(result, "from ids and bodies")
    assert follows["MsgStr0 commitLogOffset"] == (98_843_386_814, 98_843_386_814)
    assert follows["MsgStr7 bornTimestamp"] == (1_630_810_316_261, 1_630_810_316_261)
    others = (0, 1, 2, 3, 6, 7)  # of the two that B received the article prints all this
    assert [follows[f"MsgStr{i} bodyCRC"][0] for i in others] == [
        797201645, 1485005947, 1099576769, 915211607, 1189605848, 836813134,
    ]  # fmt: skip
    assert {follows[f"MsgStr{i} storeSize"] for i in (0, 1, 2, 3, 6)} == {(197, 197)}
    ours = [what for what, (article, _) in follows.items() if article == NOT_PRINTED]
    assert ours == [f"MsgStr{i} storeTimestamp" for i in others]
    assert result.tally()[FigureKind.FOLLOWS] == (23, 23)


def test_only_what_an_article_printed_is_called_equal_to_it():
    """Each figure of E1 that counts as printed stands in the article's prints, its settings or its conclusions."""
    told = reproduce(MANIFEST["E1"]).as_json()["figures"]
    equal = [row for row in told if row["equal"]]
    assert {row["kind"] for row in equal} == {"printed"}
    assert {row["group"] for row in equal} == {
        "send results", "printed", "conclusions",
        *(f"B's message {number}{more}" for number in (1, 2) for more in ("", ", properties")),
    }  # fmt: skip
    for row in told:
        assert (row["article"] is None) == (row["kind"] in {"expected", "ours"})
        assert (row["expected"] is None) == (row["kind"] != "expected")
        assert (row["agrees"] is None) == (row["kind"] == "ours")
        assert (row["equal"] is None) == (row["kind"] != "printed")
    assert [row["figure"] for row in told if row["kind"] == "ours"] == [
        f"MsgStr{i} storeTimestamp" for i in (0, 1, 2, 3, 6, 7)
    ]


def test_each_printed_value_of_e1_is_in_the_prints():
    """The file of prints has every send result and message field that counts as printed."""
    prints = json.dumps(printed(), ensure_ascii=False)
    rows = [row for row in reproduce(MANIFEST["E1"]).as_json()["figures"] if row["kind"] == "printed"]
    fields = [row["article"] for row in rows if row["group"].startswith(("send results", "B's message"))]
    assert len(fields) == 86
    assert [value for value in fields if str(value).strip("[]'").replace("', '", "") not in prints and value != 8] == []


def test_places_are_cited_with_the_articles_own_headings(tmp_path):
    assert "S 3.5 消费者消费消息情况 (What the consumers consumed)" in MANIFEST["E1"].cited
    assert "H 11 Broker 定时扫描不活跃 Channel" in MANIFEST["E11"].cited
    assert [name for name, one in MANIFEST.items() if not one.cited] == []


def test_all_figures_by_kind():
    results = [reproduce(one) for one in MANIFEST.values()]
    assert summary(results) == [
        "97 of 97 figures that the articles print are equal here",
        "28 of 28 that follow from their prints and programs come out",
        "97 of 97 that they do not state (from the source of 4.8.0, or a real broker) come out",
    ]


@pytest.mark.row("S-84")
def test_both_outcomes_of_the_race_are_counted():
    figures_of = {f.what: f for f in reproduce(MANIFEST["E1race"]).figures[VERDICT]}
    assert figures_of["subscription"].here == ["tagA", "tagB"]
    assert figures_of["lost"].here == [6]
    counts = figures_of["… in runs of 60"].here
    assert sum(counts) == 60
    assert min(counts) > 0


@pytest.mark.row("S-03", "S-05", "S-06", "S-07", "S-09", "S-10", "S-32", "S-84", "S-85", "S-86", "S-87", "S-88", "S-90")
@pytest.mark.parametrize("name", [name for name in MANIFEST if name != "E1"])
def test_the_variants_and_filter_examples_agree(name):
    result = reproduce(MANIFEST[name])
    assert [figure for group in result.figures.values() for figure in group if figure.differs] == []


def test_a_figure_that_should_not_agree_does_not():
    expected = {"lost": 5, "pulls refused with 24": ">=1000", "bodies of B": ["MsgStr4"]}
    result = reproduce(Experiment("X", "wrong on purpose", "five", expected, eight={}))
    assert not result.agrees
    assert {f.what: f.here for f in result.figures[VERDICT]} == {
        "lost": 6,
        "pulls refused with 24": 0,
        "bodies of B": ["MsgStr4", "MsgStr5"],
    }


def test_the_manifest_contradicts_itself_nowhere():
    """That its names and settings are known is seen when every experiment runs."""
    entries = tomllib.loads((ROOT / "data" / "experiments.toml").read_text(encoding="utf-8"))["experiment"]
    assert [entry["id"] for entry in entries] == list(MANIFEST)
    for entry in MANIFEST.values():
        assert entry.expect
        assert (entry.eight is None) == bool(entry.scenario)
        assert entry.seeds is None or (entry.seeds > 0 and entry.eight is not None)
        assert entry.kinds.keys() <= entry.expect.keys()
        assert len(entry.headings) == len(entry.sections)


def test_choosing():
    assert [one.id for one in chosen(["E2c", "E1"], MANIFEST)] == ["E2c1", "E2c2", "E1"]
    assert [one.id for one in chosen(None, MANIFEST)] == list(MANIFEST)
    with pytest.raises(BadInput, match="no experiment 'E99'; there are E1"):
        chosen(["E99"], MANIFEST)


def test_figures_come_from_the_run_and_not_from_the_manifest():
    run = MANIFEST["E2e"].run()
    assert figure_of(run, "consumed by A") == 2
    assert figure_of(run, "delivered") == 2
    assert figure_of(run, "retrying") == 0


def test_a_difference_is_printed_in_full_and_is_the_status(tmp_path, capsys, monkeypatch):
    long = [f"MsgStr{i}" for i in range(8)]
    wrong = MANIFEST["E7"]
    monkeypatch.setattr(
        "rmqlab_tools.cli.reproduce.read_manifest", lambda: {"E7": replace(wrong, expect={"bodies of A": long})}
    )
    assert main(["reproduce"]) == 1
    text = capsys.readouterr().out
    assert all(body in text for body in long)
    assert "DIFFERS" in text
    assert "0 of 1 experiments agree" in text
    assert "0 of 1 that they do not state" in text
    assert main(["reproduce", "-v"]) == 1
    assert "DIFFERS" in capsys.readouterr().out


def test_the_summary_fits_a_screen(capsys):
    assert main(["reproduce"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 100
    assert lines[1].split() == ["messages", "printed", "by", "A:", "article", "0,", "here", "0"]
    assert "32 of 32 experiments agree; -v shows all figures" in lines


def test_a_report_that_cannot_be_is_refused_before_any_work(monkeypatch, capsys):
    monkeypatch.setattr("rmqlab.checkout.ROOT", Path("/nowhere"))
    monkeypatch.setattr("rmqlab_tools.cli.reproduce.read_manifest", lambda: MANIFEST)
    assert main(["reproduce", "--report", "out"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "checkout" in told.err


def test_the_verb_prints_both_columns_and_its_status_counts(tmp_path, capsys):
    result = tmp_path / "result.json"
    assert main(["reproduce", "-v", "--only", "E1", "E7", "--json", str(result)]) == 0
    text = capsys.readouterr().out
    row = next(line for line in text.splitlines() if "MsgStr4 offsetMsgId" in line)
    assert row.split() == ["MsgStr4", "offsetMsgId", *["AC10010F00002A9F00000017038666D2"] * 2, "="]
    assert "2 of 2 experiments agree" in text
    assert max(map(len, text.splitlines())) <= 100
    assert "MsgStr0 storeTimestamp  (not printed)" in text
    assert [one["id"] for one in json.loads(result.read_text())] == ["E1", "E7"]
    assert main(["reproduce", "--only", "E99"]) == 2
    assert "there are E1" in capsys.readouterr().err


def test_in_chinese_no_line_is_half_english_and_columns_stand_below_each_other(monkeypatch, capsys):
    monkeypatch.setenv("RMQLAB_LANG", "zh")
    assert main(["reproduce", "--only", "E2", "E11"]) == 0
    short = capsys.readouterr().out
    assert "必定丢失六条" in short
    assert re.findall(r"\b[a-z]{2,}[ ,]+[a-z]{2,}\b", short) == []
    assert all(columns(line) <= SCREEN for line in short.splitlines())
    assert main(["reproduce", "-v", "--only", "E11"]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.endswith((" =", " 预期"))]
    ends = {columns(line[: line.rindex(" ")]) for line in rows}
    assert len(rows) == 6
    assert len(ends) == 1
