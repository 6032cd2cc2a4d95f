"""``deniable secure-sum``: count pairs of columns in the files of several parties."""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from deniable.cli.answers import aligned
from deniable.cli.outputs import SUM, refuse_overwriting
from deniable.errors import DataError, DeniableError
from deniable.files import folder_written_whole, write_text
from deniable.plans import count_cells
from deniable.randomized_response import (
    SumMessage,
    SumSession,
    add_messages,
    dependences_from_tables,
    pair_measures,
    share_counts,
    summed_tables,
)
from deniable.sampling import SystemRandomSource
from deniable.schema import RecordsFile, read_schema

MAX_LINE = 100_000_000  # bytes


def run(options: argparse.Namespace) -> None:
    """Split counts into shares, or add the messages of all parties, by the action of the `options`.

    Raises `DeniableError` if an option, a file or a message is invalid; nothing is written then.
    """
    {"share": _share, "add": _add, "total": _add}[options.action](options)


def _share(options: argparse.Namespace) -> None:
    if options.out is not None and options.out.exists():
        raise DeniableError(f"{options.out}: shares replace nothing; name a new folder")
    schema = read_schema(options.schema)
    domain = (schema.only(sum(options.table, ())) if options.table else schema).domain()
    session = SumSession.of(domain, options.session, options.parties, options.table)
    number = schema[options.count] if options.count else None
    file = RecordsFile.open(options.file, schema, passed=[options.count] if options.count else [])
    parts = [domain.project(pair) for pair in session.tables]
    counts = count_cells(parts, file.portions(), number)
    messages = share_counts(session, options.party, counts, SystemRandomSource())
    if options.out is None:
        for each in messages:
            print(each.model_dump_json(ensure_ascii=True))
        return
    with folder_written_whole(options.out, private=True) as folder:
        for each in messages:
            _write(folder / f"share-{each.sender}-to-{each.receiver}.jsonl", each)
    print(f"written: {options.out}; keep share-{options.party}-to-{options.party}.jsonl secret")


def _add(options: argparse.Namespace) -> None:
    """Write the sum of messages: a partial sum, or a total after a check by the schema."""
    schema = getattr(options, "schema", None)
    refuse_overwriting(options.out, [*options.messages, schema], "sum", SUM)
    summed = add_messages(_messages(options.messages))
    if (summed.sender == 0) != (schema is not None):
        raise DeniableError(f"{summed.label}: add takes shares, and total takes partial sums")
    if schema is not None:
        domain = read_schema(schema).domain()
        tables = summed_tables(summed, domain)
        measures = {pair: each for pair, each in pair_measures(domain).items() if pair in tables}
        rows = dependences_from_tables(tables, measures).itertuples(index=False)
        print("\n".join(aligned(("column", "column", "measure", "dependence"), list(rows))))
    if options.out is None:
        print(summed.model_dump_json(ensure_ascii=True))
        return
    _write(options.out, summed)
    print(f"written: {options.out}")


def _write(file: Path, message: SumMessage) -> None:
    write_text(file, message.model_dump_json(ensure_ascii=True) + "\n")


def _messages(files: list[Path]) -> Iterator[SumMessage]:
    """Yield the messages in the `files`, or without files on the standard input."""
    for file in files:
        with file.open("rb") as stream:
            yield from _messages_in(stream, str(file))
    if not files:
        yield from _messages_in(sys.stdin.buffer, "standard input")


def _messages_in(stream: BinaryIO, where: str) -> Iterator[SumMessage]:
    for number, line in enumerate(iter(lambda: stream.readline(MAX_LINE), b""), 1):
        yield SumMessage.from_line(line, f"{where}, line {number}")
