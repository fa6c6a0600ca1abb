"""requirements.txt: every version that `./lab` installs, what each file of it hashes to, and which extras want it.

`python -m tests.proof.pins` writes it anew from pyproject.toml and keeps the versions it has; `--upgrade` looks for
newer ones. uv resolves for every platform and Python that README names at once.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tomllib
from typing import TYPE_CHECKING, Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from rmqlab.checkout import ROOT
from rmqlab.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

FILE: Final = ROOT / "requirements.txt"
CORE: Final = "core"
"""The name, beside those of the extras, of what builds the package and of what it always needs."""
OLDEST: Final = "3.11.7"
"""The Python that the resolution starts at: a release of 3.11 that all packages take."""
HEADER: Final = """\
# Every version that ./lab installs, with the hashes of its files: pip installs nothing that hashes to something else.
# `# for: ...` says which extras want a package; "core" is what every verb needs.
# Made by `python -m tests.proof.pins` from pyproject.toml, for Linux and macOS and every Python that README names.
"""
KEPT_BELOW: Final = {"contourpy": "1.4", "jsonschema": "4.25", "matplotlib": "3.11", "python-dateutil": "3"}
"""Versions that are not taken: from jsonschema 4.25 on each import compiles 38 grammars, 3 s for every process; later
ones of contourpy, and of matplotlib which asks for those, need Python 3.12; botocore, by which moto speaks of S3, takes
no python-dateutil from 3 on."""
_PIN: Final = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", re.MULTILINE)


def pinned(text: str) -> dict[str, str]:
    """The versions of a requirements file, by normalised name."""
    return {canonicalize_name(name): version for name, version in _PIN.findall(text)}


def wanted() -> dict[str, list[str]]:
    """The requirements of pyproject.toml by extra; `all` is what the other extras want, and no extra of its own."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = settings["project"]
    extras: dict[str, list[str]] = project["optional-dependencies"]
    return {
        CORE: [*settings["build-system"]["requires"], *project["dependencies"]],
        **{extra: list(_resolved(extra, extras, project["name"])) for extra in sorted(extras) if extra != "all"},
    }


def _resolved(extra: str, extras: dict[str, list[str]], project: str) -> Iterator[str]:
    """The requirements of an extra, those of the extras that it names in their place."""
    for text in extras[extra]:
        requirement = Requirement(text)
        if canonicalize_name(requirement.name) == project:
            for inner in requirement.extras:
                yield from _resolved(inner, extras, project)
        else:
            yield text


def resolve(requirements: Iterable[str], constraints: Iterable[str]) -> dict[str, str]:
    """The packages that these requirements want together, each with its marker and hashes, as uv writes them.

    Raises:
        BadInput: uv is not installed, or there is no resolution; the text is uv's.
    """
    limits = ROOT / ".venv" / "pins-constraints.txt"
    limits.parent.mkdir(exist_ok=True)
    limits.write_text("\n".join([*constraints, *(f"{name}<{version}" for name, version in KEPT_BELOW.items())]) + "\n")
    command = [
        sys.executable, "-m", "uv", "pip", "compile", "--universal", "--generate-hashes", "--no-header",
        "--no-annotate", "--python-version", OLDEST, "--constraints", str(limits), "-",
    ]  # fmt: skip
    try:
        done = subprocess.run(  # noqa: S603
            command, input="\n".join(requirements), capture_output=True, text=True, check=False
        )
    finally:
        limits.unlink()
    if done.returncode:
        raise BadInput(f"uv finds no versions that go together: {done.stderr.strip()}")
    blocks = re.split(r"^(?=[A-Za-z0-9])", done.stdout, flags=re.MULTILINE)
    return {canonicalize_name(_PIN.match(block)[1]): block.rstrip() for block in blocks if _PIN.match(block)}  # type: ignore[index]


def written(*, upgrade: bool = False) -> str:
    """The text of requirements.txt for pyproject.toml as it is."""
    extras = wanted()
    kept = (
        [] if upgrade else [f"{name}=={version}" for name, version in pinned(FILE.read_text(encoding="utf-8")).items()]
    )
    everything = resolve([text for requirements in extras.values() for text in requirements], kept)
    versions = [f"{name}=={pinned(block)[name]}" for name, block in everything.items()]
    wanting: dict[str, list[str]] = {}
    for extra, requirements in extras.items():
        for name in resolve(requirements, versions):
            wanting.setdefault(name, []).append(extra)
    return HEADER + "".join(
        f"{block} \n    # for: {' '.join(wanting[name])}\n".replace(" \n", "\n")
        for name, block in sorted(everything.items())
    )


def main() -> int:
    """Write requirements.txt; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.proof.pins", description=__doc__)
    parser.add_argument("--upgrade", action="store_true", help="look for newer versions than those that are pinned")
    arguments = parser.parse_args()
    try:
        text = written(upgrade=arguments.upgrade)
    except BadInput as problem:
        print(problem, file=sys.stderr)  # noqa: T201
        return 2
    FILE.write_text(text, encoding="utf-8")
    print(f"{FILE.name}: {len(pinned(text))} packages")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
