#include "os/gate_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "os/runtime_folder.h"
#include "tests/unit/temporary_folder.h"

namespace turnpike {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

/// Connects to the name until nobody takes more connections. Returns the connections.
std::vector<UniqueFd> fill_queue(const std::string& name) {
    std::vector<UniqueFd> waiting;
    while (waiting.size() < 10000) {
        UniqueFd connection = connect_unix(name);
        if (!connection) break;
        waiting.push_back(std::move(connection));
    }
    EXPECT_EQ(errno, EAGAIN);
    return waiting;
}

TEST(GateName, IsOfAGateThatListens) {
    const TemporaryFolder root;
    const UniqueFd socket = take_abstract_name(abstract_name(root.file(""), "busy"));
    ASSERT_TRUE(socket);
    EXPECT_THAT(named_gates(root.file("")), ElementsAre(AllOf(Field(&NamedGate::name, "busy"),
                                                              Field(&NamedGate::pid, ::getpid()))));
    EXPECT_FALSE(take_abstract_name(abstract_name(root.file(""), "busy")));
}

TEST(GateName, IsOfAGateThatIsTooBusyToAcceptConnections) {
    const TemporaryFolder root;
    const std::string name = abstract_name(root.file(""), "busy");
    const UniqueFd socket = take_abstract_name(name);
    const std::vector<UniqueFd> waiting = fill_queue(name);
    EXPECT_THAT(named_gates(root.file("")), ElementsAre(AllOf(Field(&NamedGate::name, "busy"),
                                                              Field(&NamedGate::pid, ::getpid()))));
}

TEST(GateName, IsNoGatesIfNobodyListens) {
    const TemporaryFolder root;
    const std::string name = abstract_name(root.file(""), "bound");
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    name.copy(address.sun_path, name.size());
    address.sun_path[0] = '\0';
    const UniqueFd bound(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    ASSERT_EQ(::bind(bound.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
    EXPECT_THAT(named_gates(root.file("")), IsEmpty());
}

TEST(GateName, OfABusyGateWithoutItsRuntimeFolderCannotBeTakenByASecondGate) {
    const TemporaryFolder base;
    const RuntimePlace place{base.file("root")};
    const auto first = RuntimeFolder::take(place, "one");
    ASSERT_TRUE(first) << first.error();
    std::filesystem::remove_all(place.root);  // as at a logout
    const std::vector<UniqueFd> waiting = fill_queue(abstract_name(place.root, "one"));
    const auto second = RuntimeFolder::take(place, "one");
    ASSERT_FALSE(second);
    EXPECT_THAT(second.error(), HasSubstr(std::to_string(::getpid())));
}

}  // namespace
}  // namespace turnpike
