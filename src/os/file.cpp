#include "os/file.h"

#include <pthread.h>

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
    } catch (const std::system_error&) {  // no further thread can be had
        ::close(fd);
    }
}

}  // namespace turnpike
