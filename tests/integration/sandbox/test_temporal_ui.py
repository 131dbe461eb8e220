"""A pool's page in Temporal's UI, in a real browser: it reads as a story without a word of code."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from tests.integration.sandbox.conftest import Stand

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome") or ""
WAIT_MS = 20_000

pytestmark = [
    pytest.mark.slow,
    pytest.mark.simulator,
    pytest.mark.skipif(not CHROMIUM, reason="there is no Chromium here: apt-get install chromium"),
]


@pytest.fixture
def page() -> Iterator[Page]:
    """A page of a headless browser."""
    flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"]
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield browser.new_page(viewport={"width": 1400, "height": 1400})
        browser.close()


def test_the_page_of_a_pool_tells_its_story(stand: Stand, page: Page, tmp_path: Path) -> None:
    where = ("--credential", "hetzner-prod", "--location", "hel1", "--server-type", "cx23", "--min", "1", "--max", "3")
    stand.lbr("cp", "pool", "create", "prod", "seen", *where, "--wait")
    base = f"{stand.box.facts()['temporal_ui']}/{quote('pool/acme/prod/seen', safe='')}"
    photos = Path(os.environ.get("PHOTOS", tmp_path))

    page.goto(base)
    expect(page.get_by_text("add prod-seen-").first).to_be_visible(timeout=WAIT_MS)
    expect(page.get_by_text("watch 1 node and its server").first).to_be_visible()
    page.screenshot(path=photos / "timeline.png")
    run = page.url.rsplit("/", 1)[0]

    page.goto(f"{run}/user-metadata")
    summary, details = (page.locator("iframe").nth(number).content_frame for number in (0, 1))
    expect(summary.get_by_text("pool prod/seen of acme")).to_be_visible(timeout=WAIT_MS)
    expect(details.get_by_text("1 of 1 ready, bounds 1 to 3, cx23 in hel1")).to_be_visible(timeout=WAIT_MS)
    expect(details.get_by_text("Ready: True, AsWanted")).to_be_visible()
    page.screenshot(path=photos / "current-details.png")

    page.goto(f"{run}/search-attributes")
    for name, value in (("LbrPool", "seen"), ("LbrPhase", "Ready"), ("LbrCluster", "prod")):
        expect(page.get_by_text(name).first).to_be_visible(timeout=WAIT_MS)
        expect(page.get_by_text(value, exact=False).first).to_be_visible()
    page.screenshot(path=photos / "search-attributes.png")
    stand.lbr("cp", "pool", "delete", "prod", "seen", "--wait")
