#include "gate/job_name.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/random.h"

namespace turnpike {
namespace {

TEST(JobName, LeadsBackToItsJob) {
    Random random(1);
    for (int i = 0; i < 1000; ++i) {
        const JobNames names(random.next());
        const JobId job{random.next()};
        EXPECT_EQ(names.find(names.name_of(job).view()), job);
    }
    const JobNames names(0);
    for (const std::uint64_t id : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}})
        EXPECT_EQ(names.find(names.name_of(JobId{id}).view()), JobId{id});
}

TEST(JobName, IsThirteenLettersAndDigits) {
    const JobNames names(42);
    for (std::uint64_t id = 0; id < 100; ++id) {
        const Text<24> name = names.name_of(JobId{id});
        EXPECT_EQ(name.view().size(), 13U);
        EXPECT_EQ(name.view().find_first_not_of("0123456789abcdefghjkmnpqrstvwxyz"),
                  std::string::npos);
    }
}

TEST(JobName, IsDifferentInEachRunAndForEachJob) {
    std::set<std::string> seen;
    for (std::uint64_t secret = 0; secret < 30; ++secret)
        for (std::uint64_t id = 0; id < 30; ++id)
            seen.emplace(JobNames(secret * 1'000'003).name_of(JobId{id}).view());
    EXPECT_EQ(seen.size(), 900U);
}

TEST(JobName, IsNotFoundIfSomebodyMadeItUp) {
    const JobNames names(7);
    const std::string good(names.name_of(JobId{3}).view());
    EXPECT_FALSE(names.find(""));
    EXPECT_FALSE(names.find(good.substr(1)));
    EXPECT_FALSE(names.find(good + "0"));
    EXPECT_FALSE(names.find(std::string(13, 'z'))) << "more than 64 bits";
    for (const char wrong : {'i', 'l', 'o', 'u', 'A', 'Z', '-', ' ', '/', '\0', '\xff'}) {
        for (const std::size_t at : {std::size_t{0}, std::size_t{6}, std::size_t{12}}) {
            std::string name = good;
            name[at] = wrong;
            EXPECT_FALSE(names.find(name)) << name;
        }
    }
}

}  // namespace
}  // namespace turnpike
