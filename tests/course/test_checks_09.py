"""Tasks of notebook 09: what is right passes, what is wrong gets its hint, its rule and its proof."""

from __future__ import annotations

import pytest

import rmqlab
from rmqlab_tools.course.check import CheckFailed, judge
from rmqlab_tools.course.checks_09 import NEW, OLD, rolling_restart, traffic

pytestmark = pytest.mark.slow
RULES = rmqlab.RULES["4.8.0"]


def restart(lab, wanted, tags):
    for who in "AB":
        lab.stop(who)
        traffic(lab, tags, 0.5)
        lab.consumer(who, group="G", subscribe={"T": wanted})
        traffic(lab, tags)


def widen_and_wait(lab):
    restart(lab, f"{OLD}||{NEW}", [OLD])
    restart(lab, NEW, [NEW])


def stop_all(lab):
    lab.stop("A")
    lab.stop("B")


def kill_all(lab):
    traffic(lab, [OLD])
    for who in "AB":
        lab.kill(who)
    for who in "AB":
        lab.consumer(who, group="G", subscribe={"T": NEW})
    traffic(lab, [NEW], 2)


def subscribes_anew(lab):
    for wanted, tag in ((f"{OLD}||{NEW}", OLD), (NEW, NEW)):
        for who in "AB":
            lab.subscribe(who, "T", wanted)
        traffic(lab, [tag], 31)  # until every heartbeat has told it


def new_group(lab):
    traffic(lab, [OLD])
    for who in "CD":
        lab.consumer(who, group="NEXT", subscribe={"T": NEW})
    traffic(lab, [OLD], 6)
    stop_all(lab)
    traffic(lab, [NEW], 3)


def wait_in_silence(lab):
    """What once was right: the producers pause, and nobody widens anything."""
    traffic(lab, [OLD], 4)
    lab.run(seconds=30)
    for who in "AB":
        lab.stop(who)
        lab.run(ms=400)
        lab.consumer(who, group="G", subscribe={"T": NEW})
    lab.run(seconds=30)
    traffic(lab, [NEW], 4)


def one_queue_alone(lab):
    """Messages come all the time, but into the queue of the member that is not restarted."""
    traffic(lab, [OLD], 4)
    for who, queue in ("A", 1), ("B", 0):
        lab.stop(who)
        lab.send("T", [OLD], queues=[queue])
        lab.run(ms=500)
        lab.consumer(who, group="G", subscribe={"T": NEW})
        traffic(lab, [NEW], 4)


def half_way(lab):
    restart(lab, f"{OLD}||{NEW}", [OLD])


def few_messages(lab):
    restart(lab, NEW, [])


@pytest.mark.row("S-07", "S-84")
def test_a_procedure_is_judged_in_many_orders():
    for right in (widen_and_wait, subscribes_anew, new_group):
        assert "Nothing was lost" in judge("09-procedure", right)
    for wrong, words in (
        (stop_all, "nobody runs"),
        (kill_all, "nobody runs"),
        (half_way, "every member subscribes tagB"),
        (few_messages, "producers do not pause"),
        (wait_in_silence, "From 9.6 s to 40.9 s no message comes into queue 0: producers do not pause"),
        (one_queue_alone, "producers do not pause"),
        (rolling_restart, "every slot of that time"),
        ("widen", "function itself"),
    ):
        with pytest.raises(CheckFailed, match=words) as failed:
            judge("09-procedure", wrong)
        assert (failed.value.picture is not None) == (wrong is rolling_restart)


def everything(*_):
    return True


def every_queue(current_cid, mq_all, cid_all):
    return list(mq_all)


SAFE = RULES.replace(
    allocate=every_queue, is_matched_by_consume_queue=everything, compute_pull_from_where=lambda *_: "first"
)


@pytest.mark.row("S-82", "F-95")
def test_rules_for_a_rolling_restart_let_everybody_read_everything_again():
    told = judge("09-rule", SAFE)
    assert "nothing was lost, and nobody got what it did not ask for" in told
    assert "came twice or more" in told
    assert "sent on to clients" in told
    changes = (
        {},
        {"client_keeps": everything},
        {"is_matched_by_consume_queue": everything},
        {"is_matched_by_consume_queue": everything, "allocate": every_queue},
    )
    for wrong in (RULES.replace(**change) for change in changes):
        with pytest.raises(CheckFailed, match=r"not taken|did not ask") as failed:
            judge("09-rule", wrong)
        assert failed.value.picture is not None
    with pytest.raises(CheckFailed, match="messages are not taken"):
        judge("09-rule", RULES.replace(allocate=lambda *_: []))
    with pytest.raises(CheckFailed, match="Give rules"):
        judge("09-rule", everything)


def test_both_filters_off_delivers_what_was_not_asked_for():
    both_off = RULES.replace(is_matched_by_consume_queue=everything, client_keeps=everything)
    reply = rmqlab.check("09-rule", both_off)
    assert "12 messages went to listeners that did not ask for them" in reply.problem
    assert "4.8.0 loses 4 of 28 in the usual run" in reply.problem
    assert "the last one who can say no" in reply.hint


def test_the_wrong_rule_is_found_by_what_it_does():
    assert "first tag" in judge("09-hunt", lambda subscription, tag: subscription.sub_string.startswith(tag or "-"))
    for wrong in (
        RULES.client_keeps,
        lambda subscription, tag: tag == subscription.sub_string,
        lambda subscription, tag: tag == max(subscription.tags_set, default=tag),
    ):
        with pytest.raises(CheckFailed, match="this rule arrive") as failed:
            judge("09-hunt", wrong)
        assert "members agree run with each rule" in failed.value.hint
    with pytest.raises(CheckFailed, match="function itself"):
        judge("09-hunt", "tagA")
