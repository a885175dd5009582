"""How settings work (base), and the YAML presets of every flow."""
