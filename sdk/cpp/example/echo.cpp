#include <turnpike/worker.h>

struct Echo : turnpike::Model {
    turnpike::Answer predict(const turnpike::Request& request) override {
        return R"({"bytes": )" + std::to_string(request.body().size()) + "}";
    }
};

int main() { return turnpike::serve<Echo>(); }
