"""The verb `test`: pytest on tests/ and, strictly, on the committed notebooks."""

from __future__ import annotations

import os
import sys
from collections import Counter
from contextlib import nullcontext
from importlib.util import find_spec
from typing import TYPE_CHECKING

from rmqlab.checkout import ROOT, checkout_path
from rmqlab_tools.cli.output import write_json
from tests.proof.class_archive import made_meanwhile, use_archive
from tests.proof.notebook_files import kernel_environment

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    import pytest

PASSES_ON = True

# Notebooks run on this interpreter; their outputs must be the committed ones. Never --nbdime: it crashes pytest 9.
NOTEBOOKS = ["--nbval", "--nbval-current-env"]
# Modules are shared out in the order of tests/conftest.py. Three processes more than cores: a third of the time tests
# wait for others' programs; each may start a Spark session, hence a bound.
PROCESSES = min(os.cpu_count() or 1, 4) + 3
PARALLEL = ["--numprocesses", str(PROCESSES), "--dist", "loadfile", "--no-loadscope-reorder"]
# Plugins by name: pytest rewrites the asserts of whole packages whose plugins it finds by itself, ours among them.
PLUGINS = ["xdist.plugin", "_hypothesis_pytestplugin", "rmqlab_tools.live.pytest_plugin"]
NAMED_PLUGINS = ["--disable-plugin-autoload", *(part for plugin in PLUGINS for part in ("-p", plugin))]
# What a fast run need not even import.
NOT_FAST = ["browser", "hostile", "interop", "notebooks", "spark"]


class Tally:
    """A pytest plugin that counts how the tests ended."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter(passed=0, failed=0, skipped=0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a test once: by its own part, or by the set-up or tear-down that spoilt it."""
        if report.when == "call" or not report.passed:
            self.counts[report.outcome] += 1


def notebooks() -> list[str]:
    """The committed notebooks whose outputs must be found again; exercises have none, and their stubs must fail."""
    paths = (path.relative_to(ROOT) for path in ROOT.glob("notebooks/**/*.ipynb"))
    return sorted(str(path) for path in paths if not {"exercises", ".ipynb_checkpoints"} & set(path.parts))


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of the verb: all but --json go to pytest."""
    parser.add_argument("--fast", action="store_true", help="the tests that need Python alone and are quick")
    parser.add_argument(
        "--peers",
        action="store_true",
        help="RocketMQ's own integration tests of 4.8.0 against `serve`, all of them: six minutes, a JDK and Maven",
    )
    parser.add_argument(
        "--hostile",
        action="store_true",
        help="what strangers write, given to every reader: 20,000 inputs each, or RMQLAB_HOSTILE_INPUTS",
    )
    parser.epilog = (
        "Every other argument goes to pytest; without one, all is tested. RMQLAB_REQUIRE_ALL=1 forbids skips."
    )


def run(args: Namespace) -> int:
    """Run pytest; return its exit status (no test collected counts as a failure)."""
    import pytest

    from tests.proof.warm_kernels import warm_kernels

    os.chdir(checkout_path("tests").parent)
    # Hundreds of processes start here: each compiles every module anew if the shell forbids to keep what is compiled.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    if args.peers:
        os.environ["RMQLAB_PEERS"] = "all"
        chosen = [*NAMED_PLUGINS, "-s", "tests/interop/test_peers.py", *args.rest]
    elif args.hostile:
        os.environ.setdefault("RMQLAB_HOSTILE_INPUTS", "20000")
        chosen = [*NAMED_PLUGINS, *PARALLEL, "-m", "hostile", *(args.rest or ["tests/hostile"])]
    elif args.fast:
        ignored = [f"--ignore=tests/{folder}" for folder in NOT_FAST]
        chosen = [*NAMED_PLUGINS, *PARALLEL, "-m", "fast", *ignored, *(args.rest or ["tests"])]
    else:
        everything = [*NAMED_PLUGINS, "-p", "nbval.plugin", *PARALLEL, "tests", *notebooks()]
        chosen = [*NOTEBOOKS, *(args.rest or everything)]
    alone = args.fast or args.peers or args.hostile
    if find_spec("pyspark") is not None and not alone:
        use_archive(os.environ)
    tally = Tally()
    # Dozens of Spark sessions use them; they are made beside the collection.
    made = [] if args.rest or alone or find_spec("pyspark") is None else ["compiled_loops", "class_archive"]
    with made_meanwhile(*made), kernel_environment() as environ:
        os.environ.update(environ)  # nbval starts its kernels with what it finds
        with nullcontext() if args.rest or alone else warm_kernels(os.environ):
            status = int(pytest.main(chosen, plugins=[tally]))
    write_json({**tally.counts, "status": status}, args.json)
    return status
