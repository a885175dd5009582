"""The stages of the pipeline, the vocabulary they share (core) and the one door to the outside (io)."""
