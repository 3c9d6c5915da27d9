#include "os/command_line.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <string_view>

#include "os/file.h"
#include "os/gate_name.h"

namespace turnpike {
namespace {

/// A listener with a name that the kernel chose, and a client that has this name itself.
struct Stand {
    Stand() {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        EXPECT_EQ(::bind(listener.get(), raw(address), sizeof(sa_family_t)), 0);
        EXPECT_EQ(::listen(listener.get(), 8), 0);
    }
    static const sockaddr* raw(const sockaddr_un& address) {
        return reinterpret_cast<const sockaddr*>(&address);
    }
    static UniqueFd make() { return UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

    /// Connects with this client, and tells what the listener takes it for.
    [[nodiscard]] bool is_command_line_at(const UniqueFd& client) const {
        sockaddr_un address{};
        socklen_t size = sizeof address;
        EXPECT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
        EXPECT_EQ(::connect(client.get(), raw(address), size), 0);
        const UniqueFd accepted(::accept(listener.get(), nullptr, nullptr));
        return is_command_line(accepted.get());
    }

    UniqueFd listener = make();
};

TEST(CommandLine, IsKnownByTheNameOfItsEnd) {
    const Stand stand;
    for (int i = 0; i < 3; ++i) {
        const UniqueFd client = Stand::make();
        ASSERT_TRUE(name_as_command_line(client.get()));
        EXPECT_TRUE(stand.is_command_line_at(client));
    }
}

TEST(CommandLine, IsNobodyWhoConnectsWithoutItsName) {
    const Stand stand;
    EXPECT_FALSE(stand.is_command_line_at(Stand::make()));
    for (const std::string_view name : {std::string_view("\0turnpike-command-lin", 21),
                                        std::string_view("\0x/turnpike-command-line/1", 26)}) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        name.copy(address.sun_path, name.size());
        const UniqueFd client = Stand::make();
        const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
        ASSERT_EQ(::bind(client.get(), Stand::raw(address), size), 0);
        EXPECT_FALSE(stand.is_command_line_at(client)) << name;
    }
}

TEST(CommandLine, IsWhatConnectUnixConnectsAs) {
    const std::string name = abstract_name("/command-line-test", "gate");
    const UniqueFd listener = take_abstract_name(name);
    ASSERT_TRUE(listener);
    const UniqueFd client = connect_unix(name);
    ASSERT_TRUE(client);
    const UniqueFd accepted(::accept(listener.get(), nullptr, nullptr));
    EXPECT_TRUE(is_command_line(accepted.get()));
}

}  // namespace
}  // namespace turnpike
