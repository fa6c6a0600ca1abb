"""The tables of notebook 02: what arrives, how a tag becomes a number, what subscription texts become."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rmqlab.errors import BadInput
from rmqlab.filter.consistency import check
from rmqlab.filter.filter import both_steps
from rmqlab.filter.filter_api import FilterExpression, build_subscription_data
from rmqlab.lab.filter_funnel import Stage, passage_of
from rmqlab.message.java import string_hash, to_int32
from rmqlab.message.message import Message
from rmqlab.protocol.heartbeat import ConsumeFromWhere, ConsumerData, ConsumeType, HeartbeatData, MessageModel
from rmqlab.rules import client_keeps, is_matched_by_consume_queue
from rmqlab.show.tables import Table
from rmqlab.store.config import CQ_STORE_UNIT_SIZE, MessageStoreConfig

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rmqlab.lab.filter_funnel import Passage
    from rmqlab.lab.run import Run

TEXTS = (None, "", "*", "TagA", "TagA||TagB", " TagA || TagB ", "TagA || ", " || ", "||", "taga", "TagA || TagA")


def received(run: Run, follows: Mapping[str, int], guess: Mapping[str, int]) -> Table:
    """How many messages each group got, beside what follows from the article's programs and beside the reader's guess.

    The article prints no output of them. Marked: not as guessed.
    """
    rows = []
    for group in run.scenario.groups():
        passage = passage_of(run, group)
        rows.append(
            (passage.subscription, len(passage.steps), guess.get(group), follows.get(group), len(passage.delivered))
        )
    wrong = frozenset(number for number, row in enumerate(rows) if row[2] is not None and row[2] != row[4])
    headers = ("subscription", "sent", "your guess", "follows from the article", "arrived here")
    return Table("Messages that arrive (marked: not as you guessed)", headers, rows, wrong)


def returned(passage: Passage, guess: int) -> Table:
    """How many messages the broker returns, beside the guess and beside what the client keeps."""
    told = passage.reaches(Stage.CLIENT)
    rows = [("returned by the broker", guess, told), ("kept by the client", None, len(passage.delivered))]
    marked = frozenset({0} if guess != told else ())
    caption = f"Subscribed {passage.subscription}; {len(passage.steps)} messages (marked: not as you guessed)"
    return Table(caption, ("messages", "your guess", "here"), rows, marked)


def hash_steps(tag: str) -> Table:
    """Java's `String.hashCode`, letter by letter: 31 times the sum so far, plus the letter, in 32 bits."""
    rows, so_far = [], 0
    units = [int.from_bytes(tag.encode("utf-16-be")[i : i + 2], "big") for i in range(0, 2 * len(tag), 2)]
    for letter, unit in zip(tag, units, strict=False):
        after = to_int32(31 * so_far + unit)
        rows.append((letter, unit, f"31 · {so_far} + {unit}", after))
        so_far = after
    return Table(f"The hash code of {tag!r}: {string_hash(tag)}", ("letter", "number", "sum", "so far"), rows)


def parsed(texts: Sequence[str | None] = TEXTS) -> Table:
    """What `FilterAPI` makes of subscription texts, and which messages would arrive (marked: matches nothing)."""
    rows = []
    for text in texts:
        try:
            data = build_subscription_data(None, "T", text)
        except BadInput as error:
            rows.append((_quoted(text), "–", "–", "–", f"refused: {error}"))
            continue
        arrives = [tag or "no tag" for tag in ("TagA", "TagB", None) if both_steps(data, tag).delivered]
        sets = ", ".join(sorted(data.tags_set)) or "(empty)"
        codes = ", ".join(map(str, sorted(data.code_set))) or "(empty)"
        rows.append((_quoted(text), _quoted(data.sub_string), sets, codes, ", ".join(arrives) or "nothing"))
    marked = frozenset(number for number, row in enumerate(rows) if row[-1] == "nothing")
    headers = ("subscribed", "kept as", "tags", "codes", "of TagA, TagB, no tag arrive")
    return Table("Subscription texts and what becomes of them (marked: lets nothing through)", headers, rows, marked)


def untagged(subscriptions: Sequence[str] = ("TagA", "*", " || ")) -> Table:
    """A message without a tag: what the entry has, and what becomes of it; beside an entry whose code is unknown."""
    rows = []
    for text in subscriptions:
        data = build_subscription_data(None, "T", text)
        steps = both_steps(data, None)
        rows.append((
            repr(text), steps.tags_code, _passes(steps.broker), _passes(steps.client),
            _passes(is_matched_by_consume_queue(data, None)),
        ))  # fmt: skip
    headers = ("subscription", "code of no tag", "broker", "client, if asked", "broker, code unknown (null)")
    return Table("A message without a tag", headers, rows)


def tag_order(first: str, second: str, run: Run, group: str) -> Table:
    """Two members with the same tags in another order: the article's rule, 4.8.0's sets, and a run of both."""
    members = {"A": [build_subscription_data(None, "T", first)], "B": [build_subscription_data(None, "T", second)]}
    strict = [str(one) for one in check(members)]
    semantic = [str(one) for one in check(members, strict=False)]
    passage = passage_of(run, group)
    lost = sum(fate.lost for fate in run.fates)
    rows = [
        ("the article's rule: number and order of tags agree", "; ".join(strict) or "kept"),
        ("4.8.0: tags and codes are sets", "; ".join(semantic) or "the same"),
        ("run with both members", f"{len(passage.delivered)} of {len(passage.steps)} arrive, {lost} lost"),
    ]
    return Table(f"{first!r} and {second!r} in one group", ("looked at by", "says"), rows)


def heartbeat(sub_string: str, topic: str) -> Table:
    """The subscription as it stands in the heartbeat's JSON: the client has computed the codes already."""
    consumer = ConsumerData(
        "G", ConsumeType.CONSUME_PASSIVELY, MessageModel.CLUSTERING, ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET,
        [build_subscription_data("G", topic, sub_string, 1_700_000_000_000)],
    )  # fmt: skip
    sent = json.loads(HeartbeatData("192.0.2.2@A", consumer_data_set=[consumer]).encode())
    subscription = sent["consumerDataSet"][0]["subscriptionDataSet"][0]
    rows = [(name, json.dumps(value)) for name, value in subscription.items()]
    marked = frozenset(number for number, (name, _) in enumerate(rows) if name == "codeSet")
    return Table(
        "The subscription inside a heartbeat (marked: computed by the client)", ("field", "value"), rows, marked
    )


def entry_sizes(tag: str) -> Table:
    """What a consume queue file of 300,000 entries would take if it held the tag's text instead of its hash."""
    config = MessageStoreConfig()
    entries = config.mapped_file_size_consume_queue // CQ_STORE_UNIT_SIZE
    longest = 127
    rows = [
        ("as it is: hash code", CQ_STORE_UNIT_SIZE, entries * CQ_STORE_UNIT_SIZE, "offset = number × 20"),
        (
            f"text {tag!r}, length in front",
            12 + 1 + len(tag),
            entries * (13 + len(tag)),
            "read all before it, or an index",
        ),
        (
            f"room for {longest} letters, always",
            12 + longest,
            entries * (12 + longest),
            f"offset = number × {12 + longest}",
        ),
    ]
    headers = ("entry holds", "bytes an entry", f"bytes a file of {entries}", "how entry n is found")
    return Table("Why a hash and not the text", headers, rows)


def ways_to_tag(tag: str) -> Table:
    """Constructor and setter make the same property; a second tag replaces the first."""
    made = Message.of("T", b"x", tag)
    later = Message.of("T", b"x")
    later.tags = tag
    twice = Message.of("T", b"x", "Other")
    twice.tags = tag
    rows = [
        (how, str(one.properties))
        for how, one in (("constructor", made), ("setTags", later), ("constructor, then setTags", twice))
    ]
    return Table("A tag is the property TAGS, and there is one", ("set by", "properties"), rows)


def clients(expressions: Sequence[str], tags: Sequence[str]) -> Table:
    """The 4.x and the 5.x way to subscribe, and which tags arrive."""
    rows = []
    for expression in expressions:
        old = build_subscription_data(None, "T", expression)
        new = FilterExpression(expression).subscription("T")
        arrive = [", ".join(tag for tag in tags if both_steps(data, tag).delivered) for data in (old, new)]
        rows.append((expression, *arrive, "yes" if old == new else "no"))
    headers = (
        "expression",
        "4.x: subscribe(topic, expression)",
        "5.x: FilterExpression(expression)",
        "same subscription",
    )
    return Table("Two clients, one subscription", headers, rows)


def client_check(sub_string: str, tags: Sequence[str | None]) -> Table:
    """The client's own check alone: on what it drops messages that the broker returned."""
    data = build_subscription_data(None, "T", sub_string)
    class_mode = build_subscription_data(None, "T", sub_string)
    class_mode.class_filter_mode = True
    rows = [
        (tag or "no tag", tag in data.tags_set if tag else "–", _passes(client_keeps(data, tag)),
         _passes(client_keeps(class_mode, tag)))
        for tag in tags
    ]  # fmt: skip
    headers = ("message's tag", "in the tags set", f"client with {sub_string!r}", "client in class filter mode")
    return Table("The client's check", headers, rows)


def _quoted(text: str | None) -> str:
    return "null" if text is None else repr(text)


def _passes(passes: bool) -> str:
    return "passes" if passes else "drops it"
