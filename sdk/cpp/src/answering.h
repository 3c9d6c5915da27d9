// Runs batches of jobs: calls the model, and sends what it returns or throws as frames.
#pragma once

#include <exception>
#include <string_view>

#include "aboard.h"
#include "failure.h"
#include "link.h"
#include "turnpike/worker.h"

namespace turnpike::inside {

class Answering {
public:
    Answering(Link& link, Aboard& aboard, Model& model, LaneKind lane);

    /// Runs all members of the batch until they have ended. Throws nothing.
    void run(Batch& batch);
    /// Fails all members of the batch, which the model does not get to see.
    void refuse(const Batch& batch, const std::exception_ptr& why);

    // Called by the model while its job runs.
    void progress(const Record& record, std::optional<double> fraction, std::string_view text);
    void begin(Record& record, const StreamOptions& options);
    bool write(Record& record, std::string_view piece);

private:
    void run_alone(Record& record);
    void run_together(std::vector<Record*>& members);
    Answer answer_to(Record& record);
    std::vector<Result> answers_to(const std::vector<Record*>& members);
    void after_failure(const std::vector<Record*>& members, const std::exception_ptr& thrown);
    void finish(Record& record, const Answer& answer);
    void done(Record& record, const Response& response);
    void failed(Record& record, const std::exception_ptr& thrown);

    Link& link_;
    Aboard& aboard_;
    Model& model_;
    LaneKind lane_;
    bool is_batched_;
    bool has_check_;
};

}  // namespace turnpike::inside
