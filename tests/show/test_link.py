"""A link is a run: it comes back whole, a damaged one is told, and its events are the command line's."""

from __future__ import annotations

import base64
import string
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rmqlab
from rmqlab.errors import BadInput
from rmqlab_tools.cli.cli import main
from rmqlab_tools.show.link import LINK_FORMAT, Link, digest, pack, unpack

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
URL_LETTERS = set(string.ascii_letters + string.digits + "-_")
TAGS = st.sampled_from(["tagA", "tagB", "*", "tagA || tagB"])
BODY = st.text(alphabet=st.characters(exclude_categories=()), max_size=5)  # half of a pair of surrogates too


def start(who, at, expression):
    return {"do": "start", "at": at, "who": who, "group": "G", "subscribe": {"T": {"expr": expression}}}


def scenario_of(ats, expressions, bodies):
    first, second, third = sorted(ats)
    messages = [{"body": body, "tag": "tagA"} for body in bodies]
    steps = [
        start("A", first, expressions[0]), start("B", second, expressions[1]),
        {"do": "send", "at": third, "topic": "T", "messages": messages}, {"do": "offsets", "at": third + 1_000},
    ]  # fmt: skip
    return {"id": "one", "topics": {"T": 2}, "plainNames": True, "steps": steps}


SCENARIO = scenario_of([0, 60_000, 120_000], ["tagA", "tagB"], ["MsgStr0", "MsgStr1"])
AT = st.integers(0, 9_000)
SCENARIOS = st.builds(scenario_of, st.tuples(AT, AT, AT), st.tuples(TAGS, TAGS), st.lists(BODY, max_size=3))


@settings(max_examples=40)
@given(JSON)
def test_any_json_value_comes_back(value):
    text = pack(value)
    assert set(text) <= URL_LETTERS
    assert unpack(text) == unpack(f"https://site.example/playgrounds/loss.html?lang=zh#{text}") == value


@given(SCENARIOS, st.none() | st.integers(0, 99), st.sampled_from(list(rmqlab.RULES)), st.none() | st.integers(1, 9))
def test_a_link_comes_back_whole(scenario, seed, version, step):
    fields = {"format": LINK_FORMAT, "scenario": scenario, "version": version, "settings": {"longPollingEnable": False}}
    fields |= {name: value for name, value in (("seed", seed), ("step", step)) if value is not None}
    link = Link.of(fields)
    again = Link.read(link.text())
    assert again == link
    assert again.text() == link.text()


def test_a_link_opens_to_the_same_bytes_here_and_on_the_command_line(tmp_path, capsys):
    for more in ({}, {"seed": 5}):
        link = Link.of({"format": LINK_FORMAT, "scenario": SCENARIO, **more})
        run = link.run()
        out = tmp_path / "events.jsonl"
        assert main(["simulate", "--link", f"loss.html#{link.text()}", "--out", str(out)]) == 0
        assert out.read_text(encoding="ascii") == run.lines()
        assert digest(run) in capsys.readouterr().out


def test_a_link_with_a_schedule_repeats_the_run_it_was_made_of():
    seeded = Link.of({"format": LINK_FORMAT, "scenario": SCENARIO, "seed": 7}).run()
    assert seeded.schedule.taken  # else there is nothing to repeat
    link = Link(seeded.scenario, schedule=seeded.schedule)
    assert Link.read(link.text()).run().lines() == seeded.lines()
    assert digest(seeded) != digest(Link(seeded.scenario).run())


def lab_of_two(**given):
    lab = rmqlab.Lab(topics={"T": 4}, **given)
    for who, tag in (("A", "tagA"), ("B", "tagB")):
        lab.consumer(who, group="G", subscribe={"T": tag})
        lab.run(seconds=60)
    lab.send("T", ["tagA"] * 4 + ["tagB"] * 4)
    lab.run(seconds=30)
    return lab


@pytest.mark.parametrize(
    ("given", "settings"),
    [
        ({}, {}),
        ({"longPollingEnable": False, "messageDelayLevel": "1s 2s"}, {"longPollingEnable", "messageDelayLevel"}),
        ({"seed": 3}, {}),
    ],
)
def test_the_link_of_a_lab_runs_to_its_bytes(given, settings):
    lab = lab_of_two(**given)
    lines = lab.finish().lines()
    link = Link.read(lab.link())
    assert link.run().lines() == lines
    assert set(link.settings) == set(settings)


def test_the_link_of_a_lab_changes_nothing_and_can_go_on():
    lab = lab_of_two()
    first = lab.link()
    assert lab.link() == first
    lab.run(seconds=1)
    assert lab.link() != first
    assert lab.finish().lines() == Link.read(lab.link()).run().lines()


def test_a_rule_of_ones_own_is_in_no_link():
    rules = rmqlab.RULES["4.8.0"].replace(client_keeps=lambda *_: True)
    with pytest.raises(BadInput, match="a rule of your own is no text"):
        lab_of_two(rules=rules).link()


GOOD = pack({"format": LINK_FORMAT, "scenario": SCENARIO})
BOMB = base64.urlsafe_b64encode(zlib.compress(b" " * 9_000_000)).decode("ascii")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "nothing stands behind the #"),
        ("https://site.example/loss.html#", "nothing stands behind the #"),
        ("what is this?", "is no packed text"),
        (GOOD[:-30], "its end is missing"),
        ("abcd" + GOOD, "it was changed or is no link"),
        (BOMB, "more than 2,000,000 bytes"),
        (base64.urlsafe_b64encode(zlib.compress(b"{")).decode("ascii"), "not JSON"),
        (pack([1]), '"format" must be "rmqlab-link/1"'),
        (pack({"format": LINK_FORMAT}), "scenario"),
        (pack({"format": LINK_FORMAT, "scenario": SCENARIO, "sede": 1}), "did you mean seed"),
        (pack({"format": LINK_FORMAT, "scenario": SCENARIO, "seed": "1"}), '"seed" is \'1\''),
        (pack({"format": LINK_FORMAT, "scenario": SCENARIO, "version": "9"}), "there are those of 4.8.0"),
        (pack({"format": LINK_FORMAT, "scenario": SCENARIO, "version": []}), "there are those of 4.8.0"),
        (pack({"format": LINK_FORMAT, "scenario": SCENARIO, "settings": {"longPolingEnable": 1}}), "longPollingEnable"),
        (pack({"format": LINK_FORMAT, "scenario": SCENARIO, "settings": 3}), '"settings" is 3'),
        (pack({"format": LINK_FORMAT, "scenario": SCENARIO, "seed": 1, "schedule": {}}), "one of them decides"),
        (pack({"format": LINK_FORMAT, "scenario": SCENARIO, "schedule": {}}), "rmqlab-schedule/1"),
        (pack({"format": LINK_FORMAT, "scenario": SCENARIO | {"topics": {"T": 0}}}), "topics.T is 0"),
    ],
)  # fmt: skip
def test_a_bad_link_is_told_in_one_line(text, told, capsys):
    with pytest.raises(BadInput) as raised:
        Link.read(text)
    assert told in str(raised.value)
    assert main(["simulate", f"--link={text}"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1


def test_a_link_and_a_file_are_not_given_together(capsys):
    assert main(["simulate", "some.jsonl", "--link", GOOD]) == 2
    assert "--link" in capsys.readouterr().err
    assert main(["simulate", "--link", GOOD, "--seed", "3"]) == 2
    assert "--seed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("members", "messages", "words"),
    [(101, 0, "has 101 members; a link has at most 100"), (1_001, 0, "1,001 steps"), (1, 10_001, "10,001 messages")],
)
def test_a_link_that_would_keep_its_reader_waiting_is_refused(members, messages, words):
    steps = [
        {"do": "start", "at": at, "who": f"A{at}", "group": "G", "subscribe": {"T": {"expr": "t"}}}
        for at in range(members)
    ]
    if messages:
        steps.append({"do": "send", "at": members, "topic": "T", "messages": [{"body": "b"}] * messages})
    with pytest.raises(BadInput, match=words):
        Link.of({"format": "rmqlab-link/1", "scenario": {"id": "x", "topics": {"T": 4}, "steps": steps}})
