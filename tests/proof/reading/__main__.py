"""Print the reading edition, or make its outline anew.

python -m tests.proof.reading                   # the page, as Markdown
python -m tests.proof.reading --language zh
python -m tests.proof.reading --outline         # what runs now, into outline.txt: after a change of what runs
python -m tests.proof.reading --outline -       # only print it
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.proof.reading.page import OUTLINE, outline, page
from tests.proof.reading.walk import Walk
from tests.proof.reading.words import READING_INTRODUCTION


def main() -> None:
    """Run the story once, and write what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--language", choices=sorted(READING_INTRODUCTION), default="en")
    parser.add_argument("--outline", nargs="?", const=str(OUTLINE), metavar="FILE")
    arguments = parser.parse_args()
    acts = Walk().run()
    text = page(acts, arguments.language) if arguments.outline is None else outline(acts)
    if arguments.outline in {None, "-"}:
        sys.stdout.write(text)
    else:
        Path(arguments.outline).write_text(text, encoding="utf-8")
        sys.stdout.write(f"{arguments.outline}: {text.count(chr(10))} lines\n")


if __name__ == "__main__":
    main()
