"""The page of examples/stream in a real browser, served by the real gate: asks, and sees the text appear as it is written."""
import re
import tempfile
import unittest

from browser import Browser
from harness import HERE, PYTHON, wait_until
from started_case import StartedCase

EXAMPLE = HERE.parents[1] / "examples" / "stream"


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
        self.serving = self.start(str(EXAMPLE), "--python", PYTHON, "--gpus", "none", "--lanes", "1").wait_ready()
        self.browser.complaints()  # about other tests' gates, which are gone
        self.browser.open(f"http://127.0.0.1:{self.serving.port}/")

    def is_writing(self):
        return "writes" in self.browser.find("#text").get_attribute("class").split()

    def test_a_question_is_answered_in_text_and_by_whom(self):
        self.browser.find("#write").click()
        wait_until(lambda: self.browser.text("#text") and not self.is_writing(), "the text is complete")
        self.assertEqual(self.browser.text("#lane"), "lane 0")
        self.assertRegex(self.browser.text("#first"), r"^\d+ ms$")
        text = self.browser.run("return document.getElementById('text').textContent")
        self.assertEqual(self.browser.text("#count"), str(len(text)))
        self.assertEqual(self.browser.run("return document.getElementById('spoken').textContent"), text)
        self.assertEqual(self.browser.complaints(), [], "the browser logged no error")

    def test_stop_leaves_what_is_there_and_frees_the_lane(self):
        self.browser.run("JSON.stringify = ((old) => (x) => old({ ...x, max_tokens: 1000000, ignore_eos: true }))(JSON.stringify)")
        self.browser.find("#write").click()
        wait_until(lambda: len(self.browser.text("#text")) > 20, "text appears while it is being written")
        self.assertTrue(self.is_writing())
        self.browser.find("#stop").click()
        self.assertFalse(self.is_writing())
        wait_until(lambda: [job for job in self.serving.ended_jobs() if job["outcome"] == "cancelled"], "the job was cancelled")
        self.assertTrue(self.browser.find("#trouble").get_attribute("hidden"))
        self.assertEqual(self.serving.lane(0)["restarts"], 0)

    def test_says_what_is_wrong(self):
        self.browser.run("JSON.stringify = ((old) => (x) => old({ ...x, model: 'gpt-4o' }))(JSON.stringify)")
        self.browser.find("#write").click()
        wait_until(lambda: re.search("gpt-4o.* does not exist", self.browser.text("#trouble")), "the page shows the problem")
        self.assertFalse(self.is_writing())


if __name__ == "__main__":
    unittest.main()
