# ruff: noqa: INP001 - pages import it by its own name
"""The playground "my group": members typed in become a verdict and a run that shows the loss.

A text for the reader is a key of `words.json` with its values; notes and pictures are the package's own.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from typing import TYPE_CHECKING, Any

from rmqlab import Lab
from rmqlab.errors import BadInput
from rmqlab.language import translate
from rmqlab.message.properties import PROPERTY_TAGS
from rmqlab.protocol.subscription_data import SQL92, SUB_ALL, TAG, build_subscription, split_tags
from rmqlab.rule_table import no_version
from rmqlab.rules import DEFAULT_VERSION, RULES
from rmqlab.run.fates import Fate, fate_words
from rmqlab.sim.cluster import cluster_of
from rmqlab_tools.search.consistency import lets_pass, tell_apart
from rmqlab_tools.search.explorer.explore import Explorer
from rmqlab_tools.search.expressions.examine import looks_like_sql92
from rmqlab_tools.search.lint.lint_text import (
    advice,
    difference_words,
    holder_words,
    lint_lines,
    refusals,
    share_words,
    tool_words,
    verdict_words,
    witness_words,
)
from rmqlab_tools.search.lint.meaning import lint
from rmqlab_tools.search.lint.members import group_of
from rmqlab_tools.search.plan.change import parse_subscription
from rmqlab_tools.show.by_night import letters_marked
from rmqlab_tools.show.link import pack, unpack
from rmqlab_tools.show.palette import LOOKS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rmqlab.rules import Rules
    from rmqlab_tools.search.lint.findings import ExampleLoss, LintVerdict, TopicLint
    from rmqlab_tools.show.figure import Picture

Json = dict[str, Any]
GROUP = "group"
FIELDS = ("members", "queues", "old", "new", "restarting", "budget", "version")
MEMBER = ("client", "topic", "type", "expression")
LONGEST = 2_000  # letters of one text
MAX_MEMBERS, MAX_QUEUES, MAX_KINDS, MAX_BUDGET = 12, 16, 6, 1_000
BETWEEN_S, LOOK_S = 60, 30  # between two starts, and from the messages to the look at what became of them
ORDERS = 60  # runs in which "every order" is looked for
NAME = re.compile(r"[^\s:=]+")


def versions() -> list[str]:
    """The versions of RocketMQ that there are rules of, the usual one first."""
    return list(RULES)


def opened(link: str) -> Json:
    """The state in a link.

    Raises:
        BadInput: the link was cut off, or holds something else.
    """
    return checked(unpack(link))


def checked(state: Any) -> Json:
    """The state with every field; one that is missing is as usual.

    Raises:
        BadInput: a field is unknown, or is not what it has to be.
    """
    if not isinstance(state, dict):
        raise BadInput(f"the link holds {state!r}; right is members of a group")
    unknown = sorted(set(state) - set(FIELDS))
    if unknown:
        raise BadInput(f"the link has the field {unknown[0]!r}; there are {', '.join(FIELDS)}")
    members = state.get("members", [])
    if not isinstance(members, list) or len(members) > MAX_MEMBERS:
        raise BadInput(f"members is a list of at most {MAX_MEMBERS}")
    for row in members:
        if not isinstance(row, dict) or set(row) != set(MEMBER) or not all(_is_text(one) for one in row.values()):
            raise BadInput(f"a member is {row!r}; right is {', '.join(MEMBER)}, texts of at most {LONGEST} letters")
        if row["type"] not in {TAG, SQL92}:
            raise BadInput(f"a member's type is {row['type']!r}; there are {TAG} and {SQL92}")
    numbers = {"queues": (4, MAX_QUEUES), "restarting": (2, 4), "budget": (10, MAX_BUDGET)}
    whole = {name: state.get(name, usual) for name, (usual, _) in numbers.items()}
    for name, value in whole.items():
        if type(value) is not int or not 1 <= value <= numbers[name][1]:
            raise BadInput(f"{name} is {value!r}; it is a whole number from 1 to {numbers[name][1]}")
    texts = {name: state.get(name, "") for name in ("old", "new")}
    if not all(_is_text(one) for one in texts.values()):
        raise BadInput(f"old and new are texts of at most {LONGEST} letters")
    version = state.get("version", DEFAULT_VERSION)
    if version not in RULES:
        raise no_version(version, RULES)
    return {"members": members, **whole, **texts, "version": version}


def of_version(state: Json) -> list[str]:
    """The words of a command that say the state's version."""
    return [] if state["version"] == DEFAULT_VERSION else ["--version", state["version"]]


def _link(state: Json) -> str:
    """The link of a state: as it was before there was another version, unless another one is chosen."""
    return pack({name: value for name, value in state.items() if (name, value) != ("version", DEFAULT_VERSION)})


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST


def read_lines(text: str) -> Json:
    """Members from pasted lines, `CLIENT:TOPIC=EXPRESSION` or columns: `rows`, and the `wrong` lines by number.

    An expression "SQL92:a > 3" is a condition, as for `rmqlab plan`.

    Example:
        >>> read_lines("A T tagA || tagB")["rows"]
        [{'client': 'A', 'topic': 'T', 'type': 'TAG', 'expression': 'tagA || tagB'}]
    """
    rows, wrong = [], []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        found = re.match(r"\s*([^\s:=,]+)(?:\s*:\s*|\s*,\s*|\s+)([^\s:=,]+)(?:\s*=\s*|\s*,\s*|\s+)(.+)", line)
        if found is None:
            wrong.append(number)
            continue
        client, topic, expression = found[1], found[2], found[3].strip()
        kind = SQL92 if expression.startswith("SQL92:") or looks_like_sql92(expression) else TAG
        expression = expression.removeprefix(f"{kind}:")
        rows.append({"client": client, "topic": topic, "type": kind, "expression": expression})
    return {"rows": rows, "wrong": wrong}


def _problems(members: Sequence[Json], rules: Rules) -> Iterator[Json]:
    """What is wrong in a row: the field, and a text."""
    seen: dict[tuple[str, str], int] = {}
    for row, one in enumerate(members):
        place = (one["client"], one["topic"])
        values = {"row": row + 1, "client": one["client"], "topic": one["topic"]}
        for name in ("client", "topic"):
            if not NAME.fullmatch(one[name]):
                yield {"row": row, "word": f"{name}_name", "values": values}
        if place in seen:
            yield {"row": row, "word": "twice", "values": values | {"first": seen[place] + 1}}
        seen.setdefault(place, row)
        try:
            text = one["expression"] if one["type"] == SQL92 else f"{TAG}:{one['expression']}"
            if one["type"] == TAG and looks_like_sql92(one["expression"]):
                yield {"row": row, "word": "is_sql", "values": values}
            else:
                parse_subscription(f"{SQL92}:{text}" if one["type"] == SQL92 else text, "", rules)
        except BadInput as error:
            yield {"row": row, "word": "refused", "values": values | {"text": translate(str(error).partition(": ")[2])}}


def judge(state: Json) -> Json:
    """What lint says of the group: `problems` of the form and nothing else, or verdict, topics, notes, the command."""
    state = checked(state)
    problems = list(_problems(state["members"], RULES[state["version"]]))
    if problems or not state["members"]:
        return {"problems": problems, "link": _link(state)}
    found = lint(_group(state), RULES[state["version"]])
    return {
        "problems": [],
        "link": _link(state),
        "verdict": _key(found.verdict),
        "said": str(verdict_words(found.verdict)),
        "refused": list(map(str, refusals(found))),
        "do": str(advice(found)),
        "members": len(found.members),
        "topics": [_topic(one, state["queues"]) for one in found.topics],
        "notes": [translate(note) for note in found.notes],
        "tool": str(tool_words(found)),
        "lines": "\n".join(map(str, lint_lines(found))),
        "wishes": list(dict.fromkeys(_wish(one) for one in state["members"])),
        "command": _lint_command(state),
    }


def _key(verdict: LintVerdict) -> str:
    return verdict.value.replace(" ", "_")


def _given(state: Json) -> list[tuple[str, str]]:
    return [(one["type"], f"{one['client']}:{one['topic']}={one['expression']}") for one in state["members"]]


def _group(state: Json) -> Any:
    group = group_of(_given(state), GROUP)
    group.queues = {one["topic"]: state["queues"] for one in state["members"]}
    return group


def _lint_command(state: Json) -> str:
    flags = {TAG: "--member", SQL92: "--sql92"}
    given = [word for kind, text in _given(state) for word in (flags[kind], text)]
    return "rmqlab lint " + shlex.join([*given, "--queues", str(state["queues"]), *of_version(state)])


def _wish(one: Json) -> str:
    """A member's subscription as `rmqlab plan` has it."""
    return str(one["expression"]) if one["type"] == TAG else f"{SQL92}:{one['expression']}"


def _topic(found: TopicLint, queues: int) -> Json:
    return {
        "topic": found.topic,
        "verdict": _key(found.verdict),
        "wishes": [{"text": str(one), "members": ", ".join(one.members), "none": one.data is None}
                   for one in found.wishes],
        "differences": [str(difference_words(one)) for one in found.differences],
        "witnesses": [_witness(one, queues) for one in found.witnesses],
    }  # fmt: skip


def _witness(one: ExampleLoss, queues: int) -> Json:
    """A message, and what becomes of it: a row for whose subscription the broker holds, a column for each owner."""
    return {
        "said": str(witness_words(one)),
        "owners": list(one.losses[0].fates),
        "losses": [
            {
                "said": str(holder_words([each.holder])),
                "lost": bool(each.lost),
                "share": str(share_words(each.lost, queues)),
                "stuck": int(each.stuck * queues),
                "fates": [_fate(fate, owner in each.unasked) for owner, fate in each.fates.items()],
            }
            for each in one.losses
        ],
    }


def _fate(fate: Fate, unasked: bool) -> Json:
    kind = "aside" if unasked else "good" if fate is Fate.DELIVERED else "bad"
    return {"said": f"{LOOKS[fate].mark} {fate_words(fate)}", "kind": kind, "unasked": unasked}


# What is lost: a run.


def _kinds(state: Json) -> Iterator[tuple[str, dict[str, str]]]:
    """Messages that somebody asks for: one for each tag named, one for which a condition is true; by topic."""
    seen: list[tuple[str, dict[str, str]]] = []
    for one in state["members"]:
        wanted = build_subscription(one["topic"], one["expression"], one["type"])
        if one["type"] == TAG and wanted.sub_string != SUB_ALL:
            found = [{PROPERTY_TAGS: tag} for tag in split_tags(one["expression"])]
        else:
            nothing = build_subscription(one["topic"], " || ", TAG)
            only = tell_apart(wanted, nothing).only_first
            found = [] if only is None or any(
                topic == one["topic"] and lets_pass(wanted, kind) for topic, kind in seen) else [only]  # fmt: skip
        for kind in found:
            if (one["topic"], kind) not in seen:
                seen.append((one["topic"], kind))
                yield one["topic"], kind


def _lab(state: Json, *, together: bool) -> tuple[Lab, int]:
    """The members started, one message of each kind for each queue sent, and how many kinds were left out."""
    lab = Lab(topics={one["topic"]: state["queues"] for one in state["members"]}, version=state["version"])
    wishes: dict[str, dict[str, dict[str, str]]] = {}
    for one in state["members"]:
        wishes.setdefault(one["client"], {TAG: {}, SQL92: {}})[one["type"]][one["topic"]] = one["expression"]
    for client, wish in wishes.items():
        lab.consumer(client, group=GROUP, subscribe=wish[TAG], sql92=wish[SQL92])
        if not together:
            lab.run(seconds=BETWEEN_S)
    if together:
        lab.run(seconds=BETWEEN_S)
    kinds = list(_kinds(state))
    every = list(range(state["queues"]))
    for topic, kind in kinds[:MAX_KINDS]:
        rest = {name: value for name, value in kind.items() if name != PROPERTY_TAGS}
        lab.send(topic, [kind.get(PROPERTY_TAGS)] * len(every), properties=rest or None, queues=every)
    lab.run(seconds=LOOK_S)
    return lab, max(0, len(kinds) - MAX_KINDS)


def lost(state: Json) -> Json:
    """One run: the members start a minute apart, then messages of each kind come to every queue.

    Raises:
        BadInput: the members cannot be started.
    """
    lab, left_out = _lab(checked(state), together=False)
    fates = lab.fates()
    return {
        "sent": len(fates),
        "lost": sum(one.lost for one in fates),
        "fates": dict(Counter(one.fate for one in fates)),
        "left_out": left_out,
        "grid": _shown(lab.grid()),
    }


def every_order(state: Json, progress: Callable[[Json], object]) -> Json:
    """All members start at once: how much is lost, in which share of the orders of frames.

    Raises:
        BadInput: the members cannot be started.
    """
    state = checked(state)
    lab, _ = _lab(state, together=True)
    cluster = cluster_of({}, RULES[state["version"]])
    explorer = Explorer(lab.scenario(), budget=ORDERS, cluster=cluster)
    found = explorer.explore(lambda runs: progress({"runs": runs, "of": ORDERS}))
    shares: dict[int, float] = {}
    for one in found.outcomes:
        shares[len(one.lost)] = shares.get(len(one.lost), 0.0) + (one.share or 0.0)
    return {
        "sent": len(lab.fates()),
        "runs": found.runs,
        "exhausted": found.exhausted,
        "outcomes": len(found.outcomes),
        "losses": [{"lost": number, "share": round(share, 4)} for number, share in sorted(shares.items())],
    }


def _shown(picture: Picture) -> Json:
    return {"svg": letters_marked(picture.svg), "words": picture.words()}
