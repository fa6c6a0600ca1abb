"""Pictures of plans: what each way loses, and how it goes."""
