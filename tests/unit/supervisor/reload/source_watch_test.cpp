#include "supervisor/reload/source_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "tests/unit/loop.h"
#include "tests/unit/temporary_folder.h"

namespace turnpike {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

/// A model of two files, and generations that keep some of them.
class SourceWatches : public testing::Test {
protected:
    void SetUp() override {
        folder_.write("model.py", "one");
        folder_.write("parts.py", "one");
        for (const char* generation : {"1", "2"})
            fs::create_directories(folder_.file(std::string(generation) + "/sources"));
    }
    /// Keeps a source as a worker does that imports it.
    void keep(const std::string& generation, const std::string& name, const std::string& bytes) {
        const std::string path = folder_.file(name);
        const auto length = static_cast<std::uint32_t>(path.size());
        std::string data(sizeof length, '\0');
        std::memcpy(data.data(), &length, sizeof length);
        folder_.write(generation + "/sources/" + name, data + path + bytes);
    }
    void keep_both(const std::string& generation) {
        keep(generation, "model.py", "one");
        keep(generation, "parts.py", "one");
    }
    void follow(SourceWatch::Followed followed) {
        watch_.follow(std::move(followed));
        settle();
    }
    void settle() {
        EXPECT_TRUE(loop_.run_until([this] { return !disk_.is_busy(); }));
    }
    std::vector<std::string> next() {
        EXPECT_TRUE(loop_.run_until([this] { return !told_.empty(); })) << "nothing was told";
        return told_.empty() ? std::vector<std::string>() : std::exchange(told_, {}).front();
    }

    TemporaryFolder folder_;
    TestLoop loop_;
    Background disk_{loop_.context(), "tp-test"};
    ModelChoice model_{.kind = ModelChoice::Kind::python, .path = folder_.file("model.py")};
    std::vector<std::vector<std::string>> told_;
    SourceWatch watch_{
        {.loop = loop_.context(),
         .disk = disk_,
         .model = model_,
         .changed = [this](std::vector<std::string> files) { told_.push_back(std::move(files)); }}};
};

TEST_F(SourceWatches, TellOfSavesOfWhatWasImported) {
    keep_both("1");
    follow({.good = folder_.file("1"), .newest = {}});
    EXPECT_EQ(watch_.news(), 2U);
    EXPECT_EQ(watch_.news(), 0U) << "told once";
    folder_.write("parts.py", "two");
    EXPECT_THAT(next(), ElementsAre(folder_.file("parts.py")));
}

TEST_F(SourceWatches, IgnoreASaveOfTheSameBytes) {
    keep_both("1");
    follow({.good = folder_.file("1"), .newest = {}});
    folder_.write("model.py.new", "one");
    fs::rename(folder_.file("model.py.new"), folder_.file("model.py"));
    folder_.write("parts.py", "two");
    EXPECT_THAT(next(), ElementsAre(folder_.file("parts.py")));
}

TEST_F(SourceWatches, CompareWithWhatIsTriedNow) {
    keep_both("1");
    keep("2", "model.py", "two");
    folder_.write("model.py", "two");
    follow({.good = folder_.file("1"), .newest = folder_.file("2")});
    folder_.write("model.py", "one");  // as it serves, but not as it is tried
    EXPECT_THAT(next(), ElementsAre(folder_.file("model.py")));
}

TEST_F(SourceWatches, TryAnySaveAfterAFailure) {
    keep_both("1");
    follow({.good = folder_.file("1"), .newest = {}, .is_bad = true});
    folder_.write("model.py", "one");
    EXPECT_THAT(next(), ElementsAre(folder_.file("model.py")));
}

TEST_F(SourceWatches, WatchFilesThatTheErrorNamesAndNewFiles) {
    keep_both("1");
    folder_.write("more.py", "bad");
    follow({.good = folder_.file("1"),
            .newest = {},
            .suspects = {folder_.file("more.py")},
            .is_bad = true});
    folder_.write("more.py", "good");
    EXPECT_THAT(next(), ElementsAre(folder_.file("more.py")));
    folder_.write("fresh.py", "x");
    EXPECT_THAT(next(), ElementsAre(folder_.file("fresh.py")));
}

TEST_F(SourceWatches, MissNoSaveRightAfterAFailure) {
    keep_both("1");
    folder_.write("more.py", "this is no Python");
    follow({.good = folder_.file("1"), .newest = folder_.file("2")});
    watch_.follow({.good = folder_.file("1"),
                   .newest = {},
                   .suspects = {folder_.file("more.py")},
                   .is_bad = true});
    folder_.write("more.py", "one = 1");
    EXPECT_THAT(next(), ElementsAre(folder_.file("more.py")));
}

TEST_F(SourceWatches, WatchTheModelBeforeAnythingWasImported) {
    follow({.good = folder_.file("1"), .newest = {}});
    EXPECT_EQ(watch_.news(), 0U) << "what it imports is not known yet";
    folder_.write("model.py", "two");
    EXPECT_THAT(next(), ElementsAre(folder_.file("model.py")));
}

TEST_F(SourceWatches, LearnOfLaterImports) {
    keep("1", "model.py", "one");
    follow({.good = folder_.file("1"), .newest = {}});
    keep("1", "parts.py", "one");
    watch_.look();
    settle();
    folder_.write("parts.py", "two");
    EXPECT_THAT(next(), ElementsAre(folder_.file("parts.py")));
}

TEST_F(SourceWatches, TellOfASaveBetweenTheImportAndTheWatch) {
    keep_both("1");
    folder_.write("parts.py", "two");
    follow({.good = folder_.file("1"), .newest = {}});
    EXPECT_THAT(next(), ElementsAre(folder_.file("parts.py")));
    follow({.good = folder_.file("1"), .newest = {}});
    EXPECT_THAT(told_, IsEmpty()) << "told once";
}

}  // namespace
}  // namespace turnpike
