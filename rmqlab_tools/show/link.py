"""A run as text that fits after the # of a page's address: scenario, choices, rules, settings, and where one looks.

Whoever opens the link runs the same simulation: the events are the same bytes in a browser and on the command line.
The text is JSON, packed by zlib, in the letters of base64url; `pack` and `unpack` do that for any JSON value.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput, did_you_mean
from rmqlab.files import json_value
from rmqlab.language import _
from rmqlab.rule_table import no_version
from rmqlab.rules import DEFAULT_VERSION, RULES
from rmqlab.scenario.scenario import Scenario, Send, Start, convert_scenario, refusal_of
from rmqlab.scenario.schedule import Schedule
from rmqlab.sim.cluster import cluster_of
from rmqlab.sim.simulate import simulate

if TYPE_CHECKING:
    from rmqlab.run.run import Run
    from rmqlab.sim.cluster import ClusterConfig

LINK_FORMAT = "rmqlab-link/1"
MAX_LINK_BYTES = 2_000_000  # unpacked: a page must not be filled by a short link
MOST_STEPS, MOST_MEMBERS, MOST_LINK_MESSAGES = 1_000, 100, 10_000
"""Of a link's scenario: whoever opens one waits while it runs."""
LINK_FIELDS = ("format", "scenario", "seed", "schedule", "version", "settings", "step")
DIGEST_LETTERS = 16


def pack(value: object) -> str:
    """A JSON value as text of letters, digits, - and _.

    >>> pack({"a": [1, 2]})
    'eNqrVkpUsoo21DGKrQUAE-8DNQ'
    """
    plain = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return base64.urlsafe_b64encode(zlib.compress(plain.encode("ascii"), 9)).decode("ascii").rstrip("=")


def unpack(text: str, where: str = "link") -> Any:
    """The JSON value in a link: a whole address, what stands after its #, or the packed text alone.

    Raises:
        BadInput: it was cut off or changed; the text says where it stops to make sense.
    """
    packed = "".join(text.rpartition("#")[2].split())
    if not packed:
        raise BadInput(_("{where}: nothing stands behind the #; copy the whole link", where=where))
    try:
        data = base64.b64decode(packed + "=" * (-len(packed) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadInput(
            _(
                "{where}: {packed}... is no packed text (letters, digits, - and _): {error}",
                where=where,
                packed=f"{packed[:20]!r}",
                error=error,
            )
        ) from error
    unpacker = zlib.decompressobj()
    try:
        plain = unpacker.decompress(data, MAX_LINK_BYTES)
    except zlib.error as error:
        raise BadInput(
            _("{where}: it was changed or is no link of a lab ({error}); copy the whole link", where=where, error=error)
        ) from error
    if unpacker.unconsumed_tail:
        raise BadInput(
            _(
                "{where}: more than {max_bytes} bytes are packed in it; a link of a lab is smaller",
                where=where,
                max_bytes=f"{MAX_LINK_BYTES:,}",
            )
        )
    if not unpacker.eof:
        raise BadInput(_("{where}: its end is missing; copy the whole link", where=where))
    try:
        return json_value(plain)
    except ValueError as error:
        raise BadInput(_("{where}: what is packed in it is not JSON ({error})", where=where, error=error)) from error


@dataclass(frozen=True, slots=True)
class Link:
    """A scenario and how to run it: `seed` or `schedule` for what is left to chance, rules of a `version`, settings.

    `settings` are the broker's by RocketMQ's names. `step` is the moment of the story at which a page shows it; it
    changes nothing in the run.
    """

    scenario: Scenario
    seed: int | None = None
    schedule: Schedule | None = None
    version: str = DEFAULT_VERSION
    settings: dict[str, str | int | bool] = field(default_factory=dict)
    step: int | None = None

    @classmethod
    def of(cls, fields: object, where: str = "link") -> Link:
        """A link from the dicts of its JSON form.

        Raises:
            BadInput: a field is missing, unknown or of another kind; the text names it.
        """
        if not isinstance(fields, dict) or fields.get("format") != LINK_FORMAT:
            raise BadInput(
                _(
                    '{where}: "format" must be "{format}"; this is a link to something else',
                    where=where,
                    format=LINK_FORMAT,
                )
            )
        for name in fields:
            if name not in LINK_FIELDS:
                raise BadInput(
                    _(
                        '{where}: "{name}" is unknown{near}',
                        where=where,
                        name=name,
                        near=did_you_mean(name, LINK_FIELDS),
                    )
                )
        for name in ("seed", "step"):
            if type(fields.get(name, 0)) is not int:
                raise BadInput(
                    _(
                        '{where}: "{name}" is {fields}; it must be a whole number',
                        where=where,
                        name=name,
                        fields=f"{fields[name]!r}",
                    )
                )
        scenario = convert_scenario(fields.get("scenario"), f"{where}: scenario")
        _check_size(scenario, where)
        schedule = fields.get("schedule")
        if schedule is not None and "seed" in fields:
            raise BadInput(_('{where}: it has a "seed" and a "schedule"; one of them decides', where=where))
        version, settings = fields.get("version", DEFAULT_VERSION), fields.get("settings", {})
        if not isinstance(version, str) or version not in RULES:
            raise BadInput(f"{where}: {no_version(version, RULES)}")
        refusal = refusal_of(scenario, RULES[version])
        if refusal is not None:
            raise BadInput(_("{where}: scenario: {refusal}", where=where, refusal=refusal))
        if not isinstance(settings, dict):
            raise BadInput(
                _(
                    '{where}: "settings" is {settings}; it must be an object, such as {{"longPollingEnable": 1}}',
                    where=where,
                    settings=f"{settings!r}",
                )
            )
        link = cls(
            scenario,
            fields.get("seed"),
            None if schedule is None else Schedule.from_json(json.dumps(schedule), f"{where}: schedule"),
            version,
            settings,
            fields.get("step"),
        )
        link.cluster()  # an unknown setting is told now
        return link

    @classmethod
    def read(cls, text: str, where: str = "link") -> Link:
        """The link in an address, or in what stands after its #; raises as `unpack` and `of`."""
        return cls.of(unpack(text, where), where)

    def to_builtins(self) -> dict[str, Any]:
        """The dicts and lists of its JSON form; what is as usual is left out."""
        plain: dict[str, Any] = {"format": LINK_FORMAT, "scenario": self.scenario.to_builtins()}
        if self.schedule is not None:
            plain["schedule"] = json.loads(self.schedule.to_json())
        if self.version != DEFAULT_VERSION:
            plain["version"] = self.version
        if self.settings:
            plain["settings"] = self.settings
        return plain | {name: value for name in ("seed", "step") if (value := getattr(self, name)) is not None}

    def text(self) -> str:
        """What stands after the # of an address."""
        return pack(self.to_builtins())

    def cluster(self) -> ClusterConfig:
        """The cluster that runs it.

        Raises:
            BadInput: a setting that the broker does not know.
        """
        return cluster_of(self.settings, RULES[self.version])

    def run(self) -> Run:
        """Run it from beginning to end.

        Raises:
            BadInput: the schedule belongs to another run.
        """
        from rmqlab_tools.search.explorer.timings import chosen_times

        times = chosen_times(self.scenario, seed=self.seed, schedule=self.schedule)
        return simulate(self.scenario, cluster=self.cluster(), **times)


def _check_size(scenario: Scenario, where: str) -> None:
    """Raise `BadInput` for a scenario that would keep whoever opens its link waiting."""
    members = len({step.who for step in scenario.steps if isinstance(step, Start)})
    messages = sum(len(step.messages) for step in scenario.steps if isinstance(step, Send))
    for count, most, what in (
        (len(scenario.steps), MOST_STEPS, _("steps")),
        (members, MOST_MEMBERS, _("members")),
        (messages, MOST_LINK_MESSAGES, _("messages")),
    ):
        if count > most:
            raise BadInput(
                _(
                    "{where}: its scenario has {count} {what}; a link has at most {most}: run the scenario from a file",
                    where=where,
                    count=f"{count:,}",
                    what=what,
                    most=f"{most:,}",
                )
            )


def digest(run: Run) -> str:
    """What names the events of a run: equal digests are equal bytes (the first letters of their SHA-256)."""
    return hashlib.sha256(run.lines().encode("ascii")).hexdigest()[:DIGEST_LETTERS]
