"""Counterfactual sensitivity of retrieval: which facts of a case decide what is found."""
