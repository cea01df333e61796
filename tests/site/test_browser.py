"""The pages in a real browser, opened from the disk: clicks work, and nothing complains."""

import pytest

from tests.site.browser import CHROMIUM, Browser
from tests.site.conftest import HOSTILE, QUESTIONS

pytestmark = [
    pytest.mark.skipif(not CHROMIUM, reason="Chromium is not installed: apt-get install chromium"),
]
LISTED = "document.querySelectorAll('#list > li').length"


@pytest.fixture(scope="module")
def browser():
    with Browser() as one:
        yield one


@pytest.fixture
def tab(browser, site):
    """Opens a page of the site; whatever the browser complained of fails the test."""
    browser.problems.clear()
    browser.asked.clear()

    def open_page(path, **options):
        browser.open(f"file://{site}/{path}", **options)
        return browser

    yield open_page
    assert browser.problems == []
    assert not [a for a in browser.asked if not a.startswith(("file:", "data:", "about:"))]
    assert browser.run("window.hacked") is None


@pytest.mark.parametrize("width", [1300, 390])
@pytest.mark.parametrize(
    "page",
    ["index.html", "sample/findings.html", "leaderboard.html", "questions.html",
     "provenance.html#sample/findings/overview", "provenance.html#sample/findings/overview/4"],
)  # fmt: skip
def test_no_page_is_wider_than_the_screen(tab, page, width):
    browser = tab(page, width=width)
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert browser.run("document.querySelectorAll('h1').length") == 1


@pytest.mark.parametrize(
    ("page", "works"),
    [
        ("leaderboard.html#50%", "document.getElementById('shown').textContent !== ''"),
        (
            "provenance.html#sample/findings/50%",
            "document.body.textContent.includes('Choose a table at the end')",
        ),
    ],
)
def test_a_page_works_under_an_address_with_a_bare_percent(tab, page, works):
    assert tab(page).run(works)


def test_the_leaderboard_sorts_and_filters(tab):
    browser = tab("leaderboard.html")
    values = (
        "[...document.querySelectorAll('#leaderboard tbody tr:not([hidden]) td:nth-child(7)')]"
        ".map((c) => +c.dataset.value)"
    )
    button = "document.querySelectorAll('#leaderboard th button')[6]"
    browser.run(f"{button}.focus()")
    browser.press("Enter")
    assert browser.run(f"{button}.closest('th').getAttribute('aria-sort')") == "descending"
    found = browser.run(values)
    assert len(found) == 3
    assert found == sorted(found, reverse=True)
    browser.run(f"{button}.click()")
    assert browser.run(values) == sorted(found)
    browser.run(
        "(() => { const s = document.querySelector('#filters [name=encoder]');"
        "s.value = 'none (lexical)'; s.dispatchEvent(new Event('input', {bubbles: true})); })()"
    )
    assert len(browser.run(values)) == 1
    assert browser.run("document.getElementById('shown').textContent") == "1 of 3 lines"
    assert browser.run("location.hash") == "#encoder=none+%28lexical%29"
    browser.run("document.querySelector('#filters [type=reset]').click()")
    browser.until(f"{values}.length === 3")
    browser = tab("leaderboard.html#words=DENSE+sample")  # the address keeps the choice
    assert len(browser.run(values)) == 1
    browser.run("location.hash = '#encoder=none+%28lexical%29'")  # pasted over the one before
    browser.until("document.getElementById('filters').elements.words.value === ''")
    assert browser.run("document.getElementById('shown').textContent") == "1 of 3 lines"
    browser = tab("leaderboard.html#words=DENSE+sample")
    link = browser.run("document.querySelector('#leaderboard tr:not([hidden]) th a').href")
    assert link.endswith("questions.html#dataset=data/sample/sample&level=session&a=m1")


def choose(browser, name, value):
    browser.run(
        f"(() => {{ const s = document.getElementById('choose').elements['{name}'];"
        f"s.value = {value!r}; s.dispatchEvent(new Event('change', {{bubbles: true}}));"
        "s.dispatchEvent(new Event('input', {bubbles: true})); })()"
    )


def test_the_browser_filters_and_shows_two_methods(tab):
    browser = tab("questions.html")
    browser.until(f"{LISTED} > 0")
    assert browser.run(LISTED) == QUESTIONS
    choose(browser, "b", "m2")
    browser.until("document.getElementById('status').textContent.includes('both')")
    choose(browser, "kind", "1")
    browser.until(f"{LISTED} === {QUESTIONS // 2}")
    choose(browser, "words", "Q03")
    browser.until(f"{LISTED} === 1")
    browser.run("document.querySelector('.question summary').focus()")
    browser.press("Enter")
    browser.until("document.querySelectorAll('.answer').length === 2")
    text = browser.run("document.querySelector('.question').innerText")
    assert HOSTILE[3] in text
    assert "A: sample-bm25-user" in text
    assert "B: sample-rfmem-gated" in text
    assert (
        "The path to the answer: recollection. Mean of the probe's scores 0.25, entropy 0.5" in text
    )
    assert "1 round of recollection" in text
    assert "rank 1, score 0.8000" in text  # A has it first
    assert "★ gold" in text
    assert "rank 4, score 0.5000" in text  # B as its last
    # The address keeps the choice.
    assert "words=Q03" in browser.run("location.hash")
    browser.run("location.hash = '#words=Q01&a=m2'")  # pasted over the one before
    browser.until("document.getElementById('choose').elements.words.value === 'Q01'")
    browser.until("document.getElementById('choose').elements.a.value === 'm2'")


def test_texts_are_shown_as_they_are_and_run_nothing(tab):
    browser = tab("questions.html#words=q01&a=m0")
    browser.until(f"{LISTED} === 1")
    browser.run("document.querySelector('.question').open = true")
    browser.until("document.querySelectorAll('.answer').length === 1")
    browser.run("for (const one of document.querySelectorAll('.said')) one.open = true")
    browser.until("document.querySelectorAll('.said p').length >= 10")
    said = browser.run("[...document.querySelectorAll('.said p')].map((p) => p.textContent)")
    for text in HOSTILE[1:]:  # the first is of the session that the method left out
        assert any(text in one for one in said), text
    assert browser.run("document.querySelectorAll('.said img, .said script, .said u').length") == 0


def test_the_provenance_of_a_number(tab):
    browser = tab("provenance.html#sample/findings/overview/4")
    browser.until("document.querySelector('#shown') !== null")
    browser.run("window.dispatchEvent(new Event('beforeprint'))")  # opens what is folded
    text = browser.run("document.querySelector('main').innerText")
    for part in (
        "sample-bm25-user", HOSTILE[1], "computed again, is the number", "exact",
        "every question of this run", "Most influential questions", "Environment",
        "Compared with sample-dense-user", "python -m memrepro why findings:overview:",
    ):  # fmt: skip
        assert part in text, part
    assert browser.run("document.querySelectorAll('details:not([open])').length") == 0
    browser.run("window.dispatchEvent(new Event('afterprint'))")
    assert browser.run("document.querySelectorAll('details[open]').length") == 0
    assert (
        browser.run("document.querySelectorAll('#number img, #number script, #number b b').length")
        == 0
    )
    browser.run("location.hash = '#sample/findings/overview/0'")
    browser.until("document.querySelector('#shown h2').textContent.includes('column 0')")
    assert HOSTILE[0] in browser.run("document.querySelector('#shown').innerText")
    browser.run("location.hash = '#sample/findings/overview/1'")
    browser.until(
        "document.getElementById('shown').innerText.includes('sample/evaluation/exclusions.csv')"
    )
    browser.run("location.hash = '#../x/overview/0'")
    browser.until("document.getElementById('status').textContent.startsWith('Choose a table')")


def test_the_keyboard_reaches_the_content_and_focus_is_seen(tab):
    browser = tab("index.html")
    browser.press("Tab")
    assert browser.run("document.activeElement.className") == "skip"
    assert browser.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    assert browser.run("document.activeElement.getBoundingClientRect().left") >= 0
    browser.press("Enter")
    assert browser.run("document.activeElement.id") == "main"
