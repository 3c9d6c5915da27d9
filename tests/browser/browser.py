"""A real Chromium without a window, driven by pointer and keys as a person would do it."""
import os
import sys

try:
    from selenium import webdriver
    from selenium.common.exceptions import WebDriverException
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.action_chains import ActionBuilder
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.actions.interaction import POINTER_MOUSE, POINTER_TOUCH  # noqa: F401
    from selenium.webdriver.common.actions.pointer_input import PointerInput
except ImportError as missing:
    sys.exit(f"browser tests need Debian's python3-selenium: {missing}")

DRIVER = "/usr/bin/chromedriver"
if not os.access(DRIVER, os.X_OK):
    sys.exit(f"browser tests need Debian's chromium and chromium-driver: there is no {DRIVER}")
FLAGS = ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--window-size=1200,900",
         "--no-proxy-server", *(["--no-sandbox"] if os.geteuid() == 0 else [])]


class Browser:
    def __init__(self, folder):
        options = webdriver.ChromeOptions()
        for flag in [*FLAGS, f"--user-data-dir={folder}"]:
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        try:
            self.driver = webdriver.Chrome(service=Service(DRIVER), options=options)
        except WebDriverException as failure:
            sys.exit(f"Chromium does not start: {failure}")

    def close(self):
        self.driver.quit()

    def open(self, url):
        self.driver.get(url)

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def text(self, selector):
        return self.find(selector).text

    def press(self, keys):
        self.find("body").send_keys(keys)

    def run(self, script):
        return self.driver.execute_script(script)

    def complaints(self):
        """Returns what the browser has logged about the page since the last call: errors, violations of the security policy."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def as_phone(self, width, height):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 2, "mobile": True})

    def draw(self, selector, strokes, kind=POINTER_MOUSE):
        """Draws strokes of (x, y), from 0 to 100 across the element, with the pointer."""
        box = self.find(selector).rect
        scroll = self.run("return window.scrollY")

        def at(point):
            return {"x": int(box["x"] + point[0] / 100 * box["width"]),
                    "y": int(box["y"] - scroll + point[1] / 100 * box["height"])}
        for stroke in strokes:
            actions = ActionBuilder(self.driver, mouse=PointerInput(kind, kind), duration=15)
            pointer = actions.pointer_action
            pointer.move_to_location(**at(stroke[0])).pointer_down()
            for point in stroke[1:]:
                pointer.move_to_location(**at(point))
            pointer.pointer_up()
            actions.perform()
