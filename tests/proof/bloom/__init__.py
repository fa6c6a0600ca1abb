"""What the bloom filter's switch costs, measured in processes of their own: ours and the real classes."""
