"""Translates OpenAI's JSON requests into Parameters, and pieces of text into OpenAI's JSON answers."""
import json
import time

import turnpike
from writer import Parameters

NAME = "babble"
TOKENS_MAX = 1_000_000
STOPS_MAX, STOP_LENGTH_MAX = 4, 200
ROLES = ("system", "developer", "user", "assistant", "tool")
NUMBERS = {  # field: kind, least, most
    "max_tokens": (int, 1, TOKENS_MAX), "max_completion_tokens": (int, 1, TOKENS_MAX),
    "temperature": (float, 0, 2), "top_p": (float, 0, 1), "seed": (int, -2**63, 2**63 - 1)}
ONLY = {  # fields that change what an answer is, and the values that this model can serve
    "n": (1,), "best_of": (1,), "logprobs": (False, 0), "top_logprobs": (0,), "echo": (False,), "suffix": ("",),
    "response_format": ({"type": "text"},), "tool_choice": ("none", "auto"), "modalities": (["text"],)}


class Refused(turnpike.BadInput):
    """A request that can't be served. `answer` returns the error as OpenAI would."""

    def __init__(self, message, param=None, code=None, status=400):
        super().__init__(message)
        self.status = status
        self.error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}

    def answer(self, headers=()):
        return turnpike.Response({"error": self.error}, self.status, headers)


# ── Requests ─────────────────────────────────────────────────────────────────────────────────────────────────

def parsed(request):
    try:
        body = request.json()
    except turnpike.BadInput as problem:
        raise Refused(f"The body is not JSON. {problem}") from None
    if not isinstance(body, dict):
        raise Refused("The body must be a JSON object.")
    return body


def check_common(body):
    """Checks the fields that chats and completions share."""
    name = body.get("model")
    if not isinstance(name, str):
        raise Refused("'model' must name the model, as a string.", "model")
    if name != NAME:
        raise no_model(name)
    for field, allowed in ONLY.items():
        if body.get(field) is not None and body[field] not in allowed:
            raise Refused(f"This model can't do that: '{field}' may only be {json.dumps(allowed[0])}.", field, "unsupported_value")
    flag(body, "stream")
    options = body.get("stream_options")
    if options is not None and not body.get("stream"):
        raise Refused("'stream_options' needs 'stream': true.", "stream_options")
    if options is not None and not isinstance(options, dict):
        raise Refused("'stream_options' must be an object.", "stream_options", "invalid_type")


def no_model(name):
    name = name[:64].encode("utf-8", "replace").decode()
    return Refused(f"The model '{name}' does not exist; there is '{NAME}'.", "model", "model_not_found", 404)


def parameters_for(body, prompt, defaults=Parameters()):
    """Returns the parameters that a chat, a completion and a prediction share."""
    numbers = {field: number(body, field) for field in NUMBERS}
    limit = numbers.pop("max_completion_tokens") or numbers["max_tokens"]
    given = {**numbers, "max_tokens": limit, "stop": stops(body) or None, "ignore_eos": flag(body, "ignore_eos")}
    chosen = {field: value for field, value in given.items() if value is not None}
    return Parameters(**{**vars(defaults), "prompt": tuple(prompt), **chosen})


def number(body, field):
    """Returns the number, or None if the field is missing."""
    kind, least, most = NUMBERS[field]
    value = body.get(field)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, kind)):
        raise Refused(f"'{field}' must be {'an integer' if kind is int else 'a number'}.", field, "invalid_type")
    if not least <= value <= most:  # also false for NaN
        code = "integer_out_of_range" if kind is int else "decimal_out_of_range"
        raise Refused(f"'{field}' must be from {least} to {most}.", field, code)
    return value


def flag(body, field):
    if not isinstance(body.get(field), (bool, type(None))):
        raise Refused(f"'{field}' must be true or false.", field, "invalid_type")
    return body.get(field)


def stops(body):
    given = body.get("stop")
    found = [given] if isinstance(given, str) else [] if given is None else given
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise Refused("'stop' must be a string or a list of strings.", "stop", "invalid_type")
    if len(found) > STOPS_MAX or not all(0 < len(one) <= STOP_LENGTH_MAX for one in found):
        raise Refused(f"'stop' may have at most {STOPS_MAX} strings of 1 to {STOP_LENGTH_MAX} characters.", "stop", "invalid_value")
    return tuple(found)


def chat_prompt(body):
    """Makes each question a heading with the answer below it, because the model was trained on such text."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise Refused("'messages' must be a list with at least one message.", "messages",
                      "missing_required_parameter" if messages is None else "invalid_type")
    parts = [""]
    for at, message in enumerate(messages):
        role, words = said(message, f"messages.[{at}]")
        if role in ("user", "tool"):
            parts[-1] += "## " + " ".join(words.split()) + "\n\n"
        else:
            parts[-1] += words
            if at < len(messages) - 1:  # a last message of the assistant is continued
                parts[-1] += "\n"
                parts.append("")
    return parts


def said(message, where):
    """Returns role and text of one message."""
    if not isinstance(message, dict) or message.get("role") not in ROLES:
        raise Refused(f"'{where}' must be an object whose 'role' is one of {', '.join(ROLES)}.", where, "invalid_value")
    content = message.get("content")
    if content is None and message["role"] == "assistant":
        content = ""
    if isinstance(content, list) and all(isinstance(part, dict) and part.get("type") == "text"
                                         and isinstance(part.get("text"), str) for part in content):
        content = "".join(part["text"] for part in content)
    if not isinstance(content, str):
        raise Refused(f"'{where}.content' must be text: a string, or a list of parts of type 'text'.", f"{where}.content", "invalid_type")
    return message["role"], content


def completion_prompt(body):
    prompt = body.get("prompt", "")
    if isinstance(prompt, list) and len(prompt) == 1:
        prompt = prompt[0]
    if not isinstance(prompt, str):
        raise Refused("'prompt' must be a string; this model can't take several prompts, or tokens.", "prompt", "invalid_type")
    return [prompt]


# ── Answers ──────────────────────────────────────────────────────────────────────────────────────────────

class Style:
    """The JSON of a chat's answer."""
    prefix, whole, piece, prompt = "chatcmpl-", "chat.completion", "chat.completion.chunk", staticmethod(chat_prompt)
    opening = {"delta": {"role": "assistant", "content": ""}}
    closing = {"delta": {}}

    @staticmethod
    def part(text):
        return {"delta": {"content": text}}

    @staticmethod
    def all(text):
        return {"message": {"role": "assistant", "content": text, "refusal": None}}


class CompletionStyle(Style):
    """The JSON of a plain completion's answer."""
    prefix, whole, piece, prompt = "cmpl-", "text_completion", "text_completion", staticmethod(completion_prompt)
    opening = None
    closing = {"text": ""}

    @staticmethod
    def part(text):
        return {"text": text}

    all = part


class Answer:
    def __init__(self, style, writing, job_id, fingerprint):
        self.style, self.writing = style, writing
        self.common = {"id": style.prefix + job_id, "created": int(time.time()), "model": NAME,
                       "system_fingerprint": fingerprint}

    def whole(self):
        text = "".join(self.writing)
        return {"object": self.style.whole, **self.common, "choices": [self._choice(self.style.all(text), self.writing.reason)],
                "usage": self._usage()}

    def events(self, has_usage=False):
        """Yields server-sent events: one for each piece, then [DONE]."""
        no_usage = {"usage": None} if has_usage else {}
        if self.style.opening:
            yield self._event([self._choice(self.style.opening)], no_usage)
        for text in self.writing:
            yield self._event([self._choice(self.style.part(text))], no_usage)
        yield self._event([self._choice(self.style.closing, self.writing.reason)], no_usage)
        if has_usage:
            yield self._event([], {"usage": self._usage()})
        yield "data: [DONE]\n\n"

    def _event(self, choices, usage):
        piece = {"object": self.style.piece, **self.common, "choices": choices, **usage}
        return f"data: {json.dumps(piece, ensure_ascii=False, separators=(',', ':'))}\n\n"

    @staticmethod
    def _choice(what, reason=None):
        return {"index": 0, **what, "logprobs": None, "finish_reason": reason}

    def _usage(self):
        read, written = self.writing.read, self.writing.written
        return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def models():
    return {"object": "list", "data": [model()]}


def model():
    return {"id": NAME, "object": "model", "created": 1763164800, "owned_by": "turnpike"}
