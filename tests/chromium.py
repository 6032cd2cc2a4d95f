"""Chromium without a window: a page opened at a width, and what it asks for."""

import json
import shutil
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.wait import WebDriverWait

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
NARROW, WIDE = 400, 1280
SLOWEST = 400  # seconds
WIDER = """
const wide = (each) => each.getBoundingClientRect().right > arguments[0] + 1;
const scrolls = (each) => each.parentElement.closest(".scroll, pre");
return [...document.querySelectorAll("body *")].filter((each) => wide(each) && !scrolls(each))
  .map((each) => each.outerHTML.slice(0, 100));
"""


def start() -> webdriver.Chrome:
    """Return a Chromium that writes down what it asks for, or skip the test."""
    found = [path for name in BROWSERS if (path := shutil.which(name))]
    driver = shutil.which("chromedriver")
    if not found or not driver:
        pytest.skip("no Chromium with chromedriver: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = found[0]
    # Root, as in a container, has no sandbox to run in.
    for flag in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage"):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    opened = webdriver.Chrome(options=options, service=Service(driver))
    # A page is there in a second; a machine with other tests on it may take minutes.
    opened.command_executor.client_config.timeout = SLOWEST
    opened.set_page_load_timeout(SLOWEST)
    opened.set_script_timeout(SLOWEST)
    return opened


def width(browser: webdriver.Chrome, pixels: int) -> None:
    """Make the window as wide as that; a narrow one is a telephone's."""
    size = {"width": pixels, "height": 900, "deviceScaleFactor": 1, "mobile": pixels == NARROW}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def opened(browser: webdriver.Chrome, page: Path, pixels: int) -> webdriver.Chrome:
    """Open a page; what was logged before is gone."""
    width(browser, pixels)
    for log in ("browser", "performance"):
        browser.get_log(log)
    browser.execute_script("window.left = true")
    browser.get(page.as_uri())
    # A driver on a busy machine may come back while the page that is left can still be clicked.
    there = "return !window.left && document.readyState === 'complete'"
    WebDriverWait(browser, SLOWEST).until(lambda driver: driver.execute_script(there))
    return browser


def asked_for(browser: webdriver.Chrome) -> set[str]:
    """Return the addresses that were asked for since a page was opened."""
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    return {
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    }
