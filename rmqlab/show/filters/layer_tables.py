"""The tables of notebook 04: every exit of both layers, bloom settings and positions, the class filter's story."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rmqlab.filter.bloom import BitsArray, BloomFilter, BloomFilterData
from rmqlab.filter.filter_api import build
from rmqlab.filter.message_filter import ExpressionForRetryMessageFilter, ExpressionMessageFilter
from rmqlab.filter.murmur3 import murmur3_128
from rmqlab.lab.bloom.rates import theory
from rmqlab.lab.filters.class_filter import SEQUENCE_ID, ClassFilter, ClassFilterRun, source_of
from rmqlab.lab.filters.filter_bench import TOPIC, FilterBench, Switches
from rmqlab.lab.run_view import seconds
from rmqlab.message.java import to_utf8
from rmqlab.message.topics import retry_topic
from rmqlab.protocol.subscription_data import SubscriptionData
from rmqlab.show.tables import Table
from rmqlab.store.consume_queue_ext import CqExtUnit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rmqlab.lab.filters.switch_matrix import Cell

GROUP, EXPRESSION = "CID_A", "a > 5"
SETTINGS = ((20, 32), (20, 64), (1, 32), (10, 128))
PASSES, DROPS = "passes", "drops it"


def guessed(cells: Sequence[Cell], guess: Mapping[str, int]) -> Table:
    """Evaluations in all with both switches off and on, beside the guess."""
    rows = [
        (name, guess.get(name), cell.evaluations, cell.at_write, cell.on_pull)
        for name, cell in (("off", cells[0]), ("on", cells[-1]))
    ]
    marked = frozenset(number for number, row in enumerate(rows) if row[1] != row[2])
    headers = ("both switches", "your guess", "evaluations", "at write", "on pull")
    return Table("Evaluations in all (marked: not as you guessed)", headers, rows, marked)


def exits() -> Table:
    """Every way through both layers, each one taken (marked: drops the message)."""
    bench = FilterBench(Switches(calc_bit_map=True, queue_ext=True), topic=TOPIC)
    bench.subscribe(GROUP, EXPRESSION)
    data, manager = bench.data_of(GROUP), bench.broker.consumer_filter_manager
    if data is None or data.bloom_filter_data is None:
        raise ValueError(f"{GROUP} was registered, and has no filter data")
    sql, everything, tag = (
        build(TOPIC, text, kind) for text, kind in ((EXPRESSION, "SQL92"), ("*", None), ("Aa", None))
    )
    class_mode = SubscriptionData(TOPIC, "org.Filter", class_filter_mode=True)
    bloom, later = manager.bloom_filter, data.born_time + 1
    ones = BitsArray.of_length(bloom.m)
    bloom.hash_to(data.bloom_filter_data, ones)
    hit, miss = bytes(ones.data), bytes(len(ones.data))
    far = BloomFilterData([bloom.m + 8] * bloom.k, bloom.m)

    def one(subscription: SubscriptionData | None, filter_data: object = data) -> ExpressionMessageFilter:
        return ExpressionMessageFilter(subscription, filter_data, manager)  # type: ignore[arg-type]

    def unit(bitmap: bytes | None, at: int = later) -> CqExtUnit:
        return CqExtUnit(0, at, bitmap)

    first = [
        ("no subscription", one(None), 1, None),
        ("class filter mode", one(class_mode), 1, None),
        ("TAG, code unknown (null)", one(tag), None, None),
        ("TAG, *", one(everything), 1, None),
        ("TAG, code in the set", one(tag), 2112, None),
        ("TAG, code not in the set", one(tag), 2113, None),
        ("SQL92, no filter data", one(sql, None), 1, unit(miss)),
        ("SQL92, data without expression", one(sql, replace(data, expression=None)), 1, unit(miss)),
        ("SQL92, data without compiled expression", one(sql, replace(data, compiled_expression=None)), 1, unit(miss)),
        ("SQL92, data without bloom data", one(sql, replace(data, bloom_filter_data=None)), 1, unit(miss)),
        ("SQL92, no unit in the extension", one(sql), 1, None),
        ("SQL92, message stored before the data was born", one(sql), 1, unit(miss, data.born_time)),
        ("SQL92, no bitmap", one(sql), 1, unit(None)),
        ("SQL92, bitmap of another length", one(sql), 1, unit(miss[:-1])),
        ("SQL92, bloom data of another filter", one(sql, replace(data, bloom_filter_data=BloomFilterData([1], 8))), 1,
         unit(miss)),
        ("SQL92, something throws", one(sql, replace(data, bloom_filter_data=far)), 1, unit(miss)),
        ("SQL92, all its bits are set", one(sql), 1, unit(hit)),
        ("SQL92, a bit of it is 0", one(sql), 1, unit(miss)),
    ]  # fmt: skip
    second = [
        ("no subscription", one(None), {"a": "1"}),
        ("class filter mode", one(class_mode), {"a": "1"}),
        ("TAG", one(tag), {"TAGS": "BB"}),
        ("SQL92, no filter data", one(sql, None), {"a": "1"}),
        ("SQL92, data without compiled expression", one(sql, replace(data, compiled_expression=None)), {"a": "1"}),
        ("SQL92, true", one(sql), {"a": "6"}),
        ("SQL92, false", one(sql), {"a": "5"}),
        ("SQL92, null", one(sql), {}),
        ("SQL92, throws", one(sql), {"a": "six"}),
    ]
    rows = [
        ("1", situation, PASSES if judge.is_matched_by_consume_queue(code, ext) else DROPS)
        for situation, judge, code, ext in first
    ]
    rows += [
        ("2", situation, PASSES if judge.is_matched_by_commit_log(None, properties) else DROPS)
        for situation, judge, properties in second
    ]
    marked = frozenset(number for number, row in enumerate(rows) if row[-1] == DROPS)
    return Table(
        "Every exit of both layers (marked: drops the message)", ("layer", "situation", "message"), rows, marked
    )


def bloom_settings(settings: Sequence[tuple[int, int]] = SETTINGS) -> Table:
    """What the two settings come to: k, m, bytes a message, and the false hits at the expected number of groups."""
    rows = []
    for error_rate, expected in settings:
        bloom = BloomFilter.create_by_fn(error_rate, expected)
        rate = f"{theory(bloom, expected):.1%}"
        rows.append((f"{error_rate} %", expected, bloom.k, bloom.m, bloom.m // 8, rate))
    headers = ("maxErrorRateOfBloomFilter", "expectConsumerNumUseFilter", "k", "m", "bytes", "false hits, theory")
    return Table("From two settings to k positions in m bits", headers, rows)


def bit_positions(group: str, topic: str = TOPIC) -> Table:
    """How a name becomes positions: one hash of 64 bits, cut in two, combined k times."""
    bloom = BloomFilter.create_by_fn(20, 32)
    key = f"{group}#{topic}"
    whole = murmur3_128(to_utf8(key))[0]
    low, high = whole & 0xFFFFFFFF, whole >> 32
    rows: list[tuple[object, ...]] = [("murmur3_128, low 64 bits", f"{whole:016x}", "")]
    rows += [("h1: its low half", f"{low:08x}", ""), ("h2: its high half", f"{high:08x}", "")]
    for number, position in enumerate(bloom.calc_bit_positions(key), 1):
        combined = (low + number * high) & 0xFFFFFFFF
        flipped = combined ^ 0xFFFFFFFF if combined >> 31 else combined
        rows.append((f"h1 + {number}·h2, flipped if negative", f"{flipped:08x}", f"mod {bloom.m} = {position}"))
    return Table(f"The positions of {key}", ("what", "value, hexadecimal", "position"), rows)


def retry_filter() -> Table:
    """A retried message and both filters: which expression is asked (row F-66)."""
    bench = FilterBench(Switches(support_retry=True))
    bench.subscribe(GROUP, EXPRESSION)
    manager = bench.broker.consumer_filter_manager
    subscription = build(retry_topic(GROUP), "*", None)
    rows = []
    for value in ("6", "1"):
        message = {"a": value, "RETRY_TOPIC": TOPIC}
        told = [
            PASSES if kind(subscription, None, manager).is_matched_by_commit_log(None, message) else DROPS
            for kind in (ExpressionMessageFilter, ExpressionForRetryMessageFilter)
        ]
        rows.append((f"a = {value}, first topic {TOPIC}", *told))
    headers = ("message in the retry topic", "filterSupportRetry=false", "filterSupportRetry=true")
    return Table(f"A message of {retry_topic(GROUP)}; the group subscribed {EXPRESSION}", headers, rows)


def class_filter_moments(run: ClassFilterRun) -> Table:
    """How the class filter came to work, step by step."""
    told = {
        "start_filter_server": "finds a filter server missing and starts one (looked for every 30 s)",
        "filter_server": "registers with the broker (301), and will again every 10 s",
        "filter_class": "gets the uploaded text (302) after a heartbeat, and keeps it",
        "class_filter": "asks the class about a message for the first time",
        "consume": "gets its first message",
    }
    failed = run.first("pull_failed")
    moments = [(run.first(kind), text) for kind, text in told.items()]
    rows = [(fact.t, fact.source, text) for fact, text in moments if fact is not None]
    if failed is not None:
        first_line = failed["error"].splitlines()[0]
        rows.append((failed.t, failed.source, f"cannot pull: {first_line}; tries again every 3 s"))
    rows.sort()
    return Table("The class filter's first minute", ("time", "who", "what"), [(seconds(t), *row) for t, *row in rows])


def class_filter_results(runs: dict[str, ClassFilterRun]) -> Table:
    """What each consumer got, under several circumstances."""
    rows = []
    for name, run in runs.items():
        for who, numbers in run.delivered.items():
            got = sorted(numbers, key=lambda text: (len(text), text))
            shown = ", ".join(got[:12]) + (", …" if len(got) > 12 else "")
            rows.append((name, who, run.settings.consumers[who].rpartition(".")[2], len(got), shown or "nothing"))
    headers = ("circumstances", "consumer", "its class", "got", SEQUENCE_ID)
    return Table("What arrived", headers, rows)


def class_filter_trust(run: ClassFilterRun) -> Table:
    """What went over the wire, what 4.x did with it, and what happens here."""
    uploads = [fact for fact in run.of("filter_class") if fact["stored"]]
    text = source_of(uploads[0]["class_name"]) if uploads else ""
    rows = [
        ("who may upload", "whoever can reach the port: no password, no signature", "the experiment's own consumers"),
        (f"the uploaded text ({len(text.encode())} bytes)", "written to a file, compiled, loaded, run", "kept as text"),
        ("its checksum", "compared with the last one only, never with the text", "compared with both"),
        ("what the class may do", "all that the process may: files, network, memory, endless loops",
         "nothing: a function registered here plays it"),
        ("when it throws", "the pull fails, and fails again", "the same"),
    ]  # fmt: skip
    return Table("Trust", ("", "4.x until 4.2", "here"), rows)


def removed(run: ClassFilterRun) -> Table:
    """What 4.8.0 still does when `filterServerNums` is set: start a program that is gone."""
    starts = run.of("main_class_not_found")
    rows = [
        ("starts of startfsrv.sh", len(starts)),
        ("seconds between them", f"{(starts[1].t - starts[0].t) / 1_000:g}" if len(starts) > 1 else "–"),
        ("filter servers that register", len(run.of("filter_server"))),
        ("pulls that fail", len(run.of("pull_failed"))),
        ("messages that arrive", sum(map(len, run.delivered.values()))),
    ]
    caption = f"filterServerNums={run.settings.filter_servers} on 4.8.0, watched for {run.settings.run_ms // 1_000} s"
    return Table(caption, ("what", "count"), rows)


def class_filter_runs(**settings: object) -> dict[str, ClassFilterRun]:
    """The circumstances of the lesson: as it was, two classes in one group, no filter server, a message that throws."""
    two = {"A": "org.example.EveryTenthAbove100", "B": "org.example.BelowTen"}
    base = ClassFilter(**settings)  # type: ignore[arg-type]
    return {
        "as it was": base.run(),
        "two classes in one group": replace(base, consumers=two).run(),
        "no filter server": replace(base, filter_servers=0).run(),
        "one SequenceId is no number": replace(base, sequence=[110, "abc", 120], queues=1).run(),
    }
