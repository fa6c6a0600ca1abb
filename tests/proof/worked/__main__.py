"""Renew a worked example that no longer fits.

python -m tests.proof.worked edit rule FOLDER    # a copy of the tree with what still applies; the rest is in *.rej
python -m tests.proof.worked take rule FOLDER    # once it is mended there: the patch, and its page
python -m tests.proof.worked pages               # only the pages, from the patches
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.proof.worked.patches import EXAMPLES, PAGES, edit, renewed, take


def main() -> None:
    """Do what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("edit", "take", "pages"))
    parser.add_argument("name", nargs="?", choices=EXAMPLES)
    parser.add_argument("folder", nargs="?", type=Path)
    arguments = parser.parse_args()
    name, folder = arguments.name, arguments.folder
    if arguments.what == "pages":
        for example in EXAMPLES:
            page = PAGES / f"{example}.md"
            page.write_text(renewed(page.read_text(encoding="utf-8"), example), encoding="utf-8")
    elif name is None or folder is None:
        parser.error(f"{arguments.what} needs a NAME and a FOLDER")
    elif arguments.what == "take":
        take(name, folder.resolve())
    elif folder.exists():
        parser.error(f"{folder} is there already; name a new folder")
    else:
        left_over = edit(name, folder.resolve())
        sys.stdout.write(left_over or "all of it applies\n")
        sys.stdout.write(f"mend it in {folder}, then: python -m tests.proof.worked take {name} {folder}\n")


if __name__ == "__main__":
    main()
