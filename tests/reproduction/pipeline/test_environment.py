"""Jobs add in the same order whatever the processor: the kernels they choose, and that they do."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from reproduction.pipeline import environment

ONE_THREAD = dict.fromkeys(environment.THREADS, "1")
# What a process says of the kernels it uses, numpy's own and those of all copies of OpenBLAS.
ASK = """
import json, numpy, scipy.linalg, threadpoolctl
levels = numpy.show_config(mode="dicts")["SIMD Extensions"]
pools = [pool for pool in threadpoolctl.threadpool_info() if pool["internal_api"] == "openblas"]
print(json.dumps([levels["found"], [pool["architecture"] for pool in pools],
                  [pool["num_threads"] for pool in pools]]))
"""


@pytest.mark.parametrize(
    ("baseline", "found", "absent", "left_out"),
    [
        # numpy 2.4 on a processor with AVX-512, on one without, and where that was disabled before.
        (["X86_V2"], ["X86_V3", "X86_V4", "AVX512_ICL"], [], "AVX512_ICL X86_V4"),
        (["X86_V2"], ["X86_V3"], ["X86_V4", "AVX512_ICL"], "AVX512_ICL X86_V4"),
        # numpy built for processors with AVX2 alone; an older numpy.
        (["X86_V2", "X86_V3"], [], ["X86_V4"], "X86_V4"),
        (["SSE", "SSE2"], ["AVX", "AVX2", "AVX512F"], ["AVX512_SKX"], "AVX512F AVX512_SKX"),
    ],
)
def test_what_not_all_processors_have_is_left_out(
    baseline: list[str], found: list[str], absent: list[str], left_out: str
) -> None:
    simd = {"baseline": baseline, "found": found, "not found": absent}
    assert environment.settings(simd) == ONE_THREAD | {
        "OPENBLAS_CORETYPE": "Haswell",
        "NPY_DISABLE_CPU_FEATURES": left_out,
    }


@pytest.mark.parametrize(
    "simd",
    [
        {"baseline": ["X86_V2"], "found": [], "not found": ["X86_V3", "X86_V4"]},
        {"baseline": ["NEON", "ASIMD"], "found": ["ASIMDHP"], "not found": ["SVE"]},
        {},
    ],
)
def test_where_avx2_is_missing_only_threads_are_set(simd: dict[str, list[str]]) -> None:
    # OpenBLAS would take Haswell's kernels at their word, and the process would die.
    assert environment.settings(simd) == ONE_THREAD


def kernels(**variables: str) -> tuple[list[str], list[str], list[int]]:
    said = subprocess.run(
        [sys.executable, "-W", "error", "-c", ASK],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=True,
    )
    found, architectures, threads = json.loads(said.stdout)
    return found, architectures, threads


def test_a_process_uses_what_was_settled() -> None:
    simd = np.show_config(mode="dicts")["SIMD Extensions"]  # type: ignore[call-overload]
    if not environment.AVX2 & {*simd["baseline"], *simd["found"]}:
        pytest.skip("NOT TESTED: no x86-64 with AVX2")
    found, architectures, threads = kernels(**environment.settings())
    assert not [name for name in found if name.startswith(environment.BEYOND_AVX2)]
    assert len(architectures) >= 2  # numpy's and scipy's
    assert set(architectures) == {"Haswell"}
    assert set(threads) == {1}


def test_settings_do_not_depend_on_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = environment.settings()
    for name in wanted:
        monkeypatch.setenv(name, "other")
    assert environment.settings() == wanted
