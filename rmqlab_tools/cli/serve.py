"""`rmqlab serve`: broker and name server for real clients, until it is stopped."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

from rmqlab.errors import BadInput, did_you_mean
from rmqlab.events import Event, Expired, Register, SubscriptionChanged, Unregister
from rmqlab.language import _, joined
from rmqlab.rules import rules_of
from rmqlab_tools.cli.arguments import add_parameters
from rmqlab_tools.cli.output import write_json
from rmqlab_tools.cli.printing import printer, warn
from rmqlab_tools.processes import listened_to
from rmqlab_tools.program import program

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from rmqlab.broker.broker import Broker
    from rmqlab_tools.live.broker_startup import BrokerStartup
    from rmqlab_tools.live.gauges import Flips
    from rmqlab_tools.live.rate_limited_log import RateLimitedLog
    from rmqlab_tools.live.serve_config import ServeConfig

ENCRYPTED = {
    "disabled": "nothing is encrypted",
    "permissive": "only TLS connections are encrypted",
    "enforcing": "every connection is encrypted",
}
MAX_LAG_MESSAGES = 1_000  # messages of a queue for the filtered lag: meanwhile nobody is served


def add_arguments(parser: ArgumentParser) -> None:
    """Addresses, the settings, the folder of the store."""
    from rmqlab_tools.live.serve import serve

    add_parameters(parser, serve, "config", "version", config={"flags": ("-c", "--config")})
    parser.add_argument(
        "--set", metavar="NAME=VALUE", action="append", default=[], help=_("one more setting; repeatable")
    )
    parser.add_argument("--listen", metavar="HOST:PORT", help=_("the broker's address (127.0.0.1:10911); port 0: any"))
    parser.add_argument(
        "--namesrv",
        metavar="HOST:PORT",
        help=_("the name server's address (127.0.0.1:9876; a free port with --listen HOST:0)"),
    )
    parser.add_argument("--join", metavar="HOST:PORT[;…]", help=_("register with these name servers and start none"))
    add_parameters(parser, serve, "store", "acl", store={"metavar": "DIR"})
    parser.add_argument(
        "--topic",
        metavar="NAME:QUEUES",
        action="append",
        default=[],
        help=_(
            "make this topic, or change its number of queues; repeatable. Else a topic comes with "
            "its first message, and consumers that wait for it find it up to 50 s later: they ask "
            "for routes every 30 s, rebalance every 20 s"
        ),
    )
    parser.add_argument(
        "--quiet", action="store_true", help=_("do not tell who joins, leaves and changes subscriptions")
    )
    parser.add_argument(
        "--gauges",
        metavar="SECONDS",
        type=int,
        help=_("print a JSON line for each consumer group that often: ages of heartbeats, raw and filtered lag, flips"),
    )


def run(args: Namespace) -> int:
    """Serve until SIGINT, SIGTERM or SIGHUP. A second signal does not wait."""
    import asyncio

    from rmqlab.broker.broker_config import known_keys
    from rmqlab_tools.live.rate_limited_log import RateLimitedLog
    from rmqlab_tools.live.serve_config import ServeConfig

    if args.gauges is not None and args.gauges < 1:
        raise BadInput(_("--gauges {gauges}: give the seconds between two readings, 1 or more", gauges=args.gauges))
    topics = dict(map(_topic, args.topic))
    config = ServeConfig.of_file(
        args.config,
        dict(_setting(text) for text in args.set),
        listen=args.listen,
        namesrv=args.namesrv,
        join=args.join,
        store=args.store,
        acl=args.acl,
    )
    config.rules = rules_of(args.version)
    for name in config.others:
        hint = did_you_mean(name, known_keys())
        warn("serve", f"no setting of a 4.8.0 broker is called {name!r}; it has no effect{hint}")
    if config.inert:
        names = joined(", ", config.inert)
        warn("serve", f"kept and shown to who asks, without effect here: {names}")
    for what, endpoint in (("broker", config.listen), (_("name server"), config.namesrv)):
        if not endpoint.is_loopback and not (what == "name server" and config.name_servers):
            warn(
                "serve",
                f"WARNING: the {what} listens on {endpoint.host}: whoever reaches it can read, write and delete, "
                f"unless aclEnable=true; {ENCRYPTED[config.tls.mode]}",
            )
    teller = RateLimitedLog(sys.stderr)
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s", stream=teller)
    try:
        return asyncio.run(_serve(config, topics, teller, args))
    finally:
        teller.close()


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise BadInput(_("--set {text}: NAME=VALUE is wanted, enablePropertyFilter=true for example", text=f"{text!r}"))
    return name, value


def _topic(text: str) -> tuple[str, int]:
    name, colon, queues = text.rpartition(":")
    if not colon or not queues.isdecimal() or int(queues) < 1:
        raise BadInput(_("--topic {text}: NAME:QUEUES is wanted, Orders:4 for example", text=f"{text!r}"))
    return name, int(queues)


async def _serve(config: ServeConfig, topics: dict[str, int], teller: RateLimitedLog, args: Namespace) -> int:
    import asyncio

    from rmqlab_tools.live.broker_startup import BrokerStartup
    from rmqlab_tools.live.gauges import Flips
    from rmqlab_tools.live.served_topics import make_topic
    from rmqlab_tools.live.system import allow_many_connections, epoch_ms

    allow_many_connections()
    flips = None if args.gauges is None else Flips()

    def on_broker(broker: Broker) -> None:
        for name, queues in topics.items():
            make_topic(broker, name, queues)

        def observe(event: Event) -> None:
            if isinstance(event, SubscriptionChanged) and flips is not None:
                flips.saw(epoch_ms(), event)
            if not args.quiet and (line := _told(broker, event)):
                teller.tell(f"{program()} serve: {line}")

        if not args.quiet or flips is not None:
            broker.hooks.observe = observe  # not `observe_pull`: no line tells of a pull

    startup = BrokerStartup(config, on_broker=on_broker)
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in listened_to():
        loop.add_signal_handler(number, stop.set)
    await startup.start()
    _tell_ready(startup, args)
    watch = None if flips is None else asyncio.create_task(_print_gauges(startup, args.gauges, flips))
    await stop.wait()
    if watch is not None:
        watch.cancel()
    for number in listened_to():
        loop.remove_signal_handler(number)
    await startup.stop()
    return 0


def _told(broker: Broker, event: Event) -> str | None:
    """What is worth a line: who joins, leaves, and what a group's subscriptions become."""
    if not isinstance(event, Register | Unregister | Expired | SubscriptionChanged):
        return None
    from rmqlab.message.topics import is_retry_topic
    from rmqlab_tools.live.gauges import says

    group, client = event.group, event.client
    info = broker.consumer_manager.get_consumer_group_info(group)
    if info is None:  # a group of producers
        return None
    count = len(info.channel_info_table)
    if isinstance(event, Register):
        return f"{group}: {client} joins, {count} online" if client in info.client_ids else None
    if not isinstance(event, SubscriptionChanged):
        why = "" if isinstance(event, Unregister) else ", its heartbeats stopped"
        return f"{group}: {client} leaves{why}, {count} online"
    old, new, topic = event.old, event.new, str(event.topic)
    if is_retry_topic(topic) or (old is not None and new is not None and says(old) == says(new)):
        return None
    if old is None or new is None:
        verb = "no longer asks for" if new is None else "asks for"
        text = " ".join(f"{data.expression_type} {data.sub_string}" for data in (old, new) if data is not None)
        return f"{group} {topic}: {client} {verb} {text}"
    change = f"{old.expression_type} {old.sub_string} -> {new.expression_type} {new.sub_string} by {client}"
    return f"{group} {topic}: {change}; the broker filters by it for the whole group now ({count} online)"


async def _print_gauges(startup: BrokerStartup, seconds: int, flips: Flips) -> None:
    """A line for each group, read from the broker: it does not know the owners of queues."""
    import asyncio
    import json

    from rmqlab_tools.live.gauges import gauges
    from rmqlab_tools.live.rate_limited_log import RateLimitedLog
    from rmqlab_tools.live.system import epoch_ms

    broker = startup.broker
    if broker is None:
        return
    lines = RateLimitedLog(sys.stdout, a_second=None, dropped=lambda count: json.dumps({"dropped": count}))
    while True:
        await asyncio.sleep(seconds)
        now = epoch_ms()
        for gauge in gauges(broker, now, flips, most=MAX_LAG_MESSAGES):
            lines.tell(json.dumps({"t": now, **gauge.record()}))


def _tell_ready(startup: BrokerStartup, args: Namespace) -> None:
    """One line that others may wait for: it comes when the broker is registered."""
    folder = startup.config.folder
    ready = {
        "broker": startup.broker_addr,
        "namesrv": startup.namesrv_addr,
        "vip": startup.vip_addr,
        "store": None if folder is None else str(folder),
    }
    write_json(ready, args.json, indent=None)
    where = f"broker {startup.broker_addr}, name server {startup.namesrv_addr}"
    printer(args).say(f"ready: {where}, store {folder or 'in memory'}")
    sys.stdout.flush()
