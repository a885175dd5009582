"""Evaluation: held-out loss and bits per byte per source, and samples, for every kept checkpoint."""
