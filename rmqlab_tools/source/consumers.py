"""All consumers of a code base, from code and configuration, with what could not be read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rmqlab.errors import BadInput
from rmqlab.language import _, ngettext
from rmqlab_tools.source.annotations import after_settings, annotated_drafts
from rmqlab_tools.source.beans import bean_consumers
from rmqlab_tools.source.callers import consumers_of
from rmqlab_tools.source.code import Code
from rmqlab_tools.source.drafts import FoundConsumer
from rmqlab_tools.source.files import Files
from rmqlab_tools.source.follow import Follower
from rmqlab_tools.source.go_consumers import go_drafts
from rmqlab_tools.source.jvm import jvm_drafts
from rmqlab_tools.source.python_consumers import python_drafts
from rmqlab_tools.source.settings import Settings
from rmqlab_tools.source.stream import output_names, setting_consumers

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


@dataclass(slots=True)
class CodeBase:
    """What was found: consumers; files that were not read or do not parse; notes; how many files were read, or left."""

    consumers: list[FoundConsumer] = field(default_factory=list)
    troubles: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    files: int = 0
    tests: int = 0


def read_code_base(sources: Iterable[Path], profiles: Iterable[str] = (), *, tests: bool = False) -> CodeBase:
    """Read folders and files; `profiles` of Spring are active, `tests` are read too.

    Raises:
        BadInput: a path that is not there, a profile that no application has, or nothing that makes a consumer.
    """
    files = Files()
    named = list(sources)
    for source in named:
        files.add(source, tests=tests)
    settings = Settings(files, profiles)
    code = Code(files)
    follower = Follower(code, settings)
    base = CodeBase(files=len(files.files), tests=files.tests)
    for draft in annotated_drafts(code):
        for consumer in consumers_of(draft, code, follower):
            if (kept := after_settings(consumer, settings)) is not None:
                base.consumers.append(kept)
    for draft in (*jvm_drafts(code, follower), *go_drafts(code, follower), *python_drafts(code)):
        base.consumers += consumers_of(draft, code, follower)
    base.consumers += setting_consumers(settings, output_names(code, follower))
    base.consumers += bean_consumers(files, settings)
    base.troubles = files.troubles
    base.troubles += [
        (unit.file, _("line {line} does not parse: what stands there may be missing here", line=unit.damaged))
        for unit in code.known_units
        if unit.damaged is not None
    ]
    base.notes = list(settings.notes)
    if not base.consumers and base.troubles:
        file, why = base.troubles[0]
        raise BadInput(
            ngettext(
                "{sources}: no consumer of RocketMQ is made in what could be read; "
                "{count} of the files could not, {file}: {why}",
                "{sources}: no consumer of RocketMQ is made in what could be read; {count} of {files} files could not, "
                "such as {file}: {why}",
                len(base.troubles),
                sources=" ".join(map(str, named)),
                files=base.files,
                file=file,
                why=why,
            )
        )
    read = ngettext("{count} file", "{count} files", base.files)
    if not base.consumers and base.tests:
        left = ngettext("{count} file of tests is left out", "{count} files of tests are left out", base.tests)
        raise BadInput(
            _(
                "{sources}: no consumer of RocketMQ is made in {read} of Java, Kotlin, Go, Python, YAML, "
                "properties and XML; {left}, which --tests reads",
                sources=" ".join(map(str, named)), read=read, left=left,
            )
        )  # fmt: skip
    if not base.consumers:
        raise BadInput(
            _(
                "{sources}: no consumer of RocketMQ is made in {read} of Java, Kotlin, Go, Python, YAML, "
                "properties and XML; give the folder of the code whose groups shall be compared",
                sources=" ".join(map(str, named)), read=read,
            )
        )  # fmt: skip
    base.consumers.sort(key=lambda consumer: (consumer.file, consumer.line))
    return base
