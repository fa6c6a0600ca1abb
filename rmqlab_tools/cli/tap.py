"""`rmqlab tap`: record the frames between clients and a broker, until it is stopped."""

from __future__ import annotations

import contextlib
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rmqlab.errors import BadInput
from rmqlab.language import _
from rmqlab_tools.cli.arguments import seconds
from rmqlab_tools.cli.output import write_json
from rmqlab_tools.cli.printing import printer, warn
from rmqlab_tools.processes import listened_to
from rmqlab_tools.program import program

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from rmqlab_tools.live.rate_limited_log import RateLimitedLog
    from rmqlab_tools.live.tap import Tap, TapConfig


STOPPED, NOTHING_RECORDED = 1, 4


def add_arguments(parser: ArgumentParser) -> None:
    """Where the recording goes, whom to tap, where to listen."""
    parser.add_argument("dir", type=Path, metavar="DIR", help=_("a new folder for frames.jsonl and broker.conf"))
    parser.epilog = _(
        "Begin before the first message: what the broker held already, and what does not come through the tap, is not "
        "in the recording, and a replay cannot answer with it."
    )
    parser.add_argument(
        "--namesrv", metavar="HOST:PORT", default="127.0.0.1:9876", help=_("the real name server (9876)")
    )
    parser.add_argument(
        "--broker", metavar="HOST:PORT", help=_("the broker to record (else: the first one in a route)")
    )
    parser.add_argument(
        "--listen", metavar="HOST:PORT", default="127.0.0.1:19876", help=_("name server for the clients")
    )
    parser.add_argument(
        "--broker-listen", metavar="HOST:PORT", default="127.0.0.1:20911", help=_("broker for the clients")
    )
    parser.add_argument(
        "--control", metavar="HOST:PORT", help=_('take lines "freeze CLIENT", "cut CLIENT", "mark TEXT"')
    )
    parser.add_argument("--with-namesrv", action="store_true", help=_("record the name server's frames too"))
    parser.add_argument(
        "--seconds", type=seconds, metavar="N", help=_("stop after so long (else: at SIGINT or SIGTERM)")
    )
    parser.add_argument("--quiet", action="store_true", help=_("no live lines"))


def run(args: Namespace) -> int:
    """Record until a signal ends it or the time is over; return 0, or 4 if nothing came.

    Raises:
        BadInput: an address or folder.
    """
    import asyncio

    from rmqlab_tools.live.endpoint import Endpoint
    from rmqlab_tools.live.rate_limited_log import RateLimitedLog
    from rmqlab_tools.live.tap import TapConfig

    config = TapConfig(
        namesrv=Endpoint.parse(args.namesrv, "--namesrv"),
        broker=None if args.broker is None else Endpoint.parse(args.broker, "--broker"),
        listen=Endpoint.parse(args.listen, "--listen"),
        broker_listen=Endpoint.parse(args.broker_listen, "--broker-listen"),
        control=None if args.control is None else Endpoint.parse(args.control, "--control"),
        with_namesrv=args.with_namesrv,
    )
    for name, endpoint in (("--listen", config.listen), ("--broker-listen", config.broker_listen)):
        if not endpoint.is_loopback:
            warn(
                "tap",
                f"WARNING: {name} {endpoint.host}: whoever reaches it reaches the broker, and what they send is "
                "written down",
            )
    teller, errors = RateLimitedLog(printer(args).stream), RateLimitedLog(sys.stderr)
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s", stream=errors)
    try:
        tap = asyncio.run(_record(config, args, teller))
    finally:
        teller.close()
        errors.close()
    return _tell_end(tap, args)


async def _record(config: TapConfig, args: Namespace, teller: RateLimitedLog) -> Tap:
    import asyncio

    from rmqlab_tools.live.tap import Tap
    from rmqlab_tools.live.tap_recording import TapRecording

    recording = TapRecording(args.dir)
    tap = Tap(config, recording, None if args.quiet else teller.tell)
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in listened_to():
        loop.add_signal_handler(number, stop.set)
    try:
        try:
            await tap.start()
        except BadInput:
            recording.discard()
            raise
        addresses = f"name server for clients {tap.namesrv_addr}, broker {tap.broker_addr}"
        teller.tell(f"{program()} tap: {addresses}, into {args.dir}")
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), args.seconds)
    finally:
        await tap.stop()
    return tap


def _tell_end(tap: Tap, args: Namespace) -> int:
    out, frames = printer(args), tap.recording.frames
    stopped = {"stopped": tap.recording.stopped} if tap.recording.stopped else {}
    write_json({"folder": str(args.dir), "frames": frames, **stopped, **tap.summary.as_json()}, args.json)
    if stopped:
        warn(
            "tap",
            _(
                "{folder}: {reason}; the recording stopped after {frames} frames; what came later was only passed on",
                folder=args.dir, reason=tap.recording.stopped, frames=frames,
            ),
        )  # fmt: skip
        return STOPPED
    if not frames:
        out.say(
            _(
                "Nothing came: no client sent a frame through {address}. Clients must use that name server address, and"
                " {namesrv} must be a name server that answers.",
                address=tap.namesrv_addr,
                namesrv=args.namesrv,
            )
        )
        return NOTHING_RECORDED
    out.say(f"{frames} frames in {tap.recording.folder}; replay it: {program()} replay {args.dir}")
    out.say(*tap.summary.lines())
    return 0
