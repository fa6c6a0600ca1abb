"""Redrawn figures of the filter article: who calls whom, which class is a kind of which."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.broker.extra.filter_server import FilterClassManager
from rmqlab.filter import message_filter
from rmqlab.filter.sql92 import nodes
from rmqlab.lab.filters.call_trace import traced_filtering
from rmqlab.show import branches
from rmqlab.show.branches import Branch
from rmqlab.show.brush import Brush, painted
from rmqlab.show.figure import Picture
from rmqlab.show.palette import BLUE, ORANGE, PALE, SKY, WHITE, YELLOW
from rmqlab.show.tables import Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rmqlab.lab.filters.call_trace import Call

MARGIN, TOP = 0.15, 0.55
TITLES = {
    "registration": "A heartbeat registers an SQL92 subscription",
    "write": "A message is stored: its bitmap is computed before the consume queue entry is written",
    "pull": "A pull goes through both layers",
}
# What 4.8.0 calls the classes whose names differ here.
JAVA_NAMES = {
    "Comparison": "ComparisonExpression (>, >=, <, <=)",
    "Equal": "ComparisonExpression (=, IS NULL)",
    "And": "LogicExpression (AND)",
    "Or": "LogicExpression (OR)",
    "Not": "UnaryExpression (NOT)",
    "Negate": "UnaryExpression (-)",
    "BooleanCast": "UnaryExpression (boolean cast)",
    "In": "UnaryInExpression",
    "Property": "PropertyExpression",
    "Constant": "ConstantExpression, BooleanConstantExpression, NowExpression",
    "TextTest": "since 5.3: CONTAINS, STARTSWITH, ENDSWITH",
}
# The seven files JavaCC writes from SelectorParser.jj, and what plays their part here.
JAVACC = (
    ("SelectorParser", "rmqlab.filter.sql92.parser", "the grammar, rule by rule"),
    ("SelectorParserConstants", "rmqlab.filter.sql92.tokens: Kind", "the kinds of tokens"),
    ("SelectorParserTokenManager", "rmqlab.filter.sql92.tokens: Tokens", "cuts the text into tokens"),
    ("Token", "rmqlab.filter.sql92.tokens: Token", "one token: kind, text, place"),
    ("SimpleCharStream", "rmqlab.filter.sql92.tokens: position", "counts lines and columns"),
    ("ParseException", "rmqlab.filter.sql92.errors: SyntaxFault", "a token that may not stand there"),
    ("TokenMgrError", "rmqlab.filter.sql92.errors: SyntaxFault", "a letter that begins no token"),
)


def calls(which: str) -> Picture:
    """The calls of one moment, "registration", "write" or "pull", as they were traced."""
    found = traced_filtering()[which]
    root = Branch("broker", colour=PALE, children=[_branch(call) for call in found])
    if len(root.children) == 1:
        root = root.children[0]
    alt = f"{TITLES[which]}: " + ", then ".join(line.strip() for call in found for line in call.lines()) + "."
    rows = [(line.strip(), (len(line) - len(line.lstrip())) // 2) for call in found for line in call.lines()]
    return _picture(TITLES[which], root, alt, Table("Calls in their order", ("called", "depth"), rows))


def _branch(call: Call) -> Branch:
    owner, _, name = call.name.rpartition(".")
    title = f"{name} ×{call.times}" if call.times > 1 else name
    colour = BLUE if "is_matched" in name else ORANGE if name in {"evaluate", "hash_to", "is_hit", "parse"} else WHITE
    return Branch(title, (owner,) if owner else (), colour, children=[_branch(one) for one in call.calls])


def filter_interfaces() -> Picture:
    """The two interfaces that share a name: the store's, with its implementations, and the class filter's."""
    base = message_filter.ExpressionMessageFilter
    retry = message_filter.ExpressionForRetryMessageFilter
    asked = [name for name in vars(message_filter.MessageFilter) if name.startswith("is_matched")]
    last = Branch(retry.__name__, ("with filterSupportRetry=true",))
    ordinary = Branch(base.__name__, ("every ordinary pull",), children=[last])
    store = Branch("store.MessageFilter", tuple(asked), SKY, children=[ordinary])
    kept = Branch("an uploaded class", (f"kept by {FilterClassManager.__name__}",))
    uploaded = Branch("common.filter.MessageFilter", ("match(message, context)",), YELLOW, children=[kept])
    root = Branch("MessageFilter", ("one name,", "two interfaces"), PALE, children=[store, uploaded])
    alt = (
        "Two interfaces are called MessageFilter. The store's asks two questions, by consume queue and by commit log; "
        f"{base.__name__} answers them, and {retry.__name__} extends it. The class filter's asks one, match."
    )
    rows = [
        ("store.MessageFilter", ", ".join(asked), f"{base.__name__}, {retry.__name__}"),
        ("common.filter.MessageFilter", "match", "classes that clients uploaded, before 4.3"),
    ]
    return _picture("Two interfaces, one name", root, alt, Table("Interfaces", ("interface", "asks", "by"), rows))


def expression_classes() -> Picture:
    """The kinds of node an expression is made of, with 4.8.0's class for each."""

    def branch(kind: type[nodes.Node]) -> Branch:
        lines = (JAVA_NAMES[kind.__name__],) if kind.__name__ in JAVA_NAMES else ()
        colour = WHITE if lines else PALE
        return Branch(kind.__name__.strip("_"), lines, colour, children=[branch(one) for one in kind.__subclasses__()])

    kinds = {name: text for name, text in JAVA_NAMES.items() if hasattr(nodes, name)}
    rows = list(kinds.items())
    alt = f"{len(rows)} kinds of node: " + "; ".join(f"{name} is {text}" for name, text in rows) + "."
    table = Table("Kinds of node", ("here", "4.8.0"), rows)
    return _picture("What expressions are made of", branch(nodes.Node), alt, table)


def javacc_files() -> Table:
    """The seven files that JavaCC generates, and what plays their part here (row F-74)."""
    return Table("Seven generated files, and who plays their part here", ("file", "here", "what it does"), JAVACC)


def names_mistyped(names: Mapping[str, str], known: Sequence[str]) -> Table:
    """Names as the article prints them, what they are called in 4.8.0, and whether that name is here."""
    rows = [(printed, right, "yes" if right in known else "no") for printed, right in names.items()]
    return Table("Names the article mistypes", ("article", "4.8.0", "a class here"), rows)


def _picture(title: str, root: Branch, alt: str, table: Table) -> Picture:
    width, height = branches.size(root)

    def draw(brush: Brush) -> None:
        brush.text(MARGIN, 0.22, title, size=10, ha="left", bold=True)
        branches.draw(brush, root, MARGIN, TOP)

    svg = painted(max(width + 2 * MARGIN, 7.0, len(title) * 0.1), TOP + height + 0.05, draw)
    return Picture(svg, title=title, alt=alt, table=table)
