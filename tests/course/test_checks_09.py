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
        lab.run(ms=400)
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
        traffic(lab, [tag], 3)
        lab.run(seconds=30)


def new_group(lab):
    traffic(lab, [OLD])
    for who in "CD":
        lab.consumer(who, group="NEXT", subscribe={"T": NEW})
    traffic(lab, [OLD])
    lab.run(seconds=5)
    stop_all(lab)
    traffic(lab, [NEW], 3)


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
        (few_messages, "at least 8 of each"),
        (rolling_restart, "every slot of that time"),
        ("widen", "function itself"),
    ):
        with pytest.raises(CheckFailed, match=words) as failed:
            judge("09-procedure", wrong)
        assert (failed.value.picture is not None) == (wrong is rolling_restart)


@pytest.mark.row("S-82", "F-95")
def test_rules_for_a_rolling_restart_let_go_of_both_checks():
    def everything(*_):
        return True

    assert "Nothing was lost" in judge(
        "09-rule", RULES.replace(is_matched_by_consume_queue=everything, client_keeps=everything)
    )
    changes = (
        {},
        {"client_keeps": everything},
        {"is_matched_by_consume_queue": everything},
        {"allocate": lambda *_: []},
    )
    for wrong in (RULES.replace(**change) for change in changes):
        with pytest.raises(CheckFailed, match="two places") as failed:
            judge("09-rule", wrong)
        assert failed.value.lines
        assert failed.value.picture is not None
    with pytest.raises(CheckFailed, match="Give rules"):
        judge("09-rule", everything)


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
