"""The page of examples/digits in a real browser, served by the real gate: draws digits and reads the answers."""
import re
import tempfile
import unittest

from browser import POINTER_TOUCH, Browser
from harness import HERE, wait_until
from started_case import StartedCase

MODEL = HERE.parents[1] / "examples" / "digits" / "model.py"
MILLISECONDS = re.compile(r"\d+(\.\d)? ms")
# Shaky strokes, different from the page's own samples.
DRAWN = {
    0: [[(52, 12), (38, 18), (28, 38), (27, 60), (36, 82), (52, 88), (66, 80), (73, 58), (70, 34), (62, 18), (52, 12)]],
    1: [[(50, 14), (50, 30), (49, 50), (50, 68), (51, 86)]],
    2: [[(28, 32), (36, 18), (52, 13), (66, 22), (66, 38), (54, 54), (38, 70), (27, 85), (48, 84), (74, 86)]],
    3: [[(28, 18), (46, 12), (64, 18), (66, 32), (56, 43), (43, 47), (60, 52), (70, 64), (64, 80), (46, 88), (27, 82)]],
    4: [[(52, 12), (40, 34), (26, 58), (48, 59), (76, 58)], [(60, 36), (59, 60), (57, 88)]],
    5: [[(70, 14), (50, 13), (34, 14), (32, 30), (31, 46), (48, 42), (64, 50), (70, 66), (60, 82), (44, 88), (27, 82)]],
    7: [[(26, 15), (50, 14), (74, 14), (64, 38), (54, 62), (45, 88)], [(38, 52), (70, 51)]],
}


class Page(StartedCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.profile = tempfile.TemporaryDirectory(prefix="turnpike-browser-", ignore_cleanup_errors=True)
        cls.addClassCleanup(cls.profile.cleanup)
        cls.browser = Browser(cls.profile.name)
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        super().setUp()
        self.serving = self.start(str(MODEL), "--gpus", "none", "--lanes", "2").wait_ready()
        self.browser.complaints()  # about other tests' gates, which are gone
        self.browser.open(f"http://127.0.0.1:{self.serving.port}/")

    def wait_text(self, selector, wanted):
        """Waits for a text or a pattern."""
        pattern = wanted if isinstance(wanted, re.Pattern) else re.compile(re.escape(wanted))
        return wait_until(lambda: pattern.fullmatch(self.browser.text(selector)), f"{selector} says {wanted}")

    def test_a_digit_drawn_is_read_and_by_whom_and_how_fast(self):
        for digit, strokes in DRAWN.items():
            with self.subTest(digit=digit):
                self.browser.find("#clear").click()
                self.wait_text("#digit", "?")
                self.browser.draw("#paper", strokes)
                self.wait_text("#digit", str(digit))
                self.wait_text("#sure", re.compile(r"\d+(\.\d)? % sure.*"))
                self.wait_text("#lane", re.compile("lane [01]"))
                for duration in ("#run", "#queue", "#total"):
                    self.wait_text(duration, MILLISECONDS)
                wait_until(lambda: self.browser.run("return document.getElementById('spoken').textContent")
                           .startswith(f"{digit}, "), "the answer is in the text for screen readers")
                best = self.browser.find("#scores .best").get_attribute("aria-label")
                self.assertTrue(best.startswith(f"{digit}: "), best)
        self.assertEqual(self.browser.complaints(), [], "the browser logged no error")

    def test_every_lane_answers_and_is_counted(self):
        for _ in range(3):
            self.browser.find("#clear").click()
            self.browser.draw("#paper", DRAWN[2])
        tally = self.wait_text("#tally", re.compile(r"Answers so far: lane 0: (\d+) · lane 1: (\d+)"))
        finished = [lane["finished"] for lane in self.serving.status()["lanes"]]
        self.assertLessEqual(int(tally[1]) + int(tally[2]), sum(finished))

    def test_it_answers_while_one_draws(self):
        along = DRAWN[0][0] * 3
        self.browser.draw("#paper", [along])
        self.assertGreater(self.serving.pool()["jobs"]["finished"], 5, "the page, and answers while drawing")

    def test_on_a_phone_with_a_finger(self):
        self.browser.as_phone(360, 740)
        self.addCleanup(self.browser.driver.execute_cdp_cmd, "Emulation.clearDeviceMetricsOverride", {})
        self.browser.draw("#paper", DRAWN[3], POINTER_TOUCH)
        self.wait_text("#digit", "3")
        self.assertEqual(self.browser.run("return document.documentElement.scrollWidth"), 360, "the page is not wider than the screen")

    def test_by_keyboard(self):
        for digit in "0123456789":
            self.browser.press(digit)
            wait_until(lambda: self.browser.run("return document.getElementById('spoken').textContent")
                       .startswith(f"{digit}, "), f"{digit} is drawn and read")
        self.browser.press("\ue00c")  # Escape
        self.wait_text("#digit", "?")
        self.wait_text("#lane", "–")

    def test_says_in_words_that_no_lane_serves_and_asks_again(self):
        for lane in "01":
            self.order(self.serving, "drain", lane)
        self.browser.draw("#paper", DRAWN[7])
        self.wait_text("#trouble", re.compile(r"No lane can answer now\..* Asking again in \d+ s\."))
        self.order(self.serving, "resume", "1")
        self.wait_text("#digit", "7")
        self.wait_text("#trouble", "")
        self.wait_text("#lane", "lane 1")

    def test_says_in_words_that_the_gate_is_gone(self):
        self.stop(self.serving)
        self.browser.draw("#paper", DRAWN[1])
        self.wait_text("#trouble", re.compile("The gate does not answer.*"))
        self.wait_text("#sure", "Not read yet.")


unittest.main()
