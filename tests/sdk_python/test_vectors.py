"""The frames of sdk/conformance/vectors.json, byte for byte."""
import json
import unittest

from conversation import SDK, frames

from turnpike.errors import GateBreach
from turnpike._worker.incoming import Incoming

VECTORS = json.loads((SDK.parent / "conformance" / "vectors.json").read_text(encoding="utf-8"))
LEFT_TO_THE_GATE = ("not_utf8", "fields_malformed")  # the worker does not check these, and survives them
OUT_OF_TURN = ("welcome: the largest numbers", "job: the last of the largest batch")  # well-formed, but not as a first frame


def fraction(permille):
    return None if permille == frames.PERMILLE_UNKNOWN else permille / 1000


ENCODED = {
    "hello": lambda f: frames.hello(f["sdk"]) if f["version_max"] == 1 else None,
    "loading": lambda f: frames.loading(f["phase"], fraction(f["permille"]), f["text"]),
    "ready": lambda f: frames.ready(f["slots"], f["batch"], f["checks_proofs"], (f["example_type"], bytes.fromhex(f["example_hex"]))
                                    if f["has_example"] else None, f["facts"].encode()),
    "progress": lambda f: frames.progress(f["id"], fraction(f["permille"]), f["text"]),
    "begin": lambda f: frames.begin(f["id"], f["status"], f["fields"].encode()),
    "chunk": lambda f: frames.chunks(f["id"], bytes.fromhex(f["bytes_hex"])),
    "done": lambda f: frames.done_in_descriptor(f["id"], f["status"], f["fields"].encode(), f["body_in_descriptor"])
    if "body_in_descriptor" in f else frames.done(f["id"], f["status"], f["fields"].encode(), bytes.fromhex(f["body_hex"])),
    "failed": lambda f: frames.failed(f["id"], f["why"], f["type"], f["message"]),
    "pong": lambda f: frames.plain(frames.PONG, f["id"]),
    "stacks": lambda f: frames.plain(frames.STACKS, f["id"], f["text"].encode()),
}


class Vectors(unittest.TestCase):
    def test_what_the_worker_sends(self):
        checked = set()
        for vector in VECTORS:
            frame = vector["frame"]
            if vector["direction"] != "worker" or vector["breach"] or frame["kind"] not in ENCODED:
                continue
            with self.subTest(vector["name"]):
                data = ENCODED[frame["kind"]](frame)
                if data is None or len(frame.get("text", "")) > frames.TEXT_MAX and frame["kind"] != "stacks":
                    continue  # the SDK never sends it, or cuts its text shorter than the protocol requires
                self.assertEqual(data.hex(), vector["hex"])
                checked.add(frame["kind"])
        self.assertEqual(checked, set(ENCODED))

    def test_whatever_a_model_says_is_cut_to_the_bounds_of_the_protocol(self):
        for letter in ("x", "é", "€", "😀", "\ud800", "\0"):
            for size in (0, 1, 254, 255, 256, 1024, 1025, 64 * 1024 + 1, 400_000):
                with self.subTest(letter, size=size):
                    said = "a" + letter * size
                    for frame, fixed, most in [(frames.failed(1, 2, said, said), 8, (255, 64 * 1024)), (frames.progress(1, 0.5, said), 4, (65535,)),
                                               (frames.loading(1, 0.5, said), 6, (65535,)), (frames.hello(said), 14, (65535,))]:
                        payload = frame[16:]
                        self.assertEqual(frames.HEADER.unpack_from(frame)[0], len(payload))
                        self.assertLessEqual(len(payload) - fixed, sum(most))
                        payload[fixed:].decode("utf-8")
                    _, _, type_length, length = frames._FAILED.unpack_from(frames.failed(1, 2, said, said), 16)
                    self.assertTrue(type_length <= 255 and length <= 64 * 1024)
                    self.assertLessEqual(len(frames.utf8(said, frames.STACKS_MAX)), 256 * 1024)

    def take(self, data, is_welcome):
        """Feeds the bytes to a worker's decoder. Returns the name of the problem, or None."""
        link = type("Silent", (), {"send": lambda self, data: None})()
        incoming = Incoming(link, str)
        incoming.welcome = None if is_welcome else (1, 0, 0, 0, 0, "")
        try:
            incoming.take(data)
        except GateBreach as breach:
            return str(breach)
        return "incomplete" if incoming.missing_bytes else None

    def test_what_the_gate_sends(self):
        checked = 0
        for vector in VECTORS:
            data = bytes.fromhex(vector["hex"])
            if vector["direction"] != "gate" or vector["name"] in OUT_OF_TURN or data[5] & frames.IN_DESCRIPTOR:
                continue
            with self.subTest(vector["name"]):
                found = self.take(data, data[4] == frames.WELCOME_KIND)
                if vector["breach"] is None:
                    self.assertIsNone(found)
                elif vector["breach"] not in LEFT_TO_THE_GATE:
                    self.assertIsNotNone(found)
                checked += 1
        self.assertGreater(checked, 100)


if __name__ == "__main__":
    unittest.main()
