"""The data pipeline: filters as Spark columns, store files, sweeps and audits. Imports the core and the lab."""
