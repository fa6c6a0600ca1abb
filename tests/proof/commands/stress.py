"""The verb `stress`: a broker ended under load, clients that misbehave, frames with bytes changed."""

from __future__ import annotations

from dataclasses import asdict
from time import monotonic
from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput
from rmqlab.language import _, joined
from rmqlab_tools.cli.output import write_json
from rmqlab_tools.cli.printing import printer
from tests.proof.stress.frame_fuzz import fuzz
from tests.proof.stress.readers import READERS, fuzz_reader
from tests.proof.stress.sockets import CONNECTIONS, misbehave
from tests.proof.stress.store import SIGNALS, end_under_load

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
        "(clients that misbehave), frames (mutated ones without sockets), readers (files of every kind, changed: "
        "N for each); all",
    )  # fmt: skip
    parser.add_argument("--count", type=int, metavar="N", help=f"rounds, connections or frames ({counts})")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="decides messages, moments and bytes (1)")
    parser.add_argument(
        "--flush", choices=("SYNC_FLUSH", "ASYNC_FLUSH"), default="SYNC_FLUSH", help="for kill and stop (SYNC_FLUSH)"
    )


def run(args: Namespace) -> int:
    """Run the kinds one after the other; return 0, or 1 if something was lost or went wrong. Raise `BadInput`."""
    for kind in args.kinds:
        if kind not in COUNTS:
            raise BadInput(
                _("no kind of stress {kind}; there are {counts}", kind=f"{kind!r}", counts=joined(", ", COUNTS))
            )
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
        found = {name: fuzz_reader(name, count, args.seed) for name in READERS}
        return {
            "inputs": sum(one.inputs for one in found.values()),
            "refused": sum(one.refused for one in found.values()),
            "slowest_s": max(one.slowest_s for one in found.values()),
            "grown_mb": sum(one.grown_mb for one in found.values()),
            "wrong": [text for one in found.values() for text in one.wrong],
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
        facts = [
            f"{result['inputs']:,} inputs for {len(READERS)} readers, {result['refused']:,} of them refused",
            f"the slowest {result['slowest_s']:.2f} s, {result['grown_mb']:.0f} MB more than before",
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
    return "\n".join([head, *(f"    {one}" for one in [*facts, *wrong[:10]])])
