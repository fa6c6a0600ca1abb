"""The verb `replay`: feed a recording of a real broker to this one and compare every answer."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rmqlab.commands.output import text_stream, write_json
from rmqlab.errors import BadInput

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from typing import TextIO

    from rmqlab.lab.replay.clock import RecordedClock
    from rmqlab.lab.replay.replay import ReplayResult

_WIDTH = 160


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    parser.add_argument("dir", type=Path, metavar="DIR", help="a recorded set: broker.conf and frames.jsonl[.gz]")
    parser.add_argument("--show", type=int, default=10, metavar="N", help="differences to print (10)")


def run(args: Namespace) -> int:
    """Print the result; return 0 if nothing differs, else 1.

    Raise `BadInput` for a set that cannot be read or holds no request to a broker, and for less than 0 differences.
    """
    from rmqlab.lab.replay.replay import replay

    if args.show < 0:
        raise BadInput(f"--show {args.show}: a number of differences is wanted, 0 or more")
    try:
        result = replay(args.dir, _tell)
    finally:
        _tell("")
    _print(result, args.show, text_stream(args))
    write_json(result.as_json(), args.json)
    return 1 if result.differing else 0


def _tell(text: str) -> None:
    """Show what is done now on the last line of a terminal."""
    if sys.stderr.isatty():
        print(f"\r{text}\x1b[K", end="", file=sys.stderr, flush=True)


def _print(result: ReplayResult, show: int, stream: TextIO) -> None:
    from rmqlab.lab.replay.replay import code_name

    def say(text: str) -> None:
        print(text.encode("ascii", "backslashreplace").decode(), file=stream)

    say(f"{result.name}: {result.requests} requests, {result.identical} identical, {len(result.differing)} differences")
    say(f"{len(result.reorderings)} reordered: {result.near} within 1 ms, the widest gap {result.widest_ms} ms")
    say(f"passes over the recording: {result.passes}; orders that only later answers tell: {len(result.orders)}")
    if result.late:
        say(f"{len(result.late)} messages became visible late, up to {result.latest_ms} ms after they were stored")
    clock = result.clock
    say(f"t = 0 is epoch {clock.epoch:.1f} ms ({clock.epoch_from}); {_looks(clock)}")
    for title, codes in (("request", result.codes), ("to the name server", result.namesrv.codes)):
        if codes:
            say("")
            say(f"  {title:<34} {'requests':>8} {'identical':>9}")
        for code, (requests, identical) in codes.items():
            say(f"  {code:>3} {code_name(code):<30} {requests:>8} {identical:>9}")
    say("")
    say("Taken from the recording, or let pass:")
    for name, use in result.uses.as_json().items():
        say(f"  {use['used']:>6}  {name}: {use['reason']}")
    if result.differing:
        say("")
        say("Differences:")
    for difference in result.differing[:show]:
        where = f"conn {difference.conn}, opaque {difference.opaque}, {code_name(difference.code)}, {difference.field}"
        say(f"  {where}: expected {_brief(difference.expected)}, got {_brief(difference.got)}")
    if len(result.differing) > show:
        say(f"  and {len(result.differing) - show} more")


def _looks(clock: RecordedClock) -> str:
    if not clock.looks:
        return "no look of the hold service shows"
    return f"the hold service looks from {clock.looks[0]:.0f} ms on, every {clock.look_period} ms"


def _brief(value: object) -> str:
    text = json.dumps(value, default=repr)
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 3]}..."
