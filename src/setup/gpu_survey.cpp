#include "setup/gpu_survey.h"

#include <chrono>
#include <expected>
#include <future>
#include <thread>
#include <utility>

#include "base/time.h"

namespace turnpike {
namespace {

using Reading = std::expected<GpuUsage, GpuFailure>;
constexpr Duration look_max = 5s;

bool is_thread_left_in_driver = false;  // used by the main thread only

/// Reads the state of one GPU on a thread of its own.
struct Look {
    std::future<Reading> reading;
    std::thread thread;
};

Look begin_look(const GpuDriver& driver, const std::string& uuid) {
    std::packaged_task<Reading()> task([driver, uuid] { return driver.look(uuid); });
    auto reading = task.get_future();
    return {.reading = std::move(reading), .thread = std::thread(std::move(task))};
}

SurveyedGpu surveyed_gpu(const Reading& look) {
    if (look) return {.usage = *look, .trouble = {}};
    return {.usage = {},
            .trouble =
                look.error() == GpuFailure::lost ? "the GPU is lost" : "the GPU can't be read now"};
}

SurveyedGpu finish(Look look, std::chrono::steady_clock::time_point end) {
    if (look.reading.wait_until(end) == std::future_status::ready) {
        look.thread.join();
        return surveyed_gpu(look.reading.get());
    }
    look.thread.detach();
    is_thread_left_in_driver = true;
    return {.usage = {}, .trouble = "the GPU does not answer"};
}

}  // namespace

std::vector<SurveyedGpu> survey_gpus(const GpuDriver& driver) {
    if (!driver.can_look()) return std::vector<SurveyedGpu>(driver.gpus().size());
    std::vector<Look> looks;  // all GPUs at the same time
    for (const Gpu& gpu : driver.gpus()) looks.push_back(begin_look(driver, gpu.uuid));
    std::vector<SurveyedGpu> surveyed;
    const auto end = std::chrono::steady_clock::now() + look_max;
    for (Look& look : looks) surveyed.push_back(finish(std::move(look), end));
    return surveyed;
}

bool left_thread_in_driver() { return is_thread_left_in_driver; }

}  // namespace turnpike
