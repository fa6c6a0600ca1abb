"""Virtual time: scheduler, network, scenarios, faults, a cluster in one process."""
