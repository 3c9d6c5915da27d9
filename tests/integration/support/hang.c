// Preloaded into the gate, this simulates a disk that hangs. As long as the file $HANG_WHILE exists,
// a write to a file in a folder "lanes" does not return. The first such write makes $HANG_WHILE.met.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static void hang(int fd) {
    const char* file = getenv("HANG_WHILE");
    char link[64], path[4096], met[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t size = readlink(link, path, sizeof path - 1);
    if (file == NULL || size < 0) return;
    path[size] = '\0';
    if (strstr(path, "/lanes/") == NULL) return;
    snprintf(met, sizeof met, "%s.met", file);
    while (access(file, F_OK) == 0) {
        close(open(met, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
        usleep(20000);
    }
}

ssize_t write(int fd, const void* bytes, size_t size) {
    static ssize_t (*next)(int, const void*, size_t);
    if (next == NULL) next = dlsym(RTLD_NEXT, "write");
    hang(fd);
    return next(fd, bytes, size);
}

ssize_t writev(int fd, const struct iovec* parts, int count) {
    static ssize_t (*next)(int, const struct iovec*, int);
    if (next == NULL) next = dlsym(RTLD_NEXT, "writev");
    hang(fd);
    return next(fd, parts, count);
}
