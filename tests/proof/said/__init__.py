"""The list of all texts that RocketMQ and its clients say about the decoder's subject: made from their sources.

`data/said/java.tsv` and `data/said/clients.tsv` have one text a line, `data/said/out_of_scope.json` what of them the
decoder leaves out, and why. `python -m tests.proof.said --help` tells how they are made anew.
"""
