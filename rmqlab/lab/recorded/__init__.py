"""What a recording tells about its run, as facts, pictures' strips and stores."""
