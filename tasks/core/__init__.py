"""The vocabulary: the types that every stage takes and yields."""
