"""A headless Chromium that reports what a page asks the network for, and what it complains about."""
import json
import shutil

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

OPTIONS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
           # Nothing of its own may be mistaken for a request of the page.
           "--disable-background-networking", "--disable-component-update", "--no-first-run")


class Browser:
    def __enter__(self):
        options = Options()
        options.binary_location = shutil.which("chromium")
        for option in OPTIONS:
            options.add_argument(option)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        self.driver.set_page_load_timeout(60)
        return self

    def __exit__(self, *what):
        self.driver.quit()

    def open(self, path, width=1280, height=900, scheme="light"):
        """Loads the file as a user would, offline. Returns the addresses that were asked for."""
        self.driver.get("about:blank")
        for kind in ("browser", "performance"):
            self.driver.get_log(kind)  # what was before
        cdp = self.driver.execute_cdp_cmd
        cdp("Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        cdp("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        cdp("Network.enable", {})
        cdp("Network.emulateNetworkConditions",
            {"offline": True, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1})
        self.driver.get(path.as_uri())
        messages = [json.loads(line["message"])["message"] for line in self.driver.get_log("performance")]
        return [message["params"]["request"]["url"] for message in messages
                if message["method"] == "Network.requestWillBeSent"]

    def complaints(self):
        return self.driver.get_log("browser")

    def ask(self, script, *arguments):
        return self.driver.execute_script("return (" + script + ")(...arguments)", *arguments)
