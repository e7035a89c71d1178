"""What the parameters of our notebooks may be: one model a notebook, held against them before its kernel starts.

A notebook's parameters cell gives names and defaults, and says what they are for; the model of that name gives type,
bounds and choices, and `read` reads files of the user's own. A notebook of the user's own has no model.
"""

import contextlib
import os
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
from casebook.data.sources import MIRROR_VARIABLE, Absent
from casebook.errors import InputError
from casebook.paths import data_folder, valid_name
from casebook.plugins import is_plugin, plugin


def listed(value):
    """Give the value of a parameter as a list: nothing, one name, or several."""
    return value if isinstance(value, list) else [] if value is None else [value]


@contextlib.contextmanager
def naming(parameter, value):
    """Let an error say which parameter it is about, unless it begins with its value."""
    try:
        yield
    except Absent:
        raise
    except InputError as error:
        if str(error).startswith((parameter, str(value))):
            raise
        raise InputError(f"{parameter}: {error}") from None


# --- types: the text of each says what to give; {value} is what was given


def whole(least, why="", most=1_000_000_000):
    """Whole numbers of at least so much."""
    words = f"give a whole number of at least {least}, at most {most:,}, not {{value}}{why}"
    return Annotated[int, Field(ge=least, le=most, description=words)]


def number(words, **bounds):
    """Finite numbers within bounds."""
    return Annotated[
        float,
        Field(allow_inf_nan=False, description=f"give a number {words}, not {{value}}", **bounds),
    ]


def choice(*words):
    """One of some words."""
    return Annotated[
        Literal[words], Field(description=f"choose from {', '.join(words)}, not {{value}}")
    ]


def many(kind, words, least=0):
    """Lists of a type, of at least so many."""
    return Annotated[
        list[kind], Field(min_length=least, description=f"give a list {words}, not {{value}}")
    ]


def mapping(kind, words, least=0):
    """Mappings of text to a type."""
    return Annotated[
        dict[str, kind], Field(min_length=least, description=f"give {words}, not {{value}}")
    ]


Count = whole(1)
Folds = whole(2)
Resamples = whole(100, ": an interval needs that many", most=1_000_000)
Seed = whole(0, most=2**32 - 1)  # more is no seed for scikit-learn
Share = number("from 0 to 1", ge=0, le=1)
Margin = number("of at least 0 and below 1", ge=0, lt=1)
Flag = Annotated[bool, Field(description="give true or false, not {value}")]
Text = Annotated[str, Field(description="{value} is no name: give text, or leave it out")]
Name = Annotated[Text, Field(min_length=1)]
Files = Name | list[Name]


def checked(place):
    """Refuse what a function of the library, ``module:function``, refuses; it is imported when there is a value."""

    def check(value, info):
        if value != (info.context or {}).get(
            info.field_name
        ):  # defaults are right, which a test says
            for each in listed(value):
                with naming(info.field_name, each):
                    plugin(place)(each)
        return value

    return AfterValidator(check)


def data(kind):
    """Refuse names of data that are none, and data of another kind; folders and functions are read later."""

    def check(value, info):
        for each in listed(value):
            if each and not (Path(each).is_absolute() or data_folder(each) or is_plugin(each)):
                _check_kind(info.field_name, each, kind)
        return value

    return AfterValidator(check)


def _check_kind(parameter, name, kind):
    problem = "no card and no folder of that name"
    with contextlib.suppress(InputError):
        card, _ = resolve(name)
        if card.kind == kind:
            return
        problem = f"holds {card.kind} data, not {kind} data"
    fitting = ", ".join(key for key, card in cards().items() if card.kind == kind)
    raise InputError(f"{parameter} {name!r}: {problem}: choose from {fitting}")


def _retrievers(value):
    for name in listed(value):
        if not is_plugin(name):
            raise InputError(
                f"retriever: {name!r} is no module:object; systems of ours are chosen by modes="
            )
    return value


def _systems(names):
    for name in names:
        if not is_plugin(name):
            with naming("systems", name):
                plugin("casebook.retrieval.settings:config_for")(name)
    return names


def _tables(names):
    """Refuse what is no folder of the data mirror."""
    mirror = Path(os.environ.get(MIRROR_VARIABLE) or "/nowhere")
    for name in names:
        valid_name(name, "tables")
        if not mirror.is_dir():
            raise InputError(f"tables: {name!r}: set {MIRROR_VARIABLE} to the folder that holds it")
        if not (mirror / name).is_dir():
            there = ", ".join(sorted(path.name for path in mirror.iterdir() if path.is_dir()))
            raise InputError(f"tables: {name!r}: no such folder in {mirror}: choose from {there}")
    return names


Questions = Annotated[Name, data("retrieval")]
Retrievers = Annotated[Files, AfterValidator(_retrievers)]
Systems = Annotated[
    many(Name, "such as [bm25, dense], of at least one", 1), AfterValidator(_systems)
]
Tables = Annotated[many(Name, "such as [audit_countercase]"), AfterValidator(_tables)]
OtherData = Literal[""] | Questions
Measures = Annotated[
    many(Name, "such as [nDCG@3, P@5]"), checked("casebook.measures.ranking:parse_measure")
]
Modes = Annotated[
    many(Name, "such as [bm25, dense], of at least one", 1),
    checked("casebook.retrieval.settings:config_for"),
]


# --- models, one a notebook


class Parameters(BaseModel):
    """Parameters of any notebook, and what is read of the data that they name."""

    model_config = ConfigDict(extra="forbid", strict=True)

    def read(self):
        """Read files of the user's own, and refuse what cannot be used; gives what is to be said of them."""

    def check_questions(self, dataset):
        """Refuse data of whose questions nothing can be learned."""

    def check_data(self):
        """Refuse data sets that do not hold what the notebook reads in them."""


class Chapter(Parameters):
    """What every notebook of ours takes."""

    run: Name
    cell: Name
    seed: Seed

    def _needs(self, name, other):
        """Refuse a parameter that has no effect without another one."""
        if getattr(self, name) and not getattr(self, other):
            raise InputError(
                f"{name} has no effect without {other}: give {other} too, or leave it out"
            )

    def _with_corpus(self, own):
        """Refuse a file of the user's own without his documents, and documents without the file."""
        if (getattr(self, own) is None) != (self.corpus is None):
            raise InputError(
                f"your own {own} need a folder of documents: give both {own}=FILE and corpus=FOLDER"
            )


class Asked(Chapter):
    """A notebook about the questions of a collection."""

    dataset: Questions
    titles: Flag
    max_missing: Share
    margin: Margin
    n_resamples: Resamples


class RetrievalAblation(Asked):
    """Systems of retrieval, stage by stage."""

    split: Name | None
    development: Name | None
    held_out: Name | None
    encoder: Name
    reranker: Name | None
    retriever: Retrievers | None
    modes: Modes | None
    measures: Measures
    k: Count
    rrf_k: number("above 0", gt=0)
    mmr: Flag
    mmr_lambda: Share
    pool: Count
    query_reading: choice("truncated", "windows")
    chunking: Flag

    @model_validator(mode="after")
    def _consistent(self):
        from casebook.retrieval.settings import PipelineConfig

        self._needs("development", "held_out")
        self._needs("held_out", "development")
        if self.development and self.development == self.held_out:
            raise InputError(
                f"held_out: choose another split than development, not {self.held_out!r} for both"
            )
        if self.pool < self.k:
            raise InputError(f"pool: give at least k, which is {self.k}, not {self.pool}")
        with naming("reranker", self.reranker):
            PipelineConfig(reranker=self.reranker)
        return self


class EmbeddingShift(Asked):
    """Shifts of embeddings that are learned from judgements."""

    split: Name | None
    encoder: Name
    by: choice("group", "document", "query")
    folds: Folds
    draws: Count
    drift_seeds: many(Seed, "of whole numbers of at least 0, such as [1337, 1338]")

    def check_questions(self, dataset):
        plugin("casebook.shift.study:check_questions")(dataset, vars(self))


class QueryLength(Asked):
    """Short questions against long ones."""

    retriever: Retrievers | None

    def check_questions(self, dataset):
        words = dataset.queries.set_index("query_id")["text"].str.split().str.len()
        if (words <= words.median()).reindex(dataset.qrels).dropna().nunique() < 2:
            raise InputError(
                f"{dataset.name}: no question is longer than the others, so there is nothing to compare"
            )


class RunComparison(Chapter):
    """The runs that there are."""

    scope: choice("all", "run")
    measure: Annotated[Name, checked("casebook.measures.ranking:parse_measure")]


class Planted(BaseModel):
    """Sizes of the planted collection; there are six values of each fact."""

    model_config = ConfigDict(extra="forbid", strict=True)

    cases: Count = 6
    values: Annotated[int, Field(ge=1, le=6)] = 4
    per_line: Count = 12
    seed: Seed = 0


PLANTED = "give whole numbers for cases, values (at most 6), per_line or seed, such as {{cases: 3, per_line: 8}}"


class CounterfactualSensitivity(Chapter):
    """Edits of facts, and how far they move what is found."""

    dataset: Questions
    cases: Name | None
    corpus: Name | None
    planted: Annotated[Planted, Field(description=f"{PLANTED}, not {{value}}")]
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
    n_resamples: Resamples

    @model_validator(mode="after")
    def _consistent(self):
        self._with_corpus("cases")
        if self.shown not in (None, *self.systems):
            choices = ", ".join(self.systems)
            raise InputError(f"shown: {self.shown!r} is none of the systems: choose from {choices}")
        return self

    def read(self):
        if self.cases:
            plugin("casebook.sensitivity.study:check_parameters")(vars(self))

    def check_data(self):
        plugin("casebook.sensitivity.study:check_data")(vars(self))


class ExplanationQuality(Asked):
    """Explanations, and what notices that they are wrong."""

    split: Name | None
    explanations: Name
    sources: Name | None
    most: whole(5, ": fewer sources cannot be compared")
    foreign: Count
    ratings: Name | None
    ratings_key: Name | None

    @model_validator(mode="after")
    def _consistent(self):
        self._needs("ratings_key", "ratings")
        self._needs("ratings", "ratings_key")
        if self.sources and not Path(self.explanations).is_absolute():
            raise InputError(
                "sources has no effect without explanations=FILE: give your own, or leave it out"
            )
        return self

    def read(self):
        if self.explanations != "template":
            plugin("casebook.explain.study:check_parameters")(vars(self))
        if self.ratings:
            from casebook.raters.read import read_forms, read_key, unblind_likert

            unblind_likert(read_forms([self.ratings]), read_key(self.ratings_key))

    def check_questions(self, dataset):
        plugin("casebook.explain.study:check_questions")(dataset, vars(self))


Votes = Annotated[Name, data("votes")]
Ratings = Annotated[Name, data("ratings")]
Kind = Literal["lay", "expert"]
Address = Annotated[Name, checked("casebook.models.language:check_address")]


class RaterAgreement(Chapter):
    """Votes of raters on two systems."""

    dataset: Votes | None
    forms: Files
    key: Name | None
    side_column: Name | None
    columns: mapping(Name, "a mapping {{column: its name}} of text")
    log: Annotated[list[Name], Field(min_length=1)] | Name | None
    systems: many(Name, "of two systems or more, such as [new, old]", 2) | None
    questions: Name | None
    corpus: Questions | None
    model: Name | None
    url: Address | None
    raters: mapping(
        Kind, "a mapping such as {{anna: lay, ben: expert}}, of names to lay or expert", 1
    )
    against: Name | None
    rating_set: Ratings | None
    sizes: many(Count, "of whole numbers of at least 1, such as [50, 100]", 1)
    studies: Count
    rehearsed: Count
    panels: Count
    n_resamples: Resamples
    permutations: Count

    def read(self):
        plugin("casebook.raters.analysis:check_rater_agreement")(vars(self))
        return plugin("casebook.assistant.log:check_parameters")(vars(self)) if self.log else ""


class FactcheckConfusion(Chapter):
    """Verdicts on claims."""

    dataset: Name
    claims: Name | None
    corpus: Name | None
    stance: Annotated[Name, checked("casebook.factcheck.pipeline:check_stance")]
    decomposition: Annotated[Name, checked("casebook.factcheck.claims:decomposer_of")]
    ablation: Flag
    noise_rates: many(Share, "of numbers from 0 to 1, such as [0.5, 1]")
    transfer_sets: many(
        Literal["consumer_contracts_qa"] | Annotated[Name, data("claims")], "such as [feverous_s]"
    )
    folds: Folds
    shown_bytes: Count
    n_resamples: Resamples

    @model_validator(mode="after")
    def _consistent(self):
        self._with_corpus("claims")
        self._needs("noise_rates", "ablation")
        if self.claims is None and self.dataset != "factcheck_claims":
            plugin("casebook.factcheck.study:check_parameters")(vars(self))
        return self

    def read(self):
        if self.claims:
            plugin("casebook.factcheck.claims:read_labelled")(Path(self.claims))
            plugin("casebook.data.folders:read_collection")(Path(self.corpus))


class Audits(Chapter):
    """Labels and reported tables, held against what they can be."""

    datasets: Annotated[many(Name, "such as [smoke]"), data("retrieval")] | None
    tables: Tables | None
    reported: Files | None
    repeats: Count

    def read(self):
        for path in listed(self.reported):
            plugin("casebook.audits.tables:read_tables")(Path(path))
        for name in self.datasets or ():
            if own := data_folder(name):
                plugin("casebook.audits.sources:read_labels")(own[1])


class Assistant(Chapter):
    """Answers of assistants."""

    log: Annotated[list[Name], Field(min_length=1)] | Name | None
    collection: Questions | None
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
        self._needs("collection", "log")
        if self.focus and self.focus == self.against:
            raise InputError(
                f"against: choose another system than focus, not {self.focus!r} for both"
            )
        return self

    def read(self):
        return plugin("casebook.assistant.log:check_parameters")(vars(self)) if self.log else ""

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
    "factcheck_confusion": FactcheckConfusion,
    "audits": Audits,
    "query_length": QueryLength,
    "assistant": Assistant,
}
"""Experiment to the model of its notebook."""


READ_FIRST = {
    "dataset": Text | None,
    "split": Text | None,
    "titles": Flag,
    "max_missing": Share,
    "n_resamples": Resamples,
}
"""Parameters that are read before the kernel of any notebook starts."""


def own_model(declared, names):
    """Make the model of a notebook of the user's own, some of whose parameters are names or lists of names."""
    types = dict.fromkeys(names, Text | list[Text] | None) | READ_FIRST
    return create_model(
        "Own", __base__=Parameters, **{name: types[name] for name in types if name in declared}
    )


def settings_of(model, values, usual):
    """Hold the values of a notebook's parameters against its model; one line names the first that is wrong."""
    differ = sorted(values.keys() ^ model.model_fields.keys())
    if differ:
        raise InputError(
            f"{', '.join(differ)}: stand either in the notebook or in {model.__name__}: give both the same"
        )
    try:
        return model.model_validate(values, context=usual)
    except ValidationError as error:
        name = error.errors()[0]["loc"][0]
        raise InputError(f"{name}: {_advice(model, name, values[name])}") from None


def _advice(model, name, value):
    """What the type of a parameter says of a wrong value."""
    words = next(_descriptions(get_type_hints(model, include_extras=True)[name]))
    shown = repr(value)
    if isinstance(value, str) and value and words.startswith("give a list"):
        return f"give a list: {name}=[{shown[1:-1]}]"
    return words.format(value=shown if len(shown) <= 100 else f"{shown[:100]}...")


def _descriptions(annotation):
    """Texts of a type and of those inside it, from the outermost on."""
    for part in getattr(annotation, "__metadata__", ()):
        if isinstance(part, FieldInfo) and part.description:
            yield part.description
    for part in get_args(annotation):
        yield from _descriptions(part)
