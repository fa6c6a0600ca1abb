"""What `import rmqlab` offers: every name, what it answers, and what it says to a call that cannot be."""

import contextlib
import doctest
import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rmqlab
from rmqlab.errors import BadInput
from rmqlab.lab.interactive import InteractiveSimulation
from rmqlab.scenario.scenario import Alloc, Offsets, read_scenarios
from rmqlab.sim.simulate import simulate

DOCUMENTED = (
    "rmqlab",
    "rmqlab.run.records",
    "rmqlab.errors",
    "rmqlab.run.recorded_events",
    "rmqlab.run.facts",
    "rmqlab.sim.cluster",
    "rmqlab.lab.lab",
    "rmqlab.lab.lab_steps",
    "rmqlab.run.results",
    "rmqlab_tools.course.check",
    "rmqlab_tools.course.progress",
    "rmqlab_tools.course.mutants",
    "rmqlab_tools.course.quiz",
    "rmqlab_tools.verbs",
    "rmqlab.rules",
    "rmqlab_tools.live.serve",
)


@pytest.fixture
def lab():
    """The eight messages, driven by hand."""
    lab = rmqlab.Lab(topics={"T": 4})
    lab.consumer("A", group="G", subscribe={"T": "tagA"})
    lab.run(seconds=60)
    lab.consumer("B", group="G", subscribe={"T": "tagB"})
    lab.run(seconds=60)
    lab.send("T", ["tagA"] * 4 + ["tagB"] * 4)
    lab.run(seconds=30)
    return lab


@pytest.mark.parametrize("name", DOCUMENTED)
def test_examples_of_docstrings(name):
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted > 0
    assert found.failed == 0


def test_every_verb_shows_an_example():
    """`progress` asks for a learner's copy; `RULES`, `show` and `BadInput` are no verbs."""
    verbs = set(rmqlab.__all__) - {"RULES", "BadInput", "progress", "show"}
    assert [name for name in sorted(verbs) if ">>>" not in getattr(rmqlab, name).__doc__] == []


def test_every_name_is_there_shown_and_documented():
    assert set(rmqlab.__all__) < set(dir(rmqlab))
    for name in rmqlab.__all__:
        assert getattr(rmqlab, name) is not None, name
        assert name in rmqlab.__doc__, name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = rmqlab.nothing


def test_a_version_without_rules_is_named_with_those_there_are():
    with pytest.raises(rmqlab.BadInput, match=r"no rules of version '5.9'; there are those of 4\.8\.0"):
        rmqlab.RULES["5.9"]
    assert rmqlab.RULES.get("5.9") is None


def test_the_code_in_the_readme_runs(capsys):
    text = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
    section = text.partition("## In Python")[2].partition("\n## ")[0]
    blocks = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    assert len(blocks) == 2
    names = {}
    for block in blocks:
        exec(block, names)  # noqa: S102 - the README's own lines
    assert capsys.readouterr().out.count("<") == 6


def test_import_loads_nothing_but_itself():
    code = "import sys, rmqlab; print(*(name for name in sys.modules if name.startswith('rmqlab')))"
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert told.stdout.split() == ["rmqlab"]


@pytest.mark.row("S-13")
def test_the_eight_messages_by_hand(lab):
    fates = lab.fates()
    assert [fate.body for fate in fates if not fate.lost] == ["MsgStr6", "MsgStr7"]
    assert {fate.fate for fate in fates.where(lost=True)} == {"dropped_by_broker_tag", "dropped_by_client"}
    assert [row.committed for row in lab.offsets()] == [row.max for row in lab.offsets()] == [2, 2, 2, 2]
    assert {row.expression for row in lab.subscriptions()} == {"tagA", "tagB"}
    assert {(row.who, row.queue) for row in lab.rebalances() if row.held} >= {("A", 0), ("B", 3)}
    assert lab.broker.consumer_manager.get_consumer_group_info("G").subscription_table["T"].sub_string == "tagB"
    assert repr(lab.clients["B"]) == "<DefaultMQPushConsumer B of group G: T TAG tagB; owns queues 2, 3 of T>"
    assert "holds" in repr(lab.broker.consumer_manager.get_consumer_group_info("G"))
    assert "groups online: G" in repr(lab.broker)
    assert "broker-a" in repr(lab.namesrv)


def test_a_lab_and_its_scenario_give_the_same_bytes(lab, tmp_path):
    scenario = lab.scenario()
    scenario.save(tmp_path / "mine.jsonl")
    assert lab.finish().lines() == rmqlab.simulate(scenario).lines()
    told = subprocess.run(
        [sys.executable, "-m", "rmqlab", "simulate", str(tmp_path / "mine.jsonl"), "--out", str(tmp_path / "events")],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert "6 lost" in told.stdout
    assert (tmp_path / "events").read_text() == lab.finish().lines()
    with pytest.raises(BadInput, match="finished"):
        lab.run(seconds=1)


@pytest.mark.parametrize("name", ["base", "lite", "noprop"])
def test_every_recorded_scenario_by_hand_gives_the_same_bytes(golden, name):
    for scenario in read_scenarios(golden / "broker-4.8.0" / name / "scenarios.jsonl")[::5]:
        last = scenario.steps[-1]
        asked = [] if isinstance(last, Offsets) else [Alloc(at=last.at), Offsets(at=last.at)]
        whole = msgspec.structs.replace(scenario, steps=[*scenario.steps, *asked])
        driven = InteractiveSimulation(whole)
        for step in whole.steps:
            driven.do(step)
            driven.so_far()  # looking changes nothing
        assert driven.end().lines() == simulate(whole).lines(), scenario.id


MOVES = st.lists(
    st.one_of(
        st.tuples(st.just("run"), st.integers(0, 40_000)),
        st.tuples(st.just("step"), st.integers(1, 5)),
        st.tuples(st.just("send"), st.sampled_from(["tagA", "tagB", None])),
        st.tuples(st.just("start"), st.sampled_from(["tagA", "tagB", "*"])),
        st.tuples(st.just("stop"), st.integers(0, 3)),
        st.tuples(st.just("pause"), st.integers(1, 30_000)),
        st.tuples(st.just("lose_heartbeat"), st.integers(1, 3)),
        st.tuples(st.just("freeze"), st.integers(1, 40_000)),
        st.tuples(st.just("clock"), st.sampled_from([-60_000, 60_000])),
        st.tuples(st.just("restart_broker"), st.integers(1, 5_000)),
        st.tuples(st.just("look"), st.none()),
    ),
    max_size=12,
)


@given(MOVES, st.sampled_from([None, 7]))
@settings(max_examples=40, deadline=None)
def test_whatever_is_done_its_scenario_gives_the_same_bytes(moves, seed):
    lab, started = rmqlab.Lab(topics={"T": 2}, seed=seed), 0
    down_until = 0.0
    for what, value in moves:
        running = list(lab.clients)
        if what == "run":
            lab.run(ms=value)
        elif what == "step":
            for _ in range(value):
                lab.step()
        elif what == "send":
            lab.send("T", [value])
        elif what == "start":
            started += 1
            lab.consumer(f"C{started}", group="G", subscribe={"T": value})
        elif what == "look":
            assert len(lab.fates()) <= len(lab.messages())
        elif what == "restart_broker":
            if lab.now >= down_until:
                lab.restart_broker(value, crash=bool(value % 2))
                down_until = lab.now + value + 1
        elif running and what == "stop":
            lab.stop(running[value % len(running)])
        elif running:
            getattr(lab, what)(running[0], value)
    scenario, lines = lab.scenario(), lab.finish().lines()
    assert lines == rmqlab.simulate(scenario, schedule=lab.schedule()).lines()


def test_nothing_comes_between_a_step_that_takes_no_time_and_the_next_one():
    """What is due in the instant of the freeze, and was posted before it, comes after the questions at the end."""
    lab = rmqlab.Lab(topics={"T": 8})
    lab.consumer("A", group="H", subscribe={"T": "tagA"})
    for _ in range(3):
        lab.step()
    lab.consumer("B", group="G", subscribe={"T": "tagB"})
    lab.stop("B")
    lab.run(ms=5)
    lab.consumer("C", group="G", subscribe={"T": "tagA"})
    for _ in range(3):
        lab.step()
    lab.freeze("A", 40_000)
    scenario, lines = lab.scenario(), lab.finish().lines()
    assert lines == rmqlab.simulate(scenario).lines()


@pytest.mark.parametrize("again", [{"ms": 0}, {"ms": 0, "until": lambda lab: False}])
def test_a_run_of_no_time_lets_nothing_happen(again):
    """A did something in the very instant in which B starts: a scenario's driver starts B before it."""
    lab = rmqlab.Lab(topics={"T": 2}, seed=9077)
    lab.consumer("A", group="H", subscribe={"T": "b"}, kind="lite")
    with contextlib.suppress(BadInput):
        lab.run(**again)
    lab.consumer("B", group="H", subscribe={"T": "*"})
    lab.run(seconds=126)
    scenario, lines = lab.scenario(), lab.finish().lines()
    assert lines == rmqlab.simulate(scenario, schedule=lab.schedule()).lines()


def test_run_until_and_step_say_what_happened():
    lab = rmqlab.Lab(topics={"T": 2})
    lab.consumer("A", group="G", subscribe={"T": "tagA"})
    lab.run(until=lambda lab: bool(lab.rebalances()))
    assert {row.queue for row in lab.rebalances()} == {0, 1}
    assert lab.now == int(lab.now)
    lab.send("T", ["tagB"])
    told = [lab.step() for _ in range(60)]
    assert any("the broker drops offset 0" in line for line in told), told
    with pytest.raises(BadInput, match="did not become true within 1000 ms"):
        lab.run(until=lambda lab: False, ms=1_000)


def test_a_lite_consumer_takes_no_option_that_it_would_not_follow():
    lab = rmqlab.Lab(topics={"T": 2})
    with pytest.raises(BadInput, match="A: kind is 'lite', which takes no mode, orderly"):
        lab.consumer("A", group="G", subscribe={"T": "*"}, kind="lite", mode="broadcasting", orderly=True)
    # a scenario may say it, as recorded ones do: its client follows the real driver's, which is clustering
    start = {"do": "start", "group": "G", "kind": "lite", "mode": "broadcasting", "subscribe": {"T": {"expr": "*"}}}
    steps = [start | {"at": at, "who": who} for at, who in ((0, "A"), (30_000, "B"))]
    steps += [{"do": "send", "at": 60_000, "topic": "T", "messages": [{"body": "one"}, {"body": "two"}]}]
    run = rmqlab.simulate({"id": "lite", "topics": {"T": 2}, "steps": steps})
    assert [(row.member, row.fate) for row in run.fates()] == [(None, "delivered")] * 2


def test_a_wrong_call_of_a_lab_is_told_by_its_argument():
    lab = rmqlab.Lab(topics={"T": 2})
    lab.consumer("A", group="G", subscribe={"T": "*"})
    wrong = [
        (lambda: lab.send("T", {"a"}), "^messages.0..tag is .*'a'.*; right is a text or null"),
        (lambda: lab.cut(None), "^who is null; right is a text"),
        (lab.start_namesrv, "^the name server is up already$"),
        (lambda: lab.swimlane(topic="U"), "nobody subscribes 'U'; subscribed are: T of G"),
        (lambda: rmqlab.Lab.from_scenario(lab.scenario(), until=float("inf")), "^until is inf; right is ms"),
        (lambda: rmqlab.Lab.from_scenario(lab.scenario(), until="x"), "^until is 'x'; right is ms"),
        (
            lambda: rmqlab.Lab(topics={"T": 1}, version=["4.8.0"]),
            "no rules of version .*; there are those of 4.8.0, 5.3.3, 5.5.0",
        ),
    ]
    for call, text in wrong:
        with pytest.raises(BadInput, match=text):
            call()


def test_a_name_that_looks_like_the_id_of_its_scenario_stays_whole():
    """Names lost every "_a" of a scenario "a": tags too, and a group that lost four messages had no owner."""
    wishes = [{"T_a_x": {"type": "TAG", "expr": expr}} for expr in ("tag_a", "tag_b")]
    steps = [{"do": "start", "group": "G_a", "at": 20_000 * n, "who": "AB"[n], "subscribe": wishes[n]} for n in (0, 1)]
    sent = [{"body": str(number), "tag": "tag_a"} for number in range(4)]
    steps += [{"do": "send", "at": 60_000, "topic": "T_a_x", "messages": sent}, {"do": "alloc", "at": 90_000}]
    run = rmqlab.simulate({"id": "a", "topics": {"T_a_x": 4}, "steps": steps})
    assert {(row.group, row.topic, row.subscription, row.fate) for row in run.fates()} == {
        ("G_a", "T_a_x", "tag_b", "dropped_by_broker_tag")
    }
    assert {(row.group, row.topic) for row in run.heartbeats()} == {("G_a", "T_a_x")}
    assert {row.group for row in run.owners()} == {"G_a"}
    lab = rmqlab.Lab(topics={"T_lab": 1, "T": 1})
    lab.consumer("A", group="G_lab", subscribe={"T_lab": "a", "T": "b"})
    lab.run(seconds=5)
    assert {(row.group, row.topic) for row in lab.heartbeats()} == {("G_lab", "T_lab"), ("G_lab", "T")}
    assert "A writes a with" in lab.timeline(topic="T_lab").alt
    assert "A writes a with" not in lab.timeline(topic="T").alt


def test_a_message_is_told_of_its_own_topic_though_one_like_it_was_not_sent():
    lab = rmqlab.Lab(topics={"T": 1, "U": 1})
    lab.run(seconds=5)
    lab.restart_broker(20_000)
    assert lab.send("T", bodies=["x", "y"]) == []
    lab.run(seconds=40)
    assert [(row.topic, row.body) for row in lab.send("U", bodies=["x"])] == [("U", "x")]
    assert [row.topic for row in lab.finish().messages()] == ["U"]


def test_rules_say_which_of_them_are_others():
    rules = rmqlab.RULES["4.8.0"]
    assert repr(rules) == "<rules of 4.8.0>"
    mine = rules.replace(client_keeps=lambda subscription, tag: True, suspend_ms=1)
    assert repr(mine) == "<rules of 4.8.0, but for suspend_ms, client_keeps>"


def test_settle_runs_until_nothing_more_can_change():
    lab = rmqlab.Lab(topics={"T": 4})
    for who, tag in (("A", "tagA"), ("B", "tagB")):
        lab.consumer(who, group="G", subscribe={"T": tag})
        lab.run(seconds=60)
    lab.send("T", ["tagA"] * 4 + ["tagB"] * 4)
    lab.run(settle=True)
    fates = list(lab.fates())
    assert {fate.fate for fate in fates} == {"delivered", "dropped_by_broker_tag", "dropped_by_client"}
    lab.run(seconds=600)
    assert [fate.fate for fate in lab.fates()] == [fate.fate for fate in fates]
    assert {(row.committed, row.max) for row in lab.offsets()} == {(2, 2)}
    lab.pause("A", ms=100_000)
    lab.send("T", ["tagA"] * 4)
    with pytest.raises(BadInput, match="does not stand still"):
        lab.run(settle=True, seconds=5)


@pytest.mark.slow
def test_scenarios_and_recordings_open_as_labs(golden, lab):
    again = rmqlab.Lab.from_scenario(lab.scenario())
    assert list(again.fates()) == list(lab.fates())
    assert again.explore(budget=20, samples=5).outcomes
    half = rmqlab.Lab.from_scenario(lab.scenario(), until=59_000)
    assert (list(half.clients), half.now) == (["A"], 59_000)
    recorded = rmqlab.Lab.from_recording(golden / "broker-4.8.0" / "base", "p-article-000")
    assert sum(fate.lost for fate in recorded.fates()) == 6
    assert [row.body for row in recorded.messages()] == [f"MsgStr{n}" for n in range(8)]


def test_a_file_of_scenarios_runs_with_the_settings_beside_it(golden):
    recorded = golden / "broker-4.8.0" / "noprop"
    (first, *_) = (recorded / "scenarios.jsonl").read_text(encoding="utf-8").splitlines()
    name = json.loads(first)["id"]
    ran = rmqlab.simulate(recorded / f"scenarios.jsonl#{name}")
    assert ran.lines() == rmqlab.simulate(json.loads(first), enablePropertyFilter=False).lines()
    assert rmqlab.explore(f"{recorded}/scenarios.jsonl#{name}", budget=3).outcomes


def test_tables_are_frames_when_asked(lab):
    frame = lab.messages().frame()
    assert list(frame.columns) == ["n", "t", "topic", "queue", "offset", "body", "tag", "msgId", "offsetMsgId"]
    assert len(frame) == 8
    assert lab.fates()[:3].where(lost=True)[0].body == "MsgStr0"
    assert "<table>" in lab.fates()._repr_html_()
    assert {row.request for row in lab.frames()} >= {"PULL_MESSAGE", "HEART_BEAT"}
    assert lab.frames().where(response="SUCCESS")
    with pytest.raises(BadInput, match="has no 'colour'"):
        lab.fates().where(colour="red")


def test_pictures_of_a_lab(lab):
    for picture in (lab.swimlane(), lab.grid(), lab.timeline()):
        assert "<svg" in picture.svg
        assert picture.alt


BAD = {
    "a topic has 1 to 1024 queues": lambda lab: rmqlab.Lab(topics={"T": 0}),
    "there are those of 4.8.0, 5.3.3, 5.5.0": lambda lab: rmqlab.Lab(topics={"T": 1}, version="3.2.6"),
    "a 4.8.0 broker has none of this name": lambda lab: rmqlab.Lab(topics={"T": 1}, enablePropertyFilte=True),
    "who runs already": lambda lab: lab.consumer("A", group="G", subscribe={"T": "x"}),
    "looks like a SQL92 condition": lambda lab: lab.consumer("C", group="G", subscribe={"T": "a > 3"}),
    "asks twice for 'T'": lambda lab: lab.consumer("C", group="G", subscribe={"T": "a"}, sql92={"T": "a > 3"}),
    "known topics: T": lambda lab: lab.send("X", "a"),
    "message 1: The name or value of property": lambda lab: lab.send("T", ["a", "b"], properties=[None, {"s": ""}]),
    "The Property<UNIQ_KEY> is used by system": lambda lab: lab.send("T", "a", properties={"UNIQ_KEY": "1"}),
    "the message body length is zero": lambda lab: lab.send("T", bodies=["x", ""]),
    "a property is a text": lambda lab: lab.send("T", "a", properties={"size": 3}),
    "different lengths": lambda lab: lab.send("T", ["a"], bodies=["x", "y"]),
    "has queues 0..3": lambda lab: lab.send("T", "a", queues=4),
    "CODE: 23": lambda lab: lab.consumer("C", group="G", sql92={"T": "a > "}),
    "time runs forward": lambda lab: lab.run(seconds=-1),
    "say how long": lambda lab: lab.run(),
    "was not started before": lambda lab: lab.stop("Z"),
    "one of the two": lambda lab: lab.subscribe("A", "T"),
    "seed is 'x'; a whole number is wanted": lambda lab: rmqlab.simulate(lab.scenario(), seed="x"),
    "seed is 1.5": lambda lab: rmqlab.Lab(topics={"T": 1}, seed=1.5),
    "right is a Schedule": lambda lab: rmqlab.simulate(lab.scenario(), schedule=lab.schedule),
}


@pytest.mark.parametrize("said", BAD)
def test_bad_calls_say_what_would_be_right(said, lab):
    before = len(lab.scenario().steps)
    with pytest.raises(BadInput) as caught:
        BAD[said](lab)
    assert said in str(caught.value)
    assert "steps[" not in str(caught.value)
    if said != "CODE: 23":  # 4.8.0 finds this only after the start (row F-98)
        assert len(lab.scenario().steps) == before


def eight_messages_with(**rules):
    """The messages lost under other rules: 6 with those of 4.8.0."""
    lab = rmqlab.Lab(topics={"T": 4}, rules=rmqlab.RULES["4.8.0"].replace(**rules))
    for who, tag in (("A", "tagA"), ("B", "tagB")):
        lab.consumer(who, group="G", subscribe={"T": tag})
        lab.run(seconds=60)
    lab.send("T", ["tagA"] * 4 + ["tagB"] * 4)
    lab.run(seconds=30)
    return lab, sum(fate.lost for fate in lab.fates())


def test_a_rule_of_ones_own():
    assert eight_messages_with()[1] == 6
    assert eight_messages_with(client_keeps=lambda subscription, tag: True)[1] == 4
    _, lost = eight_messages_with(is_matched_by_consume_queue=lambda subscription, code: True)
    assert lost == 4
    lab, lost = eight_messages_with(
        is_matched_by_consume_queue=lambda subscription, code: True, client_keeps=lambda subscription, tag: True
    )
    assert lost == 0
    assert all(not found.lost for found in lab.explore(budget=30, samples=10).outcomes)
    with pytest.raises(BadInput, match="no rule 'client_keep'; did you mean client_keeps"):
        rmqlab.RULES["4.8.0"].replace(client_keep=None)


def test_periods_are_rules():
    lab = rmqlab.Lab(topics={"T": 1}, rules=rmqlab.RULES["4.8.0"].replace(heartbeat_period_ms=5_000))
    lab.consumer("A", group="G", subscribe={"T": "tagA"})
    lab.run(seconds=60)
    assert len(lab.heartbeats()) >= 12


@pytest.mark.slow
def test_answers_show_what_the_verbs_print(lab):
    told = repr(lab.explore(budget=20, samples=5))
    assert told.startswith("lab")
    assert "was tried" in told
    told = repr(rmqlab.lint({"A": {"T": "a"}, "B": {"T": "b"}}))
    assert told.startswith("group: Inconsistent: ")
    assert "message with the tag a" in told
    assert "Both take the same messages." in repr(rmqlab.plan("a", "a", members=2, budget=2))
    assert repr(rmqlab.reproduce("E3a")[0]).startswith("E3a agrees: ")


def test_questions():
    assert str(rmqlab.lint({"A": {"T": "a"}, "B": {"T": "SQL92:b = 1"}}).verdict) == "inconsistent"
    assert rmqlab.sql92("a = 1 AND b IS NULL", {"a": "1"}).matches is True
    assert "is refused" in repr(rmqlab.sql92("a = "))
    assert rmqlab.tags("a||b").code_set == {97, 98}
    with pytest.raises(BadInput, match="is a text"):
        rmqlab.sql92("a = 1", {"a": 1})


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda lab: rmqlab.Lab(topics=["T"]), "topics is ['T']; right is a name and its queues"),
        (lambda lab: rmqlab.Lab(topics={"T": 1}, rules=3), "rules is 3; right is RULES"),
        (lambda lab: lab.consumer("C", group="G", subscribe="T"), "C subscribes 'T'; right is topic and expression"),
        (lambda lab: lab.consumer("C", group="G", subscribe={"T": 3}), "C subscribes {'T': 3}; right is topic"),
        (lambda lab: lab.run(seconds="x"), "run: 'x' is no time; right is a number"),
        (lambda lab: lab.run(seconds=float("inf")), "run: inf is no time"),
        (lambda lab: lab.run(until=True), "run: until is True; right is a function"),
        (lambda lab: lab.run(until=len, settle=True), "until and settle are two ways to end a run"),
        (lambda lab: lab.subscribe("A", "T", ["tagA"]), "A subscribes {'T': ['tagA']}; right is topic and expression"),
        (lambda lab: lab.send("T", properties="a=5"), "send: properties of a message are 'a=5'; right is names"),
        (lambda lab: rmqlab.lint({"A": "tagA"}), "lint: A subscribes 'tagA'; right is client, topic and expression"),
        (lambda lab: rmqlab.lint(5), "lint: members are 5; right is client, topic and expression"),
        (lambda lab: rmqlab.lint("A"), "A: there is no such file or folder; give the folder of a code base"),
        (lambda lab: rmqlab.simulate("nope.jsonl"), "nope.jsonl"),
    ],
)
def test_what_is_of_the_wrong_type_is_told(lab, call, said):
    with pytest.raises(BadInput, match=re.escape(said)):
        call(lab)
