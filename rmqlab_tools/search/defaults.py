"""What explorer and planner take unless asked otherwise: verbs, their help and the searches read it here."""

from __future__ import annotations

from typing import Final

RUN_BUDGET: Final = 2_000
SAMPLES: Final = 200  # drawn beside a search that came to its end
SHORTENING_BUDGET: Final = 1_000  # runs that all shortening of drawn schedules may take together
SCHEDULE_BUDGET: Final = 600  # of the planner, for each procedure and behaviour of the producers
PLANNED_MEMBERS: Final = 2
PAUSE_MS: Final = 1_000  # between two restarts
EVERY_MS: Final = 500  # between two rounds of messages
