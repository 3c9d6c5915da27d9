#include "setup/gpu_survey.h"

#include <chrono>
#include <expected>
#include <future>
#include <thread>
#include <utility>

#include "base/time.h"

namespace turnpike {
namespace {

using Look = std::expected<GpuSight, GpuFailure>;
constexpr Duration look_max = 5s;

std::future<Look> begin_to_look(const GpuDriver& driver, const std::string& uuid) {
    std::promise<Look> promise;
    auto future = promise.get_future();
    std::thread([driver, uuid, promise = std::move(promise)]() mutable {
        promise.set_value(driver.look(uuid));
    }).detach();
    return future;
}

Sighting sighting_of(const Look& look) {
    if (look) return {.sight = *look, .trouble = {}};
    return {.sight = {},
            .trouble = look.error() == GpuFailure::lost ? "it is lost" : "it can't be asked now"};
}

}  // namespace

std::vector<Sighting> look_at_all(const GpuDriver& driver) {
    if (!driver.can_look()) return std::vector<Sighting>(driver.gpus().size());
    std::vector<std::future<Look>> looks;  // all at once
    for (const Gpu& gpu : driver.gpus()) looks.push_back(begin_to_look(driver, gpu.uuid));
    std::vector<Sighting> sightings;
    const auto end = std::chrono::steady_clock::now() + look_max;
    for (std::future<Look>& look : looks)
        sightings.push_back(look.wait_until(end) == std::future_status::ready
                                ? sighting_of(look.get())
                                : Sighting{.sight = {}, .trouble = "it does not answer"});
    return sightings;
}

}  // namespace turnpike
