"""The site is built once for all tests that look at it, without the playgrounds, which have tests of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.proof.site.build import build


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the site in both languages."""
    out = tmp_path_factory.mktemp("built") / "new" / "site"
    build(out, lab=False)
    return out
