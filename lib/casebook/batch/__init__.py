"""The batch: which notebooks must run with which parameters, and their execution."""
