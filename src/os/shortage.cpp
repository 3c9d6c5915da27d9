#include "os/shortage.h"

#include <cerrno>
#include <cstring>

namespace turnpike {

Shortage shortage_behind(int error) {
    switch (error) {
        case EMFILE:
        case ETOOMANYREFS: return Shortage::descriptors;  // too many are on their way
        case ENFILE: return Shortage::files_of_machine;
        case ENOMEM:
        case ENOBUFS: return Shortage::memory;
        case ENOSPC:
        case EDQUOT: return Shortage::disk;
        case EAGAIN: return Shortage::processes;
        default: return Shortage::none;
    }
}

Shortage shortage_behind_connect(int error) {
    if (error == EAGAIN) return Shortage::none;
    return error == EADDRNOTAVAIL ? Shortage::ports : shortage_behind(error);
}

std::string text_of(Shortage shortage) {
    switch (shortage) {
        case Shortage::none: return "";
        case Shortage::descriptors:
            return "Turnpike may open no more files: raise their limit (ulimit -n, or LimitNOFILE= "
                   "of its service), or lower gate.connections_max";
        case Shortage::files_of_machine:
            return "this machine may open no more files: raise fs.file-max, or end what holds them";
        case Shortage::memory:
            return "no memory is left for Turnpike: free some, or raise the limit of its service";
        case Shortage::disk: return "the disk is full: make room on it";
        case Shortage::processes:
            return "no more processes can be made: end some, or raise their limit (ulimit -u, or "
                   "TasksMax= of Turnpike's service)";
        case Shortage::ports:
            return "no TCP port of this machine is left for another connection: end what holds "
                   "them (ss -tan), or widen net.ipv4.ip_local_port_range";
    }
    return "";
}

std::string text_of_error(int error) {
    const Shortage shortage = shortage_behind(error);
    return shortage == Shortage::none ? std::strerror(error) : text_of(shortage);
}

}  // namespace turnpike
