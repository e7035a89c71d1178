"""In which languages a log is written, without a model, and which measures do not hold there."""

import unicodedata
from collections import Counter

from casebook.assistant.exports import ASSISTANT_WORDS
from casebook.text import STOP_LIST, UNSPACED, tokens

ENGLISH = "English"
UNKNOWN_LANGUAGE = "another language"
_FUNCTION_WORDS = {
    language: frozenset(words) for language, words in ASSISTANT_WORDS["languages"].items()
}
_SCRIPTS = ASSISTANT_WORDS["scripts"]
_JAPANESE = ("HIRAGANA", "KATAKANA")
FEWEST_WORDS = 3  # function words by which a language is recognised
ENOUGH_TEXT = 15  # words, of which in English a fifth at least are function words
LEAST_SHARE = 0.2


def language_of(text):
    """Name the language of a text by its script and function words; None if it is too short."""
    letters = [sign for sign in text if sign.isalpha()]
    scripts = Counter(unicodedata.name(sign, "?").split()[0].split("-")[0] for sign in letters)
    if scripts and scripts["LATIN"] < len(letters) / 2:
        if any(scripts[script] for script in _JAPANESE):
            return "Japanese"
        return _SCRIPTS.get(scripts.most_common(1)[0][0], UNKNOWN_LANGUAGE)
    words = tokens(text)
    hits = {
        language: sum(word in function_words for word in words)
        for language, function_words in _FUNCTION_WORDS.items()
    }
    of_english = sum(word in STOP_LIST for word in words)
    language, count = max(hits.items(), key=lambda hit: hit[1])
    if count >= FEWEST_WORDS and count > of_english:
        return language
    if len(words) >= ENOUGH_TEXT and of_english < LEAST_SHARE * len(words):
        return UNKNOWN_LANGUAGE
    return ENGLISH if of_english else None


def language_notes(answers):
    """Say which measures do not hold for (question, answer) in other languages than English.

    The question decides where the answer is too short.
    """
    languages = Counter(
        language_of(answer) or language_of(question) for question, answer in answers
    )
    foreign = {
        language: count
        for language, count in languages.most_common()
        if language not in (None, ENGLISH)
    }
    if not foreign:
        return []
    counts = ", ".join(f"{language} {count}" for language, count in foreign.items())
    notes = [
        f"{sum(foreign.values())} of {len(answers)} answers are not in English ({counts}): "
        "named facts and turned negations are read in English and do not hold for them, and "
        "function words count as words in groundedness and token F1"
    ]
    unread = [name for name in foreign if name not in ASSISTANT_WORDS["abstain_in"]]
    if unread:
        notes.append(
            f"abstentions in {', '.join(unread)} are not recognised: write the field 'abstained'"
        )
    if any(UNSPACED.search(answer) for _, answer in answers):
        notes.append(
            "where no blanks part words, pairs of characters stand for words in groundedness, and "
            "single ones in token F1"
        )
    if any(language in _SCRIPTS.values() for language in foreign):
        notes.append(
            "COUNTERCASE's definition reads Latin letters only: it counts other sentences as "
            "grounded"
        )
    return notes
