"""The README's picture is what the picture of the article's run looks like today."""

from __future__ import annotations

from rmqlab_tools.course.articles.eight_messages import EightMessages
from rmqlab_tools.show.fate_grid import fate_grid


def test_the_committed_picture_is_drawn_from_the_run(root):
    committed = (root / "data" / "pictures" / "eight_messages.svg").read_text(encoding="utf-8")
    assert fate_grid(EightMessages().run()).svg == committed
    assert "data/pictures/eight_messages.svg" in (root / "README.md").read_text(encoding="utf-8")
