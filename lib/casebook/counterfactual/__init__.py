"""Counterfactual sensitivity: which facts of a case decide what is found."""
