#include "answering.h"

#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "session.h"
#include "text.h"

namespace turnpike::inside {

namespace {

constexpr std::size_t read_every = 1024 * 1024;

bool is_predict(const Record& record) {
    return record.method == "POST" && (record.path == "/predict" || record.path == "/");
}

std::string name_for_log(const Record& record) {
    return record.purpose == wire::Purpose::proof ? "the proof" : "job " + std::string(record.name);
}

void fetch_body(Record& record) {
    if (!record.body_descriptor.is_open()) return;
    record.body = contents_of(record.body_descriptor.number(), record.body_length);
    record.body_descriptor = Descriptor();
}

}  // namespace

Answering::Answering(Link& link, Aboard& aboard, Model& model, LaneKind lane)
    : link_(link),
      aboard_(aboard),
      model_(model),
      lane_(lane),
      is_batched_(model.batch() > 1),
      has_check_(model.has_check()) {}

void Answering::run(Batch& batch) {
    aboard_.mark_running(batch);
    std::vector<Record*> together;
    for (const auto& record : batch) {
        if (batch.size() > 1 && is_predict(*record))
            together.push_back(record.get());
        else
            run_alone(*record);
    }
    if (!together.empty()) run_together(together);
}

void Answering::refuse(const Batch& batch, const std::exception_ptr& why) {
    for (const auto& record : batch) failed(*record, why);
}

void Answering::run_alone(Record& record) {
    try {
        finish(record, answer_to(record));
    } catch (...) {
        failed(record, std::current_exception());
    }
}

Answer Answering::answer_to(Record& record) {
    if (record.is_cancelled) throw Cancelled();
    fetch_body(record);
    const Request request(record.shared_from_this());
    if (!is_predict(record)) return model_.request(request);
    return is_batched_ ? answers_to({&record}).front() : model_.predict(request);
}

std::vector<Result> Answering::answers_to(const std::vector<Record*>& members) {
    std::vector<Request> requests;
    requests.reserve(members.size());
    for (Record* const record : members) requests.emplace_back(record->shared_from_this());
    std::vector<Result> results = model_.predict_batch(requests);
    if (results.size() == members.size()) return results;
    throw std::logic_error("predict_batch returned " + std::to_string(results.size()) +
                           " answers for " + std::to_string(members.size()) + " jobs");
}

/// Tries each member by itself, so that only the faulty job fails. But if the GPU or the process
/// failed, all members fail.
void Answering::after_failure(const std::vector<Record*>& members,
                              const std::exception_ptr& thrown) {
    const wire::FailWhy why = failure_of(thrown, lane_).why;
    const bool is_about_a_job =
        why != wire::FailWhy::unhealthy && why != wire::FailWhy::out_of_memory;
    for (Record* const record : members) {
        if (is_about_a_job && members.size() > 1 && !record->is_streaming)
            run_alone(*record);
        else
            failed(*record, thrown);
    }
}

/// Runs the members in one call of the model. Members that are cancelled, or whose body can't be
/// read, end first.
void Answering::run_together(std::vector<Record*>& members) {
    std::erase_if(members, [&](Record* record) {
        try {
            if (record->is_cancelled) throw Cancelled();
            fetch_body(*record);
            return false;
        } catch (...) {
            failed(*record, std::current_exception());
            return true;
        }
    });
    if (members.empty()) return;
    std::vector<Result> results;
    try {
        results = answers_to(members);
    } catch (...) {
        return after_failure(members, std::current_exception());
    }
    for (std::size_t member = 0; member < members.size(); ++member) {
        try {
            finish(*members[member], results[member]);
        } catch (...) {
            failed(*members[member], std::current_exception());
        }
    }
}

void Answering::finish(Record& record, const Answer& answer) {
    if (answer.failure()) std::rethrow_exception(answer.failure());
    if (record.is_streaming) {
        aboard_.end(record);
        link_.send(wire::Done{.id = record.id});
        return;
    }
    if (record.purpose == wire::Purpose::proof && has_check_ && !model_.check(answer.response()))
        throw std::runtime_error("the model's own check rejected the answer to the proof");
    done(record, answer.response());
}

void Answering::done(Record& record, const Response& response) {
    const std::string fields = fields_of(response.content_type, response.headers);
    wire::Done frame{
        .id = record.id, .status = status_of(response.status), .fields = fields, .body = {}};
    Descriptor descriptor;
    if (response.body.size() > wire::inline_max) {
        descriptor = sealed_memfd(response.body);
        frame.body.is_in_descriptor = true;
        frame.body.in_descriptor = response.body.size();
    } else {
        frame.body.bytes = response.body;
    }
    aboard_.end(record);
    link_.send(frame, descriptor.number());
}

void Answering::failed(Record& record, const std::exception_ptr& thrown) {
    Failure failure = failure_of(thrown, lane_);
    if (failure.why == wire::FailWhy::cancelled && !record.is_cancelled)
        failure = {.type = failure.type,
                   .message = "the model threw Cancelled, but nobody cancelled the job"};
    if (failure.why != wire::FailWhy::bad_input && failure.why != wire::FailWhy::cancelled)
        std::fprintf(stderr, "%s failed: %s: %s\n", name_for_log(record).c_str(),
                     failure.type.c_str(), failure.message.c_str());
    aboard_.end(record);
    link_.send(wire::Failed{
        .id = record.id, .why = failure.why, .type = failure.type, .message = failure.message});
}

void Answering::progress(const Record& record, std::optional<double> fraction,
                         std::string_view text) {
    link_.send_unless(record.has_ended,
                      wire::Progress{.id = record.id,
                                     .permille = permille_of(fraction),
                                     .text = bounded(text, wire::fields_max - 1)});
}

void Answering::begin(Record& record, const StreamOptions& options) {
    if (record.is_streaming) throw std::logic_error("the answer is already a stream");
    const std::string fields = fields_of(options.content_type, options.headers);
    const wire::Begin frame{.id = record.id, .status = status_of(options.status), .fields = fields};
    if (!link_.send_unless(record.has_ended, frame))
        throw std::logic_error("the job has already ended");
    record.is_streaming = true;
}

bool Answering::write(Record& record, std::string_view piece) {
    while (!piece.empty()) {
        const std::string_view part = piece.substr(0, wire::inline_max);
        record.bytes_since_read += part.size();
        if (record.bytes_since_read > read_every) {  // else a pause might be read too late
            record.session.read_orders();
            record.bytes_since_read = part.size();
        }
        if (!aboard_.wait_while_paused(record)) return false;
        if (!link_.send_unless(record.has_ended, wire::Chunk{.id = record.id, .bytes = part}))
            return false;
        piece.remove_prefix(part.size());
    }
    return !record.is_cancelled;
}

}  // namespace turnpike::inside
