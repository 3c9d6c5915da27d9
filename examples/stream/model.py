"""A model that writes text, a character at a time, for any OpenAI client.

    turnpike up examples/stream
    curl -N http://127.0.0.1:8000/predict -d '{"text": "A lane is"}'
    curl -N http://127.0.0.1:8000/v1/chat/completions -d '{"model": "babble", "stream": true, "messages": [{"role": "user", "content": "Lanes"}]}'

It babbles: the example is about streaming, not about sense. The network is in network.py, the generation of text in
writer.py, OpenAI's JSON in chat.py. This file connects them to Turnpike.
"""
import hashlib
from pathlib import Path

import chat
import turnpike
from network import Network
from writer import Parameters, Writing

HERE = Path(__file__).resolve().parent
WEIGHTS = HERE / "babble.safetensors"


class Babble(turnpike.Model):
    example = {"text": "A lane is", "max_tokens": 20, "seed": 1}  # every lane answers this before its first job
    # One job at a time: a lane is one Python process, where two texts would only take turns. Use more lanes to write more.
    slots = 1

    def load(self, lane):
        lane.progress(0.1, "reading the weights")
        self.network = Network(WEIGHTS)
        self.fingerprint = "fp_" + hashlib.sha256(WEIGHTS.read_bytes()).hexdigest()[:10]
        self.facts = {"held_out_loss": self.network.metadata["loss"], "characters": len(self.network.alphabet)}

    def predict(self, x):
        """Continues {"text": "A lane is"} and streams plain text."""
        if not isinstance(x, dict) or not isinstance(x.get("text"), str):
            raise turnpike.BadInput('Send {"text": "A lane is"}, and optionally max_tokens, temperature, top_p, seed and stop.')
        return iter(self.writing(chat.parameters_for(x, [x["text"]])))

    def writing(self, parameters: Parameters):
        """Checks before each character whether the client still waits. If not, the lane is free at once."""
        return Writing(self.network, parameters, turnpike.job().raise_if_cancelled)

    def request(self, req):
        """Answers everything else: OpenAI's routes and the page."""
        methods = ROUTES.get(req.path) or ROUTES.get(req.path.rpartition("/")[0] + "/*")
        if methods is None:
            return nothing_here(req)
        method = "GET" if req.method == "HEAD" else req.method
        if method not in methods:
            return chat.Refused(f"{req.path} takes {', '.join(methods)}.", status=405).answer({"Allow": ", ".join(methods)})
        try:
            return methods[method](self, req)
        except chat.Refused as problem:
            return problem.answer()

    def complete(self, req, style):
        body = chat.parsed(req)
        chat.check_common(body)
        writing = self.writing(chat.parameters_for(body, style.prompt(body)))
        answer = chat.Answer(style, writing, turnpike.job().id, self.fingerprint)
        if not body.get("stream"):
            return answer.whole()
        has_usage = bool((body.get("stream_options") or {}).get("include_usage"))
        return turnpike.Response(answer.events(has_usage), 200, {"Cache-Control": "no-cache"}, "text/event-stream")

    def chat(self, req):
        return self.complete(req, chat.Style)

    def completion(self, req):
        return self.complete(req, chat.CompletionStyle)

    def list_models(self, _):
        return chat.models()

    def show_model(self, req):
        name = req.path.rpartition("/")[2]
        if name != chat.NAME:
            raise chat.no_model(name)
        return chat.model()

    def page(self, req):
        name, kind = PAGE[req.path]
        return turnpike.Response((HERE / name).read_bytes(), content_type=kind, headers=SECURITY_HEADERS)


def nothing_here(req):
    words = f"There is nothing at {req.path}: POST /v1/chat/completions or /predict, or open / in a browser."
    return chat.Refused(words, code="unknown_url", status=404).answer()


PAGE = {"/": ("page.html", "text/html; charset=utf-8"), "/page.css": ("page.css", "text/css; charset=utf-8"),
        "/page.js": ("page.js", "text/javascript; charset=utf-8")}
ROUTES = {
    "/v1/chat/completions": {"POST": Babble.chat}, "/v1/completions": {"POST": Babble.completion},
    "/v1/models": {"GET": Babble.list_models}, "/v1/models/*": {"GET": Babble.show_model},
    **{path: {"GET": Babble.page} for path in PAGE}}
SECURITY_HEADERS = {  # the page loads nothing from other hosts, and can't be put into a frame
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
                               "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-cache"}
