"""Types with which notebooks annotate their parameters, and what holds between two of them."""

from typing import Annotated

from pydantic import Field

from casebook.errors import InputError

Count = Annotated[int, Field(ge=1, le=1_000_000_000)]
Resamples = Annotated[int, Field(ge=100, le=1_000_000)]
Seed = Annotated[int, Field(ge=0, lt=2**32)]  # more is no seed for scikit-learn
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Names = Annotated[list[str], Field(min_length=1)]
Margin = Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)]


def needs(needed, value, **parameters):
    """Refuse parameters that have no effect without another one."""
    for name, given in parameters.items():
        if given and not value:
            raise InputError(
                f"{name} has no effect without {needed}: give {needed} too, or leave it out"
            )
