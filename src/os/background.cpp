#include "os/background.h"

#include <pthread.h>

#include <thread>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

namespace turnpike {

namespace asio = boost::asio;

struct Background::Thread {
    explicit Thread(asio::io_context& home) : loop(home) {}

    asio::io_context& loop;
    asio::io_context work{1};
    asio::executor_work_guard<asio::io_context::executor_type> keeps_running{work.get_executor()};
    std::thread thread;
};

Background::Background(asio::io_context& loop, const char* name)
    : thread_(std::make_unique<Thread>(loop)) {
    thread_->thread = std::thread([&work = thread_->work] { work.run(); });
    pthread_setname_np(thread_->thread.native_handle(), name);
}

Background::~Background() {
    thread_->keeps_running.reset();
    thread_->thread.join();
}

void Background::submit(Work work) {
    ++under_way_;
    asio::post(thread_->work, std::move(work));
}

void Background::come_back(Work then) {
    asio::post(thread_->loop, [this, then = std::move(then)]() mutable {
        --under_way_;
        then();
    });
}

}  // namespace turnpike
