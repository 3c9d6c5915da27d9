#include "setup/gpu_survey.h"

#include <chrono>
#include <expected>
#include <future>
#include <thread>
#include <utility>

#include "base/time.h"

namespace turnpike {
namespace {

using Look = std::expected<GpuUsage, GpuFailure>;
constexpr Duration look_max = 5s;

std::future<Look> begin_to_look(const GpuDriver& driver, const std::string& uuid) {
    std::promise<Look> promise;
    auto future = promise.get_future();
    std::thread([driver, uuid, promise = std::move(promise)]() mutable {
        promise.set_value(driver.look(uuid));
    }).detach();
    return future;
}

GpuAnswer answer_of(const Look& look) {
    if (look) return {.usage = *look, .trouble = {}};
    return {.usage = {},
            .trouble = look.error() == GpuFailure::lost ? "it is lost" : "it can't be asked now"};
}

}  // namespace

std::vector<GpuAnswer> look_at_all(const GpuDriver& driver) {
    if (!driver.can_look()) return std::vector<GpuAnswer>(driver.gpus().size());
    std::vector<std::future<Look>> looks;  // all at once
    for (const Gpu& gpu : driver.gpus()) looks.push_back(begin_to_look(driver, gpu.uuid));
    std::vector<GpuAnswer> answers;
    const auto end = std::chrono::steady_clock::now() + look_max;
    for (std::future<Look>& look : looks)
        answers.push_back(look.wait_until(end) == std::future_status::ready
                              ? answer_of(look.get())
                              : GpuAnswer{.usage = {}, .trouble = "it does not answer"});
    return answers;
}

}  // namespace turnpike
