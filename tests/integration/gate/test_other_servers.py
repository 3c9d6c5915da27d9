"""Compares the gate with nginx, HAProxy and Node. What the gate takes for a request, each of them must take for the same request:
a proxy of another kind may stand before the gate, and workers are servers of many kinds. A server may refuse what the gate
accepts; a table explains each such case."""
import itertools
import json
import os
import random
import re
import socket
import unittest
import urllib.parse

from harness import Case
from http_messages import MESSAGES, mutated
from http_servers import start_servers

MUTATIONS = int(os.environ.get("TURNPIKE_TEST_MUTATIONS", "150"))
SEED = int(os.environ.get("TURNPIKE_TEST_SEED", "17"))
REFUSED, CLOSED = "refused", "closed"
STOPS = (REFUSED, CLOSED)  # the ends of a view that did not get to the last request

# What comes after each message. A server that takes the message for a longer one loses some of it.
END = b"GET /end HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 300 + b"\r\n\r\n"
ENDS = 4
AFTER = END * (ENDS - 1) + END.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")

# Messages that the gate accepts and another server refuses.
REFUSALS = {
    ("a length with blanks around it", "nginx"): "knows only spaces beside a value, no tabs (RFC 9110, 5.5, allows both)",
    ("a length with blanks around it", "node"): "knows no tabs after a length",
    ("chunked with a tab", "nginx"): "knows only spaces beside a value",
    ("dots beyond the root", "nginx"): "resolves paths; the gate leaves that to workers",
    ("an escaped NUL", "nginx"): "resolves paths; the gate leaves that to workers",
    ("fields of 40 KiB", "nginx"): "takes heads of up to 32 KiB; the gate 64 KiB",
    ("fields of 40 KiB", "haproxy"): "takes heads of up to 16 KiB",
    ("fields of 40 KiB", "node"): "takes heads of up to 16 KiB",
}
# The other differences. None of them is about where a message ends.
OTHERWISE = {
    ("an Upgrade", "node"): (["POST /a hello", CLOSED], "answers, and then closes a connection that offered an upgrade"),
}


def tell_what_came(request):
    seen = {"method": request.method, "target": request.target, "body": request.body.decode("latin-1")}
    request.reply(headers=["Seen: " + urllib.parse.quote(json.dumps(seen))])


def bytes_of_answers(port, message):
    with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
        client.sendall(message + AFTER)
        got = bytearray()
        try:
            while data := client.recv(1 << 16):
                got += data
        except ConnectionResetError:
            pass  # it refused the rest without reading it
        return bytes(got)


def view_of(port, message):
    """Sends the message and returns what the server took it for: each request in one line, and then REFUSED or CLOSED if it
    did not get to the end."""
    view, ends = [], 0
    for head in re.finditer(rb"^HTTP/1\.[01] (\d{3})[^\n]*\n(?:[^\r\n][^\n]*\n)*", bytes_of_answers(port, message), re.M):
        if head[1] == b"100":
            continue
        seen = re.search(rb"^Seen: ([^\r\n]*)", head[0], re.M | re.I)
        if seen is None:
            return [*view, REFUSED]
        seen = json.loads(urllib.parse.unquote(seen[1].decode()))
        target = re.sub(r"^http://localhost(?=/)", "", seen["target"])  # HAProxy and Node pass on absolute targets as they are
        if f"{seen['method']} {target}" == "GET /end":
            ends += 1
        else:
            view.append(f"{seen['method']} {target} {seen['body']}")
    return view if ends == ENDS else [*view, CLOSED]


class OtherServers(Case):
    def setUp(self):
        super().setUp()
        worker = self.scripted(tell_what_came)
        self.ports = start_servers(self, worker.port)
        self.gate_ = self.gate([worker])

    def test_what_the_gate_accepts_others_take_for_the_same_or_a_row_says_why_not(self):
        refusals, otherwise = set(), {}
        for name, message in MESSAGES.items():
            ours = view_of(self.gate_.port, message)
            if REFUSED in ours:
                continue
            for server, port in self.ports.items():
                theirs = view_of(port, message)
                if theirs == [REFUSED]:
                    refusals.add((name, server))
                elif theirs != ours:
                    otherwise[(name, server)] = theirs
        self.assertEqual(otherwise, {row: view for row, (view, _) in OTHERWISE.items()})
        self.assertEqual(refusals, set(REFUSALS))

    def test_no_mutated_message_is_framed_in_two_ways(self):
        chance = random.Random(SEED)
        accepted = 0
        for _ in range(MUTATIONS):
            message = mutated(chance)
            ours = view_of(self.gate_.port, message)
            if ours[:1] in ([], [REFUSED]):
                continue
            accepted += 1
            for server, port in self.ports.items():
                theirs = view_of(port, message)
                self.assertTrue(are_compatible(ours, theirs), f"{server} takes\n{message}\nfor {theirs}, the gate for {ours}")
        self.assertGreater(accepted, MUTATIONS // 20, "too few of the messages are accepted to show anything")


def are_compatible(ours, theirs):
    """True if both take the same bytes for the same requests, until one of them refuses the rest."""
    for one, other in itertools.zip_longest(ours, theirs):
        if one in STOPS or other in STOPS:
            return True
        if one != other:
            return False
    return True


if __name__ == "__main__":
    unittest.main()
