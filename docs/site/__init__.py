"""The documentation site: pages read, run, turned into notebooks, and built."""
