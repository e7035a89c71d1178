"""The six retrieval stages and the pipeline that joins them."""
