"""Messages for the comparison with other HTTP servers. Each is a request, or two, with one peculiarity,
which is its name. The bytes are those of the first request; what follows on the connection is the
comparison's affair."""

HOST = "Host: localhost"


def lines(*them, body=""):
    return "\r\n".join([*them, "", body]).encode("latin-1")


def get(*fields, target="/a", method="GET", version="HTTP/1.1"):
    return lines(f"{method} {target} {version}", HOST, *fields)


def post(*fields, body="hello", method="POST"):
    return lines(f"{method} /a HTTP/1.1", HOST, *fields, body=body)


def chunked(body, coding="Transfer-Encoding: chunked"):
    return post(coding, body=body)


LENGTHS = {
    "a length": post("Content-Length: 5"),
    "a length of 0": post("Content-Length: 0", body=""),
    "no length": post(body=""),
    "a length with zeros": post("Content-Length: 0005"),
    "a length with blanks around it": post("Content-Length: \t 5 \t"),
    "a length with a plus": post("Content-Length: +5"),
    "a length below 0": post("Content-Length: -5"),
    "a length in hex": post("Content-Length: 0x5"),
    "a length with a fraction": post("Content-Length: 5.0"),
    "an empty length": post("Content-Length:"),
    "a length as a list of equals": post("Content-Length: 5, 5"),
    "a length as a list": post("Content-Length: 5, 6"),
    "the same length twice": post("Content-Length: 5", "Content-Length: 5"),
    "two lengths": post("Content-Length: 5", "Content-Length: 6"),
    "a length beyond 64 bits": post("Content-Length: 18446744073709551621"),
    "a length with an underscore": post("Content_Length: 5", body=""),
    "a length as a hop": post("Content-Length: 5", "Connection: content-length"),
}
CHUNKS = {
    "chunks": chunked("5\r\nhello\r\n0\r\n\r\n"),
    "several chunks": chunked("2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"),
    "no chunk": chunked("0\r\n\r\n"),
    "a size with zeros": chunked("0005\r\nhello\r\n000\r\n\r\n"),
    "a size in capitals": chunked("A\r\nhellohello\r\n0\r\n\r\n"),
    "a size with 0x": chunked("0x5\r\nhello\r\n0\r\n\r\n"),
    "a size with a plus": chunked("+5\r\nhello\r\n0\r\n\r\n"),
    "a size with a blank": chunked("5 \r\nhello\r\n0\r\n\r\n"),
    "a blank before the size": chunked(" 5\r\nhello\r\n0\r\n\r\n"),
    "no size": chunked("\r\nhello\r\n0\r\n\r\n"),
    "a size beyond 64 bits": chunked("10000000000000005\r\nhello\r\n0\r\n\r\n"),
    "an extension": chunked("5;a=b\r\nhello\r\n0\r\n\r\n"),
    "a quoted extension": chunked('5;a="b;c"\r\nhello\r\n0\r\n\r\n'),
    "a bare semicolon": chunked("5;\r\nhello\r\n0\r\n\r\n"),
    "an extension with blanks": chunked("5 ; a = b\r\nhello\r\n0\r\n\r\n"),
    "an extension with LF": chunked("5;a\nhello\r\n0\r\n\r\n"),
    "an extension with CR": chunked("5;a\rb\r\nhello\r\n0\r\n\r\n"),
    "a chunk that ends in LF": chunked("5\r\nhello\n0\r\n\r\n"),
    "a size that ends in LF": chunked("5\nhello\r\n0\r\n\r\n"),
    "a chunk longer than its size": chunked("4\r\nhello\r\n0\r\n\r\n"),
    "a trailer": chunked("5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n"),
    "a trailer of framing": chunked("5\r\nhello\r\n0\r\nContent-Length: 9\r\n\r\n"),
    "a malformed trailer": chunked("5\r\nhello\r\n0\r\nno colon\r\n\r\n"),
    "a folded trailer": chunked("5\r\nhello\r\n0\r\nX-Sum: 1\r\n 2\r\n\r\n"),
    "a trailer that ends in LF": chunked("5\r\nhello\r\n0\r\nX-Sum: 1\n\r\n"),
}
CODINGS = {
    "chunked in capitals": chunked("5\r\nhello\r\n0\r\n\r\n", "Transfer-Encoding: CHUNKED"),
    "chunked with a tab": chunked("5\r\nhello\r\n0\r\n\r\n", "Transfer-Encoding:\tchunked"),
    "chunked with a vertical tab": chunked("5\r\nhello\r\n0\r\n\r\n", "Transfer-Encoding: \x0bchunked"),
    "chunked with a parameter": chunked("5\r\nhello\r\n0\r\n\r\n", "Transfer-Encoding: chunked;a=b"),
    "chunked in quotes": chunked("5\r\nhello\r\n0\r\n\r\n", 'Transfer-Encoding: "chunked"'),
    "chunked after a comma": chunked("5\r\nhello\r\n0\r\n\r\n", "Transfer-Encoding: , chunked"),
    "chunked, then a comma": chunked("5\r\nhello\r\n0\r\n\r\n", "Transfer-Encoding: chunked,"),
    "chunked twice": chunked("5\r\nhello\r\n0\r\n\r\n", "Transfer-Encoding: chunked, chunked"),
    "chunked in two fields": chunked("5\r\nhello\r\n0\r\n\r\n", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"),
    "gzip and chunked": chunked("5\r\nhello\r\n0\r\n\r\n", "Transfer-Encoding: gzip, chunked"),
    "chunked, then gzip": chunked("5\r\nhello\r\n0\r\n\r\n", "Transfer-Encoding: chunked, gzip"),
    "identity": post("Transfer-Encoding: identity", "Content-Length: 5"),
    "an unknown coding": post("Transfer-Encoding: xchunked", "Content-Length: 5"),
    "an empty coding": post("Transfer-Encoding:", "Content-Length: 5"),
    "chunked and a length": post("Transfer-Encoding: chunked", "Content-Length: 5", body="0\r\n\r\n"),
    "a length and chunked": post("Content-Length: 5", "Transfer-Encoding: chunked", body="0\r\n\r\n"),
    "chunked in HTTP/1.0": lines("POST /a HTTP/1.0", HOST, "Connection: keep-alive", "Transfer-Encoding: chunked", body="5\r\nhello\r\n0\r\n\r\n"),
    "a coding with a blank before the colon": chunked("5\r\nhello\r\n0\r\n\r\n", "Transfer-Encoding : chunked"),
    "a coding with an underscore": post("Transfer_Encoding: chunked", "Content-Length: 5"),
    "a folded coding": chunked("5\r\nhello\r\n0\r\n\r\n", "Transfer-Encoding:\r\n chunked"),
    "a coding after a bare CR": post("X: a\rTransfer-Encoding: chunked", "Content-Length: 5"),
    "chunked as a hop": chunked("5\r\nhello\r\n0\r\n\r\n", "Connection: transfer-encoding\r\nTransfer-Encoding: chunked"),
}
METHODS = {
    **{f"{method} with a body": post("Content-Length: 5", method=method)
       for method in ("GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS")},
    **{f"{method} without a body": get(method=method) for method in ("GET", "HEAD", "DELETE", "OPTIONS", "TRACE")},
    "GET with chunks": post("Transfer-Encoding: chunked", body="5\r\nhello\r\n0\r\n\r\n", method="GET"),
    "a method in small letters": get(method="get"),
    "an unknown method": get(method="BREW"),
    "CONNECT": lines("CONNECT localhost:1 HTTP/1.1", HOST),
    "Expect": post("Expect: 100-continue", "Content-Length: 5"),
    "Expect in capitals": post("Expect: 100-CONTINUE", "Content-Length: 5"),
    "an unknown Expect": post("Expect: miracles", "Content-Length: 5"),
    "an Upgrade": post("Connection: upgrade", "Upgrade: h2c", "Content-Length: 5"),
    "a WebSocket": get("Connection: upgrade", "Upgrade: websocket"),
}
TARGETS = {
    name: get(target=target) for name, target in {
        "a query": "/a?b=c&d", "a double slash": "//a//b", "dots": "/a/../b/./c", "dots beyond the root": "/../a",
        "escaped dots": "/a/%2e%2e/b", "an escaped slash": "/a%2fb", "an escaped NUL": "/a%00", "a bad escape": "/a%zz",
        "an overlong slash": "/a%c0%af", "a fragment": "/a#b", "a backslash": "/a\\b", "a byte above ASCII": "/\xe4",
        "a bar in the query": "/a?b|c", "a quote in the query": '/a?"b"', "a byte above ASCII in the query": "/a?\xe4",
        "an asterisk": "*", "no slash": "a", "an absolute target": "http://localhost/a",
        "an absolute target of another host": "http://elsewhere/a", "an absolute target with a user": "http://u@localhost/a",
        "an absolute target without a path": "http://localhost?b", "a target of another scheme": "ftp://localhost/a",
        "a semicolon": "/a;b=c/d", "a long target": "/" + "a" * 5000,
    }.items()}
HEADS = {
    "an empty line first": b"\r\n" + get(),
    "two empty lines first": b"\r\n\r\n" + get(),
    "an LF first": b"\n" + get(),
    "lines that end in LF": get().replace(b"\r\n", b"\n"),
    "a field that ends in LF": lines("GET /a HTTP/1.1", HOST + "\nX: a"),
    "a head that ends in LF": lines("GET /a HTTP/1.1", HOST)[:-2] + b"\n",
    "a field that ends in CR": lines("GET /a HTTP/1.1", HOST + "\rX: a"),
    "two blanks in the request line": lines("GET  /a HTTP/1.1", HOST),
    "a tab in the request line": lines("GET\t/a HTTP/1.1", HOST),
    "a blank after the version": lines("GET /a HTTP/1.1 ", HOST),
    "HTTP/1.0": get("Connection: keep-alive", version="HTTP/1.0"),
    "HTTP/1.2": get(version="HTTP/1.2"),
    "HTTP/2.0": get(version="HTTP/2.0"),
    "HTTP/1.10": get(version="HTTP/1.10"),
    "http/1.1": get(version="http/1.1"),
    "no version": lines("GET /a"),
    "a folded field": get("X: a\r\n b"),
    "a blank before the first field": lines("GET /a HTTP/1.1", " X: a", HOST),
    "a blank before a colon": get("X : a"),
    "no colon": get("X"),
    "an empty name": get(": a"),
    "an empty value": get("X:"),
    "a NUL in a value": get("X: a\0b"),
    "a control character in a value": get("X: a\x01b"),
    "DEL in a value": get("X: a\x7fb"),
    "a tab in a value": get("X: a\tb"),
    "a byte above ASCII in a value": get("X: \xe4"),
    "a byte above ASCII in a name": get("X\xe4: a"),
    "a parenthesis in a name": get("X(: a"),
    "an underscore in a name": get("X_Forwarded_For: a"),
    "no host": lines("GET /a HTTP/1.1", "X: a"),
    "two hosts": get(HOST),
    "an empty host": lines("GET /a HTTP/1.1", "Host:"),
    "a host with a path": lines("GET /a HTTP/1.1", "Host: localhost/b"),
    "a host with a user": lines("GET /a HTTP/1.1", "Host: u@localhost"),
    "a host with a blank": lines("GET /a HTTP/1.1", "Host: local host"),
    "a host as a list": lines("GET /a HTTP/1.1", "Host: localhost, localhost"),
    "50 fields": get(*[f"X-{n}: a" for n in range(50)]),
    "a field of 7 KiB": get("X: " + "a" * 7000),
    "fields of 40 KiB": get(*[f"X-{n}: " + "a" * 4000 for n in range(10)]),
    "Connection names another field": get("Connection: x-secret", "X-Secret: a"),
    "Connection is empty": get("Connection:"),
    "TE": get("TE: trailers", "Connection: TE"),
    "two requests": post("Content-Length: 5") + post("Content-Length: 3", body="abc"),
    "two requests with chunks": chunked("5\r\nhello\r\n0\r\n\r\n") + chunked("3\r\nabc\r\n0\r\n\r\n"),
    "an empty line between two requests": post("Content-Length: 5") + b"\r\n" + get(),
}
MESSAGES = {**LENGTHS, **CHUNKS, **CODINGS, **METHODS, **TARGETS, **HEADS}


def mutated(chance):
    """Returns a message that differs from one of the above in a few places. Its sizes hardly grow, so that what follows it
    is enough for whoever takes its body for a longer one."""
    message = bytearray(chance.choice(list(MESSAGES.values())))
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(message))
        change = chance.choice(["insert", "remove", "replace", "repeat a line", "borrow a line"])
        if change == "insert":
            message[at:at] = chance.choice(SPLINTERS)
        elif change == "remove":
            del message[at]
        elif change == "replace":
            message[at:at + 1] = chance.choice(SPLINTERS)
        else:
            of = message if change == "repeat a line" else chance.choice(list(MESSAGES.values()))
            start = line_start(message, at)
            message[start:start] = chance.choice(bytes(of).splitlines(keepends=True))
        if not message:
            break
    return bytes(message)


def line_start(message, at):
    return message.rfind(b"\n", 0, at) + 1


SPLINTERS = [b"\r\n", b"\r", b"\n", b" ", b"\t", b":", b";", b",", b"\0", b"0", b"5", b"\x0b", b"\x7f", b"\xe4", b'"', b"/", b"?", b"#",
             b"%2f", b"HTTP/1.0", b"chunked", b"gzip", b"Content-Length: 3\r\n", b"Transfer-Encoding: chunked\r\n",
             b"Connection: close\r\n", b"Connection: keep-alive\r\n", b"Host: localhost\r\n", b"Expect: 100-continue\r\n"]
