"""Views of live groups for `rmqlab lint`: what brokers, members and mqadmin say, several files together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rmqlab.errors import BadInput
from rmqlab.files import exists
from rmqlab.language import _
from rmqlab.message.topics import queues_of
from rmqlab_tools.doctor.evidence.config_folder import of_config
from rmqlab_tools.doctor.evidence.door import explain
from rmqlab_tools.doctor.evidence.group_report import lint_of
from rmqlab_tools.doctor.evidence.sections import UNKNOWN_PIECE
from rmqlab_tools.search.lint.findings import GroupLint
from rmqlab_tools.search.lint.members import Groups, read_groups

if TYPE_CHECKING:
    from collections.abc import Iterable


_OF_A_GROUP = {"consumer_connection", "running_info", "consumer_status", "client_ids", _("heartbeat"), "members"}


class Views(NamedTuple):
    """Groups that are written down whole, and, compared already, those that are only seen in part.

    `config_damage`: what is wrong with the files of a broker's `config`, a sentence each: its `.bak` was taken, or
    nothing is known.
    """

    groups: Groups
    compared: dict[str, GroupLint]
    config_damage: tuple[str, ...] = ()


def read_views(files: Iterable[str], queues: int | None = None) -> Views:
    """The groups of files.

    A file of members, heartbeats or a scenario alone is whole, as `read_groups` reads it. As soon as one file is a view
    of a broker or of a member, all are put together. `queues`: of each topic, where nothing names them.

    Raises:
        BadInput: a file is none of these; the text names where.
    """
    groups: Groups = {}
    views = []
    refused: BadInput | None = None
    names = list(files)
    for name in names:
        try:
            for group, members in read_groups(name).items():
                if group in groups:
                    for member in members.members:
                        groups[group].hear(member)
                    groups[group].queues.update(members.queues)
                else:
                    groups[group] = members
        except BadInput as error:
            if not exists(Path(name)):
                raise
            refused = refused or error
            views.append(name)
    if refused is None:
        return Views(groups, {})
    evidence = explain(*map(Path, names))
    seen = [piece for given in evidence.given for piece in given.pieces if given.source in views and not piece.damaged]
    if not any(piece.kind in _OF_A_GROUP for piece in seen):
        for piece in seen:
            if piece.kind != UNKNOWN_PIECE:
                raise BadInput(
                    _(
                        "{place}: {title}; it does not tell what members subscribe: give consumerConnection, "
                        "consumerStatus or heartbeats",
                        place=piece.place, title=piece.title,
                    )
                ) from refused  # fmt: skip
        raise refused
    room = evidence.room
    if queues is not None:
        for group_seen in room.groups.values():
            topics = {topic for slot in group_seen.slots.values() for topic in slot.subscription_table}
            topics |= {str(data.topic) for word in group_seen.words.values() for data in word.info.subscription_set}
            for topic in topics:
                room.topics.setdefault(topic, queues_of(topic, "", queues))
    compared = {
        name or "group": lint_of(room, group)
        for name, group in room.groups.items()
        if any(piece.kind in _OF_A_GROUP for piece in group.pieces)
    }
    damage = (note for given in evidence.given for piece in given.pieces if of_config(piece) for note in piece.notes)
    return Views({}, compared, tuple(damage))
