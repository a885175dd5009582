"""The tokenizer: train one on the mix, or use a named one; then documents become token ids."""
