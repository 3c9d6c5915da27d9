#include "supervisor/http/fetch.h"

#include <utility>

#include "http/fields.h"

namespace turnpike {

Fetch::Fetch(const LinkDeps& deps, Destination& destination)
    : link_(deps, destination), timeout_(deps.alarms) {}

void Fetch::start(http::Method method, Duration timeout, Then then) {
    fetched_ = {};
    then_ = std::move(then);
    timeout_.set(timeout, [this] { end(std::unexpected(FetchFailure::late)); });
    link_.send({.method = method, .body = body_.size() == 0 ? nullptr : &body_}, *this);
}

void Fetch::stop() {
    then_ = nullptr;
    timeout_.cancel();
    link_.close();
}

void Fetch::answer_head(const http::ResponseHead& head) {
    fetched_.status = head.status;
    const http::Field* type = http::find(head.fields, "content-type");
    fetched_.content_type = type == nullptr ? "" : type->value;
}

LinkUser::Room Fetch::answer_data(std::string_view bytes) {
    if (fetched_.body.size() + bytes.size() > answer_max) {
        end(std::unexpected(FetchFailure::too_large));
    } else {
        fetched_.body.append(bytes);
    }
    return Room::enough;
}

void Fetch::answer_ended() { end(std::move(fetched_)); }

void Fetch::answer_broke(Break why, http::Fault) {
    FetchFailure failure = FetchFailure::broke;
    if (why == Break::refused) failure = FetchFailure::refused;
    if (why == Break::stranger) failure = FetchFailure::stranger;
    if (why == Break::shortage) failure = FetchFailure::shortage;
    if (why == Break::no_port) failure = FetchFailure::no_port;
    if (why == Break::unreadable) failure = FetchFailure::no_disk;
    end(std::unexpected(failure));
}

void Fetch::end(Result result) {
    timeout_.cancel();
    link_.close();
    if (Then then = std::exchange(then_, nullptr)) then(std::move(result));
}

}  // namespace turnpike
