"""Model settings, building and counting; the forward pass over packed rows."""
