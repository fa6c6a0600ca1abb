"""The verb `stress`: a broker ended under load, clients that misbehave, frames and files with bytes changed."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput, there_are
from rmqlab.language import _, joined
from rmqlab_tools.cli.output import write_json
from rmqlab_tools.cli.printing import printer
from tests.proof.stress.frame_fuzz import fuzz
from tests.proof.stress.fuzzing import batch_table, run_batches
from tests.proof.stress.readers import READERS
from tests.proof.stress.sockets import CONNECTIONS, misbehave
from tests.proof.stress.store import SIGNALS, end_under_load
from tests.proof.workshop.submissions import table

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

_MEMORY = "memory in MB: {memory_before:.1f} before, {memory_worst:.1f} at worst, {memory_after:.1f} after"
_GOOD_CLIENT = (
    "a good client's sends in ms: p50 {p50_before:.2f} before, {p50_meanwhile:.2f} meanwhile; "
    "p99 {p99_before:.2f} and {p99_meanwhile:.2f}"
)
COUNTS = {**dict.fromkeys(SIGNALS, 20), **CONNECTIONS, "frames": 200_000, "readers": 20_000}


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    counts = ", ".join(f"{name} {count:,}" for name, count in COUNTS.items())
    parser.add_argument(
        "kinds", nargs="*", metavar="KIND",
        help="kill or stop (a broker ended at random moments under load), idle, slow, half-open, bombs, mutated "
        "(clients that misbehave), frames (mutated ones for a broker, without sockets), readers "
        "(frames, stores and files of every kind, changed: N for each and each seed); all",
    )  # fmt: skip
    parser.add_argument("--count", type=int, metavar="N", help=f"rounds, connections or frames ({counts})")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="decides messages, moments and bytes (1)")
    parser.add_argument(
        "--seeds", type=_seeds, metavar="A:B", help="for readers: a batch of N inputs for each of these seeds"
    )
    parser.add_argument(
        "--only", metavar="READER,...", default=",".join(READERS), help=f"for readers: {', '.join(READERS)} (all)"
    )
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="for readers: batches at once (1)")
    parser.add_argument(
        "--log", type=Path, metavar="FILE", help="for readers: a line of JSON a batch; what is there is not run again"
    )
    parser.add_argument(
        "--flush", choices=("SYNC_FLUSH", "ASYNC_FLUSH"), default="SYNC_FLUSH", help="for kill and stop (SYNC_FLUSH)"
    )


def _seeds(text: str) -> range:
    first, _, last = text.partition(":")
    return range(int(first), int(last or first) + 1)


def run(args: Namespace) -> int:
    """Run the kinds one after the other; return 0, or 1 if something was lost or went wrong. Raise `BadInput`."""
    for kind in args.kinds:
        if kind not in COUNTS:
            raise BadInput(
                _("no kind of stress {kind}; there are {counts}", kind=f"{kind!r}", counts=joined(", ", COUNTS))
            )
    for name in args.only.split(","):
        if name not in READERS:
            raise BadInput(_("no reader {name}{near}", name=f"{name!r}", near=there_are(name, READERS)))
    if args.count is not None and args.count < 1:
        raise BadInput(_("--count {count}: at least one is needed", count=args.count))
    out = printer(args)
    results: dict[str, dict[str, Any]] = {}
    for kind in args.kinds or COUNTS:
        begin = monotonic()
        result = _run(kind, args)
        result["seconds"] = round(monotonic() - begin, 1)
        results[kind] = result
        out.say(_text(kind, result))
    write_json(results, args.json)
    return int(any(result["wrong"] for result in results.values()))


def _run(kind: str, args: Namespace) -> dict[str, Any]:
    count = COUNTS[kind] if args.count is None else args.count
    if kind in SIGNALS:
        return asdict(end_under_load(kind, count, args.seed, flush=args.flush))
    if kind == "frames":
        result = fuzz(count, args.seed)
        return {"frames": result.frames, "ended": result.ended, "wrong": list(result.wrong)}
    if kind == "readers":
        seeds = args.seeds or range(args.seed, args.seed + 1)
        batches = run_batches(args.only.split(","), count, seeds, jobs=args.jobs, log=args.log)
        rows = batch_table(batches)
        return {
            "readers": {row.reader: asdict(row) for row in rows},
            "inputs": sum(row.inputs for row in rows),
            "wrong": [f"{row.reader}: {what}: {finding}" for row in rows for what, finding in row.wrong.items()],
        }
    return asdict(misbehave(kind, count, args.seed))


def _text(kind: str, result: dict[str, Any]) -> str:
    wrong = result["wrong"]
    head = f"{kind}: {'WRONG' if wrong else 'all is well'} ({result['seconds']} s)"
    if kind in SIGNALS:
        facts = [
            f"{result['rounds']} rounds, {result['acknowledged']:,} messages acknowledged and all there" if not wrong
            else f"{result['rounds']} rounds, {result['acknowledged']:,} messages acknowledged",
            f"{result['unanswered']:,} without an answer when the process ended, {result['kept']:,} of them stored",
        ]  # fmt: skip
    elif kind == "readers":
        rows = [
            (name, f"{row['inputs']:,}", f"{row['refused']:,}",
             str(sum(finding[0] for finding in row["wrong"].values())),
             f"{row['peak_mb']:.0f}", f"{row['slowest_ms']:.0f}")
            for name, row in result["readers"].items()
        ]  # fmt: skip
        facts = [
            f"{result['inputs']:,} inputs for {len(rows)} readers",
            *table(rows, ("reader", "inputs", "refused", "findings", "peak MB", "slowest ms")).splitlines(),
        ]
    elif kind == "frames":
        facts = [f"{result['frames']:,} frames, {result['ended']:,} connections ended"]
    else:
        limited = "" if result["limited_to"] is None else " (as many as this system lets a process have)"
        facts = [
            f"{result['connections']:,} connections{limited}",
            _MEMORY.format_map(result),
            _GOOD_CLIENT.format_map(result),
            *(f"closed {times:,}: {reason}" for reason, times in result["reasons"].items()),
        ]
    return "\n".join([head, *(f"    {line}" for line in [*facts, *wrong[:10]])])
