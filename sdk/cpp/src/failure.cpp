#include "failure.h"

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <typeinfo>

#include "cuda_state.h"
#include "text.h"
#include "turnpike/worker.h"

namespace turnpike::inside {

namespace {

using wire::FailWhy;

// Exceptions of libraries that say that the GPU is out of memory. Never judge by what(): it may
// quote what a client sent.
constexpr auto out_of_memory_types =
    std::to_array<std::string_view>({"c10::OutOfMemoryError", "rmm::out_of_memory"});

template <class Type>
bool is_a(const std::exception& error) {
    return dynamic_cast<const Type*>(&error) != nullptr;
}

/// True if the type, or one that it derives from, is one of out_of_memory_types.
bool is_out_of_memory(const std::type_info& type) {
    if (std::ranges::find(out_of_memory_types, demangled(type.name())) != out_of_memory_types.end())
        return true;
    if (const auto* one = dynamic_cast<const abi::__si_class_type_info*>(&type))
        return is_out_of_memory(*one->__base_type);
    const auto* several = dynamic_cast<const abi::__vmi_class_type_info*>(&type);
    for (unsigned base = 0; several != nullptr && base < several->__base_count; ++base)
        if (is_out_of_memory(*several->__base_info[base].__base_type)) return true;
    return false;
}

/// What an exception, or one that is nested in it, says about the process and the GPU.
struct Signs {
    bool unhealthy = false;
    bool out_of_memory = false;
};

void look_at(const std::exception& error, Signs& signs) {
    if (is_a<Unhealthy>(error)) signs.unhealthy = true;
    if (is_a<OutOfMemory>(error) || is_out_of_memory(typeid(error))) signs.out_of_memory = true;
    try {
        std::rethrow_if_nested(error);
    } catch (const std::exception& nested) {
        look_at(nested, signs);
    } catch (...) {  // says nothing
    }
}

FailWhy why_of(const std::exception& error, LaneKind lane) {
    if (is_a<BadInput>(error)) return FailWhy::bad_input;
    Signs signs;
    look_at(error, signs);
    if (signs.unhealthy) return FailWhy::unhealthy;
    if (is_a<NonFinite>(error)) return FailWhy::non_finite;
    if (is_a<Cancelled>(error)) return FailWhy::cancelled;
    if (lane == LaneKind::cpu) return FailWhy::exception;
    if (is_cuda_poisoned()) return FailWhy::unhealthy;
    return signs.out_of_memory ? FailWhy::out_of_memory : FailWhy::exception;
}

}  // namespace

std::string demangled(const char* name) {
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> text(
        abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
    return status == 0 ? text.get() : name;
}

Failure failure_of(const std::exception_ptr& thrown, LaneKind lane) {
    try {
        std::rethrow_exception(thrown);
    } catch (const std::exception& error) {
        return {.why = why_of(error, lane),
                .type = bounded(demangled(typeid(error).name()), wire::name_max),
                .message = bounded(error.what(), wire::message_max)};
    } catch (...) {
        const std::type_info* const type = abi::__cxa_current_exception_type();
        const bool is_sick = lane == LaneKind::gpu && is_cuda_poisoned();
        return {
            .why = is_sick ? FailWhy::unhealthy : FailWhy::exception,
            .type = bounded(type != nullptr ? demangled(type->name()) : "unknown", wire::name_max),
            .message = "an exception that is not a std::exception"};
    }
}

}  // namespace turnpike::inside
