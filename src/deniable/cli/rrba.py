"""``deniable rrba``: clients, aggregators and a server as processes that exchange lines of JSON."""

import argparse
import fcntl
import math
import os
import re
import secrets
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from deniable.analysis import Released
from deniable.cli.outputs import refuse_inputs, refuse_overwriting
from deniable.errors import DeniableError, plain, shown
from deniable.files import folder_written_whole, json_line, kept_private, replace_durably
from deniable.plans import Plan, plan_to_json, read_plan
from deniable.release import SEED_NOTICE, records_writer, write_documents
from deniable.rrba import (
    Aggregator,
    Agreement,
    Answer,
    BlockReport,
    Client,
    Question,
    Refusal,
    Server,
    collected_reports,
    refuse_impossible,
    refuse_repeated,
)
from deniable.sampling import SystemRandomSource, generator_for
from deniable.schema import CsvForm, RecordsFile
from deniable.texts import text_of

MAX_LINE = 64_000_000  # bytes of a message
MAX_ANSWERS = 2_000_000  # to a server, which holds them in memory
_TOO_MANY = f"over {MAX_ANSWERS:,} answers, which a server holds in memory; ask fewer clients"
MAX_WAIT = 10**9  # seconds
POLL = 0.05  # seconds between looks at a file that grows
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
REPORTS = rb'\{"format":"deniable-rrba"|$'


def run(options: argparse.Namespace) -> None:
    """Run the party of the `options`; print numbers of uncounted messages to standard error."""
    plan: Any = read_plan(options.plan)
    if plan.kind != "collected":
        raise DeniableError(f"{options.plan}: a {plan.kind} plan; give one of kind collected")
    digest = sha256(json_line(plan_to_json(plan)).encode()).hexdigest()
    agreement = Agreement(digest, plan.design, options.test is not None)
    if agreement.test:
        print("deniable: note: TEST: anybody with the seed can undo this", file=sys.stderr)
    party = {"client": _answer, "aggregator": _ask, "server": _count}[options.party]
    for reason, number in sorted(party(options, plan, agreement).items()):
        print(f"{options.party}: not counted, {plain(reason)}: {number}", file=sys.stderr)


def _lines(places: Sequence[Path], follow: bool = False) -> Iterator[bytes]:
    """Yield the lines of files and folders, by default of standard input.

    If `follow`, files are read again while they grow, without end.
    """
    if not places:
        yield from iter(partial(sys.stdin.buffer.readline, MAX_LINE), b"")
    done = Counter[Path]()
    while places:
        inside = (sorted(each.glob("*.jsonl")) if each.is_dir() else [each] for each in places)
        for file in [file for files in inside for file in files]:
            if follow and not file.exists():
                continue  # a client may make it later
            with file.open("rb") as stream:
                if done[file]:
                    stream.seek(done[file])
                while line := stream.readline(MAX_LINE):
                    if follow and len(line) < MAX_LINE and not line.endswith(b"\n"):
                        break  # it is still being written
                    done[file] += len(line)
                    yield line
        if not follow:
            return
        time.sleep(POLL)


def _answer(options: argparse.Namespace, plan: Any, agreement: Agreement) -> Mapping[str, int]:
    if not NAME.fullmatch(options.name):
        raise DeniableError(f"--name {shown(options.name)}: give letters, digits, _, . and -")
    if math.isinf(plan.epsilon) and not options.accept:
        raise DeniableError("this plan has no finite epsilon; to answer, add --accept no_floor")
    budget = plan.epsilon if options.budget is None else options.budget
    if not budget > 0:
        raise DeniableError(f"--budget {budget:g}: give a number above 0")
    folder, passed = kept_private(options.state), Counter[str]()
    handle = os.open(folder, os.O_RDONLY)  # locked until the process ends
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise DeniableError(f"{folder}: another client uses it; name another folder") from None
    file = RecordsFile.open(options.records, plan.schema_of_originals)
    records = replace(plan, part=None).original_records(file.portions())
    names = [f"{options.name}-{number}" for number in range(1, len(records) + 1)]
    places = {name: at for at, name in enumerate(names if len(names) > 1 else [options.name])}
    for line in _lines(()):
        try:
            aggregator, question = agreement.read(line, Question)
        except DeniableError as reason:
            passed[str(reason)] += 1
            continue
        if (at := places.get(question.client)) is None:
            passed["to another client"] += 1
            continue
        values = [int(records.column(name)[at]) for name in plan.design.domain.names]
        reply = _reply(options, agreement, question, values, budget)
        print(agreement.line(aggregator, reply), flush=True)
    return passed


def _reply(
    options: argparse.Namespace,
    agreement: Agreement,
    question: Question,
    values: Sequence[int],
    budget: float,
) -> Answer | Refusal:
    """Return the answer of a client with these values, stored before it leaves; or a refusal."""
    name, number = question.client, question.number
    file = options.state / f"{name}.jsonl"
    given: dict[Question, Answer] = {}
    source: Any = SystemRandomSource()
    try:
        lines = file.read_bytes().splitlines() if file.exists() else []
        for asked, answer in zip(lines[::2], lines[1::2], strict=True):
            given[agreement.read(asked, Question)[1]] = agreement.read(answer, Answer)[1]
    except (DeniableError, ValueError) as error:
        raise DeniableError(f"{file}: {error}; restore it, or name another folder") from None
    if agreement.test:
        source = generator_for(options.test, {"client": name, "answers": len(given)})
    if agreement.design.memory:  # the remembered answer holds for a question of any number
        question = replace(question, number=0)
    unbounded, design = options.accept is not None, agreement.design
    agreed = agreement.refuse_other_question
    client = Client(name, design.domain, values, budget, source, given, agreed, unbounded=unbounded)
    reply = client.answer(question)
    if isinstance(reply, Answer) and question not in given:
        pairs = [each for pair in (given | {question: reply}).items() for each in pair]
        replace_durably(file, "".join(agreement.line("", each) + "\n" for each in pairs).encode())
    return replace(reply, question=number)


def _ask(options: argparse.Namespace, plan: Plan, agreement: Agreement) -> Mapping[str, int]:
    refuse_overwriting(options.reports, [options.plan, options.clients], "message file", REPORTS)
    if not 0 <= options.wait <= MAX_WAIT:
        raise DeniableError(f"--wait {options.wait:g}: give 0 to {MAX_WAIT:,} seconds")
    design = agreement.design
    names = [each for each in text_of(options.clients).splitlines() if each]
    refuse_repeated(names, str(options.clients))
    if plan.part is not None:
        names = [names[at] for at in plan.part.positions(len(names))]
    refuse_impossible(design, len(names))
    if len(names) * max(map(len, design.asked)) > MAX_ANSWERS:
        raise DeniableError(_TOO_MANY)
    seed = options.seed or (str(options.test) if agreement.test else secrets.token_hex(16))
    print(f"deniable: note: clients are ordered by --seed {plain(seed)}", file=sys.stderr)
    order = sorted(names, key=lambda name: sha256(f"{seed}:{name}".encode()).digest())
    keeps = [design.randomized[view[0]].keep for view in design.asked]
    asking = Aggregator(design.domain, design.asked, keeps, np.random.default_rng(0), design.rule)
    arriving: Queue[bytes | None] = Queue()
    followed = [options.answers] if options.answers else []

    def receive() -> None:
        for line in _lines(followed, follow=True):
            arriving.put(line)
        arriving.put(None)

    Thread(target=receive, daemon=True).start()
    with options.reports.open("w", encoding="utf-8") as reports:
        for start in range(0, len(order), design.block):
            block = order[start : start + design.block]
            turns = [place % len(design.asked) for place in range(start, start + len(block))]
            for question in asking.open_block(block, turns):
                print(agreement.line(options.name, question))
            sys.stdout.flush()
            ended = _receive_block(options, agreement, asking, arriving)
            for report in asking.close_block():
                print(agreement.line(options.name, report), file=reports, flush=True)
            if ended and start + len(block) < len(order):
                asking.passed_over["not asked"] = len(order) - start - len(block)
                break
    return +asking.passed_over


def _receive_block(
    options: argparse.Namespace,
    agreement: Agreement,
    asking: Aggregator,
    arriving: "Queue[bytes | None]",
) -> bool:
    end = time.monotonic() + options.wait
    while asking.waiting:
        try:
            line = arriving.get(timeout=max(end - time.monotonic(), 0.0))
        except Empty:
            return False
        if line is None:
            return True
        try:
            aggregator, message = agreement.read(line, Answer, Refusal)
        except DeniableError as reason:
            asking.passed_over[str(reason)] += 1
            continue
        if aggregator == options.name:
            asking.receive(message)
        else:
            asking.passed_over["to another aggregator"] += 1
    return False


def _count(options: argparse.Namespace, plan: Plan, agreement: Agreement) -> Mapping[str, int]:
    refuse_inputs(options.out, [options.plan, *options.reports], "public folder")
    if options.out.exists():
        raise DeniableError(f"{options.out}: it exists; name a new folder")
    server, passed, answers = Server(), Counter[str](), 0
    blocks, seen = dict[tuple[str, int], int](), set[tuple[int, tuple[str, ...]]]()
    for line in _lines(options.reports):
        try:
            aggregator, report = agreement.read(line, BlockReport)
            agreement.refuse_other_table(report.combination, report.keep, report.table)
        except DeniableError as reason:
            passed[str(reason)] += 1
            continue
        block = blocks.setdefault((aggregator, report.block), len(blocks) + 1)
        if (block, report.combination) in seen:
            passed["a repeated report"] += 1
            continue
        seen.add((block, report.combination))
        answers += len(report.answers)
        if answers > MAX_ANSWERS:
            raise DeniableError(_TOO_MANY)
        server.receive(replace(report, block=block))
    try:
        table = collected_reports(agreement.design, server.reports)
    except DeniableError as error:
        reasons = (f"; not counted, {plain(each)}: {passed[each]}" for each in sorted(passed))
        raise DeniableError(f"{error}{''.join(reasons)}") from None
    _publish(options.out, plan, table, agreement)
    passed["answers of clients that were counted"] = server.repeated
    return +passed


def _publish(out: Path, plan: Plan, answers: pd.DataFrame, agreement: Agreement) -> None:
    records = Released(answers, plan).records
    mode = "test" if agreement.test else "clients"
    notice = SEED_NOTICE if agreement.test else "each client randomized its own answers"
    block = {"name": out.name, "mode": mode, "notice": notice, "records": records}
    document = plan_to_json(plan) | {"release": block | {"data_source": "own"}}
    with folder_written_whole(out) as folder:
        file = folder / f"{plan.protected_name}.{plan.schema.file.protected.kind}"
        with records_writer(file, plan.schema.file, CsvForm()) as writer:
            writer.write(pa.Table.from_pandas(answers, preserve_index=False))
        write_documents(plan, document, folder)
    print(f"{out}: answers of {records:,} clients; deniable estimate {out}")
