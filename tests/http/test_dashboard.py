"""The dashboard as a person has it: in a browser, with the keyboard, on the real server."""

import os
import pathlib
import time
import urllib.request

import pytest

from conftest import Demo, requests_of

ORDERS = "3f0a64c2_8d4e_8b1c_9a70_0000000000b0"
LEDGER = "3f0a64c2_8d4e_8b1c_9a70_0000000000b3"
PATIENCE = 20


def wait(condition, what="it did not happen"):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.03)
    raise AssertionError(what)


class Page:
    """What is seen, by what it is and not by where it stands."""

    def __init__(self, browser, demo, path=""):
        self.browser, self.demo = browser, demo
        browser.get(demo.url + path)
        wait(lambda: self.js("return document.title !== 'vtddl'"), "the page has not read anything")

    def js(self, script, *values):
        return self.browser.execute_script(script, *values)

    def text(self, selector):
        return self.js("return document.querySelector(arguments[0])?.innerText ?? null", selector)

    def rows(self):
        return self.js("return [...document.querySelectorAll('#rows a')].filter(a => a.offsetParent).map(a => a.innerText)")

    def focused(self):
        return self.js("return document.activeElement.innerText || document.activeElement.id")

    def keys(self, *keys):
        from selenium.webdriver.common.action_chains import ActionChains
        actions = ActionChains(self.browser)
        for key in keys:
            actions.send_keys(key)
        actions.perform()

    def shot(self, name):
        """Only where somebody wants to look: SHOTS names a folder."""
        if os.environ.get("SHOTS"):
            self.browser.save_screenshot(str(pathlib.Path(os.environ["SHOTS"]) / f"{name}.png"))

    def errors(self):
        return [entry for entry in self.browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]


@pytest.fixture
def key():
    return pytest.importorskip("selenium.webdriver.common.keys").Keys


def test_it_loads_without_an_error_and_asks_nobody_else(demo, browser):
    server = demo()
    page = Page(browser(), server)
    assert page.rows() == ["orders", "customers", "invoices", "ledger", "stock", "carts", "terms", "sites"]
    wait(lambda: "live" in page.text("#chips"))
    assert "vtctld-0:15999" in page.text("#chips") and "production" in page.text("header")
    assert page.text("#phases").split() == "all 8 submitting 1 submitted 2 completing 1 completed 1 stopped 1 failed 1 cancelling 1".split()
    assert "this server drives it" in page.text("#keyspaces") and "driven by vtctld-1:88:77ac" in page.text("#keyspaces")
    row = page.text("#rows tr")
    assert "5 of 8 ready" in row and "61 %" in row and "not every shard is ready" in row and "47 min" in row
    page.js("document.querySelector('#rows a').click()")
    wait(lambda: "gift_note" in (page.text("#detail") or ""))
    page.shot("light")
    assert page.errors() == []
    asked = [url for url in requests_of(page.browser) if not url.startswith(("data:", "chrome:"))]
    assert asked and all(url.startswith(server.url) for url in asked), asked


def test_the_policy_of_the_page_is_kept(demo, browser):
    page = Page(browser(), demo())
    page.js("""window.refused = []; document.addEventListener('securitypolicyviolation', e => refused.push(e.effectiveDirective));
        const script = document.createElement('script');
        try { script.textContent = 'window.hacked = 1'; document.body.append(script); } catch { refused.push('types'); }
        try { document.body.innerHTML += ''; } catch { refused.push('types'); }
        const image = document.createElement('img'); image.src = 'http://192.0.2.1/x.png'; document.body.append(image);""")
    refused = wait(lambda: "img-src" in page.js("return refused") and page.js("return refused"))
    assert "types" in refused or "require-trusted-types-for" in refused
    assert page.js("return window.hacked") is None


def test_everything_can_be_done_with_the_keyboard(demo, browser, key):
    page = Page(browser(), demo())
    page.keys("j")
    assert page.focused() == "orders"
    page.keys("j", key.DOWN, "k", key.UP, "j")
    assert page.focused() == "customers"
    outline = page.js("return getComputedStyle(document.activeElement).outlineStyle")
    assert outline not in ("none", ""), "the focus can be seen"
    page.keys(key.ENTER)
    wait(lambda: "drop column fax" in (page.text("#detail") or ""))
    assert page.focused().startswith("commerce.customers") and "uuid=" in page.browser.current_url
    page.keys(key.ESCAPE)
    wait(lambda: page.js("return document.getElementById('detail').hidden"))
    assert page.focused() == "customers"
    # With the details open, j and k go from one to the next.
    page.keys(key.ENTER)
    page.keys("j")
    wait(lambda: "modify column total" in (page.text("#detail") or ""))
    page.keys("k", "k")
    wait(lambda: "gift_note" in (page.text("#detail") or ""))
    page.keys(key.ESCAPE)
    page.keys("/")
    page.keys("ledger")
    wait(lambda: page.rows() == ["ledger"])
    page.keys(key.ENTER)
    assert page.focused() == "ledger"
    page.keys(key.ESCAPE)
    wait(lambda: len(page.rows()) == 8)
    page.keys("?")
    assert page.js("return document.getElementById('help').open")
    page.shot("help")
    page.keys("j")
    page.keys(key.ESCAPE)
    assert not page.js("return document.getElementById('help').open")
    page.keys("2")
    wait(lambda: "done_00" in page.rows())
    page.keys("1")
    wait(lambda: "orders" in page.rows())
    # Tab alone reaches every control, and the rows are one stop.
    page.js("document.activeElement.blur()")
    seen = []
    for _ in range(60):
        page.keys(key.TAB)
        seen.append(page.js("return document.activeElement.id || document.activeElement.innerText"))
    assert {"theme", "help-open", "tab-open", "tab-finished", "filter"} <= set(seen)
    assert len({"orders", "customers", "invoices", "ledger"} & set(seen)) == 1
    assert page.errors() == []


def test_on_a_narrow_screen_the_details_cover_the_list(demo, browser, key):
    page = Page(browser(400, 800), demo())
    page.keys("j")
    page.keys(key.ENTER)
    wait(lambda: "gift_note" in (page.text("#detail") or ""))
    for _ in range(30):
        page.keys(key.TAB)
        assert not page.js("return document.getElementById('list').contains(document.activeElement)"), "under the details"
    page.keys("j")
    wait(lambda: "drop column fax" in (page.text("#detail") or ""))
    page.keys(key.ESCAPE)
    wait(lambda: page.focused() == "customers")


def test_filters_phases_and_order(demo, browser):
    page = Page(browser(), demo())
    page.js("[...document.querySelectorAll('#phases button')].find(b => b.innerText.startsWith('submitted')).click()")
    wait(lambda: page.rows() == ["orders", "customers"])
    assert "phase=submitted" in page.browser.current_url
    page.js("[...document.querySelectorAll('#phases button')][0].click()")
    wait(lambda: len(page.rows()) == 8)
    page.js("document.querySelector('[data-sort=name]').click()")
    wait(lambda: page.rows()[0] == "invoices")
    assert page.rows() == ["invoices", "ledger", "carts", "customers", "orders", "sites", "stock", "terms"]
    assert page.js("return document.querySelector('th[aria-sort]').ariaSort") == "ascending"
    page.js("document.querySelector('[data-sort=name]').click()")
    wait(lambda: page.rows()[0] == "terms")
    # What is shown can be sent to somebody.
    page.browser.get("about:blank")
    again = Page(page.browser, page.demo, "#q=commerce&phase=submitted&sort=name&order=desc")
    wait(lambda: again.rows() == ["orders", "customers"])
    page.browser.get("about:blank")
    page = Page(page.browser, page.demo, "#q=" + "%C3%A9" * 200 + "&offset=99999999")
    wait(lambda: "Nothing matches" in (page.text("#empty") or ""))
    assert page.js("return document.getElementById('lost').hidden"), "no more is asked than the server takes"
    Page(page.browser, page.demo, "#q=nothing-like-it")
    page.browser.refresh()
    wait(lambda: "Nothing matches" in (page.text("#empty") or ""))
    page.js("document.querySelector('#empty button').click()")
    wait(lambda: len(page.rows()) == 8)


def test_the_details_say_all(demo, browser):
    page = Page(browser(height=1600), demo(), "#uuid=" + LEDGER)
    wait(lambda: "currency" in (page.text("#detail") or ""))
    text = page.text("#detail")
    for part in ("billing.ledger", "stopped", "somebody else completed it", "What to do", "vtddl verify billing", "2 ready, 1 complete, of 4",
                 "-40", "40-80", "80-c0", "c0-", "88 %", "held and ready", "complete and proven", "alter table ledger add column currency",
                 "this server (vtctld-0:4711:9f21)", "211", "ddl-commerce-5f2d9c0a7be1d344-g1", "--postpone-completion", "deploy-bot@ci-runner-17",
                 "passed", "asked for by a pipeline", "vtddl@vtctld-0, rule 211"):
        assert part in text, part
    bars = page.js("return [...document.querySelectorAll('.shards [role=progressbar]')].map(b => b.ariaValueNow)")
    assert bars == ["88", "100", "100", "100"], "the one that is behind comes first"
    page.shot("stopped")
    page.browser.get("about:blank")
    page = Page(page.browser, page.demo, "#uuid=00000000_0000_0000_0000_000000000000")
    wait(lambda: "Not in the store" in page.text("#detail"))


def test_an_event_changes_the_page_at_once(demo, browser):
    server, one = demo(), browser()
    # The timer would take five seconds: it never fires, so that the event alone can do it.
    one.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {
        "source": "const later = setTimeout; window.setTimeout = (run, ms) => ms >= 5000 ? 0 : later(run, ms);"})
    page = Page(one, server, "#uuid=" + ORDERS)
    wait(lambda: "live" in page.text("#chips") and "gift_note" in page.text("#detail"))
    time.sleep(1)  # what the opened stream set off is over
    server.tell(f"quiet {ORDERS} failed nobody says so")
    time.sleep(1)
    assert "submitted" in page.text("#rows tr")
    server.tell(f"move {ORDERS} stopped a shard says <i>no</i>")
    wait(lambda: "stopped" in page.text("#rows tr") and "a shard says <i>no</i>" in page.text("#rows tr"))
    wait(lambda: "a shard says <i>no</i>" in page.text("#detail-body"))
    assert "commerce.orders" in page.js("return document.getElementById('news').textContent")
    wait(lambda: page.js("return document.getElementById('say').textContent") == "commerce orders: stopped")


@pytest.mark.parametrize("dark", [False, True])
def test_colours_follow_the_system_and_then_the_person(demo, browser, dark):
    page = Page(browser(dark=dark), demo())
    luma = "return getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).reduce((a, b) => a + +b, 0)"
    assert (page.js(luma) < 200) == dark
    page.keys("t")
    assert page.js(luma) < 200, "dark"
    page.shot("dark")
    page.keys("t")
    assert page.js(luma) > 600, "light"
    page.browser.refresh()
    assert page.js(luma) > 600, "it is remembered"
    page.keys("t")
    assert (page.js(luma) < 200) == dark


CONTRAST = """
const lum = c => { const [r, g, b] = c.map(v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
const rgb = text => text.match(/[\\d.]+/g).map(Number);
const bad = [];
for (const node of document.querySelectorAll('body *')) {
	if (![...node.childNodes].some(n => n.nodeType === 3 && n.data.trim()) || !node.offsetParent || node.disabled) continue;
	let at = node, back = [0, 0, 0, 0];
	while (at && (back.length === 4 && back[3] === 0)) { back = rgb(getComputedStyle(at).backgroundColor); at = at.parentElement; }
	const [a, b] = [lum(rgb(getComputedStyle(node).color).slice(0, 3)), lum(back.slice(0, 3))].sort((x, y) => y - x);
	if ((a + .05) / (b + .05) < 4.5) bad.push(node.textContent.trim().slice(0, 30) + ' ' + ((a + .05) / (b + .05)).toFixed(2));
}
return bad;
"""


@pytest.mark.parametrize("dark", [False, True])
def test_every_text_can_be_read(demo, browser, dark):
    page = Page(browser(dark=dark), demo("--trouble"))
    assert page.js(CONTRAST) == []
    page = Page(page.browser, page.demo, "#uuid=" + LEDGER)
    wait(lambda: "currency" in (page.text("#detail") or ""))
    assert page.js(CONTRAST) == []


@pytest.mark.parametrize("width", [360, 480, 768, 1024, 1280, 1920])
def test_no_width_scrolls_sideways(demo, browser, width):
    page = Page(browser(width, 800), demo("--hostile", "--trouble", "--changes", "60"))
    fits = "return document.documentElement.scrollWidth <= innerWidth"
    assert page.js(fits)
    page.shot(f"width-{width}")
    assert page.js("return document.querySelector('#rows a').getBoundingClientRect().right <= innerWidth")
    page.js("document.querySelector('#rows a').click()")
    wait(lambda: "hacked" in (page.text("#detail-body") or ""))
    page.shot(f"width-{width}-detail")
    assert page.js(fits)
    assert page.js("const d = document.getElementById('detail'); return d.scrollWidth <= d.clientWidth")


def test_hostile_words_do_nothing(demo, browser):
    page = Page(browser(), demo("--hostile"), "#uuid=" + ORDERS)
    wait(lambda: "</pre><script>" in (page.text("#detail") or ""))
    page.demo.tell(f"move {ORDERS} failed <img src=x onerror=window.hacked=1>\u202e\u0007")
    wait(lambda: "onerror=window.hacked=1>" in page.text("#detail-body") and "failed" in page.text("#detail"))
    assert page.rows()[0] == '<img src=x onerror="window.hacked=1">'
    assert "\\u202e" in page.text("#rows tr") and "\u202e" not in page.js("return document.body.textContent")
    assert page.js("return document.querySelectorAll('img, svg, iframe, body script:not(:last-of-type), #rows b, [onerror], [onmouseover], a[href^=javascript]').length") == 0
    assert page.js("return window.hacked") is None
    page.browser.get("about:blank")
    page = Page(page.browser, page.demo, "#q=%3Cimg%20src%3Dx%20onerror%3Dwindow.hacked%3D1%3E&phase=%3Cb%3E&sort=__proto__&uuid=..%2F..%2F&offset=-5")
    wait(lambda: "Not in the store" in page.text("#detail"))
    assert page.js("return window.hacked") is None


def test_a_lost_connection_is_said_and_found_again(demo, browser):
    server = demo()
    page = Page(browser(), server)
    assert page.text("#lost") == "" or page.js("return document.getElementById('lost').hidden")
    server.stop()
    wait(lambda: "lost" in page.text("#lost"))
    text = wait(lambda: " s old" in page.text("#lost") and page.text("#lost"))
    assert "Connection to vtddl lost: it cannot be reached." in text
    assert page.js("return document.body.classList.contains('stale')") and len(page.rows()) == 8
    page.shot("lost")
    again = Demo(listen=f"127.0.0.1:{server.port}")
    try:
        wait(lambda: page.js("return document.getElementById('lost').hidden"))
        assert not page.js("return document.body.classList.contains('stale')")
        wait(lambda: "live" in page.text("#chips"))
    finally:
        again.stop()


def test_an_answer_that_is_an_error_is_told_in_its_words(demo, browser):
    page = Page(browser(), demo())
    page.demo.tell("busy")
    wait(lambda: "vtddl answers, but not this: the thread that does the work did not answer." in page.text("#lost"))
    assert "no answer" in page.text("#chips") and len(page.rows()) == 8
    page.demo.tell("free")
    page.js("document.getElementById('retry').click()")
    wait(lambda: page.js("return document.getElementById('lost').hidden"))


def test_without_a_stream_it_asks_from_time_to_time(demo, browser):
    server = demo("--streams", "1")
    one = browser()
    one.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {
        "source": "const later = setTimeout; window.setTimeout = (run, ms) => later(run, ms >= 5000 ? ms / 20 : ms);"})
    with urllib.request.urlopen(server.url + "api/v1/events", timeout=PATIENCE):
        page = Page(one, server)
        server.tell(f"move {ORDERS} failed it is seen all the same")
        wait(lambda: "it is seen all the same" in page.text("#rows tr"))
        assert "every few seconds" in page.text("#chips")
    wait(lambda: "live" in page.text("#chips"), "the place was free and it did not take it")


def test_a_page_that_nobody_looks_at_gives_its_stream_back(demo, browser):
    server = demo("--streams", "1")
    one = browser()
    one.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {
        "source": "const later = setTimeout; window.setTimeout = (run, ms) => later(run, ms >= 30000 ? 10 : ms);"})
    page = Page(one, server)
    wait(lambda: "live" in page.text("#chips"))
    look = "Object.defineProperty(document, 'hidden', {configurable: true, value: %s}); document.dispatchEvent(new Event('visibilitychange'));"
    page.js(look % "true")
    wait(lambda: "every few seconds" in page.text("#chips"))
    page.js(look % "false")
    wait(lambda: "live" in page.text("#chips"))


def test_trouble_of_the_fleet_is_told(demo, browser):
    page = Page(browser(), demo("--trouble"))
    assert "vtctld-1:15999 does not answer, since 3 min" in page.text("#chips")
    assert "Store: the store cannot be written" in page.text("#warn")
    assert "shards seen 4 min ago" in page.text("#keyspaces")


def test_an_empty_fleet_says_what_to_do(demo, browser):
    page = Page(browser(), demo("--changes", "0"))
    assert "No change is open" in page.text("#empty") and "vtddl run KEYSPACE --sql" in page.text("#empty")
    page.shot("empty")


def test_thousands_of_changes_come_in_pages(demo, browser):
    page = Page(browser(), demo("--changes", "5000"))
    assert len(page.rows()) == 200 and page.text("#count") == "5,000 changes"
    assert "1–200 of 5,000" in page.text("#pager")
    page.keys("]")
    wait(lambda: page.rows()[0] == "table_00200")
    page.keys("[")
    wait(lambda: page.rows()[0] == "orders")
    page.keys("/")
    page.keys("table_0499")
    wait(lambda: len(page.rows()) == 10)
    # Drawing all of it again keeps the page usable: no task of the browser is as long as a blink.
    longest = page.browser.execute_async_script("""
        const done = arguments[0]; let longest = 0;
        new PerformanceObserver(list => { for (const e of list.getEntries()) longest = Math.max(longest, e.duration); }).observe({ entryTypes: ['longtask'] });
        document.getElementById('filter').value = ''; document.getElementById('filter').dispatchEvent(new Event('input'));
        setTimeout(() => done(longest), 2500);""")
    assert len(page.rows()) == 200
    assert longest < 1000


def test_motion_is_reduced_where_that_is_wished(demo, browser):
    page = Page(browser(reduced=True), demo())
    assert page.js("return getComputedStyle(document.querySelector('.meter > i')).transitionDuration") in ("0s", "1e-05s")
    assert page.js("return getComputedStyle(document.querySelector('.meter > i')).transitionProperty") in ("none", "all")


def test_what_assistive_technology_is_told(demo, browser):
    page = Page(browser(), demo())
    tree = page.browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    roles = {}
    for node in tree:
        if not node.get("ignored"):
            roles.setdefault(node["role"]["value"], []).append(node.get("name", {}).get("value", ""))
    assert {"banner", "main", "table", "row", "columnheader", "progressbar", "searchbox"} <= set(roles)
    assert "Changes" in roles["table"] and len(roles["columnheader"]) == 8
    assert all(roles["button"]) and all(roles["link"]) and all(roles["searchbox"]) and all(roles["progressbar"])
    assert page.js("return document.documentElement.lang") == "en"
    assert page.js("return document.querySelector('#say').ariaLive") == "polite"
