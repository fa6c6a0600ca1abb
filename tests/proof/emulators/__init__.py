"""Stores and archives at addresses of Azure, Google and HDFS, tried on emulators of the package registries."""
