# ruff: noqa: INP001 - pages import it by its own name
"""The playground "will it match?": an expression and a message become a verdict, three steps, a picture and hints.

A text for the reader is a key of `words.json` with its values; pictures and findings are the package's own.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput
from rmqlab.filter.filter import Filter
from rmqlab.language import _, translate
from rmqlab.message.properties import PROPERTY_TAGS
from rmqlab.protocol.subscription_data import SQL92, SUB_ALL, TAG, SubscriptionSplitError
from rmqlab.rule_table import no_version
from rmqlab.rules import DEFAULT_VERSION, RULES
from rmqlab_tools.search.expressions.remarks import remarks
from rmqlab_tools.search.expressions.tag_hints import case_twins
from rmqlab_tools.show.by_night import letters_marked
from rmqlab_tools.show.expression_trees import expression_tree
from rmqlab_tools.show.funnels import tag_checks
from rmqlab_tools.show.link import pack, unpack
from rmqlab_tools.verbs import sql92

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab_tools.search.expressions.answer import ExpressionPart, Sql92
    from rmqlab_tools.search.expressions.hints import Hint
    from rmqlab_tools.show.figure import Picture

Json = dict[str, Any]
TOPIC = "T"
LONGEST = 4_000  # letters of an expression, a tag, a name or a value
FIELDS = ("type", "expression", "tag", "properties", "version")


def versions() -> list[str]:
    """The versions of RocketMQ that there are rules of, the usual one first."""
    return list(RULES)


def answer(state: Json) -> Json:
    """What broker and client do with one message.

    `state`: `type` ("SQL92" or "TAG"), `expression`, `tag` (empty: none), `properties` (pairs of texts), `version` (the
    broker's). The answer has `problems` (of the form: nothing else then), or `verdict`, `steps`, `picture`, `findings`,
    `commands`, `link`.

    Raises:
        BadInput: it is no such state; a link may hold anything.

    Example:
        >>> answer({"type": "TAG", "expression": "Aa", "tag": "BB", "properties": []})["verdict"]["word"]
        'dropped_client'
    """
    state = checked(state)
    problems = list(_problems(state))
    if problems:
        return {"problems": problems}
    return (_condition(state) if state["type"] == SQL92 else _tags(state)) | {"link": pack(_usual_left_out(state))}


def opened(link: str) -> Json:
    """The state in a link.

    Raises:
        BadInput: the link was cut off, or holds something else.
    """
    return checked(unpack(link))


def checked(state: Any) -> Json:
    """The state with every field; one that is missing is empty.

    Raises:
        BadInput: a field is unknown, or is not what it has to be.
    """
    if not isinstance(state, dict):
        raise BadInput(f"the link holds {state!r}; right is an expression and a message")
    unknown = sorted(set(state) - set(FIELDS))
    if unknown:
        raise BadInput(f"the link has the field {unknown[0]!r}; there are {', '.join(FIELDS)}")
    kind, properties = state.get("type", SQL92), state.get("properties", [])
    if kind not in {SQL92, TAG}:
        raise BadInput(f"type is {kind!r}; there are {SQL92} and {TAG}")
    texts = {name: state.get(name, "") for name in ("expression", "tag")}
    for name, value in texts.items():
        if not isinstance(value, str) or len(value) > LONGEST:
            raise BadInput(f"{name} is {str(value)[:40]!r}; it is a text of at most {LONGEST} letters")
    if not isinstance(properties, list) or not all(_is_pair(one) for one in properties):
        raise BadInput("properties is not a list of pairs of texts, such as [['a', '5']]")
    version = state.get("version", DEFAULT_VERSION)
    if version not in RULES:
        raise no_version(version, RULES)
    return {"type": kind, **texts, "properties": properties, "version": version}


def _usual_left_out(state: Json) -> Json:
    """The state as links have it: they are as they were before there was another version."""
    return {name: value for name, value in state.items() if (name, value) != ("version", DEFAULT_VERSION)}


def _is_pair(one: Any) -> bool:
    return isinstance(one, list) and len(one) == 2 and all(isinstance(text, str) for text in one)


def _problems(state: Json) -> Iterator[Json]:
    """What cannot be asked: each with the row it is in."""
    seen: dict[str, int] = {}
    for row, (name, value) in enumerate(state["properties"]):
        values = {"name": name, "row": row + 1}
        if not name and value:
            yield {"row": row, "word": "name_missing", "values": values}
        elif name == PROPERTY_TAGS:
            yield {"row": row, "word": "name_is_tags", "values": values}
        elif any(letter.isspace() or letter == "=" for letter in name):
            yield {"row": row, "word": "name_blank", "values": values}
        elif name in seen:
            yield {"row": row, "word": "name_twice", "values": values | {"first": seen[name] + 1}}
        seen.setdefault(name, row)


def message_of(state: Json) -> dict[str, str]:
    """The properties of the message; its tag is one of them."""
    tag = {PROPERTY_TAGS: state["tag"]} if state["tag"] else {}
    return tag | {name: value for name, value in state["properties"] if name}


# SQL92.


def _condition(state: Json) -> Json:
    text, message = state["expression"], message_of(state)
    version = state["version"]
    told = sql92(text, message, version=version)
    said = "" if version == DEFAULT_VERSION else f", version={version!r}"
    commands = {"python": f"rmqlab.sql92({text!r}, {message!r}{said})"}
    if not any(name.startswith("-") for name in message):  # a command line takes that for an option
        commands = {"shell": _shell(text, message, version)} | commands
    base: Json = {"problems": [], "commands": commands, "picture": None}
    if not told.accepted:
        meant = None if told.meant is None else str(told.meant)
        if meant is not None and told.write is not None:
            meant = str(_("{message}; write {write}", message=meant, write=told.write))
        refused = {"text": translate(told.error or ""), "offset": told.offset, "meant": meant}
        verdict = {"word": "refused", "kind": "refused", "values": {}}
        return base | {"verdict": verdict, "refused": refused, "steps": [], "findings": []}
    asked = Filter.of(TOPIC, text, SQL92, RULES[version])
    passes = asked.passes_layer_2(message)
    steps = [_step("layer_1", "entry_sql", passes=True), _layer_2(told, passes=passes)]
    steps.append(_step("client", "client_sql" if passes else "client_never", passes=passes or None))
    kind = told.value if told.value in {"true", "false", "null"} else "error"
    verdict = {"word": "arrives" if passes else "dropped_broker", "kind": kind, "values": {}}
    findings = [_remark(one) for one in told.findings]
    if told.ignored:
        end = len(text.encode("utf-16-le")) // 2  # as the pages count letters
        start = end - len(told.ignored.encode("utf-16-le")) // 2
        findings.insert(0, {"severity": "ignored", "start": start, "end": end, "message": told.ignored, "advice": ""})
    shown = {"picture": _shown(expression_tree(told)), "read_as": told.read_as}
    return base | shown | {"verdict": verdict, "steps": steps, "findings": findings}


def _layer_2(told: Sql92, *, passes: bool) -> Json:
    missing = sorted({part.name for part in _parts(told.tree) if part.came_to == "missing: null"})
    value = told.value or ""
    word = {"true": "sql_true", "false": "sql_false", "null": "sql_null"}.get(value, "sql_throws")
    if word == "sql_null" and missing:
        word = "sql_null_missing"
    return _step("layer_2", word, passes=passes, value=value, names=", ".join(missing))


def _parts(part: ExpressionPart | None) -> Iterator[ExpressionPart]:
    if part is not None:
        yield part
        for one in part.parts:
            yield from _parts(one)


def _shell(text: str, message: dict[str, str], version: str) -> str:
    """The same question on a command line."""
    of_version = [] if version == DEFAULT_VERSION else ["--version", version]
    pairs = [*of_version, "--set", *(f"{name}={value}" for name, value in message.items())]
    words = [*pairs, "--", text] if text.startswith("-") else [text, *pairs]
    return f"rmqlab sql92 {shlex.join(words)}"


# Tags.


def _tags(state: Json) -> Json:
    text, tag = state["expression"], state["tag"] or None
    base: Json = {"problems": [], "commands": {"python": f"rmqlab.tags({text!r})"}, "findings": _hints(text, tag)}
    try:
        asked = Filter.of(TOPIC, text, TAG, RULES[state["version"]])
    except SubscriptionSplitError:
        verdict = {"word": "refused_tags", "kind": "refused", "values": {}}
        return base | {"verdict": verdict, "refused": None, "steps": [], "picture": None}
    mine = asked.subscription
    code = asked.rules.tags_code(tag)
    broker, client = asked.passes_layer_1(code, None), asked.client_keeps(tag)
    values = {"tag": tag or "", "code": code, "codes": ", ".join(map(str, sorted(mine.code_set)))}
    values["tags"] = ", ".join(sorted(mine.tags_set))
    everything = mine.sub_string == SUB_ALL
    entry = "entry_all" if everything else "entry_code_in" if broker else "entry_code_out"
    kept = "client_all" if everything else "client_text_in" if client else "client_text_out"
    steps = [
        _step("layer_1", entry, passes=broker, **values),
        _step("layer_2", "message_tag", passes=None),
        _step("client", kept if broker else "client_never", passes=client if broker else None, **values),
    ]
    word = "arrives" if broker and client else "dropped_client" if broker else "dropped_broker"
    verdict = {"word": word, "kind": "true" if word == "arrives" else "false", "values": {}}
    if word == "dropped_client":
        same = next((one for one in sorted(mine.tags_set) if asked.rules.tags_code(one) == code), "")
        base["findings"].insert(0, _hint("warning", "hint_collision", first=same, **values))
    row = {"tag": tag, "code": code, "broker": broker, "client": client}
    return base | {"verdict": verdict, "steps": steps, "picture": _shown(tag_checks([row], mine))}


def _hints(text: str, tag: str | None) -> list[Json]:
    """What is probably not meant by a tag expression, and what the message's own tag adds to that."""
    return [_remark(one) for one in (*remarks(TAG, text), *(() if tag is None else case_twins(text, tag)))]


def _remark(one: Hint) -> Json:
    """A remark of the package's list, in the reader's language."""
    advice = str(one.advice)
    if one.write is not None:
        advice = str(_("{message}; write {write}", message=advice, write=one.write))
    return one._asdict() | {"message": str(one.message), "advice": advice}


def _hint(severity: str, word: str, **values: object) -> Json:
    return {"severity": severity, "word": word, "values": values}


def _step(place: str, word: str, *, passes: bool | None, **values: object) -> Json:
    """A step of the way: `passes` is None where the message is not looked at."""
    return {"place": place, "word": word, "passes": passes, "values": values}


def _shown(picture: Picture) -> Json:
    return {"svg": letters_marked(picture.svg), "words": picture.words()}
