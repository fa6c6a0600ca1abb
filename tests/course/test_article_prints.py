"""The article's prints beside ours, who wrote which property, and what a consumer asks the broker."""

from __future__ import annotations

import pytest

import rmqlab
from rmqlab.protocol.channel import C2S
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.wire import WIRE_4_8_0
from rmqlab.run.recorded_events import Consumed
from rmqlab_tools.course.articles.e1_expected import NOT_PRINTED, Figure, FigureKind
from rmqlab_tools.course.articles.eight_messages import EightMessages


@pytest.fixture(scope="module")
def printed():
    """The figures of the article's experiment by group."""
    return rmqlab.reproduce("E1")[0].figures


@pytest.mark.row("S-16", "S-19", "S-20", "S-22", "S-24", "S-25", "S-28")
def test_article_and_run_stand_side_by_side(printed):
    for group, count in (("send results", 36), ("B's message 1", 18), ("conclusions", 6)):
        assert len(printed[group]) == count
        assert not any(figure.differs for figure in printed[group])
    prints = [figure for group in printed.values() for figure in group if figure.kind is FigureKind.PRINTED]
    assert sum(figure.equal for figure in prints) == len(prints) == 93


@pytest.mark.row("S-26")
def test_properties_have_four_writers():
    simulation = EightMessages().simulation()
    run = simulation.run()
    message = next(fact.event.message for fact in run.facts.of(Consumed) if fact.event.body == "MsgStr4")
    stored = simulation.cluster.broker.message_store.look_message_by_offset(message.commit_log_offset)
    sent = simulation.recorder.sent[4]
    assert set(sent.properties) == {"TAGS", "WAIT", "UNIQ_KEY"}
    assert set(stored.properties) - set(sent.properties) == {"CLUSTER"}
    assert set(message.properties) - set(stored.properties) == {"MIN_OFFSET", "MAX_OFFSET", "CONSUME_START_TIME"}


@pytest.mark.row("S-01", "S-12")
def test_a_push_consumer_only_pulls():
    """Each kind of request on a consumer's connection to the broker, and the protocol version that it carries."""
    simulation = EightMessages().simulation()
    asked, told, versions = set(), set(), set()

    def see(connection, direction, command, *_):
        if connection.node.name == "A" and connection.server.name == simulation.cluster.broker_address:
            versions.add(command.version)
            if not command.is_response:
                (asked if direction == C2S else told).add(RequestCode(command.code).name)

    simulation.world.on_frame = see
    simulation.run()
    assert asked == {
        "PULL_MESSAGE", "HEART_BEAT", "GET_CONSUMER_LIST_BY_GROUP", "QUERY_CONSUMER_OFFSET", "UPDATE_CONSUMER_OFFSET",
        "UNREGISTER_CLIENT",
    }  # fmt: skip
    assert told == {"NOTIFY_CONSUMER_IDS_CHANGED"}
    assert versions == {WIRE_4_8_0.version_number}


def test_what_the_article_did_not_print_is_never_equal():
    figures = [
        Figure("printed", 6, 6),
        Figure("printed", 6, 5),
        Figure("derived", 6, 6, FigureKind.FOLLOWS),
        Figure("ours", NOT_PRINTED, 6),
        Figure("ours, and it looks alike", NOT_PRINTED, NOT_PRINTED),
    ]
    assert [one.equal for one in figures] == [True, False, True, False, False]
    assert [one.differs for one in figures] == [False, True, False, False, False]
    assert [one.kind for one in figures] == [
        FigureKind.PRINTED,
        FigureKind.PRINTED,
        FigureKind.FOLLOWS,
        FigureKind.OURS,
        FigureKind.OURS,
    ]
