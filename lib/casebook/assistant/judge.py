"""A judge of evidence on answers: how far their contexts support them.

The judges are those of ``casebook factcheck run``: ``entailment:MODEL``, ``endpoint:MODEL``,
``public``, or ``module:object`` with a function of claim and passages.
"""

from collections import Counter

from casebook.credentials import without_secrets
from casebook.errors import CasebookError, InputError
from casebook.factcheck.evidence import EvidencePassage
from casebook.factcheck.judges import degree_of, judge_of, name_of_judge
from casebook.measures.faithfulness import PASSAGE_WORDS
from casebook.text import content_words, passages, printable, sentence_texts


class AnswerJudge:
    """Support of answers by contexts, for `score_answers`; ``reasons`` of missing ones are counted.

    Contexts are cut into passages of 200 words that overlap by half. Sentences without content
    words do not count.
    """

    def __init__(self, name):
        self.name = name
        self.judge = judge_of(name)
        self.reasons = Counter()

    def __call__(self, answer, contexts):
        """Mean probability, over the sentences of an answer, that contexts support it, or None."""
        evidence = []
        for context in contexts:
            for text in passages(context, PASSAGE_WORDS):
                start = evidence[-1].end + 1 if evidence else 0
                evidence.append(EvidencePassage(0, start, start + len(text), text, ""))
        claims = [claim for claim in sentence_texts(answer) if content_words(claim)]
        try:
            if not claims or not evidence:
                raise InputError("no sentence or no context to judge")
            degrees = [degree_of(self.judge, claim, evidence) for claim in claims]
        except CasebookError as error:
            self.reasons[printable(without_secrets(error))[:100]] += 1
            return None
        return sum(degrees) / len(degrees)

    @property
    def notes(self):
        """Why scores are missing: a line, or none."""
        commonest = [f"{n} × {reason}" for reason, n in self.reasons.most_common(3)]
        missing = f"the judge {name_of_judge(self.name)} gave no score: {'; '.join(commonest)}"
        return [missing] if commonest else []
