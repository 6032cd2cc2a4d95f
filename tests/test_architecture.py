"""The shape of the house: which room may know which, and what is not kept in it."""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from deniable.baseline_columns import names_of_tables

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "deniable"
SCRIPTS = sorted((ROOT / "workflow" / "scripts").glob("*.py"))

# Ground floor first: a room imports only from rooms above it in this list.
ROOMS = [
    "errors", "files", "results_folder", "arithmetic", "randomness", "exact_draws", "readings",
    "grid", "error_bounds",
    "domain", "discretization", "csv_text", "yaml_text", "arrow_tables", "microdata", "numeric",
    "true_records",
    "channel.ratios", "channel.base", "channel.dense", "channel.keep_or_replace",
    "channel.product", "channel.serialize", "channel", "channel_files", "propagation",
    "expectation_maximization", "simplex", "singular",
    "views", "rrba", "rrba_fast", "rrba_messages", "rrba_client", "rrba_protocol", "rrba_privacy",
    "rrba_examples",
    "log_linear", "two_step", "consistency_effects", "consistency_programs", "consistency",
    "independence_likelihood", "independence", "independence_monte_carlo",
    "exact_intervals", "intervals", "survey_weights", "transactions", "item_sets",
    "exact_probabilities", "worst_sets", "breaches", "amplification",
    "dependence", "clustering", "secure_sum", "linkage",
    "multirr", "pair_joints", "adjustment", "synthetic", "assessment",
    "enumeration", "invariant", "invariant_methods",
    "design.losses", "design.requirements", "design.highs", "design.polytope",
    "design.conflicts", "design.exactness", "design.barrier", "design.feasible",
    "design.block_designs", "design.branching", "design.staircases", "design.central_path",
    "design.relaxation", "design.starts", "design.search", "design.programs",
    "design.designing", "design", "design.specification",
    "pram", "pram_matrices", "pram_estimation",
    "audit", "multirr_audit", "waiver", "assessment_audit",
    "utility",
    "microaggregation", "laplace", "idp", "numeric_utility", "numeric_dp", "numeric_selection",
    "idp_changes", "idp_losses", "idp_composition", "idp_records", "idp_certificate",
    "idp_attack", "idp_protection", "idp_audit",
    "manifest_rules", "manifest", "sources", "download", "datasets", "bayesian_network", "networks",
    "surrogates", "numeric_datasets", "copula", "numeric_surrogates", "preparation", "published",
    "config_basis", "config_multirr", "config_pram", "config_idp", "config_idp_audit",
    "config_rrba", "config_rrba_tests", "config_rrba_tables", "config_studies", "config_releases",
    "config", "config_checks",
    "study", "claims",
    "studies.cluster_queries", "studies.adjusted_queries", "studies.pair_queries",
    "studies.dependence_assessment", "studies.threshold_sweep", "studies.secure_sum_trials",
    "studies.secure_assessment", "studies.error_analysis",
    "studies.example1",
    "studies.pram_coverage", "studies.pram_weights", "studies.pram_item_sets",
    "studies.pram_invariant", "studies.pram_joint_loss", "studies.pram_variance",
    "studies.pram_breaches", "studies.pram_results", "studies.pram_design",
    "studies.idp_sse", "studies.idp_forests", "studies.idp_claim_texts",
    "studies.idp_claim_tables", "studies.idp_claims_sse", "studies.idp_claims_forests",
    "studies.idp_claims", "studies.idp_audit", "studies.idp_attacks",
    "studies.rrba_convergence", "studies.rrba_epsilon", "studies.rrba_independence",
    "studies.rrba_consistency", "studies.rrba_worked_cases",
    "studies.rrba_tables", "studies.rrba_table_results", "studies.rrba_claim_texts",
    "studies.rrba_claim_rows", "studies.rrba_claims_exact", "studies.rrba_claims_convergence",
    "studies.rrba_claims_distances", "studies.rrba_claims_tests", "studies.rrba_claims",
    "studies.entries", "studies.registry_multirr", "studies.registry_pram", "studies.registry_idp",
    "studies.registry_rrba",
    "studies.registry", "studies.threshold_trend", "studies.multirr_claims", "studies",
    "release_matrices", "release_pram", "release_estimates", "release", "release_synthesis",
    "release_audit",
    "release_numeric", "release_numeric_promises", "release_numeric_estimates",
    "release_numeric_audit", "release_numeric_check",
    "release_rrba", "release_rrba_estimates", "release_rrba_independence", "release_rrba_check",
    "release_rrba_audit",
    "provenance", "provenance_file",
    "baseline_columns", "baseline", "baseline_chance", "baseline_comparison", "baseline_report",
    "figures.style", "figures.printed", "figures.multirr", "figures.pram", "figures.pram_design",
    "figures.idp", "figures.idp_audit", "figures.rrba", "figures.rrba_independence",
    "figures.rrba_tables", "figures.sweep", "figures.times",
    "figures",
    "report_page", "report_multirr", "report_multirr_analysis", "report_multirr_sweep",
    "report_pram",
    "report_pram_variance", "report_pram_privacy", "report_privacy",
    "report_idp", "report_idp_privacy", "report_idp_overview", "report_sections_idp",
    "report_numeric_releases", "report_rrba", "report_rrba_privacy", "report_rrba_tests",
    "report_sections_rrba", "report_rrba_release",
    "report_sections", "report",
    "plan", "job_graph", "costs",
    "cli.text", "cli.answers", "cli.channel", "cli.design", "cli", "__main__",
]  # fmt: skip
# Versions and the package's own folder, for `provenance`.
HALL = ""
SMALL = 300_000
BASELINE = ROOT / "tests" / "baseline"
KEPT = names_of_tables()


def room_of(file: Path) -> str:
    parts = file.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


MODULES = {room_of(file): file for file in sorted(PACKAGE.rglob("*.py"))}


def imports(file: Path) -> Iterator[str]:
    """Yield the full names of all modules that a file imports, wherever it does so."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: a relative import, which code_digest does not follow"
            assert node.module
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def rooms_known_to(room: str) -> set[str]:
    names = {
        name.removeprefix("deniable").lstrip(".")
        for name in imports(MODULES[room])
        if name.split(".")[0] == "deniable"
    }
    known = {name for name in names if name in MODULES}
    # `from deniable import simplex` names the hall only on the way.
    return known - {room} - ({HALL} if len(known) > 1 else set())


def test_every_room_is_on_the_list_once() -> None:
    assert sorted(ROOMS) == sorted(set(MODULES) - {HALL})


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_from_rooms_above_it(room: str) -> None:
    below = set(ROOMS[ROOMS.index(room) :])
    assert rooms_known_to(room) & below == set()


def test_the_hall_imports_nothing() -> None:
    assert rooms_known_to(HALL) == set()


def test_no_room_leads_back_to_itself() -> None:
    # Follows from the order; said on its own for whoever changes the order.
    left = {room: rooms_known_to(room) for room in MODULES}
    while free := [room for room, known in left.items() if not known & set(left)]:
        for room in free:
            del left[room]
    assert left == {}


@pytest.mark.parametrize("room", MODULES)
def test_the_library_knows_no_snakemake(room: str) -> None:
    assert "snakemake" not in {name.split(".")[0] for name in imports(MODULES[room])}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_is_short_and_holds_no_logic(script: Path) -> None:
    text = script.read_text(encoding="utf-8")
    tree = ast.parse(text)
    assert len(text.splitlines()) < 60
    assert ast.get_docstring(tree)
    if script.name != "job.py":
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
        assert not any(isinstance(node, kinds) for node in ast.walk(tree))
        assert "with job(snakemake):" in text


def test_every_script_belongs_to_a_rule() -> None:
    rules = "".join(f.read_text("utf-8") for f in (ROOT / "workflow" / "rules").glob("*.smk"))
    named = set(re.findall(r'"\.\./scripts/(\w+\.py)"', rules))
    assert named == {script.name for script in SCRIPTS} - {"job.py"}
    # The digest of each rule is that of its own script.
    assert set(re.findall(r'plan\.code\("(\w+\.py)"\)', rules)) == named


def test_the_snakefile_is_a_table_of_contents() -> None:
    text = (ROOT / "Snakefile").read_text(encoding="utf-8")
    assert len(text.splitlines()) < 60
    assert "def " not in text
    assert re.findall(r"^rule (\w+):", text, re.MULTILINE) == ["all"]


# -- what is kept in the repository ----------------------------------------------------------------


@pytest.fixture(scope="module")
def tracked() -> list[Path]:
    done = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    files = [ROOT / name for name in done.stdout.split("\0") if name]
    if not files:
        pytest.skip("no git checkout")
    return [file for file in files if file.is_file()]


def text_of(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""


def test_no_file_names_a_folder_of_a_machine(tracked: list[Path]) -> None:
    # Written in pieces, so that this file passes too.
    places = re.compile("|".join(rf"(?<![\w.$)}}-])/{name}/" for name in ("work", "root", "home")))
    assert [str(file) for file in tracked if places.search(text_of(file))] == []


def test_no_file_names_a_package_registry(tracked: list[Path]) -> None:
    hosts = ["pypi" + ".org", "python" + "hosted", "conda." + "anaconda", "registry." + "npmjs"]
    found = [
        (str(file), host) for file in tracked for host in hosts if host in text_of(file).lower()
    ]
    assert found == []


def test_addresses_of_data_stand_in_the_manifest_alone(tracked: list[Path]) -> None:
    for file in tracked:
        inside = file.relative_to(ROOT).parts[0] in ("src", "workflow", "config", "profiles")
        if inside or file.name in ("Snakefile", "Makefile", "pyproject.toml"):
            addresses = re.findall(r"https?://[\w.-]*\w", text_of(file))
            assert addresses == [], file


def test_no_data_set_is_committed(tracked: list[Path]) -> None:
    for file in tracked:
        assert file.stat().st_size < SMALL, f"{file} has {file.stat().st_size:,} bytes"
        assert file.suffix not in (".data", ".parquet", ".rda", ".xlsx", ".zip", ".gz"), file
        # The numbers that a run must reproduce are results, a table each.
        if file.suffix == ".csv" and not (BASELINE in file.parents and file.stem in KEPT):
            assert len(text_of(file).splitlines()) < 500, file


def test_surrogates_hold_parameters_and_no_records(tracked: list[Path]) -> None:
    for file in tracked:
        if file.parent.name == "surrogates" and file.suffix == ".json":
            assert file.stat().st_size < 100_000
