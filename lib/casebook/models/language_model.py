"""Language models that answer with JSON: an OpenAI-compatible endpoint or a local one.

A model is never asked by default.
"""

import os

from casebook.errors import InputError
from casebook.models.json_model import JsonModel, NoAnswer

URL_VARIABLE = "CASEBOOK_LLM_URL"
KEY_VARIABLE = "OPENAI_API_KEY"
LOCAL = "smollm2"
_ENDPOINT = "endpoint:"


class Endpoint(JsonModel):
    """A model behind an OpenAI-compatible address."""

    def __init__(self, model, url=None, timeout=30.0):
        super().__init__()
        url = url or os.environ.get(URL_VARIABLE)
        if not url:
            raise InputError(f"no address of a language model: set {URL_VARIABLE}")
        try:
            import openai
        except ImportError as error:
            raise InputError("endpoints need the package openai: pip install 'casebook[llm]'") from error
        self.name = f"{_ENDPOINT}{model}"
        self._model = model
        self._errors = openai
        key = os.environ.get(KEY_VARIABLE) or "none"
        self._client = openai.OpenAI(base_url=url, api_key=key, timeout=timeout, max_retries=0)

    def complete(self, prompt, max_tokens=512):
        """Answer a prompt with text."""
        try:
            reply = self._client.chat.completions.create(
                model=self._model,
                messages=[{"role": "user", "content": prompt}],
                temperature=0,
                seed=0,
                max_tokens=max_tokens,
            )
            return reply.choices[0].message.content or ""
        except self._errors.APITimeoutError as error:
            raise NoAnswer("timeout", f"{self.name}: no answer in time") from error
        except self._errors.APIConnectionError as error:
            raise NoAnswer("unreachable", f"{self.name}: cannot be reached") from error
        except self._errors.APIStatusError as error:
            status = f"{self.name}: the server answers {error.status_code}"
            raise NoAnswer("refused", status) from error
        except (self._errors.OpenAIError, AttributeError, IndexError, TypeError, ValueError) as error:
            raise NoAnswer("nonsense", f"{self.name}: no chat completion") from error


def load_language_model(name, **settings):
    """Load a language model by name."""
    if name == LOCAL:
        from casebook.models.smollm import SmolLM

        return SmolLM(**settings)
    if name.startswith(_ENDPOINT) and name != _ENDPOINT:
        return Endpoint(name.removeprefix(_ENDPOINT), **settings)
    raise InputError(f"no language model {name!r}: give {LOCAL!r} or '{_ENDPOINT}MODEL'")
