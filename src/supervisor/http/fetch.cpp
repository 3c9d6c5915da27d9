#include "supervisor/http/fetch.h"

#include <utility>

#include "http/fields.h"

namespace turnpike {

Fetch::Fetch(boost::asio::io_context& loop, Destination& destination, const Store& store)
    : link_(std::make_shared<Link>(loop, destination, store)), timer_(loop) {}

Fetch::~Fetch() { link_->close(); }

void Fetch::start(http::Method method, Duration timeout, Then then) {
    fetched_ = {};
    then_ = std::move(then);
    timer_.expires_after(timeout);
    timer_.async_wait([self = shared_from_this(), run = ++run_](boost::system::error_code error) {
        if (!error && run == self->run_) self->end(std::unexpected(FetchFailure::late));
    });
    link_->send({.method = method, .body = body_.size() == 0 ? nullptr : &body_}, *this);
}

void Fetch::stop() {
    then_ = nullptr;
    ++run_;
    timer_.cancel();
    link_->close();
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
    end(std::unexpected(why == Break::refused ? FetchFailure::refused : FetchFailure::broke));
}

void Fetch::end(Result result) {
    const std::shared_ptr<Fetch> self = shared_from_this();  // `then` may drop its reference
    ++run_;
    timer_.cancel();
    link_->close();
    if (Then then = std::exchange(then_, nullptr)) then(std::move(result));
}

}  // namespace turnpike
