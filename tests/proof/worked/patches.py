"""The patches: what each shows and tests, how it is applied to a copy of the tree, and how its page quotes it.

A patch begins with lines `tests: ID` (what pytest runs of it); `git apply` passes them over. It is applied with one
line of context, so it survives changes around it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from typing import TYPE_CHECKING, Final

from rmqlab.checkout import ROOT

if TYPE_CHECKING:
    from pathlib import Path

FOLDER: Final = ROOT / "tests" / "proof" / "worked"
PAGES: Final = ROOT / "docs" / "how-to" / "add"
EXAMPLES: Final = ("rule", "request", "fault", "finding", "verb", "lesson", "picture")
COPIED: Final = ("rmqlab", "rmqlab_tools", "tests", "notebooks")
LINKED: Final = ("data", "docs")
MADE: Final = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints", "*.pyc")
_PART = re.compile(r"^diff --git a/\S+ b/(\S+)\n(.*?)(?=^diff --git |\Z)", re.MULTILINE | re.DOTALL)
_BLOCK = re.compile(r"^```diff\n\+\+\+ (\S+)\n.*?^```$", re.MULTILINE | re.DOTALL)
_HUNK = re.compile(r"^@@.*$", re.MULTILINE)


def patch_of(name: str) -> Path:
    """The file of an example's patch."""
    return FOLDER / f"{name}.patch"


def ids_of(name: str) -> list[str]:
    """What pytest runs of it."""
    return re.findall(r"^tests: (\S+)$", patch_of(name).read_text(encoding="utf-8"), re.MULTILINE)


def files_of(name: str) -> dict[str, str]:
    """Each file that it changes, to its lines as a page shows them: those that come, and what stands around them."""
    parts = _PART.findall(patch_of(name).read_text(encoding="utf-8"))
    return {path: _shown(text) for path, text in parts}


def _shown(text: str) -> str:
    first = _HUNK.search(text)
    hunks = _HUNK.split(text[first.end() :]) if first else []
    return "\n...\n".join(re.sub(r"^(?: ?\n)+|(?:\n ?)+$", "", hunk) for hunk in hunks)


def lay_out(target: Path) -> None:
    """A copy of this tree in a new folder; what no patch changes is linked."""
    target.mkdir(parents=True)
    for name in COPIED:
        shutil.copytree(ROOT / name, target / name, ignore=MADE)
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copyfile(path, target / path.name)
    for name in LINKED:
        (target / name).symlink_to(ROOT / name)


def apply(patch: Path, tree: Path, *more: str) -> str:
    """Apply a patch to a copy; what git says if it does not fit, else ""."""
    command = ["git", "apply", "-C1", "--whitespace=nowarn", *more, str(patch)]
    done = subprocess.run(command, cwd=tree, env=_alone(tree), capture_output=True, text=True, check=False)  # noqa: S603
    return done.stderr if done.returncode else ""


def renewed(page: str, name: str) -> str:
    """A page with each block `+++ FILE` as the patch has it now.

    Raises:
        KeyError: the patch does not change such a file.
    """
    files = files_of(name)
    return _BLOCK.sub(lambda block: f"```diff\n+++ {block[1]}\n{files[block[1]]}\n```", page)


def edit(name: str, tree: Path) -> str:
    """A copy of the tree as a repository, with the patch as far as it fits; what git says of the rest (in *.rej)."""
    lay_out(tree)
    _git(tree, "init", "-q")
    _git(tree, "add", "-A")
    _git(tree, "-c", "user.name=worked", "-c", "user.email=worked@example.org", "commit", "-qm", "the tree")
    return apply(patch_of(name), tree, "--reject")


def take(name: str, tree: Path) -> None:
    """Write the patch from an edited copy, and the blocks of its page."""
    for rest in tree.rglob("*.rej"):
        rest.unlink()
    _git(tree, "add", "-A")
    kept = "".join(f"tests: {test}\n" for test in ids_of(name))
    patch_of(name).write_text(kept + "\n" + _git(tree, "diff", "--cached", "-U2", "HEAD"), encoding="utf-8")
    page = PAGES / f"{name}.md"
    page.write_text(renewed(page.read_text(encoding="utf-8"), name), encoding="utf-8")


def _git(tree: Path, *arguments: str) -> str:
    command = ["git", *arguments]
    return subprocess.run(command, cwd=tree, env=_alone(tree), check=True, capture_output=True, text=True).stdout  # noqa: S603


def _alone(tree: Path) -> dict[str, str]:
    """An environment in which git sees no repository around the copy."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return others | {"GIT_CEILING_DIRECTORIES": str(tree.parent), "GIT_CONFIG_GLOBAL": os.devnull}
