"""The quizzes: every right answer is computed here by the core, and the widget locks the first one."""

from __future__ import annotations

import ast
import dataclasses
import json
import re

import pytest

import rmqlab
from rmqlab.checkout import ROOT
from rmqlab.errors import BadInput
from rmqlab.run.waiting_line import WaitingLine
from rmqlab_tools.course.minutes import split
from rmqlab_tools.course.quiz import Question, Quiz, QuizChoice

RULES = rmqlab.RULES["4.8.0"]
LESSONS = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))
BITS = {"enableCalcFilterBitMap": True, "enableConsumeQueueExt": True}
ANSWERS = {}


def answers(name):
    """Register a function that computes the right value of the question NN/id."""

    def keep(function):
        ANSWERS[name] = function
        return function

    return keep


def meet(expressions, queues=4, gap_s=60, clock_ms=0, **options):
    """Members that start one after the other, then a message of each tag for each queue; the article's experiment."""
    lab = rmqlab.Lab(topics={"T": queues}, **options)
    for who, expression in expressions.items():
        lab.consumer(who, group="G", subscribe={"T": expression})
        if clock_ms and who == "A":
            lab.clock(who, clock_ms)
        lab.run(seconds=gap_s)
    tags = list(dict.fromkeys(tag for text in expressions.values() for tag in re.findall(r"\w+", text)))
    for queue in range(queues):
        lab.send("T", tags, queues=queue)
    lab.run(seconds=30)
    return lab


def lost(lab):
    return sum(fate.lost for fate in lab.fates())


def one_member(messages, expression="Aa", **options):
    """What becomes of messages for one consumer of one queue: their fates."""
    lab = rmqlab.Lab(topics={"T": 1}, **options)
    lab.consumer("A", group="G", subscribe={"T": expression})
    lab.run(seconds=30)
    lab.send("T", messages)
    lab.run(seconds=30)
    return [str(fate.fate) for fate in lab.fates()]


BOTH = {"A": "tagA", "B": "tagB"}


@answers("01/lag")
def _():
    lab = meet(BOTH)
    assert lost(lab) == 6
    return sum(row.max - row.committed for row in lab.offsets())


@answers("01/second-check")
def _():
    lab = meet(BOTH)
    owned = {row.queue for row in lab.rebalances() if row.held and row.who == "B"}
    (fate,) = {str(one.fate) for one in lab.fates() if one.tag == "tagB" and one.queue not in owned}
    return fate


@answers("01/clock")
def _():
    return meet(BOTH, clock_ms=3_600_000).subscriptions()[-1].who


@answers("02/collision")
def _():
    assert RULES.tags_code("Aa") == RULES.tags_code("BB")
    return one_member(["BB"])[0]


@answers("02/untagged")
def _():
    return one_member([None], "TagA")[0]


@answers("02/order")
def _():
    lab = rmqlab.Lab(topics={"T": 4})
    lab.consumer("A", group="G", subscribe={"T": "TagA || TagC"})
    lab.consumer("B", group="G", subscribe={"T": "TagC || TagA"})
    lab.run(seconds=60)
    lab.send("T", ["TagA", "TagB", "TagC"] * 20)
    lab.run(seconds=30)
    return lost(lab)


def value_of(text, **properties):
    """Value of a condition: true, false, null or error."""
    found = rmqlab.sql92(text, properties).value
    return found if found in {"true", "false", "null"} else "error"


@answers("03/literal")
def _():
    assert value_of("a > 100.0", a="100.5") == "true"
    return value_of("a > 100", a="100.5")


@answers("03/not-null")
def _():
    return value_of("NOT (a > 5)")


@answers("03/like")
def _():
    text = "a LIKE 'x%' OR TAGS = 'TagA'"
    read = rmqlab.sql92(text)
    gets = [value_of(text, a="xyz") == "true", value_of(text, TAGS="TagA", a="b") == "true"]
    return "refused" if read.error else "as written" if all(gets) else "the rest" if gets[1] else "ignored"


class Counted:
    """A condition that counts its evaluations."""

    def __init__(self, condition):
        self.condition, self.times = condition, 0

    def evaluate(self, properties):
        self.times += 1
        return self.condition.evaluate(properties)


def filtered(conditions, properties, **options):
    """Groups that are away while messages are stored, then pull: the lab, evaluations at write and on pull."""
    lab = rmqlab.Lab(topics={"T": 1}, **options)

    def come():
        for group, condition in conditions.items():
            lab.consumer(group, group=group, sql92={"T": condition})
        lab.run(seconds=30)

    come()
    counted = []
    for group in conditions:
        lab.stop(group)
        data = lab.broker.consumer_filter_manager.get("T", group)
        data.compiled_expression = Counted(data.compiled_expression)
        counted.append(data.compiled_expression)
    lab.run(seconds=30)
    lab.send("T", bodies=[str(n) for n in range(len(properties))], properties=properties)
    lab.run(seconds=5)
    at_write = sum(one.times for one in counted)
    come()
    return lab, at_write, sum(one.times for one in counted) - at_write


NUMBERS = [{"a": str(n)} for n in range(10)]


@answers("04/switches")
def _():
    names = {"enableCalcFilterBitMap": "bitmap", "enableConsumeQueueExt": "extension"}
    dropping = []
    for on in ([], ["enableCalcFilterBitMap"], ["enableConsumeQueueExt"], list(names)):
        lab, *_ = filtered({"G": "a > 5"}, NUMBERS, **{name: name in on for name in names})
        if lab.fates().where(fate="dropped_by_broker_bitmap"):
            dropping.append("both" if len(on) == 2 else names[on[0]] if on else "none")
    assert len(dropping) == 1
    return dropping[0]


@answers("04/wrong-maybe")
def _():
    (right, _, usual), (maybe, _, more) = (
        filtered({"G": "a > 5"}, NUMBERS, rules=rules, **BITS)
        for rules in (RULES, RULES.replace(is_hit=lambda positions, is_set: True))
    )
    assert more > usual
    same = [len(lab.fates().where(fate="delivered")) for lab in (right, maybe)] == [4, 4]
    return "a message" if lost(maybe) else "an evaluation" if same else "delivered"


@answers("04/late")
def _():
    lab = rmqlab.Lab(topics={"T": 1}, **BITS)
    lab.send("T", properties=[{"a": "1"}])
    lab.run(seconds=1)
    lab.consumer("L", group="CID_LATE", sql92={"T": "a > 5"}, consume_from="first")
    lab.run(seconds=30)
    return str(lab.fates()[0].fate)


@answers("05/all-match")
def _():
    return filtered({"G": "a >= 0"}, [{"a": "1"}] * 100, **BITS)[2]


@answers("05/at-write")
def _():
    return filtered({f"G{n}": f"a > {n}" for n in range(3)}, [{"a": "1"}] * 100, **BITS)[1]


@answers("05/one-group")
def _():
    lines = (ROOT / "data" / "bloom_profile" / "map.jsonl").read_text().splitlines()
    cells = [one for one in map(json.loads, lines) if one["groups"] == 1 and one["user_properties"]]
    assert {0.05, 0.25} <= {one["selectivity"] for one in cells}
    pays = set()
    for cell in cells:  # stages: decode, bitmap, write unit, read unit, check bits, layer 2 off, layer 2 on
        ratios = [(sum(one[1:5]) + one[6]) / one[5] for one in cell["java"]]
        pays |= {cell["selectivity"]} if max(ratios) < 1 else set()
    return str(max(pays)) if pays else "nowhere"


def forgotten(silent):
    """Seconds from the death of A, and from its last heartbeat, until the broker forgets it; and who is told then."""
    lab = rmqlab.Lab(topics={"T": 4})
    lab.consumer("A", group="G", subscribe={"T": "*"})
    lab.run(ms=500)
    lab.consumer("B", group="G", subscribe={"T": "*"})
    lab.run(seconds=45)
    last = lab.heartbeats().where(who="A")[-1].t
    lab.kill("A", silent=silent)
    lab.run(seconds=200)
    died = lab.events().where(ev="control")[0].t
    views = [one.t for one in lab.events().where(ev="broker") if one.t >= died and "@A" not in one.detail]
    told = [one.t for one in lab.frames().where(request="NOTIFY_CONSUMER_IDS_CHANGED", target="B") if one.t > died]
    took = min(row.t for row in lab.rebalances() if row.who == "B" and row.held and row.t > died)
    return views[0] - died, views[0] - last, told, took - views[0]


@answers("06/killed")
def _():
    after_ms, *_ = forgotten(silent=False)
    return "at once" if after_ms < 1_000 else str(round(after_ms / 1_000))


@answers("06/gone")
def _():
    _, since_ms, *_ = forgotten(silent=True)
    low, high = RULES.channel_expired_ms // 1_000, (RULES.channel_expired_ms + RULES.scan_period_ms) // 1_000
    assert low * 1_000 < since_ms <= high * 1_000
    return f"{low}-{high}"


@answers("06/told")
def _():
    *_, told, later_ms = forgotten(silent=True)
    assert later_ms <= RULES.rebalance_period_ms
    return "the broker" if told else "nobody"


@answers("07/who")
def _():
    lab = rmqlab.Lab(topics={"T": 5})
    for who, strategy in (("A", "avg"), ("B", "circle")):
        lab.consumer(who, group="G", subscribe={"T": "*"}, strategy=strategy)
        lab.run(seconds=10)
    lab.run(seconds=60)
    now = [row.owners for row in lab.owners() if row.until == max(one.until for one in lab.owners())]
    shared = [
        owners for owners in now if len(owners) != 1
    ]  # an arbiter would leave no queue to two, and none to nobody
    return "each member" if shared else "the broker"


@answers("07/moved")
def _():
    def owners(ids):
        return {queue: who for who in ids for queue in RULES.allocate(who, list(range(5)), ids)}

    before, after = owners(["A", "B"]), owners(["A", "B", "C"])
    return sum(before[queue] != after[queue] for queue in before)


@answers("07/two-owners")
def _():
    lab = rmqlab.Lab(topics={"T": 4}, notifyConsumerIdsChangedEnable=False)
    lab.consumer("A", group="G", subscribe={"T": "*"})
    lab.run(seconds=5)
    lab.consumer("B", group="G", subscribe={"T": "*"})
    lab.run(seconds=5)
    lab.send("T", [None] * 20)
    lab.run(seconds=60)
    bodies = [one.body for one in lab.consumed()]
    assert len(set(bodies)) == 20
    return "some lost" if lost(lab) else "some twice" if len(bodies) > len(set(bodies)) else "once"


def explored():
    first = json.loads((ROOT / "data" / "explored" / "eight_messages.jsonl").read_text().splitlines()[0])
    assert first["exhausted"]
    return first["outcomes"]


@answers("08/outcomes")
def _():
    return len(explored())


@answers("08/least")
def _():
    return 8 - max(len({body for bodies in one["consumed"].values() for body in bodies}) for one in explored())


@answers("08/counter")
def _():
    counter = RULES.replace(stamp_sub_version=lambda old, now: old + 1)
    (usual,) = {lost(meet(BOTH, gap_s=5, seed=seed)) for seed in range(3)}
    (mine,) = {lost(meet(BOTH, gap_s=5, seed=seed, rules=counter)) for seed in range(3)}
    return "none lost" if not mine else "as many lost" if mine == usual else "more lost"


def changed(pause_s=1, *, at_once=False, rules=RULES):
    """A group goes from tagA to tagB while both tags are sent twice a second."""
    lab = rmqlab.Lab(topics={"T": 2}, rules=rules)

    def start(who, wanted):
        lab.consumer(who, group="G", subscribe={"T": wanted})

    def traffic(seconds=1, tags=("tagA", "tagB")):
        for _ in range(int(2 * seconds)):
            lab.send("T", [tag for tag in tags for _ in (0, 1)], queues=[0, 1] * len(tags))
            lab.run(ms=500)

    start("A", "tagA")
    start("B", "tagA")
    lab.run(seconds=5)
    traffic(tags=["tagA"])
    if at_once:
        lab.stop("A")
        lab.stop("B")
        traffic()
        start("A", "tagB")
        start("B", "tagB")
        traffic()
    else:
        for who in "AB":
            lab.stop(who)
            lab.run(ms=400)
            start(who, "tagB")
            traffic(pause_s)
    lab.run(seconds=30)
    return lab


@answers("09/slow")
def _():
    fast, slow = lost(changed(1)), lost(changed(4))
    return "more" if slow > fast else "same" if slow == fast else "fewer"


@answers("09/stop-all")
def _():
    assert lost(changed(1)) > 0
    return lost(changed(at_once=True))


@answers("09/union")
def _():
    def union(held, told):
        table = {}
        for one in told:
            old = held.get(one.topic, one)
            if one.tags_set and old.tags_set:
                every = rmqlab.tags("||".join(sorted(one.tags_set | old.tags_set)))
                version = max(one.sub_version, old.sub_version)
                table[one.topic] = dataclasses.replace(every, topic=one.topic, sub_version=version)
            else:
                table[one.topic] = one
        return table

    fates = {str(fate.fate) for fate in changed(rules=RULES.replace(update_subscription=union)).fates() if fate.lost}
    return " ".join(sorted(fates)) or "nothing"


GOLDEN = ROOT / "data" / "golden" / "broker-4.8.0"
ARTICLE = f"{GOLDEN}/base/scenarios.jsonl#p-article-000"


@answers("10/must-agree")
def _():
    real = rmqlab.Lab.from_recording(GOLDEN / "base", "p-article-000")
    mine = next(
        run for run in (rmqlab.simulate(ARTICLE, seed=seed) for seed in range(20)) if run.outcome() == real.outcome()
    )
    times = [[round(beat.t) for beat in run.heartbeats()] for run in (real, mine)]
    assert times[0] != times[1]
    return "outcome"


@answers("10/race")
def _():
    return len({repr(rmqlab.simulate(ARTICLE, seed=seed).outcome()) for seed in range(8)})


@answers("10/tool")
def _():
    said = (GOLDEN / "admin" / "mqadmin.txt").read_text().split("$ mqadmin consumerStatus -g G_x-admin-000\n")[1]
    said = said.partition("\n$ ")[0]
    return "same" if "Same subscription" in said else "different" if "subscription" in said.lower() else "nothing"


@answers("11/store")
def _(tmp_path):
    lab = rmqlab.Lab(topics={"T": 1})
    lab.consumer("A", group="GT", subscribe={"T": "tagZ"})
    lab.consumer("S", group="GS", sql92={"T": "a > 777"})
    lab.run(seconds=30)
    lab.write_store(tmp_path / "store")
    files = [path.read_bytes() for path in (tmp_path / "store").rglob("*") if path.is_file()]
    tag, sql = (any(text in data for data in files) for text in (b"tagZ", b"a > 777"))
    return {(True, True): "both", (False, True): "SQL92", (True, False): "TAG", (False, False): "none"}[tag, sql]


@answers("11/lost")
def _():
    lab = meet({"A": "tagA"})
    lab.send("T", ["other"])
    lab.run(seconds=30)
    (unasked,) = [fate for fate in lab.fates() if fate.tag == "other"]
    assert unasked.fate == "dropped_by_broker_tag"
    assert lost(meet(BOTH)) > 0
    return "always" if unasked.lost else "only if asked for"


@answers("11/deploy")
def _():
    lab = rmqlab.Lab(topics={"T": 4})
    for who in "AB":
        lab.consumer(who, group="G", subscribe={"T": "tagA || tagB"})
    lab.run(seconds=30)
    lab.subscribe("B", "T", "tagB")
    lab.run(seconds=30)
    for queue in range(4):
        lab.send("T", ["tagA", "tagB"], queues=queue)
    lab.run(seconds=30)
    gone = [(fate.tag, fate.queue) for fate in lab.fates() if fate.lost]
    if set(gone) == {("tagA", queue) for queue in range(4)}:
        return "all tagA"
    return "none" if not gone else "more" if "tagB" in dict(gone) else "tagA of B"


def share(members, queues, **options):
    """Share of the messages that arrives, as one in so many."""
    lab = meet({f"w{n}": f"tag{n}" for n in range(members)}, queues, gap_s=5, **options)
    arrived = len(lab.consumed())
    return f"1/{round(len(lab.messages()) / arrived)}" if arrived else "0"


@answers("12/law")
def _():
    return share(4, 12)


@answers("12/one-rule")
def _():
    return share(4, 12, rules=RULES.replace(is_matched_by_consume_queue=lambda *_: True))


@answers("12/few-queues")
def _():
    return share(4, 3)


@answers("14/looks")
def _():
    found = rmqlab.doctor(recorded=[ROOT / "data" / "doctor" / "4.8.0-1.json"])
    (article,) = [one for one in found.groups if one.group == "Article"]
    return str(article.findings[0].certainty)


@answers("14/same")
def _():
    assert rmqlab.lint({"C": {"T": "new || old"}, "D": {"T": "old||new"}}).verdict == "consistent"
    found = rmqlab.doctor(recorded=[ROOT / "data" / "doctor" / f"4.8.0-{look}.json" for look in (1, 2)])
    (tags,) = [one for one in found.groups if one.group == "SameTags"]
    return str(tags.state)


@answers("14/mqadmin")
def _():
    _, later = json.loads((ROOT / "data" / "doctor" / "4.8.0-consumerStatus.json").read_text())
    restarted = later["Restarted"]
    assert restarted["first"].endswith("@restarted-a")
    assert restarted["ran_ms"] < 60_000
    assert later["Article"]["ran_ms"] > 120_000
    assert "WARN: Different subscription" in later["Article"]["said"]
    return "same" if "Same subscription" in restarted["said"] else "different"


def popped(tags, kind="pop", first="AB", **options):
    """Who got what of a slow stream by A and B of one group, or of one each (`groups`): the lab after it."""
    groups, asks = options.pop("groups", {}), options.pop("asks", BOTH)
    lab = rmqlab.Lab(topics={"T": 4}, version="5.5.0")
    for who in first:
        lab.consumer(who, group=groups.get(who, "G"), subscribe={"T": asks[who]}, kind=kind)
        lab.run(ms=200)
    lab.run(seconds=8)
    for number, tag in enumerate(tags):
        lab.send("T", [f"tag{tag}"], queues=[number % 4])
        lab.run(ms=2_500)
    lab.run(seconds=20)
    return lab


@answers("15/asked")
def _():
    (arrival,) = WaitingLine(popped("A", first="BA").finish().run).arrivals
    assert arrival.asked == "B"
    return arrival.woken or "nothing"


@answers("15/order")
def _():
    turn, blocks = lost(popped("ABABABAB")), lost(popped("AAAABBBB"))
    return "turn" if turn > blocks else "blocks" if blocks > turn else "same"


@answers("15/keeps")
def _():
    ways = {
        "pop": {},
        "groups": {"groups": {"A": "GA", "B": "GB"}},
        "same": {"asks": dict.fromkeys("AB", "tagA || tagB")},
    }
    labs = {way: popped("AAAABBBB", **options) for way, options in ways.items()}
    assert [lost(lab) for lab in labs.values()] == [6, 0, 0]
    own = {way: all(row.tag == f"tag{row.who}" for row in lab.consumed()) for way, lab in labs.items()}
    (keeps,) = [way for way, lab in labs.items() if own[way] and not lost(lab)]
    assert len(labs[keeps].consumed()) == 8
    return keeps


@answers("16/pull")
def _():
    lab = rmqlab.Lab(topics={"T": 4})
    for who in "AB":
        lab.consumer(who, group="G", subscribe={"T": f"tag{who}"}, post_subscription=True)
        lab.run(seconds=60)
    lab.send("T", ["tagA"] * 4 + ["tagB"] * 4, queues=[2, 3, 0, 1] * 2)
    lab.run(seconds=30)
    return lost(lab)


@answers("16/restart")
def _():
    lab = rmqlab.Lab(topics={"T": 1}, rules=RULES.replace(allocate=lambda _who, queues, _ids: list(queues)))
    for who in "AB":
        lab.consumer(who, group="G", subscribe={"T": f"tag{who}"}, post_subscription=True)
        lab.run(seconds=30)
    lab.stop("A")
    lab.run(seconds=1)
    lab.send("T", "tagA")
    lab.run(seconds=20)
    assert lab.broker.consumer_offset_manager.query_offset("G", "T", 0) == 1
    lab.consumer("A", group="G", subscribe={"T": "tagA"}, post_subscription=True)
    lab.run(seconds=30)
    return "consumed" if lab.consumed() else "offset" if lost(lab) else "waits"


@answers("16/refuse")
def _():
    lab = rmqlab.Lab(topics={"T": 1})
    lab.consumer("A", group="G", subscribe={"T": "tagA"})
    lab.run(seconds=30)
    lab.send("T", "tagB")
    lab.run(seconds=30)
    assert not lab.consumed()
    (fate,) = lab.fates()
    return "wait" if fate.fate == "waiting" else "passed"


QUIZZES = {name[:2]: rmqlab.quiz(name[:2]) for name in LESSONS}
QUESTIONS = {f"{name}/{one.id}": one for name, mine in QUIZZES.items() for one in mine.questions}


def test_every_lesson_has_three_questions_and_each_is_computed():
    assert [len(mine.questions) for mine in QUIZZES.values()] == [3] * 15
    assert set(QUESTIONS) == set(ANSWERS)


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_right_answer_is_what_the_core_computes(name, request):
    question, compute = QUESTIONS[name], ANSWERS[name]
    found = compute(request.getfixturevalue("tmp_path")) if compute.__code__.co_argcount else compute()
    assert found == question.right
    values = [choice.value for choice in question.choices]
    assert values.count(question.right) == 1
    assert len(set(values)) == len(values) in {3, 4}
    assert len({choice.says for choice in question.choices}) == len(values)


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_rows_of_a_question_are_in_the_list(name):
    known = {line.split("\t")[0] for line in (ROOT / "data" / "mission" / "rows.tsv").read_text().splitlines()}
    assert set(QUESTIONS[name].rows) <= known


@pytest.mark.parametrize("lesson", [lesson for lesson in LESSONS if lesson.partition("_")[0] in QUIZZES])
def test_the_lesson_ends_with_its_quiz(lesson):
    """As committed: questions as text, answers folded for a page without a kernel; only an appendix may follow."""
    last = split(json.loads((ROOT / "notebooks" / f"{lesson}.ipynb").read_text(encoding="utf-8")))[0][-1]
    call = ast.parse("".join(last["source"])).body[0].value
    assert [one.value for one in call.args] == [lesson[:2]]
    data = last["outputs"][0]["data"]
    assert "".join(data["text/plain"]) == repr(QUIZZES[lesson[:2]])
    assert "".join(data["text/html"]) == QUIZZES[lesson[:2]]._repr_html_()


def test_the_first_answer_stays():
    mine = rmqlab.quiz("01")
    wrong = mine.answer(1, 1)
    assert "<strong>No.</strong>" in wrong
    assert "c) 0" in wrong
    assert mine.answer(1, 3) == wrong
    assert "<strong>Right.</strong>" in mine.answer(2, 2)
    assert mine.answered == {"lag": 0, "second-check": 1}


@pytest.mark.parametrize(
    ("number", "choice", "text"),
    [(0, 1, "no question 0"), (4, 1, "1 to 3"), (1, 0, "no choice 0"), (1, 9, "no choice 9")],
)
def test_a_number_that_is_none_is_refused_and_counts_as_no_answer(number, choice, text):
    mine = rmqlab.quiz("01")
    with pytest.raises(BadInput, match=text):
        mine.answer(number, choice)
    assert mine.answered == {}
    assert "Right." in mine.answer(1, 3)


def test_buttons_are_locked_after_the_first_one():
    mine = rmqlab.quiz("02")
    head, *buttons, said = mine.box().children[1].children
    assert "Aa and BB" in head.value
    buttons[0].click()
    assert "<strong>No.</strong>" in said.value
    assert [one.disabled for one in buttons] == [True] * 3
    assert [one.icon for one in buttons] == ["times", "check", ""]


def test_text_tells_no_answer():
    assert not re.search("right|because|says", repr(rmqlab.quiz("05")).lower())


def test_words_are_escaped():
    question = Question("x", "a < b & c", 1, [], [QuizChoice("1", 1, "yes"), QuizChoice("2", 2, "no")])
    assert "a &lt; b &amp; c" in Quiz("01", [question])._repr_html_()


def test_an_unknown_quiz_is_one_clear_error():
    with pytest.raises(BadInput, match=r"no quiz '99'; .*01, 02"):
        rmqlab.quiz("99")
