#include "http/message.h"

namespace turnpike::http {

std::string_view name_of(Method value) {
    switch (value) {
        case Method::get: return "GET";
        case Method::head: return "HEAD";
        case Method::post: return "POST";
        case Method::put: return "PUT";
        case Method::patch: return "PATCH";
        case Method::delete_: return "DELETE";
        case Method::options: return "OPTIONS";
    }
    return "?";
}

std::optional<Method> method_named(std::string_view name) {
    using enum Method;
    for (const Method method : {get, post, head, put, patch, delete_, options})
        if (name == name_of(method)) return method;
    return std::nullopt;
}

}  // namespace turnpike::http
