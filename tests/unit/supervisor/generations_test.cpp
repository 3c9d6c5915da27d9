#include "supervisor/generations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/temporary_folder.h"

namespace turnpike {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

std::vector<PoolConfig> one_pool() {
    std::vector<PoolConfig> pools(1);
    pools[0].name = "default";
    return pools;
}

/// As a worker keeps it.
void keep(const std::string& folder, const std::string& path, const std::string& bytes) {
    std::ofstream file(folder + "/sources/" + std::to_string(path.size()), std::ios::binary);
    const auto length = static_cast<std::uint32_t>(path.size());
    for (const unsigned shift : {0U, 8U, 16U, 24U})
        file.put(static_cast<char>((length >> shift) & 0xFFU));
    file << path << bytes;
}

TEST(Generations, KnowsWhatItsWorkersKept) {
    const TemporaryFolder runtime;
    const Generations generations(runtime.file(""), one_pool());
    const std::string folder = generations.folder(0, {1});
    keep(folder, "/home/me/model.py", "x = 1\n");
    const auto sources = sources_in(folder);
    ASSERT_THAT(sources, SizeIs(1));
    EXPECT_EQ(sources[0].path, "/home/me/model.py");
    EXPECT_EQ(sources[0].bytes, "x = 1\n");
}

TEST(Generations, LeavesOutWhatIsCutShortOrNotPublishedYet) {
    const TemporaryFolder runtime;
    const Generations generations(runtime.file(""), one_pool());
    const std::string folder = generations.folder(0, {1});
    std::ofstream(folder + "/sources/short") << "ab";
    std::ofstream(folder + "/sources/long", std::ios::binary) << std::string("\xFF\0\0\0abc", 7);
    std::ofstream(folder + "/sources/.4711", std::ios::binary) << std::string("\1\0\0\0/x", 6);
    EXPECT_THAT(sources_in(folder), IsEmpty());
}

TEST(Generations, OfAnEarlierGateAreForgotten) {
    const TemporaryFolder runtime;
    keep(Generations(runtime.file(""), one_pool()).folder(0, {1}), "/home/me/model.py", "old");
    const Generations generations(runtime.file(""), one_pool());
    EXPECT_THAT(sources_in(generations.folder(0, {1})), IsEmpty());
}

TEST(Generations, HaveNumbersThatNoneHadBefore) {
    const TemporaryFolder runtime;
    Generations generations(runtime.file(""), one_pool());
    EXPECT_EQ(generations.next(0).value, 2U);
    EXPECT_EQ(generations.next(0).value, 3U);
}

TEST(Generations, ThatCantBeKeptHaveNoFolder) {
    const Generations generations("/nowhere/at/all", one_pool());
    EXPECT_EQ(generations.folder(0, {1}), "");
}

TEST(Generations, AreTouchedWithAllThatIsKeptInThem) {
    const TemporaryFolder runtime;
    const Generations generations(runtime.file(""), one_pool());
    const std::string folder = generations.folder(0, {1});
    keep(folder, "/home/me/model.py", "x = 1\n");
    const std::vector<std::string> paths{folder, folder + "/sources", folder + "/sources/17"};
    const std::filesystem::file_time_type long_ago{};
    for (const std::string& path : paths) std::filesystem::last_write_time(path, long_ago);

    touch_generations(runtime.file(""));

    for (const std::string& path : paths)
        EXPECT_NE(std::filesystem::last_write_time(path), long_ago) << path;
}

}  // namespace
}  // namespace turnpike
