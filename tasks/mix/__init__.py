"""Mixing: how many tokens each source gives, and which documents that is."""
