"""The verb `lint` with code bases: output, exit status, and the files for machines; those of doctor and plan too."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pytest

from rmqlab.checkout import data_path
from rmqlab.language import spoken
from rmqlab_tools.cli import VERBS
from rmqlab_tools.cli.cli import main

pytest.importorskip("tree_sitter_java", reason="the extra `source` is not installed: ./lab test installs it")

LISTENER = (
    "import org.apache.rocketmq.spring.annotation.*;\n"
    '@RocketMQMessageListener(topic = "T", consumerGroup = "%s", selectorExpression = %s)\nclass %s {}\n'
)


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A code base: group `bad` has two tags, `good` two listeners alike, `open` one whose tag is not known."""
    monkeypatch.chdir(tmp_path)
    for name, group, tag in (
        ("A", "bad", '"a"'), ("B", "bad", '"b"'), ("C", "good", '"a || b"'), ("D", "good", '"b||a"'),
        ("E", "open", "X.Y"),
    ):  # fmt: skip
        folder = tmp_path / ("orders" if name in "AC" else "stock")
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.java").write_text(LISTENER % (group, tag, name), encoding="ascii")
    return tmp_path


def test_a_code_base(shop, capsys):
    assert main(["lint", "orders", "stock"]) == 1
    out = capsys.readouterr().out
    for said in (
        "bad: Inconsistent: the members want different messages. (2 members)",
        "TAG 'a': A.java:2",
        "A message with the tag a; A.java:2 asked for it",
        "The broker holds the subscription of B.java:2: lost in all queues",
        "What to do: Give all members of the group the same subscription.",
        "B.java:2: stock/B.java:2 (B)",
        "stock/E.java:2: E.java:2 of group open: an expression is not known: X.Y is in none of the sources",
        "Consistent, with their places: good (2)",
        "3 groups at 5 places in 5 files; 1 inconsistent; 1 not known",
    ):
        assert said in out


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["."], 1), (["orders"], 0), (["stock"], 4), (["stock", "--allow-gaps"], 0), ([".", "--group", "good"], 0),
        ([".", "--group", "open"], 4), (["orders/A.java", "stock/B.java", "--queues", "4"], 1),
        ([".", "--tests"], 1),
        (["nowhere.java"], 2), ([".", "--group", "godo"], 2), ([".", "--profile", "prod"], 2), (["empty"], 2),
        (["orders", "orders/members.json"], 2), (["--member", "A:T=a", "--tests"], 2),
        (["orders", "--version", "9"], 2),
    ],
)  # fmt: skip
def test_exit_status(shop, arguments, status, capsys):
    (shop / "empty").mkdir()
    (shop / "orders" / "members.json").write_text("[]", encoding="ascii")
    assert main(["lint", *arguments]) == status
    said = capsys.readouterr().err
    assert (said.count("\n"), "Traceback" in said) == (status == 2, False)


def test_json(shop, capsys):
    assert main(["lint", ".", "--json", "-"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["verdict"] == "inconsistent"
    bad, good, unknown = answer["groups"]
    assert [place["file"] for place in bad["places"]] == ["orders/A.java", "stock/B.java"]
    assert (good["verdict"], unknown["verdict"]) == ("consistent", "not decided")
    assert answer["not_known"] == [
        {
            "what": "expression",
            "why": "X.Y is in none of the sources",
            "file": "stock/E.java",
            "line": 2,
            "group": "open",
        }
    ]


def test_sarif_junit_and_annotations(shop, capsys):
    assert main(["lint", ".", "--sarif", "a.sarif", "--junit", "a.xml", "--github"]) == 1
    (run,) = json.loads((shop / "a.sarif").read_text(encoding="utf-8"))["runs"]
    assert [(result["ruleId"], result["level"]) for result in run["results"]] == [
        ("members-differ", "error"), ("not-known", "warning"),
    ]  # fmt: skip
    differ = run["results"][0]
    assert differ["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "orders/A.java"}, "region": {"startLine": 2},
    }  # fmt: skip
    assert [each["physicalLocation"]["artifactLocation"]["uri"] for each in differ["relatedLocations"]] == [
        "stock/B.java"
    ]
    assert "TAG 'a' here, TAG 'b' (B.java:2) elsewhere." in differ["message"]["text"]
    assert "lost in all queues" in differ["message"]["text"]
    suite = ET.parse(shop / "a.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "1", "1")
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("::")]
    assert [line.partition(",title")[0] for line in lines] == [
        "::error file=orders/A.java,line=2", "::error file=stock/B.java,line=2", "::warning file=stock/E.java,line=2",
    ]  # fmt: skip


def test_a_condition_that_no_broker_accepts(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    listener = LISTENER.replace("selectorExpression", "selectorType = SelectorType.SQL92, selectorExpression")
    (tmp_path / "A.java").write_text(listener % ("g", "\"amount > '100'\"", "A"), encoding="ascii")
    assert main(["lint", ".", "--github"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("No broker accepts SQL92 \"amount > '100'\" of A.java:2")
    assert "::error file=A.java,line=2,title=g::No broker accepts" in out


def test_a_report_that_cannot_be_written(shop, capsys):
    assert main(["lint", "orders", "--sarif", "no/a.sarif"]) == 2
    assert "--sarif no/a.sarif: there is no folder" in capsys.readouterr().err


def test_what_members_say_by_hand_makes_reports_too(tmp_path, capsys):
    target = tmp_path / "a.xml"
    assert main(["lint", "--member", "A:T=a", "--member", "B:T=b", "--junit", str(target)]) == 1
    (failure,) = ET.parse(target).getroot().iter("failure")
    assert "TAG 'a' and TAG 'b' differ both ways." in failure.text


def test_reports_of_the_doctor(tmp_path, capsys):
    looks = [str(data_path(f"doctor/4.8.0-{number}.json")) for number in (1, 2)]
    files = [tmp_path / "a.sarif", tmp_path / "a.xml"]
    status = main(["doctor", "--recorded", *looks, "--sarif", str(files[0]), "--junit", str(files[1]), "--github"])
    assert status == 3
    (run,) = json.loads(files[0].read_text(encoding="utf-8"))["runs"]
    kinds = {result["ruleId"] for result in run["results"]}
    assert {"different_subscriptions", "losing_messages"} <= kinds
    assert all(result["locations"][0]["logicalLocations"][0]["name"] for result in run["results"])
    assert int(ET.parse(files[1]).getroot()[0].get("failures")) > 0
    assert "::error title=" in capsys.readouterr().out


def test_reports_of_a_plan(tmp_path, capsys):
    target = tmp_path / "a.xml"
    assert (
        main(["plan", "tagA", "tagA || tagB", "--budget", "2", "--procedure", "one-by-one", "--junit", str(target)])
        == 1
    )
    cases = {case.get("name"): [child.tag for child in case] for case in ET.parse(target).getroot().iter("testcase")}
    assert cases["one-by-one-keep"] == ["failure"]


def test_it_says_the_same_in_chinese(shop, capsys):
    with spoken("zh"):
        main(["lint", "."])
    out = capsys.readouterr().out
    assert "bad：不一致：成员订阅的是不同的消息。" in out
    assert "给出的代码中没有 X.Y" in out


def test_the_verb_names_the_extra_that_code_needs(shop):
    assert VERBS["lint"].needs(["orders"]) == {"source"}
    assert VERBS["lint"].needs(["orders/A.java"]) == {"source"}
    assert VERBS["lint"].needs(["--member", "A:T=a"]) == set()


def located(path):
    """The places of a SARIF log's results."""
    (run,) = json.loads(path.read_text(encoding="utf-8"))["runs"]
    places = [place for result in run["results"] for place in result["locations"]]
    return [place["physicalLocation"]["artifactLocation"]["uri"] for place in places]


def test_a_source_by_its_whole_path_is_shown_as_the_tree_has_it(shop, capsys):
    """What shows the findings of a pull request knows no other names."""
    assert main(["lint", str(shop), "--sarif", "a.sarif", "--junit", "a.xml", "--github"]) == 1
    assert located(shop / "a.sarif") == ["orders/A.java", "stock/E.java"]
    assert "\nstock/B.java:2: " in (shop / "a.xml").read_text(encoding="utf-8")
    assert "::error file=orders/A.java,line=2" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        ["lint", "--member", "A:T=a", "--member", "B:T=b"],
        ["plan", "tagA", "tagA || tagB", "--budget", "2", "--procedure", "one-by-one"],
        ["doctor", "--recorded", *(str(data_path(f"doctor/4.8.0-{number}.json")) for number in (1, 2))],
    ],
)
def test_findings_about_no_file_have_a_place_all_the_same(tmp_path, arguments):
    """GitHub takes no result without one; Jenkins' schema of JUnit has these attributes and no others."""
    files = [tmp_path / "a.sarif", tmp_path / "a.xml"]
    main([*arguments, "--sarif", str(files[0]), "--junit", str(files[1])])
    places = located(files[0])
    assert places
    assert not [place for place in places if not place or place.startswith("/") or ":" in place]
    (suite,) = ET.parse(files[1]).getroot()
    assert (
        {"name", "tests", "failures", "errors"} <= {*suite.attrib} <= {"name", "tests", "failures", "errors", "skipped"}
    )
    assert {name for case in suite for name in case.attrib} == {"classname", "name"}
