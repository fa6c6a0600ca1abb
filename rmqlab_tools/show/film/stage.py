"""The stage of a film: what broker and members hold while the events go by, and the frames taken of it."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from rmqlab.language import _, joined
from rmqlab.run.fates import Fate
from rmqlab_tools.show.film.frames import PRODUCER, FilmMessage, FilmSlot, Frame, Place, Station, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rmqlab.run.run_view import RunView

MOST_NAMED = 6  # messages by name in a sentence


class Stage:
    """What stands where; `take` makes a frame of it."""

    def __init__(self, view: RunView) -> None:
        """Before anything happened: all messages are with the producer."""
        self.messages = [
            FilmMessage(fate.body, fate.tag, fate.queue, fate.offset, fate.fate, fate.member, fate.asked)
            for fate in view.fates
        ]
        self.frames: list[Frame] = []
        self.places = [Place(Station.UNSENT)] * len(self.messages)
        self.members: dict[str, str] = {}
        self.slot: FilmSlot | None = None
        self.owners: dict[str, tuple[int, ...]] = {}
        self.waits: set[tuple[str, int]] = set()
        self.line: list[tuple[int, str]] = []
        self.offsets: dict[int, int] = {}
        self._at: dict[tuple[int, int], list[int]] = defaultdict(list)
        for number, message in enumerate(self.messages):
            self._at[message.queue, message.offset].append(number)
        self._last: object = None

    def at(self, queue: int, offset: int, member: str | None = None) -> list[int]:
        """The messages at an offset: one; of a broadcasting group, the copy for `member`, or all copies.

        A topic that was made anew has had two there: it is the one sent last, or else the first to be sent.
        """
        there = [n for n in self._at.get((queue, offset), ()) if member in {None, self.messages[n].member or member}]
        sent = [n for n in there if self.places[n].what is not Station.UNSENT]
        wanted = sent[-1:] or there[:1]
        return [n for n in there if any(self._is_copy(n, like) for like in wanted)]

    def _is_copy(self, number: int, like: int) -> bool:
        return number == like or (
            self.messages[number].member is not None
            and self.messages[number].body == self.messages[like].body
            and (self.places[number].what is Station.UNSENT) == (self.places[like].what is Station.UNSENT)
        )

    def put(self, messages: Iterable[int], place: Place) -> list[int]:
        """Move those messages there that no listener took; which they are."""
        moved = [n for n in messages if self.places[n].what is not Fate.DELIVERED]
        for number in moved:
            self.places[number] = place
        return moved

    def named(self, messages: Sequence[int]) -> str:
        """Messages for a sentence: their bodies and tags, or how many they are."""
        names = dict.fromkeys(
            _("{body} ({tag})", body=self.messages[n].body, tag=self.messages[n].tag or _("no tag")) for n in messages
        )
        if len(names) > MOST_NAMED:
            return _("{count} messages", count=len(names))
        return joined(", ", names)

    def take(
        self,
        t: float,
        step: Step,
        text: str | Callable[[str], str],
        *,
        actors: Iterable[str] = (),
        messages: Iterable[int] = (),
        key: object = None,
    ) -> None:
        """Make a frame; `text` may be a function of its messages' names.

        What belongs together (one pull's messages: the same `key`, and nothing in between) is one frame.
        """
        mark, about = None if key is None else (step, key), list(messages)
        if mark is not None and mark == self._last:
            about = [*self.frames.pop().messages, *about]
        self._last = mark
        said = text if isinstance(text, str) else text(self.named(about))
        self.frames.append(
            Frame(
                t, step, said, tuple(actors), tuple(about), tuple(self.places), dict(self.members), self.slot,
                dict(self.owners), frozenset(self.waits), tuple(who for _, who in self.line), dict(self.offsets),
            )
        )  # fmt: skip

    def leaves(self, client: str) -> None:
        """A member is gone: it runs, owns, and waits no more."""
        for held in (self.members, self.owners):
            held.pop(client, None)
        self.waits = {wait for wait in self.waits if wait[0] != client}
        self.line = [waiter for waiter in self.line if waiter[1] != client]

    # Messages are seen in their queue from the first thing on that is done with them, or from their send's answer.

    def sent(self, t: float, messages: Iterable[int]) -> None:
        """Messages lie in their queue by now: a frame for those that did not yet."""
        new = [n for n in messages if self.places[n].what is Station.UNSENT]
        if new:
            self.put(new, Place(Fate.WAITING))
            queue = self.messages[new[0]].queue
            text = _("The producer sends {messages} to queue {queue}.", messages=self.named(new), queue=queue)
            self.take(t, Step.SEND, text, actors=[PRODUCER], messages=new)

    def sent_at(self, t: float, queue: int, offset: int, client: str) -> list[int]:
        """The messages at an offset that `client` reads; they were sent by now."""
        self.sent(t, self.at(queue, offset))
        return self.at(queue, offset, client)
