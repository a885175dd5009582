"""Quality: measure every signal of a document, then decide against stated limits."""
