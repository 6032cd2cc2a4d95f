"""The report in Chromium: nothing leaves its folder, nothing overflows, everybody can read it.

``DENIABLE_REPORT=results/report`` has the tests look at that folder instead of a small one.
"""

import importlib.resources
import os
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from selenium import webdriver
from tests.chromium import NARROW, WIDE, WIDER, asked_for, opened

from reproduction.papers.catalog import PAGES
from reproduction.report.contents import Contents
from reproduction.report.render import write

QUICK = ("index",)
ONE_SCREEN = 1000  # pixels high, 1,280 wide
MOST_ELEMENTS = 20_000
AXE = importlib.resources.files("axe_core_python") / "axe.min.js"
AXE_RUN = "const done = arguments[0]; axe.run().then((found) => done(found.violations))"
UNSEEN = """
return [...document.querySelectorAll("table")].filter((each) => !each.offsetHeight).length
"""


@pytest.fixture(scope="module")
def folder(request: pytest.FixtureRequest, run_folder: Path) -> Path:
    given = os.environ.get("DENIABLE_REPORT")
    if given:
        return Path(given).resolve()
    contents: Contents = request.getfixturevalue("contents")
    write(run_folder / "report", contents)
    return run_folder / "report"


def open_all_tables(browser: webdriver.Chrome) -> None:
    browser.execute_script("document.querySelector('#open-all')?.click()")


def violations(browser: webdriver.Chrome) -> list[Any]:
    """Return what axe finds, with the elements."""
    browser.execute_script(AXE.read_text(encoding="utf-8"))
    found = browser.execute_async_script(AXE_RUN)
    return [(each["id"], [node["html"][:200] for node in each["nodes"][:5]]) for each in found]


every_page = pytest.mark.parametrize(
    "page",
    [
        pytest.param(f"{each.id}.html", marks=() if each.id in QUICK else pytest.mark.slow)
        for each in PAGES
    ],
)


@every_page
def test_a_page_is_read_from_its_folder_alone_and_fits_a_narrow_screen(
    browser: webdriver.Chrome, folder: Path, page: str
) -> None:
    opened(browser, folder / page, NARROW)
    assert browser.execute_script(WIDER, NARROW) == []
    assert browser.execute_script("return document.documentElement.scrollWidth") <= NARROW
    assert browser.execute_script("return document.all.length") < MOST_ELEMENTS
    open_all_tables(browser)
    assert browser.execute_script(WIDER, NARROW) == []
    assert browser.execute_script("return document.documentElement.scrollWidth") <= NARROW
    within = f"{folder.as_uri()}/"
    asked = asked_for(browser)
    assert f"{within}{page}" in asked
    assert [url for url in asked if not url.startswith(within)] == []
    assert browser.get_log("browser") == []


def test_the_first_page_is_one_screen(browser: webdriver.Chrome, folder: Path) -> None:
    opened(browser, folder / "index.html", WIDE)
    height = browser.execute_script("return document.documentElement.scrollHeight")
    assert height <= ONE_SCREEN


@every_page
def test_axe_finds_no_violation(browser: webdriver.Chrome, folder: Path, page: str) -> None:
    opened(browser, folder / page, WIDE)
    assert violations(browser) == []


@pytest.mark.slow  # axe takes a minute over the cells of long tables
def test_axe_finds_no_violation_in_long_tables(browser: webdriver.Chrome, folder: Path) -> None:
    opened(browser, folder / "privacy.html", WIDE)
    open_all_tables(browser)
    assert violations(browser) == []


@every_page
def test_links_lead_to_files_and_anchors_that_are_there(
    browser: webdriver.Chrome, folder: Path, page: str
) -> None:
    opened(browser, folder / page, WIDE)
    open_all_tables(browser)
    links = browser.execute_script("return [...document.links].map((each) => each.href)")
    assert links
    for link in set(links):
        parts = urlsplit(link)
        target = Path(unquote(parts.path))
        if target.parent != folder:
            continue  # results and code, which a run of tests has elsewhere
        assert target.is_file(), link
        assert not parts.fragment or f'id="{parts.fragment}"' in target.read_text("utf-8"), link


@every_page
def test_a_print_has_the_tables(browser: webdriver.Chrome, folder: Path, page: str) -> None:
    opened(browser, folder / page, WIDE)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        browser.execute_script("dispatchEvent(new Event('beforeprint'))")
        assert browser.execute_script(UNSEEN) == 0
        assert (
            browser.execute_script("return document.querySelector('details:not([open])')") is None
        )
        browser.execute_script("dispatchEvent(new Event('afterprint'))")
        open_all_tables(browser)
        assert browser.execute_script(UNSEEN) == 0
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_claims_are_filtered_by_verdict(browser: webdriver.Chrome, folder: Path) -> None:
    opened(browser, folder / "multirr.html", WIDE)
    shown = """
    return [...document.querySelectorAll("[id^='multirr_claims/']")]
      .filter((each) => each.offsetHeight).map((each) => each.dataset.verdict)
    """
    every = browser.execute_script(shown)
    assert "fails" in every
    assert {*every} != {"fails"}
    browser.find_element("css selector", ".filter [value=fails]").click()
    assert browser.execute_script(shown) == ["fails"] * every.count("fails")
    said = browser.find_element("css selector", ".filter output").text
    assert said == f"{every.count('fails')} shown"
    browser.find_element("css selector", ".filter [value='']").click()
    assert browser.execute_script(shown) == every
