#include "stream/exchange.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/empty_and_keep.h"

namespace turnpike {

namespace {

constexpr std::size_t kept_text_max = 8 * 1024;

std::size_t place_of(JobId job) { return static_cast<std::uint32_t>(job.value); }

void clean(Exchange& exchange) {
    exchange.job = {};
    exchange.name.clear();
    for (std::string* text : {&exchange.target, &exchange.fields})
        empty_and_keep(*text, kept_text_max);
    exchange.attempt.clear();
    exchange.body.clear();
    exchange.answer.clear();
}

}  // namespace

Exchanges::~Exchanges() {
    if (!undropped_max_) return;
    const auto is_closed = [](const ExchangePtr& listed) { return listed == nullptr; };
    CHECK(std::ranges::all_of(by_place_, is_closed));
    CHECK(in_use_ <= *undropped_max_);
}

ExchangePtr Exchanges::open(JobId job) {
    ++in_use_;
    ExchangePtr exchange =
        spare_count_ == 0 ? std::make_shared<Exchange>(wakeups_, answers_) : take_oldest_spare();
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

ExchangePtr Exchanges::begin_attempt(JobId job, AttemptId attempt, Generation of_worker,
                                     Instant now) {
    ExchangePtr exchange = find(job);
    CHECK(exchange != nullptr);
    exchange->attempt.begin(attempt, of_worker, now);
    return exchange;
}

void Exchanges::close(ExchangePtr&& exchange) {
    ExchangePtr& listed = by_place_[place_of(exchange->job)];
    if (listed == exchange) listed = nullptr;
    drop(std::move(exchange));
}

ExchangePtr Exchanges::take_oldest_spare() {
    const std::size_t place = spare_first_;
    spare_first_ = (spare_first_ + 1) % spare_.size();
    --spare_count_;
    return std::move(spare_[place]);
}

void Exchanges::drop(ExchangePtr&& exchange) {
    const ExchangePtr last = std::move(exchange);
    if (last.use_count() > 1) return;
    --in_use_;
    clean(*last);
    if (spare_count_ == spare_.size()) take_oldest_spare();
    spare_[(spare_first_ + spare_count_++) % spare_.size()] = last;
}

}  // namespace turnpike
