"""Packing: documents become fixed-length rows, in training order."""
