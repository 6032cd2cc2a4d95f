"""``deniable schema``: a draft schema of a file of records, which the data owner edits."""

import argparse
import io
import sys

from deniable.schema import drafted


def run(options: argparse.Namespace) -> None:
    """Draft the schema of the file in the `options` and print it; remarks go to standard error."""
    draft = drafted(
        options.file,
        options.population,
        delimiter="\t" if options.delimiter == r"\t" else options.delimiter,
        encoding=options.encoding,
        transactions=options.transactions,
    )
    print(draft.found, file=sys.stderr)
    for warning in draft.warnings:
        print(f"deniable: warning: {warning}", file=sys.stderr)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")  # the encoding in which schemas are read
    sys.stdout.write(draft.text)
