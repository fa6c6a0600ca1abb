"""The situation before anything happens: who reads which queue, what is to be sent, and no word of what comes out."""

from __future__ import annotations

import pytest

import rmqlab
from rmqlab.errors import BadInput
from rmqlab_tools.show.palette import PALE
from rmqlab_tools.show.tag_colours import tag_colour


def lab_of(queues=3, **asks):
    lab = rmqlab.Lab(topics={"T": queues})
    for who, expression in asks.items():
        lab.consumer(who, group="G", subscribe={"T": expression})
    lab.run(seconds=25)
    return lab


def test_it_says_who_reads_which_queue_and_what_is_to_be_sent():
    lab = lab_of(A="tagA", B="tagB || tagC")
    picture = lab.readers(sends=["tagA", "tagA", "tagC", "tagB"])
    assert picture.table.rows == [(0, "A", "tagA"), (1, "A", "tagA"), (2, "B", "tagB || tagC")]
    assert picture.alt == (
        "Queues of topic T: 3. Group G: A asks for tagA and reads queues 0, 1; "
        "B asks for tagB || tagC and reads queue 2. "
        "To be sent, in this order: 2 × tagA, 1 × tagC, 1 × tagB."
    )
    assert picture.svg.count(f'fill="{tag_colour("tagA")}"') == 3  # two messages, one reader
    assert not lab.messages()


def test_without_messages_it_shows_the_readers_alone():
    assert "sends" not in lab_of(A="tagA").readers().svg


def test_a_queue_that_nobody_reads_and_a_member_without_one():
    picture = lab_of(1, A="tagA", B="tagB").readers()
    assert [row[1] for row in picture.table.rows] == ["A"]
    assert "B asks for tagB and reads no queue" in picture.alt
    lab = lab_of(2, A="tagA")
    lab.stop("A")
    gone = lab.readers()
    assert gone.table.rows == [(0, "nobody reads it", "–"), (1, "nobody reads it", "–")]
    assert f'fill="{PALE}"' in gone.svg


def test_two_readers_of_one_queue_that_ask_for_the_same_look_like_one():
    lab = rmqlab.Lab(topics={"T": 1})
    for who in "AB":
        lab.consumer(who, group="G", subscribe={"T": "tagA"}, mode="broadcasting")
    lab.run(seconds=25)
    picture = lab.readers()
    assert picture.table.rows == [(0, "A, B", "tagA, tagA")]
    assert picture.svg.count(f'fill="{tag_colour("tagA")}"') == 1


def test_a_topic_that_nobody_asks_for_is_refused():
    with pytest.raises(BadInput, match="nobody subscribes"):
        lab_of(A="tagA").readers(topic="U")
