"""Randomize a file in memory, or one Arrow batch by its record numbers for engines."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from deniable.arrays import Codes
from deniable.errors import DeniableError, named_types
from deniable.plans.interface import Plan, refuse_no_plan
from deniable.sampling import KeyedDraws, RandomnessSource, SystemRandomSource, refuse_no_source
from deniable.schema import RecordBatch, RecordsFile, in_classes, plain_type, warn_outside


@named_types
def randomize(records: Any, plan: Plan, source: RandomnessSource | None = None) -> pd.DataFrame:
    """Return the protected records of a plan, in memory.

    Use it for simulations and for your own methods. No ledger counts the epsilon. The rows have the
    order of the records, so the respondent of each row is known. `deniable.protect` makes a
    release. A `BoundsWarning` counts values of a column outside its bounds. Raises `DataError` if
    records contradict the schema. Raises `DeniableError` if the `plan` or the `source` has another
    type, for example a seed as source.

    Parameters
    ----------
    records : path or table
        The file that the plan's schema describes, or the same as a table.
    plan : Plan
        Of any kind.
    source : Generator, SystemRandomSource or KeyedDraws, optional
        Source of random numbers; by default the operating system, so that draws differ each time.

    Returns
    -------
    DataFrame
        The columns of the protected file; for collected tables the counts of the answers.
        `deniable.Released` estimates from it, with the plan.
    """
    chance = SystemRandomSource() if source is None else source
    if not isinstance(chance, KeyedDraws):
        refuse_no_source(chance)
    refuse_no_plan(plan)
    file = RecordsFile.open(records, plan.schema_of_originals, passed=plan.passed)
    found: pd.DataFrame = pa.concat_tables(plan.randomize(file.portions(), chance)).to_pandas()
    warn_outside(file.outside.values())
    return found


def randomized(
    batch: pa.RecordBatch, numbers: npt.ArrayLike, plan: Plan, draws: KeyedDraws
) -> pa.RecordBatch:
    """Return the protected columns of a `batch`, each record randomized by its record number.

    A batch is any part of a file in any order, also without rows. It has the columns and types of
    the schema of the `plan`, which is of kind columns or strata. With the same `draws`, a record
    number always has the same randomized values, as in `Plan.randomize`. The rows stay in order.

    The `numbers`, integers of shape (rows,), count the records of the whole file from 0, without
    records that the schema leaves out. They must differ in all batches of a file: two records with
    one number would have the same random numbers. No ledger counts the epsilon. A `BoundsWarning`
    counts the values of a column that lie outside its bounds.

    Raises `DataError` if the records contradict the schema, and `DeniableError` if an argument is
    invalid, the schema leaves a record out, or the plan randomizes all records together.
    """
    if not (isinstance(batch, pa.RecordBatch) and isinstance(draws, KeyedDraws)):
        raise DeniableError("give a pyarrow.RecordBatch, and keyed draws (deniable.sampling)")
    if plan.schema.unit is not None:
        raise DeniableError(
            "a unit with several records may be in other batches; give the whole file to "
            "deniable.protect"
        )
    if plan.part is not None:
        raise DeniableError(
            "the plan is for a part of the respondents; choose them by plan.part.positions, and "
            "give the plan with part=None"
        )
    known = np.asarray(numbers)
    whole = known.shape == (len(batch),) and (not len(batch) or known.dtype.kind in "iu")
    known = known.astype(np.int64) if whole else known
    if not whole or (known < 0).any() or len(np.unique(known)) < len(batch):
        raise DeniableError(
            f"give {len(batch)} record numbers, one for each row: different whole numbers from 0"
        )
    file = RecordsFile.open(batch, plan.schema_of_originals, passed=plan.passed)
    if len(batch):
        (records,) = file.portions(len(batch))
    else:  # engines learn the columns of the result from an empty batch
        codes: dict[str, Codes] = {each.name: known for each in plan.schema.randomized}
        given = {name: in_classes(plan.schema[name], batch[name]) for name in plan.passed}
        passed = {name: each.cast(plain_type(each.type)) for name, each in given.items()}
        records = RecordBatch(0, codes, passed)
    if file.left_out:
        raise DeniableError(
            f"the schema leaves {file.left_out} records out for their missing values; leave them "
            "out before you number the records"
        )
    warn_outside(file.outside.values())
    table = plan.randomize_batch(records, known, draws)
    return pa.RecordBatch.from_arrays(
        [each.combine_chunks() for each in table.columns], table.column_names
    )
