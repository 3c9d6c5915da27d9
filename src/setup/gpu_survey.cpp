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

std::future<Reading> begin_reading(const GpuDriver& driver, const std::string& uuid) {
    std::promise<Reading> promise;
    auto future = promise.get_future();
    std::thread([driver, uuid, promise = std::move(promise)]() mutable {
        promise.set_value(driver.look(uuid));
    }).detach();
    return future;
}

SurveyedGpu surveyed_gpu(const Reading& look) {
    if (look) return {.usage = *look, .trouble = {}};
    return {.usage = {},
            .trouble =
                look.error() == GpuFailure::lost ? "the GPU is lost" : "the GPU can't be read now"};
}

}  // namespace

std::vector<SurveyedGpu> survey_gpus(const GpuDriver& driver) {
    if (!driver.can_look()) return std::vector<SurveyedGpu>(driver.gpus().size());
    std::vector<std::future<Reading>> looks;  // all GPUs at the same time
    for (const Gpu& gpu : driver.gpus()) looks.push_back(begin_reading(driver, gpu.uuid));
    std::vector<SurveyedGpu> surveyed;
    const auto end = std::chrono::steady_clock::now() + look_max;
    for (std::future<Reading>& look : looks)
        surveyed.push_back(look.wait_until(end) == std::future_status::ready
                               ? surveyed_gpu(look.get())
                               : SurveyedGpu{.usage = {}, .trouble = "the GPU does not answer"});
    return surveyed;
}

}  // namespace turnpike
