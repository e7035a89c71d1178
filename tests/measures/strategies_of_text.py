"""Texts of the letters, marks and numbers that legal texts hold."""

from hypothesis import settings
from hypothesis import strategies as st

few = settings(max_examples=40, deadline=None)
text = st.text(st.sampled_from("abcdeé 0123456789.!?,;()[]'’\"“”—\n\u00a0§₹"), max_size=120)
