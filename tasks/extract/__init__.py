"""From bytes as fetched to text with structure."""
