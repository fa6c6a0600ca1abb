"""The Python of the playgrounds, run here as it runs there."""

from __future__ import annotations

import importlib
import json
import sys

import pytest

from rmqlab.checkout import checkout_path


@pytest.fixture(scope="session")
def lab():
    """Import a page's module: ``lab("match")``."""
    place = str(checkout_path("docs") / "playgrounds")
    sys.path.insert(0, place)
    yield importlib.import_module
    sys.path.remove(place)


@pytest.fixture(scope="session")
def words():
    """The words of the pages, by language, page and key."""
    return json.loads((checkout_path("docs") / "playgrounds" / "words.json").read_text(encoding="utf-8"))
