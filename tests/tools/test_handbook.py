"""The documentation as a site: whole, closed in itself, and telling what a folder hands on."""

import re
import subprocess
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread
from selenium import webdriver
from tests.chromium import NARROW, WIDE, asked_for, opened

from handbook import figures, links, posterior, tradeoff
from handbook.reference import folders

ROOT = Path(__file__).resolve().parents[2]
SHOWN = (
    *("index", "docs/own-data", "docs/findings", "docs/options", "config/README", "search"),
    *("api/deniable.channels", "api/deniable.analysis"),
)
FIRST = '<a href="other.html#there">{}</a><img src="{}"><link rel="stylesheet" href="{}">'


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("docs") / "site"
    command = [sys.executable, str(ROOT / "tools" / "build_docs.py"), str(made)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return made


@pytest.mark.slow
def test_all_of_the_documentation_is_there_and_leads_nowhere_else(site: Path) -> None:
    guides = {page.relative_to(ROOT).with_suffix(".html") for page in ROOT.glob("docs/*.md")}
    others = {Path("index.html"), Path("config/README.html"), Path("CHANGELOG.html")}
    pages = {page.relative_to(site) for page in site.rglob("*.html")}
    assert guides | others <= pages
    assert links.faults(site) == []


@pytest.mark.slow
def test_every_name_that_is_handed_on_is_told_once(site: Path) -> None:
    found: dict[str, set[str]] = {}
    for page in (site / "api").glob("*.html"):
        anchors = links.Page(page.read_text(encoding="utf-8")).anchors
        for anchor in anchors:
            found.setdefault(anchor.rpartition(".")[2], set()).add(anchor)
    for place, names in folders().items():
        for name in names:
            told = {each for each in found.get(name.name, ()) if not each.startswith("module-")}
            assert told, f"{place}.{name.name}"
    page = (site / "api" / "deniable.channels.html").read_text(encoding="utf-8")
    assert 'id="deniable.channels.KeepOrReplace.of_epsilon"' in page


@pytest.mark.slow
def test_pages_are_read_from_their_folder_alone_and_fit_a_narrow_screen(
    browser: webdriver.Chrome, site: Path
) -> None:
    for page, pixels in product(SHOWN, (NARROW, WIDE)):
        opened(browser, site / f"{page}.html", pixels)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= pixels, page
        asked = {url for url in asked_for(browser) if not url.startswith("data:")}
        assert (site / f"{page}.html").as_uri() in asked
        assert [url for url in asked if not url.startswith(f"{site.as_uri()}/")] == []
        assert browser.get_log("browser") == []


def test_faults_of_a_site_are_found(tmp_path: Path) -> None:
    (tmp_path / "other.html").write_text('<h1 id="there">There</h1>', encoding="utf-8")
    (tmp_path / "s.css").write_text("a { color: red }", encoding="utf-8")
    (tmp_path / "p.png").write_bytes(b"")
    page = tmp_path / "index.html"
    page.write_text(FIRST.format("a", "p.png", "s.css"), encoding="utf-8")
    assert links.faults(tmp_path) == []

    wrong = FIRST.replace("#there", "#elsewhere") + '<a href="gone.html">b</a>'
    page.write_text(wrong.format("a", "//cdn.example/p.png", "s.css"), encoding="utf-8")
    (tmp_path / "s.css").write_text("@import 'https://f.example/f.css'; a { src: url(gone.woff) }")
    assert links.faults(tmp_path) == [
        "index.html: requests //cdn.example/p.png from another host",
        "s.css: requests https://f.example/f.css from another host",
        "index.html: gone.html does not exist",
        "index.html: other.html#elsewhere is not an anchor of that page",
        "s.css: gone.woff does not exist",
    ]


def test_the_figure_of_posteriors_is_up_to_date_and_the_pages_agree_with_it(tmp_path: Path) -> None:
    figures.save(tmp_path)
    committed = imread(ROOT / "docs" / "figures" / "posterior.png")
    np.testing.assert_array_equal(imread(tmp_path / "posterior.png"), committed)

    page = (ROOT / "docs" / "own-data.md").read_text(encoding="utf-8")
    (words,) = re.findall(r"^!\[(.*)\]\(figures/posterior\.png\)$", page, re.MULTILINE)
    found = re.findall(r"([\d.]+ %) at (?:ε = )?([\d.]+)", words)
    assert [float(epsilon) for _, epsilon in found] == list(posterior.EPSILONS)
    assert [chance for chance, _ in found] == largest_by_hand(0.01, posterior.EPSILONS)

    page = (ROOT / "docs" / "threats.md").read_text(encoding="utf-8")
    (header,) = re.findall(r"^\| prior probability \|(.*)\|$", page, re.MULTILINE)
    epsilons = [float(each.removeprefix(" ε = ")) for each in header.split("|")]
    rows = re.findall(r"^\| (\d+) % \|(.*)\|$", page, re.MULTILINE)
    assert {int(prior) for prior, _ in rows} == {1, 10, 50}
    for prior, chances in rows:
        shown = [each.strip() for each in chances.split("|")]
        assert shown == largest_by_hand(int(prior) / 100, epsilons)


def largest_by_hand(prior: float, epsilons: Sequence[float]) -> list[str]:
    """Return the largest posterior probabilities by Bayes' rule, in percent and rounded up."""
    odds = np.exp(epsilons) * prior / (1 - prior)
    return [f"{each:.1f} %" for each in np.ceil(1000 * odds / (1 + odds)) / 10]


def test_the_picture_of_the_readme_is_up_to_date_and_right(tmp_path: Path) -> None:
    figures.save(tmp_path)
    committed = imread(ROOT / "docs" / "figures" / "tradeoff.png")
    np.testing.assert_array_equal(imread(tmp_path / "tradeoff.png"), committed)
    for epsilon in tradeoff.EXAMPLES:
        # Warner's design by hand: retention probability e^ε / (1 + e^ε).
        keep = np.exp(epsilon) / (1 + np.exp(epsilon))
        yes = tradeoff.SMOKERS * keep + (1 - tradeoff.SMOKERS) * (1 - keep)
        error = np.sqrt(yes * (1 - yes) / (tradeoff.RESPONDENTS - 1)) / (2 * keep - 1)
        assert tradeoff.half_width(epsilon) == pytest.approx(1.96 * error, rel=1e-3)
        odds = np.exp(epsilon) * tradeoff.PRIOR / (1 - tradeoff.PRIOR)
        assert posterior.largest(epsilon) == pytest.approx(odds / (1 + odds), rel=1e-9)
