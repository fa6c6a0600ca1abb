"""`lab.play()`: a run as a film, in a notebook, in a saved page, on a site; it needs no kernel and no network.

The steps in words are the content of the element, so that a page that runs no script still has them; `film.js` makes
the film of them and of the JSON beside them. Any number of films may stand on a page: the component is defined once.
"""

from __future__ import annotations

import html
import json
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput
from rmqlab.files import replace_text
from rmqlab.language import _, language, translate
from rmqlab.run.fates import FATE_WORDS, LOSING, Fate
from rmqlab.run.run_view import NO_MORE, RunView, seconds
from rmqlab.scenario.scenario import Start
from rmqlab_tools.show.film.frames import FilmMessage, Frame, Place, Station, Step
from rmqlab_tools.show.film.storyboard import Storyboard
from rmqlab_tools.show.palette import LOOKS, UNASKED, ink, summary
from rmqlab_tools.show.tag_colours import css_paint, ink_on, paint, tag_colour
from rmqlab_tools.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rmqlab.run.run import Run

LONGEST_FRAMES = 600
WORDS = {
    "play": _("Play"), "pause": _("Pause"), "first": _("First step"), "back": _("Step back"), "next": _("Next step"),
    "last": _("Last step"), "time": _("Step"), "step": _("Step {now} of {of}"), "later": _("{gap} later"),
    "speed": _("Speed"), "hint": _("Click a message: its way so far."), "way": _("The way of {message} so far"),
    "steps": _("All steps in words"), "producer": _("Producer"), "broker": _("Broker"),
    "queue": _("queue {queue}"), "slot": _("The broker lets through"), "empty": _("nothing yet"),
    "line": _("First in line is asked"), "nobody": _("nobody waits"), "by": _("{who}, version {version}"),
    "asks": _("asks for"), "offset": _("offset {offset} of {end}"), "waits": _("{who} waits"),
    "reads": _("its queues: {queues}"), "none": _("no queue"), "away": _("not running"), "unsent": _("to be sent"),
    "keys": _("Space plays, the arrow keys step, Home and End jump, Tab goes to the messages."),
    "no_tag": _("no tag"), "at_client": _("at the client"), "got": _("its listener got"),
    "unasked": _("dropped; nobody asked for it"),
}  # fmt: skip
AT_BROKER = frozenset({
    Fate.DROPPED_BY_BROKER_TAG, Fate.DROPPED_BY_BROKER_BITMAP, Fate.DROPPED_BY_BROKER_SQL, Fate.SKIPPED_BY_OFFSET,
    Fate.SKIPPED_BY_POP, Fate.RETRYING, Fate.DEAD_LETTER,
})  # fmt: skip
NOT_ASKED = "not_asked"
IN_QUEUE = frozenset({Fate.WAITING, Fate.NO_OWNER})


PAGE = """<!doctype html>
<html lang="{lang}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
body {{ margin: 1rem auto; max-width: 1100px; padding: 0 1rem; font-family: system-ui, sans-serif;
  background: Canvas; color: CanvasText }}
</style>
</head>
<body>
{films}
</body>
</html>
"""


class Film:
    """The film of one group and topic of a run (the first ones by default): `frames`, `messages`, `view`, `end` (ms).

    In a notebook it shows itself; `html()` is the same as text for any page, `save(FILE)` writes a page.
    """

    def __init__(self, run: Run, group: str | None = None, topic: str | None = None, *, unusual: bool = False) -> None:
        """Make the frames; with `unusual`, also of the choices that make this run another one than the usual.

        Raises:
            BadInput: no member of that group subscribes that topic, or more happens than a film can show.
        """
        self.view = RunView(run, group, topic)
        board = Storyboard(self.view, unusual=unusual)
        self.frames, self.messages, self.end = board.frames, board.stage.messages, board.end
        if len(self.frames) > LONGEST_FRAMES:
            raise BadInput(
                _(
                    "the film has {told} steps, and nobody watches more than {most}; play a shorter run",
                    told=len(self.frames),
                    most=LONGEST_FRAMES,
                )
            )

    @property
    def title(self) -> str:
        """What it is the film of."""
        return _("Film of group {group}, topic {topic}", group=self.view.group, topic=self.view.topic)

    def steps(self) -> list[str]:
        """The frames in words, each with its time."""
        return [f"{seconds(frame.t)}: {translate(frame.text)}" for frame in self.frames]

    def __repr__(self) -> str:
        """What it is of, how long it is, what became of the messages."""
        return _(
            "{title}: {count} steps; {summary}",
            title=self.title,
            count=len(self.frames),
            summary=summary(self.view.fates),
        ).__str__()

    def __str__(self) -> str:
        """The steps in words, a line each."""
        return "\n".join([repr(self), *self.steps()])

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/html": self.html(), "text/plain": repr(self)}

    def html(self, *, autoplay: bool = False, component: bool = True) -> str:
        """The film as a piece of HTML for any page: the steps in words, the data, and the component.

        `autoplay`: it plays when it comes into sight, unless the reader wants less motion. Without `component` the page
        has to load `film.js` itself (`component_source()`).
        """
        data = json.dumps(self.data(), ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
        steps = "".join(f"<li>{html.escape(visible(step))}</li>" for step in self.steps())
        source = f"<script>{component_source()}</script>" if component else ""
        words = f'<p>{html.escape(visible(repr(self)))}</p><ol start="0">{steps}</ol>'
        return (
            f"<rmqlab-film{' autoplay' if autoplay else ''}>{words}"
            f'<script type="application/json">{data}</script></rmqlab-film>{source}'
        )

    def save(self, file: str | Path) -> Path:
        """Write a page with the film alone, which opens in any browser. Returns `file`.

        Raises:
            BadInput: it cannot be written.
        """
        replace_text(Path(file), film_page([self]), "utf-8")
        return Path(file)

    # What the component gets.

    def data(self) -> dict[str, Any]:
        """What the component shows, as JSON can hold it; of each frame, what changed since the one before."""
        boxes = list(dict.fromkeys(place for frame in self.frames for place in self._boxes(frame)))
        shown: dict[str, Any] = _seen(
            {
                "lang": language(),
                "title": translate(self.title),
                "words": {name: translate(text) for name, text in WORDS.items()},
                "group": self.view.group,
                "queues": self.view.queues,
                "members": self.view.names,
                "line": any(frame.line for frame in self.frames),
                "colours": {asked: self._paint(asked) for asked in sorted(self._asked())},
                "boxes": [self._box(name) for name in boxes],
                "messages": [
                    [
                        message.body,
                        message.tag,
                        message.queue,
                        message.offset,
                        tag_colour(message.tag),
                        ink(tag_colour(message.tag)),
                        message.member,
                    ]
                    for message in self.messages
                ],
                "frames": list(self._changes(boxes)),
            }
        )
        return shown

    def _asked(self) -> set[str]:
        """All that members ask for and the slot holds, some time."""
        slots = {frame.slot.expression for frame in self.frames if frame.slot is not None}
        return slots.union(*(frame.members.values() for frame in self.frames))

    @staticmethod
    def _paint(asked: str) -> tuple[str, str]:
        """The ground of an expression for CSS, and the ink to read on it; "" if there is none for all its stripes."""
        ground = paint(None if asked == NO_MORE else asked)
        return css_paint(ground), ink_on(ground) or ""

    def _boxes(self, frame: Frame) -> Iterator[str]:
        for place, message in zip(frame.places, self.messages, strict=True):
            yield box_of(place, message)

    @staticmethod
    def _box(name: str) -> list[str]:
        """A box's name, its label, a message's mark there, and how it looks: good, bad, or neither."""
        what = name.partition(":")[0]
        if what == Station.UNSENT:
            return [name, translate(WORDS["unsent"]), "", ""]
        if what == Station.PASSED:
            return [name, translate(WORDS["at_client"]), "", ""]
        if what == NOT_ASKED:
            return [name, translate(WORDS["unasked"]), UNASKED.mark, ""]
        fate = Fate(what)
        look = "good" if fate is Fate.DELIVERED else "" if fate in IN_QUEUE or fate is Fate.INVISIBLE else "bad"
        words = WORDS["got"] if fate is Fate.DELIVERED else FATE_WORDS[fate]
        return [name, translate(words), "" if fate is Fate.WAITING else LOOKS[fate].mark, look]

    def _changes(self, boxes: list[str]) -> Iterator[dict[str, Any]]:
        """Each frame as what changed: its step, whom it is about, places, and what broker and members hold."""
        before: dict[str, Any] = {}
        kinds = list(Step)
        for frame in self.frames:
            now: dict[str, Any] = {
                "m": [boxes.index(name) for name in self._boxes(frame)],
                "a": frame.members,
                "s": None
                if frame.slot is None
                else [frame.slot.expression, frame.slot.client, seconds(frame.slot.version)],
                "o": frame.owners,
                "w": sorted(map(list, frame.waits)),
                "l": list(frame.line),
                "f": {str(queue): offset for queue, offset in sorted(frame.offsets.items())},
            }
            changed = {key: value for key, value in now.items() if key != "m" and before.get(key) != value}
            were = before.get("m", [None] * len(self.messages))
            moved = {str(n): place for n, place in enumerate(now["m"]) if were[n] != place}
            yield (
                {"t": round(frame.t), "k": kinds.index(frame.step), "h": list(frame.actors), "c": list(frame.messages)}
                | changed
                | ({"m": moved} if moved else {})
            )
            before = now


def films_of(run: Run, *, unusual: bool = False) -> list[Film]:
    """A film for each group of a run and each topic that it subscribes.

    Raises:
        BadInput: no consumer was started, or more happens than a film can show.
    """
    subscribed = {
        (step.group, topic): None for step in run.scenario.steps if isinstance(step, Start) for topic in step.subscribe
    }
    return [Film(run, group, topic, unusual=unusual) for group, topic in subscribed or [(None, None)]]


def film_page(films: Sequence[Film]) -> str:
    """A whole page with films, one below the other; the component is in it once."""
    parts = [
        f"<h1>{html.escape(visible(translate(film.title)))}</h1>\n{film.html(component=not number)}"
        for number, film in enumerate(films)
    ]
    title = html.escape(visible(translate(films[0].title)))
    return PAGE.format(lang=language(), title=title, films="\n".join(parts))


def box_of(place: Place, message: FilmMessage) -> str:
    """The box of the stage that a message lies in: "what:where". One without a subscriber is no loss, and lies apart.

    >>> message = FilmMessage("MsgStr3", "tagA", 3, 0, Fate.DELIVERED)
    >>> box_of(Place(Fate.DELIVERED, "A"), message), box_of(Place(Fate.WAITING), message)
    ('delivered:A', 'waiting:3')
    """
    what, member = place
    if what in IN_QUEUE:
        return f"{what}:{message.queue}"
    where = "" if what is Station.UNSENT or what in AT_BROKER else member or ""
    return f"{NOT_ASKED if what in LOSING and not message.asked else what}:{where}"


def film(run: Run, *, group: str | None = None, topic: str | None = None) -> Film:
    """The film of a run: of one group and topic, the first ones by default."""
    return Film(run, group, topic)


def _seen(value: Any) -> Any:
    """A value for JSON whose texts are as they are shown."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {visible(key): _seen(item) for key, item in value.items()}
    return [_seen(item) for item in value] if isinstance(value, list | tuple) else value


@cache
def component_source() -> str:
    """The text of `film.js`, the one component for notebooks, pages and playgrounds, without indents and remarks."""
    lines = map(str.strip, files(__package__).joinpath("film.js").read_text(encoding="utf-8").splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))
