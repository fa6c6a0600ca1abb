"""Builds the site: each language by a Sphinx of its own, all languages at once, then the playgrounds beside them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from rmqlab.checkout import ROOT
from rmqlab.errors import BadInput
from tests.proof.site.sources import lay_out

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LANGUAGES = ("en", "zh")
MARK = ".rmqlab-site"
# The first page leads to the language that the reader's browser asks for; it remembers no one and asks no host.
FIRST_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>rmqlab</title><meta name="color-scheme" content="light dark">
<script>
location.replace((navigator.languages || [navigator.language]).some((one) => /^zh/i.test(one))
  && !/^en/i.test(navigator.language) ? "zh/index.html" : "en/index.html");
</script></head>
<body><h1>rmqlab</h1><ul><li><a lang="en" href="en/index.html">English</a></li>
<li><a lang="zh" href="zh/index.html">中文</a></li></ul></body></html>
"""


class SiteError(Exception):
    """Sphinx was not content: its text says with what."""


def build(
    out: Path, languages: Sequence[str] = LANGUAGES, tell: Callable[[str], None] = lambda _: None, *, lab: bool = True
) -> None:
    """Write the site into the folder ``out``: one folder a language, `playgrounds/`, and the first page.

    The site is built elsewhere and then put in place, so a failure leaves what was there. A site that lies there is
    replaced.

    Raises:
        BadInput: the folder holds something that is no site.
        SiteError: a page has a fault; the text is Sphinx's.
    """
    if out.exists() and not (out.is_dir() and ((out / MARK).is_file() or not any(out.iterdir()))):
        raise BadInput(f"--out {out}: it exists and is no site; name a new folder, or one that an earlier site is in")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"--out {out}: {error.strerror}; name a folder that can be written") from error
    with tempfile.TemporaryDirectory(prefix="rmqlab-site-") as scratch:
        made = Path(scratch) / "site"
        made.mkdir()
        running = {}
        for language in languages:
            sources = Path(scratch) / f"sources-{language}"
            lay_out(sources, language)
            tell(f"site: {language}")
            running[language] = _start(sources, made / language, language)
        for language, process in running.items():
            output, _ = process.communicate()
            if process.returncode:
                for other in running.values():
                    other.kill()
                raise SiteError(f"{language}: {output.strip().replace(f'{scratch}/sources-{language}/', '')}")
        if lab and find_spec("tests.proof.site.playgrounds"):
            from tests.proof.site import browser_lessons, playgrounds

            tell("site: playgrounds")
            playgrounds.assemble(made / "playgrounds")
            browser_lessons.assemble(made / "playgrounds" / "lessons")
            playgrounds.redirect(made / "lab")
        for language in languages:
            redirect_lessons(made / language)
        (made / "index.html").write_text(FIRST_PAGE, encoding="utf-8")
        (made / MARK).touch()
        for rest in made.rglob(".buildinfo"):
            rest.unlink()
        put_in_place(made, out)


OLD_ADDRESS = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>rmqlab</title><meta name="color-scheme" content="light dark"><link rel="canonical" href="{address}">
<script>location.replace("{address}" + location.search + location.hash);</script></head>
<body><p><a href="{address}">{address}</a></p></body></html>
"""
MOVED_LESSONS = {
    "notebooks/13_cluster.html": "how-to/cluster.html",
    "notebooks/exercises/13_cluster_tasks.html": "how-to/cluster.html",
    "notebooks/solutions/13_cluster_tasks.html": "how-to/cluster.html",
}
"""Pages that people have saved, and those that took their place."""


def redirect_lessons(pages: Path) -> None:
    """Write into a language's pages what leads from a lesson that is none any more to the page that it became."""
    for old, new in MOVED_LESSONS.items():
        if not (pages / new).is_file():
            raise SiteError(f"{old} leads to {new}, which is not there")
        place = pages / old
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(OLD_ADDRESS.format(address="../" * old.count("/") + new), encoding="utf-8")


def put_in_place(made: Path, out: Path) -> None:
    """Make the site that was built the one in the folder ``out``; on a full disk the one that lies there stays.

    Raises:
        BadInput: the folder cannot be written.
    """
    beside = out.with_name(f".{out.name}.{os.getpid()}.part")
    try:
        shutil.copytree(made, beside)
        shutil.rmtree(out, ignore_errors=True)
        beside.replace(out)
    except OSError as error:  # copytree gives a list of all that went wrong
        reason = error.strerror or error.args[0][0][2]
        raise BadInput(f"--out {out}: {reason}; name a folder that can be written") from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _start(sources: Path, out: Path, language: str) -> subprocess.Popen[str]:
    """Sphinx for one language, with warnings as errors."""
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "-d", f"{sources}-doctrees"]
    return subprocess.Popen(  # noqa: S603
        [*command, sources, out],
        cwd=ROOT,
        env=os.environ | {"RMQLAB_SITE_LANGUAGE": language},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
