#include "serve/action_router.h"

#include <concepts>
#include <type_traits>
#include <variant>

#include <gtest/gtest.h>

namespace turnpike {
namespace {

struct NewAction {};  // somebody adds it to core/action.h and forgets to route it

template <class... Kinds>
constexpr bool routes_all(std::type_identity<std::variant<Kinds...>>) {
    return (std::invocable<ActionRouter&, const Kinds&> && ...);
}

TEST(ActionRouter, HasAnOverloadForEveryAction) {
    EXPECT_TRUE(routes_all(std::type_identity<Action>{}));
}

TEST(ActionRouter, DoesNotCompileForAnActionWithoutAnOverload) {
    EXPECT_FALSE(routes_all(std::type_identity<std::variant<AdmitJob, NewAction>>{}));
}

}  // namespace
}  // namespace turnpike
