"""POST /v1/chat/completions and GET /v1/models for OpenAI's clients: only the parts that one model needs."""
import json
import time

import turnpike

import request_parameters

ROLES = ("system", "user", "assistant", "developer")


def answer(text, req):
    """Answers a request. `text` is the model. Other paths get a 404 that names the right ones."""
    if (req.method, req.path) == ("GET", "/v1/models"):
        return {"object": "list", "data": [{"id": text.name, "object": "model", "created": 0, "owned_by": "turnpike"}]}
    if (req.method, req.path) != ("POST", "/v1/chat/completions"):
        return turnpike.Response(f"There is no {req.method} {req.path} here: POST /predict or /v1/chat/completions.\n", 404)
    x = req.json()
    parameters = parameters_of(text, x)
    if x.get("stream"):
        return turnpike.Response(chunks(text, parameters), content_type="text/event-stream")
    said, count = [], 0
    for piece, count in text.steps(parameters):
        said.append(piece)
    message = {"role": "assistant", "content": "".join(said)}
    return {**head(text, "chat.completion"), "usage": {"completion_tokens": count},
            "choices": [{"index": 0, "message": message, "finish_reason": reason(parameters, count)}]}


def parameters_of(text, x):
    if not isinstance(x, dict):
        raise turnpike.BadInput('Send an object: {"messages": [{"role": "user", "content": "Hello"}]}.')
    limit = x.get("max_completion_tokens") or x.get("max_tokens")
    given = {"max_new_tokens": limit, "temperature": x.get("temperature"), "seed": x.get("seed")}
    return request_parameters.checked(request_parameters.Parameters(prompt_of(text.tokenizer, x.get("messages")),
                                      **{name: value for name, value in given.items() if value is not None}))


def prompt_of(tokenizer, messages):
    """Builds the prompt with the model's own template. A model without a template gets lines of "role: words"."""
    if not isinstance(messages, list) or not messages:
        raise turnpike.BadInput('messages must be a list such as [{"role": "user", "content": "Hello"}].')
    for message in messages:
        if not isinstance(message, dict) or message.get("role") not in ROLES or not isinstance(message.get("content"), str):
            raise turnpike.BadInput(f"A message must have a role ({', '.join(ROLES)}) and a content, which is a text.")
    if tokenizer.chat_template:
        return tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    return "".join(f"{message['role']}: {message['content']}\n" for message in messages) + "assistant:"


def chunks(text, parameters):
    opening = head(text, "chat.completion.chunk")
    yield event({**opening, "choices": [choice({"role": "assistant", "content": ""})]})
    count = 0
    for piece, count in text.steps(parameters):
        if piece:
            yield event({**opening, "choices": [choice({"content": piece})]})
    yield event({**opening, "choices": [choice({}, reason(parameters, count))]})
    yield "data: [DONE]\n\n"


def head(text, kind):
    return {"id": f"chatcmpl-{turnpike.job().id}", "object": kind, "created": int(time.time()), "model": text.name}


def choice(delta, why=None):
    return {"index": 0, "delta": delta, "finish_reason": why}


def reason(parameters, count):
    return "length" if count >= parameters.max_new_tokens else "stop"


def event(value):
    return "data: " + json.dumps(value) + "\n\n"
