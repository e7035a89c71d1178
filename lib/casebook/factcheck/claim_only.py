"""What claims give away by themselves: a text classifier that sees no evidence."""

import pandas as pd

from casebook.models.logistic import logistic_regression


def claim_only_model():
    """Build the classifier, unfitted: tf-idf of words, logistic regression."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline

    return make_pipeline(TfidfVectorizer(), logistic_regression())


def claim_only_verdicts(train, test):
    """Judge claims without evidence."""
    model = claim_only_model()
    model.fit([claim.text for claim in train], [claim.label for claim in train])
    labels = model.predict([claim.text for claim in test])
    return pd.DataFrame({"id": [claim.id for claim in test], "label": labels.tolist()})
