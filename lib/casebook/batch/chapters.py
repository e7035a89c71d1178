"""What the parameters of our notebooks may be: one model a notebook.

A notebook's parameters cell gives names and defaults, and says what they are for; the model gives
types, bounds and choices, and its `read` reads files of the user's own. It is applied before the
kernel starts. A notebook of the user's own has no model.
"""

import contextlib
from pathlib import Path
from typing import Annotated, Literal, get_args, get_type_hints

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    create_model,
    model_validator,
)
from pydantic.fields import FieldInfo

from casebook.data.cards import cards
from casebook.data.registry import resolve
from casebook.data.sources import Absent
from casebook.errors import InputError
from casebook.paths import data_folder
from casebook.plugins import is_plugin, plugin


def as_list(value):
    """Give the value of a parameter, which may be None, one name or several, as a list."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


@contextlib.contextmanager
def naming_parameter(parameter, value):
    """Let an error say which parameter it is about, unless it begins with its value."""
    try:
        yield
    except Absent:
        raise
    except InputError as error:
        if str(error).startswith((parameter, str(value))):
            raise
        raise InputError(f"{parameter}: {error}") from None


# --- types: the description of each tells users what to give; {value} is what they gave


def integer(least, why="", most=1_000_000_000):
    """Whole numbers from ``least`` to ``most``."""
    advice = f"give a whole number of at least {least}, at most {most:,}, not {{value}}{why}"
    return Annotated[int, Field(ge=least, le=most, description=advice)]


def finite_number(bounds, **limits):
    """Finite numbers within bounds, in words and as limits of pydantic (``ge``, ``lt``)."""
    advice = f"give a number {bounds}, not {{value}}"
    return Annotated[float, Field(allow_inf_nan=False, description=advice, **limits)]


def choice(*words):
    """One of some words."""
    advice = f"choose from {', '.join(words)}, not {{value}}"
    return Annotated[Literal[words], Field(description=advice)]


def list_of(kind, example, least=0):
    """Lists of a type, of at least so many."""
    advice = f"give a list {example}, not {{value}}"
    return Annotated[list[kind], Field(min_length=least, description=advice)]


def mapping_to(kind, example, least=0):
    """Mappings of text to a type."""
    advice = f"give {example}, not {{value}}"
    return Annotated[dict[str, kind], Field(min_length=least, description=advice)]


Count = integer(1)
Folds = integer(2)
Resamples = integer(100, ": an interval needs that many", most=1_000_000)
Seed = integer(0, most=2**32 - 1)  # more is no seed for scikit-learn
Share = finite_number("from 0 to 1", ge=0, le=1)
Margin = finite_number("of at least 0 and below 1", ge=0, lt=1)
Flag = Annotated[bool, Field(description="give true or false, not {value}")]
Text = Annotated[str, Field(description="{value} is no name: give text, or leave it out")]
Name = Annotated[Text, Field(min_length=1)]
Files = Name | list[Name]


def checked_by(function):
    """Refuse what a function of the library (``module:function``) refuses; it is imported late."""

    def check(value, info):
        defaults = info.context or {}
        if value == defaults.get(info.field_name):  # right, as a test says
            return value
        for name in as_list(value):
            with naming_parameter(info.field_name, name):
                plugin(function)(name)
        return value

    return AfterValidator(check)


def data_of_kind(kind):
    """Refuse unknown names and data of another kind; folders and functions are read later."""

    def check(value, info):
        for name in as_list(value):
            if name and not (Path(name).is_absolute() or data_folder(name) or is_plugin(name)):
                _check_kind(info.field_name, name, kind)
        return value

    return AfterValidator(check)


def _check_kind(parameter, name, kind):
    problem = "no card and no folder of that name"
    if Path(name).is_file():
        problem = "is a file, not a folder"
    with contextlib.suppress(InputError):
        card, _ = resolve(name)
        if card.kind == kind:
            return
        problem = f"holds {card.kind} data, not {kind} data"
    choices = ", ".join(key for key, card in cards().items() if card.kind == kind)
    raise InputError(f"{parameter} {name!r}: {problem}: choose from {choices}")


def _check_retrievers(value):
    for name in as_list(value):
        if not is_plugin(name):
            raise InputError(
                f"retriever: {name!r} is no module:object; systems of ours are chosen by modes="
            )
    return value


def _check_systems(names):
    for name in names:
        if not is_plugin(name):
            with naming_parameter("systems", name):
                plugin("casebook.retrieval.settings:config_for")(name)
    return names


Questions = Annotated[Name, data_of_kind("retrieval")]
Retrievers = Annotated[Files, AfterValidator(_check_retrievers)]
Systems = Annotated[
    list_of(Name, "such as [bm25, dense], of at least one", 1), AfterValidator(_check_systems)
]
OtherData = Literal[""] | Questions
Measures = Annotated[
    list_of(Name, "such as [nDCG@3, P@5]"), checked_by("casebook.measures.ranking:parse_measure")
]
Modes = Annotated[
    list_of(Name, "such as [bm25, dense]"),
    checked_by("casebook.retrieval.settings:config_for"),
]


# --- models, one a notebook


class NotebookParameters(BaseModel):
    """Parameters of any notebook, and what is read of the data that they name."""

    model_config = ConfigDict(extra="forbid", strict=True)

    def read(self):
        """Read files of the user's own, and refuse what cannot be used; gives a note on them."""

    def check_questions(self, dataset):
        """Refuse data of whose questions nothing can be learned."""

    def check_data(self):
        """Refuse data sets that do not hold what the notebook reads in them."""


class ChapterParameters(NotebookParameters):
    """Parameters of every notebook of ours."""

    run: Name
    cell: Name
    seed: Seed

    def _check_needs(self, name, needed):
        """Refuse a parameter that has no effect without another one."""
        if getattr(self, name) and not getattr(self, needed):
            raise InputError(
                f"{name} has no effect without {needed}: give {needed} too, or leave it out"
            )

    def _check_corpus(self, name):
        """Refuse a file of the user's own without documents, and documents without the file."""
        if (getattr(self, name) is None) != (self.corpus is None):
            raise InputError(
                f"your own {name} need a folder of documents: "
                f"give both {name}=FILE and corpus=FOLDER"
            )


class QuestionsParameters(ChapterParameters):
    """A notebook about the questions of a collection."""

    dataset: Questions
    titles: Flag
    max_missing: Share
    margin: Margin
    n_resamples: Resamples


class RetrievalAblation(QuestionsParameters):
    """Systems of retrieval, stage by stage."""

    split: Name | None
    development: Name | None
    held_out: Name | None
    corpus: Name | None
    encoder: Name
    reranker: Name | None
    retriever: Retrievers | None
    runs: Files | None
    modes: Modes | None
    measures: Measures
    k: Count
    rrf_k: finite_number("above 0", gt=0)
    mmr: Flag
    mmr_lambda: Share
    pool: Count
    query_reading: choice("truncated", "windows")
    query_words: Count | None
    dense_scope: choice("passage", "document", "mean")
    chunking: Flag

    @model_validator(mode="after")
    def _consistent(self):
        from casebook.retrieval.settings import PipelineConfig

        self._check_needs("development", "held_out")
        self._check_needs("held_out", "development")
        if self.development and self.development == self.held_out:
            raise InputError(
                f"held_out: choose another split than development, not {self.held_out!r} for both"
            )
        if self.pool < self.k:
            raise InputError(f"pool: give at least k, which is {self.k}, not {self.pool}")
        with naming_parameter("reranker", self.reranker):
            PipelineConfig(reranker=self.reranker)
        if self.modes == [] and not (self.runs or self.retriever):
            raise InputError(
                "modes: give a list such as [bm25, dense], not []: without systems of ours there "
                "must be your own, by runs= or retriever="
            )
        if self.corpus and "bm25_chunked" in (self.modes or ()):
            raise InputError(
                "modes: a corpus in shards holds no words of passages: leave bm25_chunked or "
                "corpus out"
            )
        return self

    def read(self):
        if self.corpus:
            with naming_parameter("corpus", self.corpus):
                plugin("casebook.retrieval.sharded:check_corpus")(self.corpus)
        if not self.runs:
            return ""
        return plugin("casebook.retrieval.run_files:check_runs")(vars(self))


class EmbeddingShift(QuestionsParameters):
    """Shifts of embeddings that are learned from judgements."""

    split: Name | None
    encoder: Name
    by: choice("group", "document", "query")
    folds: Folds
    draws: Count
    drift_seeds: list_of(Seed, "of whole numbers of at least 0, such as [1337, 1338]")

    def check_questions(self, dataset):
        plugin("casebook.shift.study:check_shift_questions")(dataset, vars(self))


class QueryLength(QuestionsParameters):
    """Short questions against long ones."""

    retriever: Retrievers | None

    def check_questions(self, dataset):
        lengths = dataset.queries.set_index("query_id")["text"].str.split().str.len()
        short = lengths <= lengths.median()
        if short.reindex(dataset.qrels).dropna().nunique() < 2:
            raise InputError(
                f"{dataset.name}: no question is longer than the others, "
                "so there is nothing to compare"
            )


class RunComparison(ChapterParameters):
    """The runs that there are."""

    scope: choice("all", "run")
    measure: Annotated[Name, checked_by("casebook.measures.ranking:parse_measure")]


class PlantedSizes(BaseModel):
    """Sizes of the planted collection; there are six values of each fact."""

    model_config = ConfigDict(extra="forbid", strict=True)

    cases: Count = 6
    values: Annotated[int, Field(ge=1, le=6)] = 4
    per_line: Count = 12
    seed: Seed = 0


PLANTED_ADVICE = (
    "give whole numbers for cases, values (at most 6), per_line or seed, "
    "such as {{cases: 3, per_line: 8}}, not {value}"
)


class CounterfactualSensitivity(ChapterParameters):
    """Edits of facts, and how far they change the results."""

    dataset: Questions
    cases: Name | None
    corpus: Name | None
    facts: Name | None
    planted: Annotated[PlantedSizes, Field(description=PLANTED_ADVICE)]
    systems: Systems
    shown: Name | None
    encoder: Name | None
    depth: Count
    children: Count | None
    placebo_draws: Count
    context: choice("all", "month")
    annotated_on: OtherData
    paraphrases: OtherData
    judgments: OtherData
    margin: Margin
    shown_bytes: Count
    n_resamples: Resamples

    @model_validator(mode="after")
    def _consistent(self):
        self._check_corpus("cases")
        if self.shown not in (None, *self.systems):
            choices = ", ".join(self.systems)
            raise InputError(f"shown: {self.shown!r} is none of the systems: choose from {choices}")
        return self

    def read(self):
        if self.facts:
            plugin("casebook.sensitivity.checks:check_facts")(vars(self))
        if self.cases:
            plugin("casebook.sensitivity.checks:check_cases")(vars(self))

    def check_data(self):
        plugin("casebook.sensitivity.checks:check_collections")(vars(self))


class ExplanationQuality(QuestionsParameters):
    """Explanations, and the measures that notice wrong ones."""

    split: Name | None
    explanations: Name
    sources: Name | None
    most: integer(5, ": fewer sources cannot be compared")
    foreign: Count
    ratings: Name | None
    ratings_key: Name | None

    @model_validator(mode="after")
    def _consistent(self):
        self._check_needs("ratings_key", "ratings")
        self._check_needs("ratings", "ratings_key")
        if self.sources and not Path(self.explanations).is_absolute():
            raise InputError(
                "sources has no effect without explanations=FILE: give your own, or leave it out"
            )
        return self

    def read(self):
        if self.explanations != "template":
            plugin("casebook.explain.study:check_explanation_parameters")(vars(self))
        if self.ratings:
            from casebook.raters.read import read_forms
            from casebook.raters.unblinding import read_key, unblind_likert

            unblind_likert(read_forms([self.ratings]), read_key(self.ratings_key))

    def check_questions(self, dataset):
        plugin("casebook.explain.study:check_explained_questions")(dataset, vars(self))


Votes = Annotated[Name, data_of_kind("votes")]
Ratings = Annotated[Name, data_of_kind("ratings")]
Kind = Literal["lay", "expert"]
Address = Annotated[Name, checked_by("casebook.models.language:check_address")]


class RaterAgreement(ChapterParameters):
    """Votes of raters on two systems."""

    dataset: Votes | None
    forms: Files
    key: Name | None
    side_column: Name | None
    columns: mapping_to(Name, "a mapping {{column: its name}} of text")
    log: Annotated[list[Name], Field(min_length=1)] | Name | None
    systems: list_of(Name, "of two systems or more, such as [new, old]", 2) | None
    questions: Name | None
    corpus: Questions | None
    model: Name | None
    url: Address | None
    raters: mapping_to(
        Kind, "a mapping such as {{anna: lay, ben: expert}}, of names to lay or expert", 1
    )
    against: Name | None
    rating_set: Ratings | None
    sizes: list_of(Count, "of whole numbers of at least 1, such as [50, 100]", 1)
    studies: Count
    rehearsed: Count
    panels: Count
    n_resamples: Resamples
    permutations: Count

    @model_validator(mode="after")
    def _consistent(self):
        for name in ("key", "columns", "side_column"):
            self._check_needs(name, "forms")
        for name in ("corpus", "model", "url"):
            self._check_needs(name, "questions")
        if self.systems and not (self.log or self.questions):
            raise InputError("systems has no effect without log: give log too, or leave it out")
        if self.questions and not (self.forms or self.log or (self.corpus and self.model)):
            raise InputError(
                "questions: two systems answer them, with and without retrieval: "
                "give corpus and model too"
            )
        return self

    def read(self):
        plugin("casebook.raters.analysis:check_rater_agreement")(vars(self))
        return plugin("casebook.assistant.log:check_log_parameters")(vars(self)) if self.log else ""


class RatingAgreement(ChapterParameters):
    """Ratings of items by raters, without systems."""

    ratings: Name | None
    columns: mapping_to(Name, "a mapping {{column: its name}} of text")
    n_resamples: Resamples

    def read(self):
        if self.ratings is None:
            raise InputError("ratings: give a file of ratings: -p ratings=FILE")
        plugin("casebook.raters.analysis:check_ratings")(self.ratings, self.columns)


class FactcheckConfusion(ChapterParameters):
    """Verdicts on claims."""

    dataset: Name
    claims: Name | None
    corpus: Name | None
    stance: Annotated[Name, checked_by("casebook.factcheck.pipeline:check_stance")]
    further_judges: Annotated[
        list_of(Name, "such as [entailment:./nli-model, endpoint:MODEL]"),
        checked_by("casebook.factcheck.pipeline:check_stance"),
    ]
    decomposition: Annotated[Name, checked_by("casebook.factcheck.claims:decomposer_of")]
    ablation: Flag
    noise_rates: list_of(Share, "of numbers from 0 to 1, such as [0.5, 1]")
    transfer_sets: list_of(
        Literal["consumer_contracts_qa"] | Annotated[Name, data_of_kind("claims")],
        "such as [feverous_s]",
    )
    folds: Folds
    shown_bytes: Count
    n_resamples: Resamples

    @model_validator(mode="after")
    def _consistent(self):
        self._check_corpus("claims")
        self._check_needs("noise_rates", "ablation")
        plugin("casebook.factcheck.study:check_judges")([self.stance, *self.further_judges])
        if self.claims is None and self.dataset != "factcheck_claims":
            plugin("casebook.factcheck.study:check_dataset_settings")(vars(self))
        return self

    def read(self):
        if self.claims:
            plugin("casebook.factcheck.claims:read_labelled")(Path(self.claims))
            plugin("casebook.data.folders:read_collection")(Path(self.corpus))
        for name in self.transfer_sets:
            if data_folder(name):
                plugin("casebook.factcheck.transfer:gold_claims")(name)


class Audits(ChapterParameters):
    """Audits of reported tables."""

    reported: Files | None
    repeats: Count

    def read(self):
        for path in as_list(self.reported):
            plugin("casebook.audits.tables:read_tables")(Path(path))


class Assistant(ChapterParameters):
    """Answers of assistants."""

    log: Annotated[list[Name], Field(min_length=1)] | Name | None
    collection: Questions | None
    columns: mapping_to(Name, "a mapping {{column: its name}} of text", 1) | None
    scores: Files | None
    judge: Annotated[Name, checked_by("casebook.assistant.judge:check_judge")] | None
    dataset: Questions
    focus: Name | None
    against: Name | None
    agreement_level: (
        Annotated[
            float, Field(gt=0, lt=1, description="give a token F1 between 0 and 1, not {value}")
        ]
        | None
    )
    foreign: Count
    n_resamples: Resamples

    @model_validator(mode="after")
    def _consistent(self):
        for parameter in ("collection", "columns", "scores"):
            self._check_needs(parameter, "log")
        if self.focus and self.focus == self.against:
            raise InputError(
                f"against: choose another system than focus, not {self.focus!r} for both"
            )
        return self

    def read(self):
        return plugin("casebook.assistant.log:check_log_parameters")(vars(self)) if self.log else ""

    def check_data(self):
        if not self.log:
            plugin("casebook.assistant.study:check_systems")(vars(self))


CHAPTERS = {
    "retrieval_ablation": RetrievalAblation,
    "embedding_shift": EmbeddingShift,
    "run_comparison": RunComparison,
    "counterfactual_sensitivity": CounterfactualSensitivity,
    "explanation_quality": ExplanationQuality,
    "rater_agreement": RaterAgreement,
    "rating_agreement": RatingAgreement,
    "factcheck_confusion": FactcheckConfusion,
    "audits": Audits,
    "query_length": QueryLength,
    "assistant": Assistant,
}
"""Experiment to the model of its notebook."""


USUAL_TYPES = {
    "dataset": Text | None,
    "split": Text | None,
    "titles": Flag,
    "max_missing": Share,
    "n_resamples": Resamples,
}
"""Parameters that are read before the kernel of any notebook starts."""


def model_of_unknown_notebook(declared_names, names):
    """Make the model of a notebook of the user's own, whose parameters ``names`` name something."""
    types = dict.fromkeys(names, Text | list[Text] | None) | USUAL_TYPES
    fields = {name: kind for name, kind in types.items() if name in declared_names}
    return create_model("Own", __base__=NotebookParameters, **fields)


def settings_of(model, values, defaults):
    """Check the values of a notebook's parameters by its model; an error names the first wrong."""
    differing = sorted(values.keys() ^ model.model_fields.keys())
    if differing:
        raise InputError(
            f"{', '.join(differing)}: declare it both in the notebook and in {model.__name__} "
            "(lib/casebook/batch/chapters.py), which says what values it takes"
        )
    try:
        return model.model_validate(values, context=defaults)
    except ValidationError as error:
        name = error.errors()[0]["loc"][0]
        raise InputError(f"{name}: {_advice(model, name, values[name])}") from None


def _advice(model, name, value):
    """Say what to give instead of a wrong value."""
    annotation = get_type_hints(model, include_extras=True)[name]
    advice = next(_descriptions(annotation))
    text = repr(value)
    if isinstance(value, str) and value and advice.startswith("give a list"):
        return f"give a list: {name}=[{text[1:-1]}]"
    if len(text) > 100:
        text = f"{text[:100]}..."
    return advice.format(value=text)


def _descriptions(annotation):
    """Yield the descriptions of a type and of those inside it, the outermost first."""
    for part in getattr(annotation, "__metadata__", ()):
        if isinstance(part, FieldInfo) and part.description:
            yield part.description
    for part in get_args(annotation):
        yield from _descriptions(part)
