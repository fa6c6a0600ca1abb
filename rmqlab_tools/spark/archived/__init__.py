"""An archive: a store's messages as Parquet files with a column a property, and what a subscription would get of it."""
