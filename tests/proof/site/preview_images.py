"""The images that messengers show of the site, one a language, drawn by Chromium from the words of the home page.

    python -m tests.proof.site.preview_images      # draws docs/_static/preview-LANGUAGE.png anew

Each image carries the digest of the page that it was drawn from, so a test knows one whose words have changed since.
"""

from __future__ import annotations

import hashlib
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from html import escape
from pathlib import Path
from typing import Final

from rmqlab.checkout import ROOT
from rmqlab.errors import BadInput
from rmqlab.language import LANGUAGES
from tests.proof.site.top import words

STATIC = ROOT / "docs" / "_static"
WIDTH, HEIGHT = 1200, 630
DRAWN_FROM: Final = b"Source"  # the keyword of the text chunk in a PNG that has the digest
_SIGNATURE: Final = 8  # bytes before the first chunk
PAGE = """<!doctype html><html lang="{language}"><meta charset="utf-8"><link rel="stylesheet" href="theme.css"><style>
body {{ margin: 0; width: 1200px; height: 630px; background: var(--night); color: var(--night-text); display: flex;
  align-items: center; justify-content: space-between; box-sizing: border-box; padding: 0 98px 0 72px;
  font-family: var(--display) }}
div {{ width: 690px }} .brand {{ display: flex; align-items: center; gap: 16px; font-size: 34px; font-weight: 500 }}
.brand img {{ width: 56px }} h1 {{ font-size: 60px; line-height: 1.1; margin: 44px 0 40px; letter-spacing: -.01em }}
h1 * {{ display: block; font-style: normal }} em {{ color: var(--night-accent) }}
p {{ color: var(--night-soft); font-size: 28px; line-height: 1.4; margin: 0; font-weight: 500 }}
</style><body><div><p class="brand" style="color: inherit"><img src="favicon.svg" alt="">rmqlab</p>
<h1><span>{sent}</span> <em>{lost}</em> <span>{silent}</span></h1><p>{about}</p></div>
<svg width="244" height="428">{boxes}</svg></body></html>
"""


def page_of(language: str) -> str:
    """What is drawn: the sentence of the home page in three lines, and eight messages of which two arrive."""
    home = words()[language]["home"]
    said = {name: escape(home[f"sentence_{name}"]) for name in ("sent", "lost", "silent")}
    colours = ["var(--night-line)"] * 6 + ["var(--night-accent)"] * 2
    boxes = "".join(
        f'<rect x="{132 * (n % 2)}" y="{112 * (n // 2)}" width="112" height="92" rx="16" style="fill:{colour}"/>'
        for n, colour in enumerate(colours)
    )
    return PAGE.format(language=language, about=escape(home["eyebrow"]), boxes=boxes, **said)


def digest(language: str) -> bytes:
    """The page and the colours and letters it is drawn in, as a short name."""
    whole = page_of(language).encode() + (STATIC / "theme.css").read_bytes() + (STATIC / "favicon.svg").read_bytes()
    return hashlib.sha256(whole).hexdigest()[:16].encode()


def drawn_from(image: bytes) -> bytes:
    """The digest that an image carries; empty for one without."""
    at = _SIGNATURE
    while at < len(image):
        length, kind = struct.unpack_from(">I4s", image, at)
        data = image[at + 8 : at + 8 + length]
        if kind == b"tEXt" and data.startswith(DRAWN_FROM + b"\0"):
            return data.partition(b"\0")[2]
        at += 12 + length
    return b""


def marked(image: bytes, source: bytes) -> bytes:
    """The image with a digest, in a text chunk behind its header."""
    chunk = b"tEXt" + DRAWN_FROM + b"\0" + source
    header_ends = _SIGNATURE + 12 + struct.unpack_from(">I", image, _SIGNATURE)[0]
    whole = struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk))
    return image[:header_ends] + whole + image[header_ends:]


def draw(language: str) -> Path:
    """Draw the image of a language with Chromium.

    Raises:
        BadInput: there is no Chromium.
    """
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        raise BadInput("no Chromium here; on Debian and Ubuntu: apt install chromium")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "page"
        shutil.copytree(STATIC, folder)
        theme = (STATIC / "theme.css").read_text(encoding="utf-8")  # an image waits for its letters
        (folder / "theme.css").write_text(theme.replace("font-display: optional", "font-display: block"), "utf-8")
        (folder / "preview.html").write_text(page_of(language), encoding="utf-8")
        command = [
            program, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
            "--force-device-scale-factor=1",
            f"--user-data-dir={scratch}/profile", f"--window-size={WIDTH},{HEIGHT}", "--allow-file-access-from-files",
            f"--screenshot={scratch}/preview.png", "--virtual-time-budget=4000", (folder / "preview.html").as_uri(),
        ]  # fmt: skip
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - our own page
        image = (Path(scratch) / "preview.png").read_bytes()
    path = STATIC / f"preview-{language}.png"
    path.write_bytes(marked(image, digest(language)))
    return path


if __name__ == "__main__":
    for name in LANGUAGES:
        sys.stdout.write(f"{draw(name)}\n")
