"""Checks of jobs, one at a time."""
from . import check, frames
from .gate import Failure, Job


def must_be(what, found, expected):
    if found != expected:
        raise Failure(f"{what} is {str(found)[:200]!r}, not {str(expected)[:200]!r}")


@check()
def a_job_is_answered(gate):
    """POST /predict gives 200 and the answer as JSON"""
    gate.until_ready()
    for value in [1, "zwölf €", None, [1, {"a": "b"}], ""]:
        job = gate.answer({"echo": value})
        must_be("status", job.status, 200)
        must_be("the answer", job.json, {"echo": value})
    must_be("its content type", (job.header("content-type") or "").split(";")[0], "application/json")


@check()
def the_root_is_predict(gate):
    """POST / is the same as POST /predict"""
    gate.until_ready()
    must_be("the answer", gate.answer({"echo": 7}, target=b"/").json, {"echo": 7})
    must_be("the answer with a query", gate.answer({"echo": 8}, target=b"/predict?x=1").json, {"echo": 8})


@check()
def a_job_split_in_two_anywhere(gate):
    """a job that arrives in two pieces is understood, wherever it is split"""
    gate.until_ready()
    body = b'{"echo": "' + "€".encode() + b'"}'
    for split in range(1, len(frames.job(1, body)) - 1):
        number = gate.next_number()
        data = frames.job(number, body, name=b"j")
        job = gate.jobs.setdefault(number, Job(number))
        gate.send(data[:split])
        gate.wait_until_read()
        gate.send(data[split:])
        gate.wait(lambda: job.ended, f"the end of a job that was split after {split} bytes")
        must_be(f"the answer to a job split after {split} bytes", job.json, {"echo": "€"})


@check()
def a_job_byte_by_byte(gate):
    """a job that arrives byte by byte is understood"""
    gate.until_ready()
    number = gate.next_number()
    job = gate.jobs.setdefault(number, Job(number))
    for byte in frames.job(number, b'{"echo": [1, 2, 3]}'):
        gate.send(bytes([byte]))
        gate.wait_until_read()
    gate.wait(lambda: job.ended, "the end of a job that came byte by byte")
    must_be("the answer", job.json, {"echo": [1, 2, 3]})


@check()
def jobs_follow_each_other(gate):
    """500 jobs, one after the other, each get their own answer"""
    gate.until_ready()
    for value in range(500):
        must_be("the answer", gate.answer({"echo": value}).json, {"echo": value})


@check()
def the_request_arrives_whole(gate):
    """method, path, query, header lines, name and attempt of a job reach the model"""
    gate.until_ready()
    seen = gate.answer(b"", method=b"PUT", target=b"/seen/a-b?x=1&y=%C3%A4", name=b"lunch-17", attempt=2,
                       fields=b"Content-Type: text/plain\r\nX-Two: one\r\nX-Text: plain, green\r\n").json
    for key, expected in [("method", "PUT"), ("path", "/seen/a-b"), ("query", "x=1&y=%C3%A4"), ("name", "lunch-17"),
                          ("attempt", 2), ("x-two", "one"), ("x-text", "plain, green"), ("content-type", "text/plain")]:
        must_be(f"what the model saw as {key}", seen.get(key), expected)


@check()
def a_response_of_the_models_own(gate):
    """status, content type, header lines and bytes that the model chooses reach the gate"""
    gate.until_ready()
    job = gate.answer(b"", method=b"GET", target=b"/teapot", fields=b"")
    must_be("status", job.status, 418)
    must_be("content type", job.header("content-type"), "text/x-tea")
    must_be("header line X-Conformance", job.header("x-conformance"), "yes")
    must_be("the answer", bytes(job.body), b"short and stout")


@check()
def raw_bytes_come_back(gate):
    """POST /bytes returns the same bytes, also if there are none or they are not text"""
    gate.until_ready()
    fields = b"Content-Type: application/octet-stream\r\n"
    for body in [b"", b"\0", bytes(range(256)), b"x" * 100_000, b"y" * (1024 * 1024)]:
        job = gate.answer(body, target=b"/bytes", fields=fields)
        must_be("status", job.status, 200)
        if job.body != body:
            raise Failure(f"sent {len(body)} bytes; {len(job.body)} bytes came back, and they differ")


@check(variant="plain")
def other_paths_are_404_without_request(gate):
    """a model without request() answers other paths with 404"""
    gate.until_ready()
    for target in [b"/nowhere", b"/predict/2", b"/bytes"]:
        must_be(f"status of {target.decode()}", gate.answer(b"{}", target=target).status, 404)
    must_be("a job after that", gate.answer({"echo": 1}).json, {"echo": 1})


@check(variant="plain")
def other_methods_of_predict_are_405_without_request(gate):
    """a model without request() answers other methods of / and /predict with 405 and Allow: POST"""
    gate.until_ready()
    for method, target in [(b"GET", b"/predict"), (b"PUT", b"/predict?a=1"), (b"GET", b"/")]:
        job = gate.answer(b"", method=method, target=target, fields=b"")
        must_be(f"status of {method.decode()} {target.decode()}", job.status, 405)
        must_be("Allow", job.header("allow"), "POST")


@check()
def other_paths_are_the_models(gate):
    """a path that the model's request() does not know gives 404"""
    gate.until_ready()
    must_be("status", gate.answer(b"", method=b"GET", target=b"/nowhere", fields=b"").status, 404)


@check()
def progress_is_told(gate):
    """job.progress() gives progress frames before the job's end, in order"""
    gate.until_ready()
    steps = [(100, "one"), (250, "two"), (1000, "drei äöü")]
    job = gate.answer({"progress": [[permille / 1000, text] for permille, text in steps]})
    if not job.progress:
        raise Failure("no progress frame before the job's end")
    order = [steps.index(found) if found in steps else None for found in job.progress]
    if None in order or order != sorted(order):
        raise Failure(f"the progress frames were {job.progress}, but the model reported {steps}")


@check()
def progress_may_be_unknown(gate):
    """progress without a fraction has permille 65535"""
    gate.until_ready()
    must_be("progress", gate.answer({"progress": [[None, "somewhere"]]}).progress, [(None, "somewhere")])


@check()
def a_proof_is_checked(gate):
    """a proof fails if the model's own check rejects the answer; the same job of a client does not fail"""
    gate.until_ready()
    if not gate.ready.traits & 2:
        raise Failure("ready does not say that the model checks proofs; the conformance model checks them")
    must_be("a good proof", gate.answer({"echo": "example"}, purpose=1).json, {"echo": "example"})
    must_be("a client's job", gate.answer({"echo": "wrong"}).json, {"echo": "wrong"})
    job = gate.ask({"echo": "wrong"}, purpose=1)
    if not job.failed:
        raise Failure("a proof with a wrong answer was not failed")


@check()
def an_aside_is_answered(gate):
    """an aside is accepted while all slots are busy, and ends"""
    gate.until_ready()
    busy = gate.send_job({"sleep": 600})
    gate.wait(lambda: busy.progress, "progress of a job that sleeps")
    aside = gate.send_job({"echo": 1}, purpose=2)
    gate.wait_until_read()
    gate.tell(frames.CANCEL, busy)
    gate.wait(lambda: aside.ended and busy.ended, "the end of both jobs")
    must_be("the answer aside", aside.json, {"echo": 1})
