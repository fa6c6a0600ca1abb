"""Clients that only the proof has: what lives beside producers and consumers, written for the tests of the broker."""
