"""Filters: subscription data, tag codes and what decides whether a message matches. Imports message and protocol."""
