#include "app/this_machine.h"

#include <utility>

#include "app/environment.h"

namespace turnpike {

Machine this_machine(std::optional<GpuDriver>& driver) {
    auto opened = GpuDriver::open();
    Machine machine = machine_from(opened, cuda_visible_devices());
    if (opened) driver = std::move(*opened);
    return machine;
}

std::expected<PythonChoice, std::string> this_python(const WorkerConfig& worker) {
    return choose_python(worker, python_places(), is_program);
}

}  // namespace turnpike
