"""TAG and SQL92 filters as Spark columns and on dictionary-coded files."""
