"""`python -m rmqlab` is the command line."""

from __future__ import annotations

import sys

from rmqlab.plugins import start

sys.exit(start())
