#include "supervisor/http/reuse.h"

#include <string_view>

#include "http/fields.h"

namespace turnpike {

namespace {

/// True if servers expect a body with this method, and read it before they answer.
bool expects_body(http::Method method) {
    switch (method) {
        case http::Method::post:
        case http::Method::put:
        case http::Method::patch: return true;
        case http::Method::get:
        case http::Method::head:
        case http::Method::delete_:
        case http::Method::options: return false;
    }
    return false;
}

/// True if the field Server names Python's http.server, which leaves it to its handlers to read a
/// body: `BaseHTTP/0.6 Python/3.11.2`, and with a name of the handler's own `Model/1.0 Python/3.11.2`.
/// (aiohttp, which reads bodies, begins with `Python/3.11`.)
bool is_python_http_server(const http::ResponseHead& answer) {
    const http::Field* server = http::find(answer.fields, "server");
    if (server == nullptr) return false;
    return server->value.starts_with("BaseHTTP/") || server->value.contains(" Python/") ||
           server->value.contains(" CPython/");
}

/// True if the answer says itself where it ends. The end of every other answer is a rule (HEAD, 204,
/// 304), and a server that breaks the rule sends a body which would be the next answer.
bool marks_its_end(const http::ResponseHead& answer) {
    return answer.framing == http::Framing::length || answer.framing == http::Framing::chunked;
}

}  // namespace

bool may_leave_nothing(const Asked& asked) {
    if (asked.method == http::Method::head) return false;
    return asked.body_size == 0 || expects_body(asked.method);
}

bool leaves_nothing(const Asked& asked, const http::ResponseHead& answer) {
    const bool may_go_on = answer.keep_alive && answer.version == http::Version::http_1_1;
    if (!may_go_on || !may_leave_nothing(asked) || !marks_its_end(answer)) return false;
    const bool is_success = answer.status >= 200 && answer.status < 300;
    return asked.body_size == 0 || (is_success && !is_python_http_server(answer));
}

}  // namespace turnpike
