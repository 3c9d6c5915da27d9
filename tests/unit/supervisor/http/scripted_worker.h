// A fake worker: a real listener on loopback; the test decides every byte that it sends.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

#include "supervisor/http/link.h"
#include "tests/unit/loop.h"

namespace turnpike {

class ScriptedWorker {
public:
    using Tcp = boost::asio::ip::tcp;

    /// One accepted connection. Reads everything, unless it is told not to.
    struct Visit : std::enable_shared_from_this<Visit> {
        explicit Visit(Tcp::socket accepted) : socket(std::move(accepted)) {}

        void read() {
            socket.async_read_some(
                boost::asio::buffer(buffer),
                [self = shared_from_this()](boost::system::error_code error, std::size_t size) {
                    self->got.append(self->buffer.data(), size);
                    self->is_over = self->is_over || error;
                    if (!error && !self->is_deaf) self->read();
                });
        }
        void say(std::string_view bytes) {
            boost::system::error_code error;
            boost::asio::write(socket, boost::asio::buffer(bytes), error);
            EXPECT_FALSE(error) << error.message();
        }
        /// Closes cleanly: what was sent before still arrives.
        void hang_up() {
            boost::system::error_code ignored;
            socket.shutdown(Tcp::socket::shutdown_both, ignored);
            socket.close(ignored);
        }

        Tcp::socket socket;
        std::array<char, 65536> buffer{};
        std::string got;
        bool is_over = false;  // the other side closed the connection
        bool is_deaf = false;
    };

    explicit ScriptedWorker(TestLoop& loop)
        : loop_(loop), acceptor_(loop.context(), {boost::asio::ip::address_v4::loopback(), 0}) {
        destination.endpoints = {acceptor_.local_endpoint()};
        accept();
    }
    ~ScriptedWorker() {
        for (const auto& visit : visits) visit->hang_up();
    }
    ScriptedWorker(const ScriptedWorker&) = delete;
    ScriptedWorker& operator=(const ScriptedWorker&) = delete;

    /// Stops listening.
    void close_door() { acceptor_.close(); }

    /// Returns the connection with this number, once it has received `until`.
    Visit& heard(std::size_t number, std::string_view until) {
        EXPECT_TRUE(loop_.run_until([&] {
            return visits.size() > number && visits[number]->got.contains(until);
        })) << "connection "
            << number << " did not send " << until;
        return *visits.at(number);
    }

    Destination destination;
    bool is_deaf = false;  // new connections are not read
    std::vector<std::shared_ptr<Visit>> visits;

private:
    void accept() {
        acceptor_.async_accept([this](boost::system::error_code error, Tcp::socket socket) {
            if (error) return;
            visits.push_back(std::make_shared<Visit>(std::move(socket)));
            visits.back()->is_deaf = is_deaf;
            if (!is_deaf) visits.back()->read();
            accept();
        });
    }

    TestLoop& loop_;
    Tcp::acceptor acceptor_;
};

}  // namespace turnpike
