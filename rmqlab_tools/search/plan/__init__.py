"""The change planner: how to change a subscription, and what each way costs."""
