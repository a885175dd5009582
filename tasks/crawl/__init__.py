"""Crawl what is at hand: the documentation, code and descriptions that come with a Python environment."""
