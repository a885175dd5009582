"""Dedup: exact hashes, MinHash LSH to propose, true Jaccard similarity to decide."""
