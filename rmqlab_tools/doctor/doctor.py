"""`rmqlab.doctor`: look at a live cluster, once or again and again, and say what is wrong in it.

Keys and encryption come from files or the environment, never from a command line.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from rmqlab.errors import BadInput, did_you_mean
from rmqlab.files import read_bytes
from rmqlab.language import _
from rmqlab.message.java_properties import load_properties
from rmqlab_tools.doctor.diagnosis import diagnose
from rmqlab_tools.doctor.history import SnapshotHistory
from rmqlab_tools.doctor.read_client import ReadClient, addresses_of
from rmqlab_tools.doctor.snapshot import SnapshotOptions
from rmqlab_tools.doctor.snapshot_json import read_look
from rmqlab_tools.doctor.take_snapshot import take_look
from rmqlab_tools.live.configuration_files import read_rules
from rmqlab_tools.live.extra.acl import AclClientRPCHook
from rmqlab_tools.live.system import epoch_ms

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rmqlab_tools.doctor.diagnosis import Diagnosis
    from rmqlab_tools.doctor.snapshot import ClusterSnapshot

CLOCK_STEP_MS: Final = 1_000
"""A machine's clock that leaves its steady one by more than this between two looks was set."""
MAX_EVERY_S: Final = 10**9  # as the verb's --every


def doctor(
    namesrv: str = "127.0.0.1:9876",
    *,
    groups: Sequence[str] = (),
    topics: Sequence[str] = (),
    looks: int = 1,
    every: float = 10.0,
    messages: int = 0,
    since: Diagnosis | None = None,
    recorded: Sequence[str | Path] = (),
    acl: str | Path | None = None,
    tls: bool | str | Path = False,
    proxies: Sequence[str] = (),
    **limits: int,
) -> Diagnosis:
    """Read a live cluster and say who loses messages in it. Nothing is sent to it but questions.

    `namesrv` is "host:port;host:port"; `groups` and `topics` are names, none means all. With two `looks` or more
    flips are counted and what was lost in between is known; one look judges what lies around the committed offsets.
    `messages` are read so many a queue, to say what they are. `limits` are those of
    `SnapshotOptions`: `window`, `rate`, `timeout_ms`, `member_timeout_ms`, `limit_ms`. `since` is an earlier answer:
    what was passed since then is judged. `recorded` are files of looks that were saved, oldest first: they are judged
    again, all groups or those named, and no server is asked. `tls` encrypts, or names a file with the settings of
    4.8.0's `tls.config.file`. `proxies` are remoting addresses of 5.x proxies, "host:port", that are asked for the
    members that no broker lists.

    Args:
        every: between two looks
        acl: keys, as in conf/tools.yml; else RMQLAB_ACCESS_KEY and RMQLAB_SECRET_KEY

    >>> import rmqlab
    >>> with rmqlab.serve() as broker:
    ...     rmqlab.doctor(broker.namesrv_addr).status
    0

    Raises:
        BadInput: no name server answers, what answers is none, a key is wrong, a group or topic is not there, or a
            number makes no sense; a recorded file holds no look or is not in order; `topics` are to be chosen from one.
    """
    if looks < 1:
        raise BadInput(_("looks is {looks}: 1 or more are needed", looks=looks))
    if not 0 < every <= MAX_EVERY_S:
        raise BadInput(
            _(
                "every is {every}: the seconds between two looks are above 0, and at most {max_every_s}",
                every=f"{every:g}",
                max_every_s=MAX_EVERY_S,
            )
        )
    if recorded:
        if topics:
            raise BadInput(
                _(
                    "topic {topics}: saved looks are judged with every topic in them; name a group instead",
                    topics=f"{topics[0]!r}",
                )
            )
        return _judged_again(recorded, groups)
    options = SnapshotOptions(tuple(groups), tuple(topics), messages, proxies=addresses_of_proxies(proxies), **limits)
    with Doctor(namesrv, options, None if since is None else since.look, acl=acl, tls=tls) as session:
        for diagnosis in session.looks(looks, every):
            last = diagnosis
    return last


def addresses_of_proxies(texts: Sequence[str]) -> tuple[str, ...]:
    """The addresses of proxies, each given alone or several as "host:port;host:port".

    Raises:
        BadInput: a text that is no address.
    """
    return tuple(dict.fromkeys(address for text in texts for address in addresses_of(text, _("proxy"))))


def _judged_again(files: Sequence[str | Path], groups: Sequence[str]) -> Diagnosis:
    """What several saved looks at one cluster say, the last one judged by those before: of these groups, or of all.

    Also for a group that the last look has not.

    Raises:
        BadInput: looks that are not in the order of their time, one twice among them: what was seen at two looks is
            called proved.
    """
    looks = [read_look(Path(file)) for file in files]
    for number, (before, look) in enumerate(pairwise(looks)):
        if look.at <= before.at:
            raise BadInput(
                _(
                    "{files}: not later than {files2}; name each look once, oldest first",
                    files=files[number + 1],
                    files2=files[number],
                )
            )
    for name in groups:
        if name not in looks[-1].groups:
            raise BadInput(
                _(
                    "group {name} is not in the last look{near}",
                    name=f"{name!r}",
                    near=did_you_mean(name, looks[-1].groups),
                )
            )
    if groups:
        looks = [
            replace(saved, groups={name: saved.groups[name] for name in groups if name in saved.groups})
            for saved in looks
        ]
    history = SnapshotHistory()
    for look in looks:
        history.saw(look)
    return diagnose(looks[-1], looks[-2] if len(looks) > 1 else None, history)


class Doctor:
    """Looks at one cluster over the same connections, on a thread of its own: a notebook has a loop already.

    Use it inside `with`. `diagnosis` is the last one.
    """

    def __init__(
        self,
        namesrv: str,
        options: SnapshotOptions | None = None,
        previous: ClusterSnapshot | None = None,
        *,
        acl: str | Path | None = None,
        tls: bool | str | Path = False,
    ) -> None:
        """Nothing is asked before the first `look`; `previous` is one that was taken earlier.

        Raises:
            BadInput: keys or settings that cannot be read.
        """
        self._hook = access_keys(acl, os.environ)
        self._tls = None if tls is False else tls_context(None if tls is True else tls)
        self.namesrv = namesrv
        self._history = SnapshotHistory()
        if previous is not None:
            self._history.saw(previous)
        self.diagnosis: Diagnosis | None = None
        self._asked = options
        self._client: ReadClient | None = None
        self._previous = previous
        self._thread = ThreadPoolExecutor(1, "rmqlab doctor")
        self._runner = asyncio.Runner()
        self._looked = 0.0
        self._clock_apart: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._thread.submit(self._close).result()
        self._thread.shutdown()

    def look(self) -> Diagnosis:
        """Look once more.

        Raises:
            BadInput: when nothing can be said of the cluster.
        """
        self._looked = time.monotonic()
        self._follow_clock()
        look = self._thread.submit(lambda: self._runner.run(self._take())).result()
        self._history.saw(look)
        self.diagnosis = diagnose(look, self._previous, self._history)
        self._previous = look
        return self.diagnosis

    def _follow_clock(self) -> None:
        """Move what was seen before when this machine's clock was set: between two looks lies the time that passed."""
        now = epoch_ms()
        apart = now - round(self._looked * 1000)
        step = 0 if self._clock_apart is None else apart - self._clock_apart
        self._clock_apart = apart
        if abs(step) > CLOCK_STEP_MS and self._previous is not None:
            # One clock is read after the other, so a step may be some ms too long: nothing seen lies after now.
            step = min(step, now - self._previous.at)
            self._previous = replace(self._previous, at=self._previous.at + step)
            self._history.moved(step)

    def looks(self, number: int, every: float) -> Iterator[Diagnosis]:
        """Look `number` times, `every` seconds apart."""
        for turn in range(number):
            if turn:
                self.wait(every)
            yield self.look()

    def wait(self, seconds: float) -> None:
        """Sleep until `seconds` have passed since the last look began."""
        time.sleep(max(0.0, self._looked + seconds - time.monotonic()))

    async def _take(self) -> ClusterSnapshot:
        if self._client is None:
            self._client = ReadClient(self.namesrv, self._asked, hook=self._hook, tls=self._tls)
        return await take_look(self._client, self._previous)

    def _close(self) -> None:
        if self._client is not None:
            self._runner.run(self._client.__aexit__(None, None, None))
        self._runner.close()


ACCESS_KEY_VARIABLE: Final = "RMQLAB_ACCESS_KEY"
SECRET_KEY: Final = "RMQLAB_SECRET_KEY"  # noqa: S105 - the name of a variable
SECURITY_TOKEN_VARIABLE: Final = "RMQLAB_SECURITY_TOKEN"  # noqa: S105


def access_keys(file: str | Path | None, environment: Mapping[str, str]) -> AclClientRPCHook | None:
    """What signs requests: the keys of a file, else those of the environment, else None.

    The file is that of 4.8.0's admin tool, conf/tools.yml: `accessKey:` and `secretKey:` (`AclUtils.getAclRPCHook`),
    and `securityToken:` if there is one. Example::

        access_keys(None, {"RMQLAB_ACCESS_KEY": "reader", "RMQLAB_SECRET_KEY": "12345678"})

    Raises:
        BadInput: when one of the two keys is missing.
    """
    if file is not None:
        where = _("{file}: accessKey: and secretKey: are wanted, as in 4.8.0's conf/tools.yml", file=file)
        try:
            rules = read_rules(Path(file))
        except BadInput as error:
            if isinstance(error.__cause__, ImportError):
                raise
            raise BadInput(f"{where}: {getattr(error.__cause__, 'strerror', None) or error.__cause__}") from error
        keys_of_file = rules if isinstance(rules, dict) else {}
        keys = [keys_of_file.get(name) for name in ("accessKey", "secretKey", "securityToken")]
    else:
        keys = [environment.get(name) for name in (ACCESS_KEY_VARIABLE, SECRET_KEY, SECURITY_TOKEN_VARIABLE)]
        where = _(
            "{access_key} and {secret_key} belong together: one of them is not set",
            access_key=ACCESS_KEY_VARIABLE,
            secret_key=SECRET_KEY,
        )
        if not keys[0] and not keys[1]:
            return None
    access_key, secret_key, token = ("" if key is None else str(key).strip() for key in keys)
    if not access_key or not secret_key:
        raise BadInput(where)
    return AclClientRPCHook(access_key, secret_key, token or None)


def tls_context(file: str | Path | None = None) -> ssl.SSLContext:
    """How connections are encrypted: as a Java client with `-Dtls.enable=true` does it.

    `file` has the settings of 4.8.0's `tls.config.file`, `name=value` lines: `tls.client.trustCertPath`,
    `tls.client.authServer`, `tls.client.certPath`, `tls.client.keyPath`, `tls.client.keyPassword`; other names are
    passed over. Without `tls.client.authServer=true` every server is believed, and names of hosts are never checked
    (`TlsHelper.buildSslContext`). What the file says counts even where Java's `tls.test.mode.enable` is left on.

    Raises:
        BadInput: a file that cannot be read, here or by one of those settings.
    """
    settings: dict[str, str] = {}
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    name = file
    try:
        if file is not None:
            settings = load_properties(read_bytes(Path(file)))
        if settings.get("tls.client.authServer", "false").lower() == "true":
            context.verify_mode = ssl.CERT_REQUIRED
            name = settings.get("tls.client.trustCertPath")
            context.load_verify_locations(name) if name else context.load_default_certs()
        if name := settings.get("tls.client.certPath"):
            key = settings.get("tls.client.keyPath") or None
            context.load_cert_chain(name, key, settings.get("tls.client.keyPassword", ""))
    except (OSError, ssl.SSLError) as error:
        raise BadInput(
            _(
                "{name}: {strerror}; a PEM file is wanted, or settings tls.client.*",
                name=name,
                strerror=error.strerror or error,
            )
        ) from error
    return context
