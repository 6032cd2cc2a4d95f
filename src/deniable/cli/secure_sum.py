"""``deniable secure-sum``: count pairs of columns in the files of several parties."""

import argparse
import fileinput
import sys
from pathlib import Path

from deniable.cli.outputs import SUM, refuse_overwriting
from deniable.errors import DeniableError, refuse_unknown
from deniable.files import folder_written_whole, write_text
from deniable.plans import count_cells
from deniable.randomized_response import (
    SumMessage,
    add_messages,
    empty_sum,
    share_counts,
    summed_tables,
)
from deniable.sampling import SystemRandomSource
from deniable.schema import RecordsFile, read_schema


def run(options: argparse.Namespace) -> None:
    """Split counts into shares, or add shares or partial sums, by the action of the `options`."""
    if options.action == "share":
        _share(options)
        return
    schema = options.schema if options.action == "total" else None
    refuse_overwriting(options.out, [*options.messages, schema], "sum", SUM)
    with fileinput.input([*map(str, options.messages)] or "-", mode="rb") as lines:
        places = ((line, f"{lines.filename()}, line {lines.filelineno()}") for line in lines)
        summed = add_messages(SumMessage.read(*each) for each in places)
    if (summed.sender == 0) != (options.action == "total"):
        raise DeniableError(f"{summed.label}: add takes shares, and total takes partial sums")
    if schema is not None:
        summed_tables(summed, read_schema(schema).domain())
    _write(options.out, summed)


def _share(options: argparse.Namespace) -> None:
    if options.out is not None and options.out.exists():
        raise DeniableError(f"{options.out}: it exists; name a new folder for the shares")
    schema = read_schema(options.schema)
    domain = (schema.only(sum(options.table, ())) if options.table else schema).domain()
    weights = [each.name for each in schema.columns if each.kind == "weight"]
    for name in options.count:
        refuse_unknown("weight", name, weights)
    terms = empty_sum(domain, options.session, options.parties, options.table)
    file = RecordsFile.open(options.file, schema, passed=options.count)
    parts = [domain.project(pair) for pair in terms.tables]
    counts = count_cells(parts, file.portions(), *(schema[name] for name in options.count))
    shares = share_counts(terms, options.party, counts, SystemRandomSource())
    if options.out is None:
        for each in shares:
            _write(None, each)
        return
    with folder_written_whole(options.out, private=True) as folder:
        for each in shares:
            _write(folder / f"share-{each.sender}-to-{each.receiver}.jsonl", each)


def _write(file: Path | None, message: SumMessage) -> None:
    line = message.model_dump_json(ensure_ascii=True) + "\n"
    if file is None:
        sys.stdout.write(line)
    else:
        write_text(file, line)
