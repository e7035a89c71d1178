"""Counterfactual sensitivity: edit one fact of a case at a time and see what retrieval does."""
