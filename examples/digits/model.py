"""Which digit is this? A model for Turnpike.

    turnpike up examples/digits/model.py
    curl http://127.0.0.1:8000/predict -d @examples/digits/seven.json    # 8 x 8 pixels, from 0 (paper) to 16 (ink)
    xdg-open http://127.0.0.1:8000                                       # draw one

The network is in network.py, the page in page.html. This file connects them to Turnpike.
"""
import json
from pathlib import Path

import turnpike
from network import Network

HERE = Path(__file__).resolve().parent


class Digits(turnpike.Model):
    example = json.loads((HERE / "seven.json").read_text())  # every lane answers this before its first job

    def load(self, lane):
        lane.progress(0.1, "reading the weights")
        self.network = Network(HERE / "digits.safetensors")
        self.facts = self.network.metadata

    def predict(self, x):
        scores = self.network.probabilities(pixels_of(x))
        digit = scores.index(max(scores))
        return {"digit": digit, "confidence": scores[digit], "scores": scores}

    def request(self, req):
        """Answers everything that is not a prediction: the page to draw on."""
        name, kind = PAGE.get(req.path, (None, None))
        if name is None:
            return turnpike.Response(f"There is nothing at {req.path}: POST /predict, or open / in a browser.\n", 404)
        if req.method not in ("GET", "HEAD"):
            return turnpike.Response(f"{req.path} is a page: GET it.\n", 405, {"Allow": "GET"})
        return turnpike.Response((HERE / name).read_bytes(), content_type=kind, headers=SECURITY_HEADERS)


def pixels_of(x):
    """Returns the 64 numbers of an input. Raises BadInput, which says what to send."""
    pixels = x.get("pixels") if isinstance(x, dict) else x
    if not isinstance(pixels, list) or len(pixels) != 64:
        got = f"a list of {len(pixels)}" if isinstance(pixels, list) else "something else"
        raise turnpike.BadInput(f"Send {{\"pixels\": [...]}}: a list of 64 numbers, 8 rows of 8; this was {got}.")
    for at, pixel in enumerate(pixels):
        if isinstance(pixel, bool) or not isinstance(pixel, (int, float)) or not 0 <= pixel <= 16:
            raise turnpike.BadInput(f"A pixel must be a number from 0 (paper) to 16 (ink); pixels[{at}] is not.")
    return pixels


PAGE = {"/": ("page.html", "text/html; charset=utf-8"), "/page.css": ("page.css", "text/css; charset=utf-8"),
        "/page.js": ("page.js", "text/javascript; charset=utf-8")}
SECURITY_HEADERS = {  # the page loads nothing from other hosts, and can't be put into a frame
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
                               "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-cache"}
