"""The stores of two brokers and a slave at addresses of Azure, Google and Hadoop: the same answers as from a disk.

Each service is an emulator. An audit, an archive and a match at its addresses are compared with those of a folder; then
each mistake is made that people make with addresses, and its line is printed with the seconds it took.

    .venv/bin/python -m tests.proof.emulators [azure] [google] [hadoop]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow.fs as pafs

from tests.proof.emulators.services import NotHereError, Service, azure, google, hadoop
from tests.proof.two_brokers import NAMES, RECORDED, unpack

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

LONGEST_S: Final = 60
SERVICES: Final = {"azure": azure, "google": google, "hadoop": hadoop}
_GONE: Final = """
import sys, rmqlab_tools.spark.audit_store as audits
from rmqlab.errors import BadInput
from rmqlab_tools.spark.files.addresses import store_path
audit = audits.open_audit(sys.argv[1], subscriptions=sys.argv[2])
folder = store_path(sys.argv[1] + "") / "store" / "commitlog"
from rmqlab_tools.spark.files.stored_files import contents
(file,) = contents(folder)
file.filesystem.delete_file(file.inner)
try:
    audit.compute()
    print(*dict.fromkeys(damage["reason"] for damage in audit.damage), sep="; ")
except BadInput as error:
    print(error)
"""


def main() -> int:
    """Try each service, print what it said; 1 if an answer is another one than that of a folder, or a line is none."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("services", nargs="*", choices=[*SERVICES, []], metavar="SERVICE", help=", ".join(SERVICES))
    chosen = parser.parse_args().services or list(SERVICES)
    failed = False
    with tempfile.TemporaryDirectory(prefix="rmqlab-stores-") as folder:
        unpack(Path(folder))
        shutil.copytree(Path(folder, "broker-a"), Path(folder, "going"))
        here = answers(lambda path: str(Path(folder, path)), {})
        for name in chosen:
            try:
                with SERVICES[name]() as service:
                    pafs.copy_files(folder, "bucket" if name != "hadoop" else "/bucket",
                                    destination_filesystem=_with_bucket(service))  # fmt: skip
                    failed |= not tried(service, here)
            except NotHereError as error:
                sys.stdout.write(f"{name}: not tried: {error}\n")
    return int(failed)


def _with_bucket(service: Service) -> pafs.FileSystem:
    service.filesystem.create_dir("bucket" if service.filesystem.type_name != "hdfs" else "/bucket")
    return service.filesystem


def tried(service: Service, here: Mapping[str, Any]) -> bool:
    """Whether all is as it should be."""
    there = answers(service.address.format, service.environment)
    same = there == here
    sys.stdout.write(f"{service.name}\n  {'the same answers' if same else f'NOT the same: {there}'}: {here['says']}\n")
    gone = _python(["-c", _GONE, service.address.format("going"), str(RECORDED / "events.jsonl.gz")],
                   service.environment)  # fmt: skip
    lines = {"a file goes while it is read": (gone.stdout + gone.stderr, 0.0, gone.returncode == 0)}
    for name, (address, variables) in service.wrong.items():
        begin = time.monotonic()
        done = _rmqlab("audit", address, environment=variables)
        lines[name] = done.stderr, time.monotonic() - begin, done.returncode == 2  # of bad input
    for name, (text, seconds, as_expected) in lines.items():
        good = as_expected and len(text.strip().splitlines()) == 1 and seconds < LONGEST_S
        same &= good
        sys.stdout.write(f"  {'' if good else 'NOT GOOD: '}{name} ({seconds:.0f} s): {text.strip()}\n")
        sys.stdout.flush()
    return same


def answers(where: Callable[[str], str], environment: Mapping[str, str]) -> dict[str, Any]:
    """What an audit of the three stores, an archive of them and a match say, all of them at one kind of place.

    Raises:
        SystemExit: one of them failed.
    """
    stores, log = [where(name) for name in NAMES], str(RECORDED / "events.jsonl.gz")
    with tempfile.TemporaryDirectory(prefix="rmqlab-answers-") as folder:
        audit, match = Path(folder, "audit.json"), Path(folder, "match.json")
        out = where("kept")
        for command in (
            ["audit", *stores, "--subscriptions", log, "--delivered", log, "--json", str(audit)],
            ["archive", *stores, out],
            ["archive", *stores, out],
            ["match", out, "tagA", "--json", str(match)],
        ):
            done = _rmqlab(*command, environment=environment)
            if done.returncode not in {0, 3} or done.stderr:  # 3: something is lost
                raise SystemExit(f"{command}: {done.returncode} {done.stderr}")
        audited, matched = (json.loads(path.read_text(encoding="utf-8")) for path in (audit, match))
    topics = [topic for topics in audited["groups"].values() for topic in topics.values()]
    total = matched["matched"]
    lost, brokers = sum(topic["lost"] for topic in topics), [broker["broker"] for broker in audited["brokers"]]
    says = f"{lost} messages of {', '.join(brokers)} lost; of the archive {total} match"
    return {"says": says, "groups": audited["groups"], "rows": matched["rows"]}


def _rmqlab(*arguments: str, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return _python(["-m", "rmqlab", *arguments], environment)


def _python(arguments: list[str], environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    own = {name: value for name, value in os.environ.items() if name not in {"CLASSPATH", "ARROW_LIBHDFS_DIR"}}
    return subprocess.run(  # noqa: S603 - our own words
        [sys.executable, *arguments], env=own | dict(environment), capture_output=True, text=True, check=False
    )


if __name__ == "__main__":
    sys.exit(main())
