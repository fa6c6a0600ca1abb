"""Extras stay aside: what the articles need never imports them."""

from __future__ import annotations

import subprocess
import sys

RUN = """
import sys
import rmqlab

lab = rmqlab.Lab(topics={"T": 4})
lab.consumer("A", group="G", subscribe={"T": "tagA"})
lab.consumer("L", group="H", subscribe={"T": "*"}, kind="lite")
lab.run(seconds=60)
lab.consumer("B", group="G", subscribe={"T": "tagB"})
lab.run(seconds=60)
lab.send("T", ["tagA"] * 4 + ["tagB"] * 4)
lab.run(seconds=30)
assert len(lab.fates()) == 16
print(*(name for name in sys.modules if name.startswith("rmqlab_tools.live")))
"""


def test_the_eight_messages_load_no_extra():
    done = subprocess.run([sys.executable, "-c", RUN], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
