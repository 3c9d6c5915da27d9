"""What web pages may do to a gate without keys, tried by a real Chromium: pages of other origins, of allowed ones, and the gate's own."""
import http.server
import tempfile
import threading
import unittest

from browser import Browser
from harness import Case, wait_until

# Everything by which a page can make a browser send a request without asking anybody. Each way ends
# when the browser has an answer or a refusal, and asks for a path of its own name.
WAYS = """
const gate = GATE, html = document.body
const ended = (node, url) => new Promise((done) => {
    node.onload = node.onerror = done
    node.src === undefined ? node.href = url : node.src = url
    html.append(node)
})
const element = (name, more) => Object.assign(document.createElement(name), more)
const frame = (name) => { const node = element("iframe", { name }); html.append(node); return node }
const submit = (method, url, name) => new Promise((done) => {
    const target = frame(name)
    setTimeout(() => {  // an empty frame loads first
        target.onload = done
        const form = element("form", { method, action: url, target: name, enctype: "text/plain" })
        form.append(element("input", { name: "a", value: "b" }))
        html.append(form)
        form.submit()
    }, 100)
})
const quiet = (promise) => promise.then(() => 0, () => 0)
window.ways = {
    img: () => ended(element("img"), gate + "/img"),
    img_without_referrer: () => ended(element("img", { referrerPolicy: "no-referrer" }), gate + "/img_without_referrer"),
    script: () => ended(element("script"), gate + "/script"),
    stylesheet: () => ended(element("link", { rel: "stylesheet" }), gate + "/stylesheet"),
    iframe: () => ended(element("iframe"), gate + "/iframe"),
    embed: () => ended(element("embed", { type: "text/html" }), gate + "/embed"),
    fetch_get: () => quiet(fetch(gate + "/fetch_get", { mode: "no-cors" })),
    fetch_post: () => quiet(fetch(gate + "/fetch_post", { mode: "no-cors", method: "POST", body: "{}" })),
    fetch_cors: () => quiet(fetch(gate + "/fetch_cors")),
    beacon: async () => navigator.sendBeacon(gate + "/beacon", "{}"),
    form_get: () => submit("get", gate + "/form_get", "of_get"),
    form_post: () => submit("post", gate + "/form_post", "of_post"),
    prefetch: () => ended(element("link", { rel: "prefetch" }), gate + "/prefetch"),
    speculation: async () => {
        const rules = element("script", { type: "speculationrules" })
        rules.textContent = JSON.stringify({ prefetch: [{ source: "list", urls: [gate + "/speculation"], eagerness: "immediate" }] })
        html.append(rules)
    },
}
window.trying = Promise.all(Object.values(ways).map((way) => way())).then(() => { window.tried = true })
"""
PAGE = "<!doctype html><title>%s</title><body><a id=link href='%s/link'>link</a><script>%s</script>"
SILENT = {"beacon", "speculation"}  # a page is not told how these end


class ForeignPages:
    """Serves one page on a port of its own. The browser knows it under two names: with `localhost` it is another site than
    127.0.0.1, with `127.0.0.1` it is another origin of the same site."""

    def __init__(self, case):
        self.text = ""
        outer = self

        class Answer(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                text = outer.text.encode() if self.path == "/" else b""
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        case.addCleanup(self.server.server_close)
        case.addCleanup(self.server.shutdown)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.cross_site = f"http://localhost:{self.server.server_port}"
        self.same_site = f"http://127.0.0.1:{self.server.server_port}"


def own_page(request):
    request.reply(b"<!doctype html><title>own</title><body>", headers=["Content-Type: text/html"])


class WebPages(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.profile = tempfile.TemporaryDirectory(prefix="turnpike-browser-", ignore_cleanup_errors=True)
        cls.addClassCleanup(cls.profile.cleanup)
        cls.browser = Browser(cls.profile.name)
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        super().setUp()
        self.worker = self.scripted(own_page)
        self.pages = ForeignPages(self)

    def serve(self, **gate):
        self.serving = self.gate([self.worker], gate=gate)
        self.url = f"http://127.0.0.1:{self.serving.port}"
        self.pages.text = PAGE % ("foreign", self.url, WAYS.replace("GATE", repr(self.url)))

    def try_all(self, page):
        self.browser.open(page + "/")
        wait_until(lambda: self.browser.run("return window.tried === true"), "the page has tried everything")
        return set(self.browser.run("return Object.keys(ways)"))

    def jobs(self):
        """Returns the paths of all jobs that reached the worker."""
        return {seen.split("/")[1].split("?")[0] for seen in self.worker.seen}

    def in_page(self, method, target):
        """Returns the status that a fetch of the open page gets."""
        return self.browser.run(f"return fetch({self.url!r} + {target!r}, {{method: {method!r}}}).then((answer) => answer.status, String)")

    def test_pages_of_other_origins_send_no_job(self):
        self.serve()
        for page in (self.pages.cross_site, self.pages.same_site):
            with self.subTest(page):
                self.try_all(page)
                self.browser.open("about:blank")  # waits for what the page had under way
                self.assertEqual(self.jobs(), set())
        self.assertEqual([job["path"] for job in self.serving.live_jobs() + self.serving.ended_jobs()], [])

    def test_a_link_opens_a_page_of_the_model(self):
        self.serve()
        self.pages.text = PAGE % ("foreign", self.url, "")
        for page in (self.pages.cross_site, self.pages.same_site):
            self.browser.open(page + "/")
            self.browser.find("#link").click()
            wait_until(lambda: self.browser.run("return document.title") == "own", "the model's page is open")

    def test_pages_of_allowed_origins_send_jobs_and_nothing_else(self):
        """Also shows that the browser does send what the first test finds refused."""
        self.serve(allowed_origins=[self.pages.cross_site])
        ways = self.try_all(self.pages.cross_site)
        without_origin_or_referrer = {"img_without_referrer"}
        wait_until(lambda: self.jobs() >= ways - SILENT - without_origin_or_referrer, "the jobs of the page arrive")
        wait_until(lambda: self.jobs() >= {"speculation"}, "the browser fetches the page in advance")
        self.assertNotIn("img_without_referrer", self.jobs())
        self.assertEqual(self.in_page("POST", "/predict"), 200)
        self.assertEqual(self.in_page("GET", "/-/readyz"), 200)
        job = self.serving.ended_jobs()[0]["id"]
        for method, target in (("GET", "/-/status"), ("GET", "/-/jobs"), ("GET", f"/-/jobs/{job}"), ("DELETE", f"/-/jobs/{job}"),
                               ("GET", "/-/lanes/0/log"), ("GET", "/-/crashes"), ("POST", "/-/lanes/0/drain"), ("POST", "/-/reload")):
            self.assertEqual(self.in_page(method, target), 403, target)
        self.assertEqual(self.serving.lane(0)["state"], "ready")

    def test_the_gates_own_page_keeps_what_it_has(self):
        self.serve()
        self.browser.open(self.url + "/")
        for method, target, status in (("GET", "/predict", 200), ("POST", "/predict", 200), ("GET", "/-/status", 200),
                                       ("GET", "/-/jobs", 200), ("POST", "/-/lanes/0/resume", 202)):
            self.assertEqual(self.in_page(method, target), status, target)
        self.browser.run("return new Promise((done) => { const node = new Image(); node.onload = node.onerror = () => done(); node.src = '/own_img' })")
        self.assertIn("own_img", self.jobs())


if __name__ == "__main__":
    unittest.main()
