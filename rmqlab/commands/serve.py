"""`rmqlab serve`: broker and name server for real clients, until it is told to stop."""

from __future__ import annotations

import logging
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rmqlab.commands.output import text_stream, write_json
from rmqlab.errors import BadInput

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from rmqlab.runtime.broker_startup import BrokerStartup
    from rmqlab.runtime.serve_config import ServeConfig

MOST_LOOKED_AT = 1_000  # messages of a queue for the filtered lag: meanwhile nobody is served


def add_arguments(parser: ArgumentParser) -> None:
    """Addresses, the settings, the folder of the store."""
    parser.add_argument("-c", "--config", metavar="FILE", type=Path, help="settings, a broker.conf of RocketMQ 4.8.0")
    parser.add_argument("--set", metavar="NAME=VALUE", action="append", default=[], help="one more setting; repeatable")
    parser.add_argument("--listen", metavar="HOST:PORT", help="the broker's address (127.0.0.1:10911); port 0: any")
    parser.add_argument("--namesrv", metavar="HOST:PORT", help="the name server's address (127.0.0.1:9876)")
    parser.add_argument("--join", metavar="HOST:PORT[;…]", help="register with these name servers and start none")
    parser.add_argument("--store", metavar="DIR", type=Path, help="keep messages in this folder (else: in memory)")
    parser.add_argument("--acl", metavar="FILE", type=Path, help="check every request by these rules, a plain_acl.yml")
    parser.add_argument(
        "--gauges",
        metavar="SECONDS",
        type=int,
        help="print a JSON line for each consumer group that often: ages of heartbeats, raw and filtered lag, flips",
    )


def run(args: Namespace) -> int:
    """Serve until SIGINT or SIGTERM. A second signal does not wait."""
    import asyncio

    from rmqlab.runtime.serve_config import ServeConfig

    if args.gauges is not None and args.gauges < 1:
        raise BadInput(f"--gauges {args.gauges}: give the seconds between two readings, 1 or more")
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s")
    config = ServeConfig.of_file(
        args.config,
        dict(_setting(text) for text in args.set),
        listen=args.listen,
        namesrv=args.namesrv,
        join=args.join,
        store=args.store,
        acl=args.acl,
    )
    for name in config.unknown:
        print(f"rmqlab serve: no setting of a 4.8.0 broker is called {name}; it has no effect", file=sys.stderr)
    for what, endpoint in (("broker", config.listen), ("name server", config.namesrv)):
        if not endpoint.is_loopback and not (what == "name server" and config.name_servers):
            print(
                f"rmqlab serve: WARNING: the {what} listens on {endpoint.host}: whoever reaches it can read, write and "
                "delete, unless aclEnable=true; nothing is encrypted",
                file=sys.stderr,
            )
    return asyncio.run(_serve(config, args))


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise BadInput(f"--set {text!r}: NAME=VALUE is wanted, enablePropertyFilter=true for example")
    return name, value


async def _serve(config: ServeConfig, args: Namespace) -> int:
    import asyncio

    from rmqlab.runtime.broker_startup import BrokerStartup
    from rmqlab.runtime.process_limits import allow_many_connections

    allow_many_connections()
    startup = BrokerStartup(config)
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    await startup.start()
    _tell_ready(startup, args)
    watch = None if args.gauges is None else asyncio.create_task(_print_gauges(startup, args.gauges))
    await stop.wait()
    if watch is not None:
        watch.cancel()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.remove_signal_handler(number)
    await startup.stop()
    return 0


async def _print_gauges(startup: BrokerStartup, seconds: int) -> None:
    """A line for each group, read from the broker: it does not know the owners of queues."""
    import asyncio
    import json

    from rmqlab.lab.gauges import Flips, gauges
    from rmqlab.runtime.clock import epoch_ms

    broker, flips = startup.broker, Flips()
    if broker is None:
        return

    def observe(kind: str, fields: dict[str, object]) -> None:
        if kind == "subscription":
            flips.saw(epoch_ms(), fields)

    broker.observe = observe
    while True:
        await asyncio.sleep(seconds)
        now = epoch_ms()
        for gauge in gauges(broker, now, flips=flips, most=MOST_LOOKED_AT):
            print(json.dumps({"t": now, **gauge.as_event()}), flush=True)


def _tell_ready(startup: BrokerStartup, args: Namespace) -> None:
    """One line that others may wait for: it comes when the broker is registered."""
    folder = startup.config.folder
    ready = {
        "broker": startup.broker_addr,
        "namesrv": startup.namesrv_addr,
        "store": None if folder is None else str(folder),
    }
    write_json(ready, args.json)
    print(
        f"ready: broker {startup.broker_addr}, name server {startup.namesrv_addr}, store {folder or 'in memory'}",
        file=text_stream(args),
        flush=True,
    )
    sys.stdout.flush()
