"""The verbs of a checkout, one module each, as in `rmqlab.commands`, whose table names them."""
