"""Explanations in sentences, and whether a faithfulness score tells true ones from wrong ones."""
