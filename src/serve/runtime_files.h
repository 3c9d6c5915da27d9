// Looks after the files that a running gate needs and that somebody may remove: the runtime folder
// with its lock, the control socket, and the Python SDK. What is gone is made anew, with the same
// content. (The supervisor does the same for the files of generations.)
//
// Where the runtime folder can't be made anew, workers start from a spare folder. That happens when
// a user logs out: systemd removes /run/user/UID, and only root could make it again.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "gate/listener.h"
#include "os/runtime_folder.h"
#include "os/spare_folder.h"

namespace turnpike {

struct RuntimeFilesDeps {
    RuntimeFolder& folder;
    Listener& listener;
    std::string sdk;        // the folder of the SDK; empty if no pool needs it
    std::string temporary;  // where the spare folder is made
};

class RuntimeFiles {
public:
    explicit RuntimeFiles(RuntimeFilesDeps deps);
    RuntimeFiles(const RuntimeFiles&) = delete;
    RuntimeFiles& operator=(const RuntimeFiles&) = delete;

    /// Looks whether everything is in place, and makes anew what is not. Costs about fifty system
    /// calls.
    void look();

    /// Returns the folder from which workers start now: the runtime folder, or the spare one.
    [[nodiscard]] const std::string& folder() const { return work_; }
    /// Returns the folder of the SDK. Empty if no pool needs it.
    [[nodiscard]] const std::string& sdk() const { return sdk_; }
    /// Returns what is wrong now and what follows. Empty if everything is in place.
    [[nodiscard]] const std::string& problem() const { return problem_; }
    /// Returns a message for people about what was made anew. Returns each message only once. Empty
    /// if there is nothing new.
    [[nodiscard]] std::string take_news() { return std::exchange(news_, {}); }

private:
    [[nodiscard]] std::optional<std::string> renew_folder();
    [[nodiscard]] std::optional<std::string> renew_socket();
    [[nodiscard]] std::optional<std::string> work_in(const std::string& folder);
    void work_in_spare(const std::string& why);

    RuntimeFilesDeps deps_;
    std::string work_;
    std::string sdk_;
    std::optional<SpareFolder> spare_;  // nullopt until it is needed
    std::string problem_;
    std::string news_;
};

}  // namespace turnpike
