"""Questions about a scenario or a subscription: every outcome, ways to change, differences by meaning."""
