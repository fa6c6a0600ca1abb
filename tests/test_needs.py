"""No verb imports what it does not say it needs, and its help needs nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from rmqlab.checkout import ROOT
from rmqlab_tools.cli import VERBS
from tests.proof.installed import closure
from tests.proof.pins import CORE, wanted
from tests.proof.reachable_imports import reachable
from tests.proof.site.browser_lessons import PURE

# Imports that no verb comes to, or that need nothing, by their place and why.
EXCUSED = {
    "tests.proof.site.browser_cells:begin": "this file runs in a browser, and Python is there",
    "tests.proof.site.browser_cells:failed": "as begin",
    "rmqlab_tools.live.configuration_files:_yaml": "whoever has no PyYAML is told how to get it, and --acl brings it",
    "rmqlab_tools.live.tls:self_signed": "whoever lacks the package is told so, and `serve` brings it",
    "rmqlab_tools.course.quiz:_asked": "a lesson's: with its kernel comes what it shows",
}
# Functions of a name that a verb uses of another module.
_RUNNING = {"tests.proof.notebook_files:execute", "tests.proof.notebook_files:page", "tests.proof.workshop.times:_run"}
# Of the archive of Spark's classes, which is made where `find_spec` has found Spark.
_ARCHIVE = {
    "rmqlab_tools.java_runtime:archive_path", "rmqlab_tools.spark.session:_start_quietly",
    "rmqlab_tools.spark.session:open_session",
    "rmqlab_tools.spark.session:running_session", "tests.proof.class_archive:_train",
}  # fmt: skip
# Of stores below an address, by the names of methods that paths have too: neither verb reads a store.
_ADDRESSES = {
    "rmqlab_tools.spark.files.filesystems:filesystem_at", "rmqlab_tools.spark.files.filesystems:_with_key",
    "rmqlab_tools.spark.files.filesystem_failures:as_os_errors", "rmqlab_tools.spark.files.stored_files:_infos",
}  # fmt: skip
NOT_CALLED = {"profile": _ADDRESSES, "site": _RUNNING | _ADDRESSES, "catalogue": _RUNNING, "notebook": _ARCHIVE}


def listed(*extras):
    """The packages that pyproject.toml lists for the core and these extras, by name."""
    texts = wanted()
    return {canonicalize_name(Requirement(text).name) for extra in (CORE, *extras) for text in texts[extra]}


@pytest.mark.parametrize("verb", VERBS)
def test_what_a_verb_can_import_is_in_its_extras(verb):
    """Followed statically, lazy imports too: a package that comes along with another one by chance is not enough."""
    extras = {*VERBS[verb].extras, *VERBS[verb].option_extras, *VERBS[verb].code_extras}
    left_out = {*EXCUSED, *NOT_CALLED.get(verb, ())}
    there = listed(*extras)
    missing = {f"{one.package} for {one.place}" for one in reachable(verb) if one.package not in there}
    assert {text for text in missing if text.rpartition(" ")[2] not in left_out} == set()


def test_the_excuses_are_needed():
    places = {one.place for verb in VERBS for one in reachable(verb)}
    assert set(EXCUSED) | set().union(*NOT_CALLED.values()) <= places


def test_the_search_finds_what_is_imported_late_and_far_away():
    """A verb's own import of nbformat in a function of another module, found through `tests.proof`."""
    assert {one.package for one in reachable("site")} >= {"sphinx", "nbformat", "msgspec"}
    assert "pyspark" in {one.package for one in reachable("audit")}
    assert "pyspark" not in {one.package for one in reachable("simulate")}


def test_what_goes_into_the_pages_comes_with_the_site():
    """Packages that are read and not imported: `version("ipywidgets")` needs it as much as an import does."""
    assert {canonicalize_name(name) for name in PURE} <= set(closure({"site"}))


# One process prints the help of every verb: as JSON, by verb.
HELPS = """
import io, json, os
from contextlib import redirect_stdout
helps = {}
for verb in list(sys.argv[1:]):
    out = io.StringIO()
    os.environ["RMQLAB_PROGRAM"] = "./lab"  # who reads it takes it away
    with redirect_stdout(out):
        try:
            CALL
        except SystemExit:
            pass
    helps[verb] = out.getvalue()
print(json.dumps(helps))
"""


def helps(*options, begin, call):
    environ = os.environ | {"COLUMNS": "100", "NO_COLOR": "1", "RMQLAB_LANG": "en"}
    command = [sys.executable, *options, "-c", begin + HELPS.replace("CALL", call), *VERBS]
    done = subprocess.run(command, env=environ, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return json.loads(done.stdout)


def test_help_needs_no_package_and_is_the_same():
    """A Python that has nothing prints what an installed rmqlab prints."""
    here = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from rmqlab_tools.cli.bare import main"
    bare = helps("-I", "-S", begin=here, call="main([verb])")
    whole = helps(
        begin="import sys; from rmqlab_tools.cli.cli import start", call='sys.argv[1:] = [verb, "--help"]; start()'
    )
    assert bare == whole
    for verb, text in bare.items():
        assert text.startswith(f"usage: ./lab {verb} ")
