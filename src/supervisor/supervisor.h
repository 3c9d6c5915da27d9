// The supervisor: carries out what the engine wants of workers, and tells it what they do.
//
// For now all workers are attached ones. Workers that we start ourselves join here.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "config/config.h"
#include "core/action.h"
#include "supervisor/attached_worker.h"

namespace turnpike {

class Supervisor {
public:
    Supervisor(WorkerSurroundings surroundings, const Config& config);
    ~Supervisor();

    void carry_out(const StartWorker& action);
    void carry_out(const StopWorker& action) { end(action.worker); }
    void carry_out(const KillWorker& action) { end(action.worker); }
    void carry_out(const SendJob& action);
    void carry_out(const CancelAttempt& action);
    void carry_out(const ProbeWorker& action);
    void carry_out(const ProveWorker& action);

private:
    using WorkerPtr = std::shared_ptr<AttachedWorker>;
    struct Post {  // where a lane's workers stand
        std::size_t pool = 0;
        const WorkerUrl* url = nullptr;
    };

    struct Place {
        WorkerId id;
        WorkerPtr worker;
    };

    /// Where a worker of this id is, or would be: an id's low half is a dense place.
    Place& place_of(WorkerId worker);
    AttachedWorker* find(WorkerId worker);
    void end(WorkerId worker);
    std::shared_ptr<AnswerGroups> groups_of(std::size_t pool, Generation generation);

    WorkerSurroundings surroundings_;
    const Config& config_;
    std::vector<Post> posts_;  // by lane
    std::vector<Place> places_;
    std::map<std::pair<std::size_t, Generation>, std::shared_ptr<AnswerGroups>> groups_;
};

}  // namespace turnpike
