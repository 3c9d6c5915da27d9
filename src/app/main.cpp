#include <cstdlib>
#include <string>

#include "app/up.h"

int main(int argc, char** argv) {
    turnpike::UpOptions options;
    for (int i = 2; i < argc; ++i) {
        std::string arg = argv[i];
        if (arg == "--attach")
            options.flags.attach.push_back(argv[++i]);
        else if (arg == "--port")
            options.flags.port = static_cast<std::uint16_t>(std::atoi(argv[++i]));
        else if (arg == "--host")
            options.flags.host = argv[++i];
        else if (arg == "--name")
            options.name = argv[++i];
        else if (arg == "--log-jobs")
            options.flags.log_jobs = argv[++i];
        else if (arg == "--log-starts")
            options.flags.log_starts = true;
        else
            options.config_path = arg;
    }
    return turnpike::up(options);
}
