"""Stemmers for English, by name; Porter's algorithm as the Python literature uses it.

PyStemmer's ``porter`` is Porter's own algorithm (1980, Program 14(3)). What most Python work means is that of the
Natural Language Toolkit (Bird, Klein and Loper 2009), which leaves short and irregular words alone and treats final
``y`` after a vowel, ``-ied`` and ``-fully`` differently. Published figures depend on that, so it is written here.
"""

import Stemmer

from casebook.stats.samples import check_choice

_STEMMERS = ("english", "porter", "porter_extended")
_UNCHANGED = ("sky", "news", "howe", "proceed", "exceed", "succeed", "inning", "outing", "canning")
_IRREGULAR = {word: word for word in _UNCHANGED} | {"skies": "sky", "dying": "die", "lying": "lie", "tying": "tie"}
_IRREGULAR |= {"innings": "inning", "outings": "outing", "cannings": "canning"}
_STEP_2 = (
    "ational:ate tional:tion enci:ence anci:ance izer:ize bli:ble alli:al entli:ent eli:e ousli:ous ization:ize "
    "ation:ate ator:ate alism:al iveness:ive fulness:ful ousness:ous aliti:al iviti:ive biliti:ble fulli:ful"
)
_STEP_3 = "icate:ic ative: alize:al iciti:ic ical:ic ful: ness:"
_STEP_4 = "al: ance: ence: er: ic: able: ible: ant: ement: ment: ent: ion: ou: ism: ate: iti: ous: ive: ize:"
_STEP_2, _STEP_3, _STEP_4 = ([pair.split(":") for pair in step.split()] for step in (_STEP_2, _STEP_3, _STEP_4))


def stemmer(name):
    """Look up a stemmer of lists of words; None for none."""
    if name is None:
        return None
    check_choice("stemmer", name, _STEMMERS)
    if name == "porter_extended":
        return lambda words: [porter_extended(word) for word in words]
    return Stemmer.Stemmer(name).stemWords


def porter_extended(word):
    """Stem one word by Porter's algorithm with the departures of the Natural Language Toolkit."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 2:
        return word
    word = _step_2(_final_y(_past_and_gerund(_plural(word))))
    word = _replace(_replace(word, _STEP_3, 0), _STEP_4, 1)
    if word.endswith("e"):
        stem = word[:-1]
        if _measure(stem) > 1 or (_measure(stem) == 1 and not _ends_short(stem)):
            word = stem
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word


def _shape(stem):
    """Spell a word in c and v; y is a vowel after a consonant."""
    shape = ""
    for letter in stem:
        vowel = letter in "aeiou" or (letter == "y" and shape.endswith("c"))
        shape += "v" if vowel else "c"
    return shape


def _measure(stem):
    """Vowel-consonant sequences: m of the paper."""
    return _shape(stem).count("vc")


def _ends_short(stem):
    """Whether a stem ends consonant-vowel-consonant (*o of the paper), or is short like it."""
    shape = _shape(stem)
    return (shape[-3:] == "cvc" and stem[-1] not in "wxy") or shape == "vc"


def _replace(word, rules, above):
    """Apply the first rule whose suffix fits, if the stem's measure allows it."""
    for suffix, replacement in rules:
        if word.endswith(suffix):
            stem = word.removesuffix(suffix)
            allowed = suffix != "ion" or stem.endswith(("s", "t"))
            return stem + replacement if allowed and _measure(stem) > above else word
    return word


def _plural(word):
    """Step 1a."""
    if word.endswith("ies"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("sses"):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past_and_gerund(word):
    """Step 1b."""
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    suffix = next((end for end in ("ed", "ing") if word.endswith(end)), "")
    stem = word.removesuffix(suffix)
    if not suffix or "v" not in _shape(stem):
        return word
    if stem.endswith(("at", "bl", "iz")):
        return stem + "e"
    if stem[-2:-1] == stem[-1] and _shape(stem)[-1] == "c" and stem[-1] not in "lsz":
        return stem[:-1]
    return stem + "e" if _measure(stem) == 1 and _ends_short(stem) else stem


def _final_y(word):
    """Step 1c: y to i after a consonant that is not the first letter."""
    stem = word[:-1]
    return stem + "i" if word.endswith("y") and len(stem) > 1 and _shape(stem)[-1] == "c" else word


def _step_2(word):
    """Step 2; -alli is stripped first, and -logi keeps its l in the measured stem."""
    if word.endswith("alli") and _measure(word[:-4]) > 0:
        return _step_2(word[:-2])
    if word.endswith("logi"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    return _replace(word, _STEP_2, 0)
