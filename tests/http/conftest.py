"""The demo server of this folder, and a browser that has nothing but it."""

import json
import os
import pathlib
import subprocess
import urllib.error
import urllib.request

import pytest

BUILD = pathlib.Path(os.environ.get("BUILD_DIR", "build"))
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-extensions", "--no-proxy-server", "--hide-scrollbars"]


class Demo:
    """http_demo with options; `tell` gives it a line, `stop` ends it."""

    def __init__(self, *words, listen="127.0.0.1:0"):
        # pylint: disable-next=consider-using-with
        self.process = subprocess.Popen([str(BUILD / "tests/http/http_demo"), "--listen", listen, *words],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")
        self.port = int(self.process.stdout.readline())
        self.url = f"http://127.0.0.1:{self.port}/"

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def get(self, path):
        """Status, headers, text."""
        try:
            with urllib.request.urlopen(self.url + path, timeout=20) as reply:
                return reply.status, reply.headers, reply.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read().decode()

    def stop(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            assert self.process.wait(20) == 0
        self.process.stdout.close()


@pytest.fixture
def demo():
    running = []

    def start(*words, **options):
        running.append(Demo(*words, **options))
        return running[-1]

    yield start
    for one in running:
        one.stop()


def find(*names):
    return next((name for name in names if os.access(name, os.X_OK)), None)


@pytest.fixture
def browser(tmp_path):
    """browser(width, height, dark): a Chromium with a new profile; skipped where there is none."""
    selenium = pytest.importorskip("selenium.webdriver")
    service = pytest.importorskip("selenium.webdriver.chrome.service")
    chromium, driver = find("/usr/bin/chromium", "/usr/bin/chromium-browser"), find("/usr/bin/chromedriver")
    if not chromium or not driver:
        pytest.skip("chromium and chromium-driver are not installed")
    running = []

    def start(width=1440, height=900, dark=False, reduced=False):
        options = selenium.ChromeOptions()
        options.binary_location = chromium
        for flag in [*FLAGS, f"--window-size={width},{height}", f"--user-data-dir={tmp_path / f'profile{len(running)}'}"]:
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        one = selenium.Chrome(service=service.Service(driver), options=options)
        running.append(one)
        one.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce" if reduced else "no-preference"}]})
        one.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        return one

    yield start
    for one in running:
        one.quit()


def requests_of(browser_):
    """Every address the browser asked for since the last call."""
    messages = [json.loads(entry["message"])["message"] for entry in browser_.get_log("performance")]
    return [message["params"]["request"]["url"] for message in messages if message["method"] == "Network.requestWillBeSent"]
