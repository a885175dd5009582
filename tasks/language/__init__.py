"""Which language a document is in, and whether that is wanted."""
