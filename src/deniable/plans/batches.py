"""Randomize one Arrow batch by its record numbers, for engines that divide a file."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from deniable.arrays import Codes
from deniable.errors import DeniableError
from deniable.plans.interface import Plan
from deniable.sampling import KeyedDraws
from deniable.schema import RecordBatch, RecordsFile, in_classes, plain_type, warn_outside


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
