"""The comparison of a run with the baseline in Markdown: failures, changes and a summary."""

from collections.abc import Iterable, Sequence

from baseline.comparison import FALSE_ALARMS, Comparison, Finding, Movement

MARK = "<!-- deniable: comparison with the quick baseline -->"
"""Marks the comment on a pull request, so that the next comparison finds it."""
MOST_ROWS = 15
MOST_VERDICTS = 200
"""A comment on GitHub has at most 65,536 characters."""
_LONGEST = 100


def markdown(comparison: Comparison) -> str:
    """Return the report: a summary, the failures, the changed verdicts, the moved estimates."""
    parts = [MARK, "## The quick run against its baseline", summary(comparison)]
    if comparison.not_compared:
        parts.append(
            "Not compared, because no baseline has such records: "
            f"{_listed(comparison.not_compared)}."
        )
    if comparison.remarks:
        parts.append(f"Different in the run of the baseline: {_listed(comparison.remarks)}.")
    for title, text, findings in _sections(comparison):
        if findings:
            most = MOST_VERDICTS if findings[0].kind == "verdict" else MOST_ROWS
            parts += [f"### {title} ({len(findings):,})", text, _table(findings, most)]
    moved = [each for each in comparison.movements if each.moved]
    if moved:
        parts += [
            f"### Estimates that moved ({sum(each.moved for each in moved):,})",
            "By chance about 5 % of p-values are below .05, fewer for medians and few replicates. "
            "Rows of a table have draws in common. Widths are ratios to the baseline's intervals.",
            _movements(moved),
        ]
    return "\n\n".join(part for part in parts if part) + "\n"


def summary(comparison: Comparison) -> str:
    """Return the result in a paragraph."""
    failed = [finding for finding in comparison.findings if finding.fails]
    verdicts = comparison.of("verdict")
    estimates = sum(each.estimates for each in comparison.movements)
    tested = sum(each.tested for each in comparison.movements)
    moved = sum(each.moved for each in comparison.movements)
    result = (
        "**Passed**: the run reproduces the baseline."
        if not comparison.fails
        else f"**Failed**: {_count(len(failed), 'difference')} that chance does not explain."
    )
    return (
        f"{result} {comparison.tables} tables were compared; {comparison.identical} have the same "
        f"bytes. Of {estimates:,} estimates {moved:,} moved, {len(comparison.of('number')):,} of "
        f"them beyond chance. {estimates - tested:,} estimates have an infinite interval and "
        f"cannot be compared. {_count(len(verdicts), 'verdict')} changed. (Beyond chance means p < "
        f"{comparison.limit:.1g}, with a false alarm in {FALSE_ALARMS:.0%} of all comparisons.)"
    )


def _sections(comparison: Comparison) -> Iterable[tuple[str, str, Sequence[Finding]]]:
    yield (
        "Other records",
        "Numbers from these records cannot be compared with the baseline, at any error.",
        comparison.of("records"),
    )
    yield "Verdicts that changed", "", comparison.of("verdict")
    yield "Numbers beyond chance", "", comparison.of("number")
    yield "Changed exact values", "", comparison.of("exact")
    yield "Missing rows and tables", "", comparison.of("table lost", "row lost")
    yield (
        "New rows and tables",
        "This is not an error. `make baseline` adds them.",
        comparison.of("table new", "row new"),
    )


def _table(findings: Sequence[Finding], most: int) -> str:
    compared = any(finding.column for finding in findings)
    head = ["table", "row", *(["column", "baseline", "run", "by chance"] if compared else [])]
    rows = [
        [f"`{each.table}`", each.row, each.column, each.before, each.after, _chance(each)]
        for each in findings[:most]
    ]
    rows = [row[: len(head)] for row in rows]
    left_out = len(findings) - len(rows)
    more = f"\n\n… and {left_out:,} more." if left_out else ""
    return _grid(head, rows) + more


def _chance(finding: Finding) -> str:
    if not finding.fails:
        return "yes"
    return "no" if finding.kind != "number" else f"no, p = {finding.p_value:.1g}"


def _movements(moved: Sequence[Movement]) -> str:
    rows = [
        [
            f"`{each.table}`",
            f"{each.estimates:,}",
            f"{each.moved:,}",
            f"{each.unlikely:.1%}",
            f"{each.smallest:.1g}",
            f"{each.width_ratio:.2f}",
        ]
        for each in sorted(moved, key=lambda each: each.smallest)
    ]
    head = ["table", "estimates", "moved", "p < .05", "smallest p", "widths, median ratio"]
    return _grid(head, rows)


def _grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(_cell, line)) + " |" for line in lines)


def _cell(text: str) -> str:
    # A cell may be a sentence, or contain characters of Markdown.
    short = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return short.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:MOST_ROWS])
    return shown + (f" and {len(names) - MOST_ROWS} more" if len(names) > MOST_ROWS else "")


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" + ("" if number == 1 else "s")
