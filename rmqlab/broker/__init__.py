"""The broker: pull, hold, send, consumer and producer managers, housekeeping. Imports store, filter, protocol."""
