#include "setup/this_machine.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "setup/environment.h"

namespace turnpike {

Machine this_machine(std::optional<GpuDriver>& driver) {
    auto opened = GpuDriver::open();
    Machine machine = machine_from(opened, cuda_visible_devices());
    if (opened) driver = std::move(*opened);
    return machine;
}

std::expected<PythonChoice, std::string> this_python(const WorkerConfig& worker) {
    PythonPlaces places = python_places();
    std::error_code none;
    const std::filesystem::path model(worker.model.path);
    places.has_venv = std::filesystem::exists(model.parent_path() / ".venv", none);
    return choose_python(worker, places, is_program);
}

}  // namespace turnpike
