"""The job graph of a run as Snakemake prints it, and the time of jobs that run in parallel."""

import heapq
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

NODE = re.compile(
    r'^\s*(?P<number>\d+)\[label = "(?P<label>[^"]*)".*style="(?P<style>[^"]*)"', re.MULTILINE
)
ARROW = re.compile(r"^\s*(\d+) -> (\d+)\s*$", re.MULTILINE)


@dataclass(frozen=True)
class GraphJob:
    """A job of a run."""

    number: int
    rule: str
    wildcards: Mapping[str, str]  # without the ones that earlier jobs have with the same value
    to_do: bool  # whether its results are missing, or older than their inputs
    after: tuple[int, ...]  # jobs that must end before it starts


def read_graph(text: str) -> list[GraphJob]:
    """Return the jobs of the graph that ``snakemake --dag`` prints, in the DOT language."""
    before: dict[int, list[int]] = {}
    for first, second in ARROW.findall(text):
        before.setdefault(int(second), []).append(int(first))
    jobs = []
    for node in NODE.finditer(text):
        rule, *wildcards = node["label"].split("\\n")
        number = int(node["number"])
        known = dict(each.split(": ", 1) for each in wildcards)
        to_do = "dashed" not in node["style"].split(",")
        jobs.append(GraphJob(number, rule, known, to_do, tuple(before.get(number, ()))))
    return jobs


def schedule(
    seconds: Mapping[int, float], after: Mapping[int, Sequence[int]], cores: int
) -> tuple[float, float]:
    """Return the seconds that jobs take on so many cores, and the seconds of the longest chain.

    A free core takes the job with the longest chain behind it among the jobs that may start.

    Parameters
    ----------
    seconds : mapping of int to float
        Time of each job on one core.
    after : mapping of int to sequence of int
        For each job, the jobs that must end before it starts; jobs that `seconds` lacks are done.
    cores : int

    Examples
    --------
    >>> schedule({1: 2.0, 2: 3.0, 3: 4.0}, {3: [1]}, cores=2)
    (6.0, 6.0)
    """
    waits = {job: {each for each in after.get(job, ()) if each in seconds} for job in seconds}
    behind: dict[int, list[int]] = {job: [] for job in seconds}
    for job, before in waits.items():
        for each in before:
            behind[each].append(job)
    chain = _longest_chains(seconds, waits, behind)
    ready = [(-chain[job], job) for job in seconds if not waits[job]]
    heapq.heapify(ready)
    running: list[tuple[float, int]] = []
    now = 0.0
    while ready or running:
        while ready and len(running) < cores:
            _, job = heapq.heappop(ready)
            heapq.heappush(running, (now + seconds[job], job))
        now, ended = heapq.heappop(running)
        for job in behind[ended]:
            waits[job].discard(ended)
            if not waits[job]:
                heapq.heappush(ready, (-chain[job], job))
    return now, max(chain.values(), default=0.0)


def _longest_chains(
    seconds: Mapping[int, float],
    waits: Mapping[int, set[int]],
    behind: Mapping[int, Sequence[int]],
) -> dict[int, float]:
    """Return for each job the seconds from its start to the end of all jobs that wait for it."""
    left = {job: len(following) for job, following in behind.items()}
    free = [job for job, number in left.items() if not number]
    chain: dict[int, float] = {}
    while free:
        job = free.pop()
        chain[job] = seconds[job] + max((chain[each] for each in behind[job]), default=0.0)
        for before in waits[job]:
            left[before] -= 1
            if not left[before]:
                free.append(before)
    return chain
