#include "sealed.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace turnpike::inside {

namespace {

constexpr int all_seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
constexpr std::size_t piece_max = 1 << 30;  // for one call; the kernel's limit is just below 2 GiB

[[noreturn]] void throw_error(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
    if (this != &other) {
        if (is_open()) ::close(number_);
        number_ = other.release();
    }
    return *this;
}

Descriptor::~Descriptor() {
    if (is_open()) ::close(number_);
}

int Descriptor::release() { return std::exchange(number_, -1); }

Descriptor sealed_memfd(std::string_view bytes) {
    Descriptor made(::memfd_create("answer", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!made.is_open()) throw_error("memfd_create");
    while (!bytes.empty()) {
        const ssize_t written =
            ::write(made.number(), bytes.data(), std::min(bytes.size(), piece_max));
        if (written < 0 && errno != EINTR) throw_error("write to a memfd");
        if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    if (::fcntl(made.number(), F_ADD_SEALS, all_seals) != 0) throw_error("F_ADD_SEALS");
    return made;
}

bool is_sealed(int descriptor, std::uint64_t length) {
    const int seals = ::fcntl(descriptor, F_GET_SEALS);
    struct stat facts{};
    return seals >= 0 && (seals & all_seals) == all_seals && ::fstat(descriptor, &facts) == 0 &&
           static_cast<std::uint64_t>(facts.st_size) == length;
}

std::string contents_of(int descriptor, std::uint64_t length) {
    std::string bytes(length, '\0');
    std::size_t at = 0;
    while (at < bytes.size()) {
        const ssize_t got = ::pread(descriptor, bytes.data() + at,
                                    std::min(bytes.size() - at, piece_max), static_cast<off_t>(at));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) throw_error("pread of a memfd");
        at += static_cast<std::size_t>(got);
    }
    return bytes;
}

}  // namespace turnpike::inside
