"""The Python of the pages of the lab, run here as it runs there."""

from __future__ import annotations

import importlib
import json
import sys

import pytest

from rmqlab.checkout import folder


@pytest.fixture(scope="session")
def lab():
    """Import a page's module: ``lab("match")``."""
    place = str(folder("docs") / "lab")
    sys.path.insert(0, place)
    yield importlib.import_module
    sys.path.remove(place)


@pytest.fixture(scope="session")
def words():
    """The words of the pages, by language, page and key."""
    return json.loads((folder("docs") / "lab" / "words.json").read_text(encoding="utf-8"))
