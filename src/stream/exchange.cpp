#include "stream/exchange.h"

#include <utility>

#include "base/give_back.h"

namespace turnpike {

namespace {

constexpr std::size_t spare_max = 256;
constexpr std::size_t kept_text_max = 8 * 1024;

std::size_t place_of(JobId job) { return static_cast<std::uint32_t>(job.value); }

void clean(Exchange& exchange) {
    exchange.job = {};
    for (std::string* text : {&exchange.target, &exchange.fields})
        empty_and_keep(*text, kept_text_max);
    exchange.trouble = {};
    exchange.body.clear();
    exchange.answer.clear();
}

}  // namespace

ExchangePtr Exchanges::open(JobId job) {
    ExchangePtr exchange;
    if (spare_.empty()) {
        exchange = std::make_shared<Exchange>();
    } else {
        exchange = std::move(spare_.back());
        spare_.pop_back();
    }
    exchange->job = job;
    if (place_of(job) >= by_place_.size()) by_place_.resize(place_of(job) + 1);
    by_place_[place_of(job)] = exchange;
    return exchange;
}

ExchangePtr Exchanges::find(JobId job) const {
    if (place_of(job) >= by_place_.size()) return nullptr;
    const ExchangePtr& found = by_place_[place_of(job)];
    return found != nullptr && found->job == job ? found : nullptr;
}

void Exchanges::close(ExchangePtr&& exchange) {
    ExchangePtr& listed = by_place_[place_of(exchange->job)];
    if (listed == exchange) listed = nullptr;
    drop(std::move(exchange));
}

void Exchanges::drop(ExchangePtr&& exchange) {
    const ExchangePtr last = std::move(exchange);
    if (last.use_count() > 1) return;
    clean(*last);
    // It may be dropped by a call that comes from within its own answer: it must outlive that, so
    // room is made at the other end.
    spare_.push_back(last);
    if (spare_.size() > spare_max) spare_.pop_front();
}

}  // namespace turnpike
