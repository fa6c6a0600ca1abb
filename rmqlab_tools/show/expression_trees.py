"""SQL92 as a picture: the tree of an expression with what every part came to for one message.

True, false, null and error have a mark and a colour each. A refused expression is a picture too: where reading stopped,
and what was probably meant. The tree of boxes grows from left to right, and others draw theirs with it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from rmqlab.language import _, joined, sentences
from rmqlab_tools.search.expressions.answer import NOT_ASKED
from rmqlab_tools.show.canvas import BOLD, MIN_TEXT, WIDTH, cut, fitting, largest, painted, text_width
from rmqlab_tools.show.figure import Picture
from rmqlab_tools.show.palette import BLACK, GREY, PALE, VERDICT_COLOURS, VERMILLION, WHITE, ink
from rmqlab_tools.show.tables import Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rmqlab_tools.search.expressions.answer import ExpressionPart, Sql92
    from rmqlab_tools.show.canvas import Canvas

# Inches.
LETTER = 0.09  # of the expression's own line, at most
CODE = 0.602 * MIN_TEXT / 72  # of a letter of one width
WIDEST_TREE = 34  # letters in a box
LONGEST_TREE_LINE = 110  # letters in one line
HOLD = "\N{NO-BREAK SPACE}"  # blanks at the start of an SVG text are lost


@dataclass(frozen=True)
class ExpressionTreeLayout:
    """Sizes of the tree of an expression, in inches."""

    top: float = 0.72
    foot: float = 0.4
    margin: float = 0.15
    pad: float = 0.18  # of a tree
    level: float = 0.3
    line: float = 0.2
    room: float = 0.1


EXPRESSION_TREE = ExpressionTreeLayout()


def expression_tree(answer: Sql92) -> Picture:
    """What `rmqlab.sql92` answers, as a tree that is read from left to right.

    >>> from rmqlab import sql92
    >>> expression_tree(sql92("a > 3", {"a": "4"})).alt
    "Read as (a > 3). For a message with a = '4': true: the broker returns the message."
    """
    if answer.tree is None:
        return _refused(answer)
    tree, room = answer.tree, WIDTH - 2 * EXPRESSION_TREE.margin
    root = _branch(tree, largest(lambda size: tree_size(_branch(tree, size))[0] <= room))
    width, height = tree_size(root)
    width = max(
        width + 2 * EXPRESSION_TREE.margin, WIDTH, (min(len(answer.expression), LONGEST_TREE_LINE) + 2) * LETTER
    )
    verdict, colour = _verdict(answer, answer.tree)
    message = "" if answer.properties is None else _("message: {properties}", properties=_shown(answer.properties))

    def paint(canvas: Canvas) -> None:
        _source(canvas, answer)
        canvas.text(EXPRESSION_TREE.margin, 0.47, message, ha="left")
        draw_tree(canvas, root, EXPRESSION_TREE.margin, EXPRESSION_TREE.top)
        if verdict:
            canvas.block(EXPRESSION_TREE.margin, EXPRESSION_TREE.top + height + 0.12, 0.14, 0.2, colour)
            canvas.text(
                EXPRESSION_TREE.margin + 0.24, EXPRESSION_TREE.top + height + 0.22, verdict, ha="left", bold=True
            )

    svg = painted(width, EXPRESSION_TREE.top + height + EXPRESSION_TREE.foot, paint)
    came_to = (
        (
            " "
            + _(
                "For a message with {removeprefix}: {verdict}.",
                removeprefix=message.removeprefix("message: "),
                verdict=str(verdict)[2:],
            )
        )
        if verdict
        else ""
    )
    ignored = (" " + _('The text "{ignored}" is ignored in silence.', ignored=answer.ignored)) if answer.ignored else ""
    rows = [(_cut(part.name), _cut(part.text), part.came_to) for part in _walk(answer.tree)]
    table = Table(_("Parts of the expression and what they came to"), (_("part"), _("text"), _("came to")), rows)
    title = _("Tree of {expression}", expression=answer.expression[:LONGEST_TREE_LINE])
    return Picture(
        svg,
        title=title,
        alt=_("Read as {read_as}.{told}{ignored}", read_as=answer.read_as, told=came_to, ignored=ignored),
        table=table,
    )


def _verdict(answer: Sql92, root: ExpressionPart) -> tuple[str, str]:
    if answer.value is None:
        return "", WHITE
    kind = root.kind if root.kind in VERDICT_COLOURS else "false"
    mark, colour = VERDICT_COLOURS[kind]
    does = _("returns") if answer.matches else _("drops")
    return _(
        "{mark} {came_to}: the broker {does} the message",
        mark=mark,
        came_to=root.came_to if kind == "error" else kind,
        does=does,
    ), colour


def _branch(part: ExpressionPart, size: float) -> Branch:
    title, came_to = _cut(part.name), _cut(part.came_to)
    children = [_branch(below, size) for below in part.parts]
    if part.kind == NOT_ASKED:
        return Branch(title, (NOT_ASKED,), WHITE, faint=True, size=size, children=children)
    if part.kind in VERDICT_COLOURS:
        mark, colour = VERDICT_COLOURS[part.kind]
        return Branch(title, (f"{mark} {came_to}",), colour, size=size, children=children)
    is_literal = not part.kind or part.name.startswith(came_to)
    return Branch(title, () if is_literal else (f"= {came_to}",), PALE, size=size, children=children)


def _walk(part: ExpressionPart) -> Iterator[ExpressionPart]:
    yield part
    for below in part.parts:
        yield from _walk(below)


def _source(canvas: Canvas, answer: Sql92) -> None:
    """The expression, with what is never read in grey."""
    text, ignored = answer.expression.replace("\n", " "), answer.ignored
    read = text[: len(text) - len(ignored)] if ignored and text.endswith(ignored) else text
    if len(text) > LONGEST_TREE_LINE:
        read, ignored = cut(text, LONGEST_TREE_LINE), ""
    _code(canvas, 0.2, read, bold=True)
    if ignored:
        _code(
            canvas,
            0.2,
            _("{ignored}{hold}← ignored in silence", ignored=ignored, hold=HOLD * 3),
            at=len(read),
            colour=GREY,
        )


def _code(canvas: Canvas, y: float, text: str, *, at: int = 0, **style: Any) -> None:
    """A line in letters of one width, that begins after `at` letters."""
    canvas.text(EXPRESSION_TREE.margin + at * CODE, y, text, ha="left", monospace=True, **style)


def _refused(answer: Sql92) -> Picture:
    """The place where reading stopped."""
    text, offset = answer.expression, answer.offset
    start = text.rfind("\n", 0, offset or 0) + 1
    line, column = text[start:].partition("\n")[0], (offset or 0) - start
    skip = max(column - LONGEST_TREE_LINE // 2, 0) if len(line) > LONGEST_TREE_LINE else 0
    texts = [str(answer.error), *([f"Meant? {answer.meant}"] if answer.meant else [])]
    folded = [
        line for paragraph in [*texts, _("The consumer's start fails.")] for line in wrap(paragraph, LONGEST_TREE_LINE)
    ]

    def paint(canvas: Canvas) -> None:
        _code(canvas, 0.2, line[skip : skip + LONGEST_TREE_LINE], bold=True)
        if offset is not None:
            _code(canvas, 0.38, "^", at=column - skip, colour=VERMILLION)
        for number, line_shown in enumerate(folded):
            first = number == 0
            canvas.text(
                EXPRESSION_TREE.margin, 0.62 + 0.2 * number, ("✗ " if first else "") + line_shown, ha="left", bold=first
            )

    svg = painted(WIDTH, 0.72 + 0.2 * len(folded), paint)
    table = Table(
        _("A refused expression"),
        (_("what"), _("told")),
        [(_("refused because"), answer.error), (_("meant?"), answer.meant)],
    )
    return Picture(
        svg,
        title=_("Refused: {text}", text=text[:LONGEST_TREE_LINE] or _("nothing")),
        alt=sentences(*folded),
        table=table,
    )


def _shown(properties: Mapping[str, str]) -> str:
    return joined(", ", (f"{name} = {value!r}" for name, value in properties.items())) or _("no properties")


def _cut(text: str) -> str:
    return cut(text.replace("\n", " "), WIDEST_TREE)


@dataclass(slots=True)
class Branch:
    """A box: its first line (bold), further lines, its colour; `faint` boxes are dashed.

    `size` is that of its letters, in points; `shares` (colours, and parts of 1) are drawn as a bar at its foot.
    """

    title: str
    lines: tuple[str, ...] = ()
    colour: str = WHITE
    faint: bool = False
    size: float = MIN_TEXT
    shares: tuple[tuple[str, float], ...] = ()
    children: list[Branch] = field(default_factory=list)

    @property
    def width(self) -> float:
        """Inches."""
        lines = (BOLD * text_width(self.title, self.size), *(text_width(line, self.size) for line in self.lines))
        return max(0.3, *lines) + EXPRESSION_TREE.pad

    @property
    def line(self) -> float:
        """Inches, from line to line."""
        return EXPRESSION_TREE.line * self.size / MIN_TEXT

    @property
    def height(self) -> float:
        """Inches, of the box alone."""
        return self.line * (1 + len(self.lines) + bool(self.shares)) + 0.1


def tree_size(root: Branch) -> tuple[float, float]:
    """Width and height of the tree in inches."""
    columns = _columns(root)
    return sum(columns) + EXPRESSION_TREE.level * (len(columns) - 1), _depth(root)


def draw_tree(canvas: Canvas, root: Branch, x: float, y: float) -> None:
    """Draw the tree with its upper left corner at (x, y)."""
    columns = _columns(root)
    lefts = [x + sum(columns[:level]) + EXPRESSION_TREE.level * level for level in range(len(columns))]
    _draw_branch(canvas, root, lefts, y, 0)


def _columns(root: Branch) -> list[float]:
    """The width of each level."""
    widths: list[float] = []
    row = [root]
    while row:
        widths.append(max(branch.width for branch in row))
        row = [child for branch in row for child in branch.children]
    return widths


def _depth(branch: Branch) -> float:
    return max(branch.height + EXPRESSION_TREE.room, sum(_depth(child) for child in branch.children))


def _draw_branch(canvas: Canvas, branch: Branch, lefts: list[float], top: float, level: int) -> float:
    """Draw a box and those after it; return the y of its middle."""
    depth = _depth(branch)
    spread = sum(_depth(child) for child in branch.children)
    below = top + (depth - spread) / 2
    middles = []
    for child in branch.children:
        middles.append(_draw_branch(canvas, child, lefts, below, level + 1))
        below += _depth(child)
    middle = (middles[0] + middles[-1]) / 2 if middles else top + depth / 2
    _box(canvas, branch, lefts[level], middle)
    right = lefts[level] + branch.width
    for child, at in zip(branch.children, middles, strict=True):
        elbow = lefts[level + 1] - EXPRESSION_TREE.level / 2
        xs, ys = [right, elbow, elbow, lefts[level + 1]], [middle, middle, at, at]
        corners = list(zip(xs, ys, strict=True))
        canvas.polyline(corners, GREY, width=1.2, dashed=child.faint, layer=0.5)
    return middle


def _box(canvas: Canvas, branch: Branch, left: float, middle: float) -> None:
    width, height = branch.width, branch.height
    edge = GREY if branch.faint else BLACK
    canvas.block(
        left, middle - height / 2, width, height, branch.colour, edge=edge, edge_width=1.2, dashed=branch.faint
    )
    colour = GREY if branch.faint else ink(branch.colour)
    y = middle - height / 2 + 0.05 + branch.line / 2
    canvas.text(left + width / 2, y, branch.title, size=branch.size, colour=colour, bold=True)
    for line in branch.lines:
        y += branch.line
        canvas.text(left + width / 2, y, line, size=branch.size, colour=colour)
    x, inner = left + 0.06, width - 0.12
    for share_colour, share in branch.shares:
        words, wide = f"{share:.0%}", inner * share
        canvas.block(x, y + branch.line / 2 + 0.02, wide, branch.line, share_colour, layer=2)
        size = fitting(words, wide)
        if text_width(words, size) <= wide:
            canvas.text(x + wide / 2, y + branch.line + 0.02, words, size=size, colour=ink(share_colour))
        x += wide
