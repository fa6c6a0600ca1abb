"""What a recording tells about its run: facts and fates, stores, a tap's account."""
