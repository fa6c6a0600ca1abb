"""What happened, in words: one line for what a single step of a simulation did."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from rmqlab.events import Consumed, Recorded
from rmqlab.lab.facts import BROKER
from rmqlab.protocol.codes import RequestCode, ResponseCode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab.lab.facts import Fact
    from rmqlab.lab.run import Run

STAGES = {"tags_code": "the tags code of its queue entry", "bitmap": "the bit map", "sql": "the SQL92 condition"}


def fact_in_words(fact: Fact) -> str:
    """A fact as a sentence: who did what.

    >>> from rmqlab.events import Rebalance
    >>> from rmqlab.lab.facts import Fact
    >>> fact_in_words(Fact(0, "A", Rebalance("A", "G", "T", [0, 1])))
    'A owns queues 0, 1 of T'
    """
    f, who = fact, fact.source
    if isinstance(fact.event, Recorded) and not isinstance(fact.event, Consumed):
        return f"{fact.kind} {json.dumps(fact.event.columns())}"
    place = f"{f.get('topic')} queue {f.get('queue')}"
    client, group = f.get("client"), f.get("group")
    match (who == BROKER, fact.kind):
        case True, "heartbeat":
            asked = ", ".join(f"{one.topic} {one.expression_type} {one.sub_string}" for _, one in f["subscriptions"])
            return f"the broker takes a heartbeat of {client}" + (f" with {asked}" if asked else "")
        case True, "subscription":
            new = f["new"]
            text = "nothing" if new is None else f"{new.expression_type} {new.sub_string}, version {new.sub_version}"
            return f"the broker now holds for group {group}, topic {f['topic']}: {text} (from {client})"
        case True, "register" | "unregister" | "expired":
            verb = {"register": "registers", "unregister": "takes leave of", "expired": "forgets"}[fact.kind]
            return f"the broker {verb} {client} of group {group}"
        case True, "notify":
            return f"the broker tells {client} that the members of {group} changed"
        case True, "pull":
            answer = "holds it" if f["held"] else f"answers {ResponseCode(f['code']).name}, {f['count']} messages"
            return f"the broker gets {client}'s pull of {place} from offset {f['offset']} and {answer}"
        case True, "wake":
            return f"the broker wakes a held pull of {place}: {f['why']}"
        case True, "filtered":
            what = STAGES[f["stage"]]
            return f"the broker drops offset {f['offset']} of {place} for {client}: {what} against {f['subscription']}"
        case True, "commit":
            return f"{client} commits offset {f['offset']} of {place} for group {group}"
        case False, "heartbeat":
            return f"{who} sends a heartbeat"
        case False, "restamp":
            return f"{who} stamps its subscription of {f['topic']} anew: version {f['version']}"
        case False, "rebalance":
            return f"{who} owns queues {', '.join(map(str, f['queues'])) or 'none'} of {f['topic']}"
        case False, "pull_result":
            return f"{who} gets {f['status']} for {place}, {f['count']} messages, next offset {f['next']}"
        case False, "client_filtered":
            return (
                f"{who} drops offset {f['offset']} of {place} itself: tag {f['tag']}, but it asked {f['subscription']}"
            )
        case False, "consume":
            return (
                f"{who}'s listener {'takes' if f['success'] else 'refuses'} {f['body']} ({place}, offset {f['offset']})"
            )
        case _:
            return f"{who}: {fact.kind} {', '.join(f'{name} {value}' for name, value in asdict(fact.event).items())}"


def name_of(code: int, *, response: bool = False) -> str:
    """The name of a request's code, or of a response's."""
    try:
        return ResponseCode(code).name if response else RequestCode(code).name
    except ValueError:
        return f"code {code}"


def run_lines(run: Run) -> Iterator[str]:
    """A run in a line: the fates of its messages; below it what clients or the broker refused while it ran."""
    fates = Counter(str(fate.fate) for fate in run.fates)
    if fates:
        counts = ", ".join(f"{count} {fate}" for fate, count in fates.items())
        rest = f"; ended although {run.under_way}" if run.under_way else ""
        yield f"{run.scenario.id}: {counts}; {sum(fate.lost for fate in run.fates)} lost{rest}"
    else:
        yield f"{run.scenario.id}: no message was stored, so nothing is known of losses"
    for event in run.events:
        if event["ev"] in {"startFailed", "error"}:
            what = f"{event['who']} did not start" if event["ev"] == "startFailed" else f"{event['do']} failed"
            yield f"{what}: {str(event['message']).splitlines()[0]} ({event['error']})"
