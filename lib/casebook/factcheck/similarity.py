"""MaxSim of sub-claims and passages over an encoder's token vectors."""

import numpy as np

_DECIMALS = 6


class MaxSimilarity:
    """Mean over the claim's tokens of their largest cosine to a token of the passage."""

    def __init__(self, encoder):
        self._encoder = encoder
        self._known = {}

    def prepare(self, texts, role="document"):
        """Encode texts at once: far cheaper than one by one."""
        new = [t for t in dict.fromkeys(texts) if (role, t) not in self._known]
        if new:
            blocks = self._encoder.token_vectors(new, role)
            for place, text in enumerate(new):
                one = blocks.take([place])
                self._known[role, text] = one.vectors.astype(np.float32)

    def similarities(self, claim, passages):
        """Compare a sub-claim with passages."""
        self.prepare([claim], "query")
        self.prepare(passages)
        asked = self._known["query", claim]
        return [self._one(asked, self._known["document", text]) for text in passages]

    def _one(self, asked, found):
        if not len(asked) or not len(found):
            return 0.0
        return round(float((asked @ found.T).max(axis=1).mean()), _DECIMALS)
