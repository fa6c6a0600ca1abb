"""The decoder's page, made from data/decoder: an entry for each thing that RocketMQ says, each with an anchor."""

from __future__ import annotations

from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Final

from rmqlab.language import spoken, translate
from rmqlab_tools.doctor.decoder import entries
from rmqlab_tools.doctor.decoder_entry import EFFECTS, SURE, Case, Entry
from rmqlab_tools.doctor.explain import MANY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SECTIONS: Final = {
    ("response", ""): "Codes of answers",
    ("status", ""): "Statuses of a pull",
    ("request", ""): "Codes of requests",
    ("remark", "broker"): "Remarks of the broker",
    ("log", "broker"): "Log lines of the broker",
    ("exception", ""): "Exceptions",
    ("log", "client"): "Log lines of the client",
    ("remark", "name server"): "Remarks of the name server",
    ("log", "name server"): "Log lines of the name server",
    ("remark", "proxy"): "Remarks of the proxy",
    ("log", "proxy"): "Log lines of the proxy",
    ("log", "admin tool"): "Log lines of the admin tool",
    ("print", ""): "What mqadmin prints",
    ("topic", ""): "Topics of the system",
}
DECODER_INTRODUCTION: Final = """# Decoder of codes and log lines

What RocketMQ 4.8.0, 5.3.3 and 5.5.0 and its other clients (Go, C++, Python, gRPC) say about subscriptions, filters,
heartbeats, rebalances, offsets, pulls and locks, what it means, and what to do. Wordings of other versions from 3.2
on stand beside the present ones. `rmqlab explain 25`, `rmqlab explain "text of a line"` and `rmqlab explain
broker.log` say the same in a terminal.

[Type a code or a word, or paste a line of a log:]{#decoder-label}

```{raw} html
<style>
#decoder-find { width: calc(100% - 5rem); padding: .5rem .75rem; font: inherit; color: inherit; border-radius: .3rem;
  background: var(--color-background-secondary); border: 1px solid var(--color-foreground-muted); }
dt > [class*="decoder-"] { font-size: 1rem !important; font-weight: 600; border-left: .35rem solid transparent; }
dt > .decoder-loss { border-left-color: #c92a2a; }
dt > .decoder-stop { border-left-color: #e8590c; }
dt > .decoder-watch { border-left-color: #1c7ed6; }
dl dt { margin-top: 1rem !important; }
dl dd > p { margin: .35rem 0; }
.decoder-facts { font-size: .875em; color: var(--color-foreground-secondary); }
.decoder-facts code { font-size: .95em; }
dl dt:target, dl dt:has(:target) { scroll-margin-top: 4rem; background: var(--color-highlight-on-target); }
</style>
<input id="decoder-find" type="search" aria-labelledby="decoder-label" autocomplete="off" spellcheck="false">
<output id="decoder-count" for="decoder-find"></output>
<script src="../_static/decoder.js" defer></script>
```

"""


# What stands beside each entry's sentences. It is no part of the catalogue of the page: 300 times the same few words.
# The sentences are in the package's catalogue, for `rmqlab explain` says them too.
LABELS: Final = {
    "en": {
        "do": "Do",
        "when": "When",
        "also": "Also",
        "rule": "Rule",
        "said": "Said by",
        "see": "See",
        **{name: name for name in EFFECTS},
        **SURE,
    },
    "zh": {
        "do": "处理",
        "when": "当",
        "also": "同义",
        "rule": "规则",
        "said": "出处",
        "see": "另见",
        "loss": "丢消息",
        "stop": "停摆",
        "watch": "留意",
        "normal": "正常",
        "recorded": "真实 broker 的录制数据里有这一条",
        "provoked": "测试会让本项目的 broker 或客户端说出这一条",
        "read": "读源码得知",
    },
}


def write(target: Path, language: str) -> None:
    """Write the page to the file ``target``; what stands around its entries is English."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(page(language), encoding="utf-8")


def texts_of_entries() -> set[str]:
    """What the page has from the package, as Sphinx reads it."""
    texts = {text for entry in entries().values() for text in (entry.means, f"**Do**: {entry.do}")}
    texts |= {_case(case, LABELS["en"], str) for entry in entries().values() for case in entry.cases}
    return texts | set(EFFECTS.values()) | {f"**{name}**" for name in EFFECTS}


def page(language: str) -> str:
    """The page, in MyST."""
    labels = LABELS[language]

    def say(text: str) -> str:
        with spoken(language):
            return translate(text)

    order = list(SECTIONS.values())
    sorted_entries = sorted(entries().values(), key=lambda entry: order.index(_section(entry)))
    lines = [
        DECODER_INTRODUCTION,
        "| | |",
        "|---|---|",
        *(f"| **{labels[name]}** | {say(says)} |" for name, says in EFFECTS.items()),
        "",
    ]
    for section, those in groupby(sorted_entries, _section):
        lines += [f"## {section}", ""]
        for entry in sorted(those, key=lambda entry: (entry.number is None, entry.number or 0)):
            facts = "<br>".join(f"<span>{text}</span>" for text in _facts(entry, labels))
            head = f"{labels[entry.effect]}</strong> ({', '.join(entry.versions)})"
            lines += [
                f"`{entry.title}`{{#{entry.id} .decoder-{entry.effect}}}",
                f": {say(entry.means)}",
                "",
                f"  **{labels['do']}**: {say(entry.do)}",
                "",
                *(line for case in entry.cases for line in (f"  {_case(case, labels, say)}", "")),
                "  ```{raw} html",
                f'  <p class="decoder-facts"><strong>{head}<br>{facts}</p>',
                "  ```",
                "",
            ]
    return "\n".join(lines)


def _case(case: Case, labels: dict[str, str], say: Callable[[str], str]) -> str:
    """What the values of a line add, in MyST."""
    when = ", ".join(f"`{condition}`" for condition in case.when)
    says = " ".join(map(say, filter(None, (case.means, case.do))))
    return f"**{labels['when']}** {when} (**{labels[case.effect]}**): {says}"


def _section(entry: Entry) -> str:
    return SECTIONS.get((entry.kind, entry.speaker)) or SECTIONS[entry.kind, ""]


def _facts(entry: Entry, labels: dict[str, str]) -> Iterator[str]:
    """Texts that mean the same, the rules, who says it and how we know, and other entries, as HTML."""
    if others := [*entry.texts[1:], *entry.older]:
        yield f"{labels['also']}: " + ", ".join(f'<code class="also">{escape(text.strip())}</code>' for text in others)
    where = "../explanation/rules.html#rule-"
    rules = [f'<a href="{where}{name.replace("_", "-")}"><code>{name}</code></a>' for name in entry.rules]
    if rules or entry.rows:
        yield f"{labels['rule']}: {', '.join([*rules, *entry.rows])}"
    if entry.texts:
        places = (
            f"<code>{each.by}</code>" + (f" ({each.level}{each.file and f', {each.file}'})" if each.level else "")
            for each in entry.said
        )
        shown = list(dict.fromkeys(places))
        more = [f"+{len(shown) - MANY}"] if len(shown) > MANY else []
        yield f"{labels['said']}: {', '.join([*shown[:MANY], *more])}; {labels[entry.sure]}"
    if entry.see:
        see = (f'<a href="#{name}"><code>{escape(entries()[name].title)}</code></a>' for name in entry.see)
        yield f"{labels['see']}: {', '.join(see)}"
