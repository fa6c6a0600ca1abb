"""A folder for a room without network: the project, the packages for this kind of machine, the site if it was built.

`./lab` of the folder finds `wheels/` beside it and installs from there alone.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from fnmatch import fnmatch
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmqlab.checkout import ROOT
from rmqlab.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable

PROJECT, WHEELS, SITE, NOTE = "rmqlab", "wheels", "site", "START.txt"
TEXT = """rmqlab, without a network

    cd rmqlab
    ./lab reproduce        the articles' experiments
    ./lab notebook         the lessons

It needs the kind of machine and the Python that it was made with: {machine}, Python {python}.
Copy the folder to where you may write first.
The packages are those of: {extras}.{site}
"""


def make(out: Path, extras: set[str], site: Path, tell: Callable[[str], None]) -> dict[str, Any]:
    """Write the folder ``out``: what it holds, in bytes and files, is returned.

    It is made beside its place and moved there when it is whole.

    Raises:
        BadInput: the folder is there already, or pip could not get a package; the text says which.
    """
    if out.exists():
        raise BadInput(f"--out {out}: it exists; name a new folder")
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".rmqlab-bundle-", dir=out.parent) as scratch:
        made = Path(scratch) / "bundle"
        project = made / PROJECT
        for name in committed():
            target = project / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target)
        tell("bundle: packages")
        download(project / WHEELS, extras)
        has_site = (site / "index.html").is_file()
        if has_site:
            shutil.copytree(site, made / SITE)
        values = {
            "machine": sys.platform, "python": f"{sys.version_info[0]}.{sys.version_info[1]}",
            "extras": ", ".join(["the core", *sorted(extras)]),
            "site": "\nThe site is in site/: open site/index.html." if has_site else "",
        }  # fmt: skip
        (made / NOTE).write_text(TEXT.format(**values), encoding="utf-8")
        made.replace(out)
    return {
        "out": str(out), "wheels": len(list((out / PROJECT / WHEELS).iterdir())), "site": has_site,
        "bytes": sum(path.stat().st_size for path in out.rglob("*") if path.is_file()),
    }  # fmt: skip


def committed(*, untracked: bool = False) -> list[str]:
    """The files of the project that git knows, or would take; in a copy without git all but what .gitignore names.

    >>> "README.md" in committed()
    True
    """
    git = shutil.which("git")
    if git and (ROOT / ".git").exists():
        command = [git, "ls-files", "-z", "--cached", *(("--others", "--exclude-standard") if untracked else ())]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603
        return sorted(name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file())
    ignored = (line.rstrip("/") for line in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines())
    made = [".git", WHEELS, *(pattern for pattern in ignored if pattern and not pattern.startswith("#"))]
    names: list[str] = []
    for folder, folders, files in os.walk(ROOT):
        kept_folders = (name for name in folders if not any(fnmatch(name, pattern) for pattern in made))
        folders[:] = [name for name in kept_folders if not _ignores_itself(Path(folder, name))]
        kept = (name for name in files if not any(fnmatch(name, pattern) for pattern in made))
        names += (Path(folder, name).relative_to(ROOT).as_posix() for name in kept)
    return sorted(names)


def _ignores_itself(folder: Path) -> bool:
    """As a learner's copy does, in whatever language or place."""
    rules = folder / ".gitignore"
    return rules.is_file() and rules.read_text(encoding="utf-8").split() == ["*"]


def download(folder: Path, extras: set[str]) -> None:
    """Let pip fetch what `./lab` would install here, for this Python and machine, in the pinned versions.

    As wheels: Spark comes as sources, and a room without network has nothing to build it with.
    """
    loader = SourceFileLoader("lab_script", str(ROOT / "lab"))
    script = module_from_spec(spec_from_loader("lab_script", loader))  # type: ignore[arg-type]
    loader.exec_module(script)
    folder.mkdir()
    listed = folder.parent / "packages-of-the-bundle.txt"
    listed.write_text(script.pins_of(extras), encoding="utf-8")
    command = [
        sys.executable, "-m", "pip", "wheel", "--no-input", "--disable-pip-version-check", "--progress-bar", "off",
        "--no-deps", "--require-hashes", "--requirement", str(listed), "--wheel-dir", str(folder),
    ]  # fmt: skip
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603
    listed.unlink()
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or done.stderr.splitlines()
        raise BadInput(f"pip could not get a package: {errors[-1] if errors else 'it does not say why'}")
