"""What stands between a chapter and the encoder that computes."""


class EncoderStandIn:
    """Encoder that answers as another one does, and has all else from it."""

    def __init__(self, encoder):
        self.encoder = encoder

    def __getattr__(self, name):
        if name == "encoder":  # of a copy that has no attributes yet: nobody to ask
            raise AttributeError(name)
        return getattr(self.encoder, name)
