#include "os/file.h"

#include <fcntl.h>
#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <thread>

namespace turnpike {

void close_in_background(UniqueFd file) {
    if (!file) return;
    const int fd = file.release();
    try {
        std::thread thread([fd] { ::close(fd); });
        pthread_setname_np(thread.native_handle(), "tp-close");
        thread.detach();
    } catch (const std::system_error&) {  // the system allows no more threads
        ::close(fd);
    }
}

std::optional<std::string> read_all(int file, std::size_t max) {
    // Most files are small, and reserving `max` bytes would cost more than reading them.
    constexpr std::size_t room_first = 16 * std::size_t{1024};
    std::string text(std::min(max, room_first), '\0');
    std::size_t size = 0;
    while (size < max) {
        if (size == text.size()) text.resize(std::min(max, 2 * size));
        const ssize_t count = ::read(file, text.data() + size, text.size() - size);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return std::nullopt;
        if (count == 0) break;
        size += static_cast<std::size_t>(count);
    }
    text.resize(size);
    return text;
}

std::optional<std::string> read_file(const std::string& path, std::size_t max) {
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    return file ? read_all(file.get(), max) : std::nullopt;
}

bool write_all(int file, std::string_view text) {
    while (!text.empty()) {
        const ssize_t count = ::write(file, text.data(), text.size());
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        text.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
}

}  // namespace turnpike
