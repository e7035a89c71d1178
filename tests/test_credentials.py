"""What is secret in a text goes, and nothing else does."""

import time

from cases import failing

from casebook.credentials import holds_secret, is_bare_login, without_secrets
from casebook.errors import InputError

SECRET = [
    ("http://me:pw@host/v1: cannot be reached", "http://***@host/v1: cannot be reached"),
    ("'s3://key:a/b+c@bucket/x'", "'s3://***@bucket/x'"),
    ("https://token@host", "https://***@host"),
    ("http:/me:pw@host", "http:/***@host"),
    ("simplecache::ftp://me:p@w@host/x", "simplecache::ftp://***@host/x"),
    ("https://host/v1?version=2&api_key=pw&k=3", "https://host/v1?version=2&api_key=***&k=3"),
    ("https://host/x?X-Amz-Signature=pw#end", "https://host/x?X-Amz-Signature=***#end"),
    ("https://host/#access_token=pw", "https://host/#access_token=***"),
]
PUBLIC = [
    "http://127.0.0.1:8000/v1",
    "http://localhost:8000/@scope/model",
    "https://host/x?author=me&keyword=x&passage=2",
    "original:ndcg@3 of smoke.full.nDCG@10, s3://bucket/a@b, file:///home/me@here/x",
    "mail me@host, module:object, C:/users/me@home, 10:30",
    "",
]


def test_addresses_lose_their_secrets_and_everything_else_stays():
    def check(text, public):
        assert without_secrets(text) == without_secrets(public) == public
        is_secret = text != public
        assert holds_secret(text) == holds_secret([{"a": text}, 1]) == is_secret

    assert failing(check, [*SECRET, *((text, text) for text in PUBLIC)]) == []


def test_a_login_without_a_scheme_is_one_only_as_a_whole_text():
    for text in ("me:s3cret@host", "me:s3cret@127.0.0.1:80/v1?x=1"):
        assert is_bare_login(text)
    for text in ("me@host", "module:object", "a@b.org: see me", "12:30 me@host", ["me:pw@host"]):
        assert not is_bare_login(text)


def test_an_address_that_is_named_is_hidden_in_every_spelling():
    address = "http://me:p%40ss%20word@host/v1?token=tok%2Fen"
    text = "Basic bWU6cEBzcyB3b3Jk, p@ss word, p%40ss%20word, tok/en, tok%2Fen, me"
    assert without_secrets(text, address) == "Basic ***, ***, ***, ***, ***, me"
    assert without_secrets("for abc", "http://me:abc@host") == "for abc"  # too short: any word
    assert without_secrets("for abcd", "http://me:abcd@host") == "for ***"
    assert holds_secret("http://me:a b@host") and holds_secret("'http://me:a b@host'")


def test_secret_variables_are_hidden_unless_they_are_words_or_files(monkeypatch, tmp_path):
    monkeypatch.setenv("MY_TOKEN", "first line\nthe second")
    monkeypatch.setenv("MY_KEY", "short")
    monkeypatch.setenv("KEY_FILE", str(tmp_path))
    monkeypatch.setenv("DATABASE", "postgres://me:hunter22@host/db")
    monkeypatch.setenv("A_PASSWORD", 'say "friend"')
    monkeypatch.setenv("HUGE_SECRET", "x" * 100_000)
    text = (
        f"first line, the second, short, {tmp_path}, hunter22, say%20%22friend%22, "
        + r"say \"friend\""
    )
    assert without_secrets(text) == f"***, ***, short, {tmp_path}, ***, ***, ***"
    error = InputError.at("f.csv", 3, "no such host: http://me:pw@host: first line")
    assert str(error) == "f.csv:3: no such host: http://***@host: ***"


def test_a_long_text_takes_no_time():
    began = time.process_time()
    for part in ("://a:", "?key", "://a:@", "?key=", "&token"):
        without_secrets(part * 20_000)
    assert (
        time.process_time() - began < 30
    )  # a pattern that looks back from each place would take minutes
