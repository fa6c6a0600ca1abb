"""Every outcome a scenario can have, with the schedule that leads to each."""
