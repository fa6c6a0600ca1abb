"""The name server: who has which topic. Imports protocol."""
