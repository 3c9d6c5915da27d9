#include "os/file_watch.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/loop.h"
#include "tests/unit/temporary_folder.h"

namespace turnpike {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class FileWatches : public testing::Test {
protected:
    void SetUp() override {
        folder_.write("model.py", "one");
        folder_.write("mark", "");
    }

    void want(FileWatch::Wanted wanted) {
        wanted.files.push_back(folder_.file("mark"));
        EXPECT_EQ(watch_.want(std::move(wanted)), std::nullopt);
    }
    void want_model() { want({.files = {folder_.file("model.py")}}); }

    /// Returns the next reported change.
    std::vector<std::string> next() {
        EXPECT_TRUE(loop_.run_until([this] { return !told_.empty(); })) << "no change was reported";
        if (told_.empty()) return {};
        auto first = std::move(told_.front());
        told_.erase(told_.begin());
        return first;
    }
    /// Touches another file, and returns what is reported before that change. So a test can see
    /// without waiting that nothing is reported.
    std::vector<std::string> until_marked() {
        std::ofstream(folder_.file("mark"), std::ios::app) << "x";
        std::vector<std::string> told;
        for (;;) {
            for (const std::string& file : next()) {
                if (file == folder_.file("mark")) return told;
                told.push_back(file);
            }
            if (HasFailure()) return told;
        }
    }
    /// Saves a file as most editors do.
    void save_by_rename(const std::string& name, const std::string& text) const {
        folder_.write(name + ".swp", text);
        fs::rename(folder_.file(name + ".swp"), folder_.file(name));
    }

    TemporaryFolder folder_;
    TestLoop loop_;
    std::vector<std::vector<std::string>> told_;
    FileWatch watch_{loop_.context(),
                     [this](std::vector<std::string> files) { told_.push_back(std::move(files)); }};
};

TEST_F(FileWatches, ReportAFileThatIsWrittenInPlace) {
    want_model();
    folder_.write("model.py", "two");
    EXPECT_THAT(next(), ElementsAre(folder_.file("model.py")));
}

TEST_F(FileWatches, ReportEachSaveByRename) {
    want_model();
    for (const char* text : {"two", "three", "four"}) {
        save_by_rename("model.py", text);
        EXPECT_THAT(next(), ElementsAre(folder_.file("model.py")));
    }
}

TEST_F(FileWatches, ReportABurstOnce) {
    want_model();
    for (int i = 0; i < 20; ++i) save_by_rename("model.py", std::to_string(i));
    EXPECT_THAT(next(), ElementsAre(folder_.file("model.py")));
    EXPECT_THAT(until_marked(), IsEmpty());
}

TEST_F(FileWatches, ReportFilesThatChangeTogetherInOneCall) {
    folder_.write("parts.py", "one");
    want({.files = {folder_.file("model.py"), folder_.file("parts.py")}});
    folder_.write("parts.py", "two");
    save_by_rename("model.py", "two");
    EXPECT_THAT(next(), ElementsAre(folder_.file("model.py"), folder_.file("parts.py")));
}

TEST_F(FileWatches, DoNotWaitForeverForQuiet) {
    want_model();
    int writes = 0;
    boost::asio::steady_timer timer(loop_.context());
    const std::function<void()> go_on = [&] {
        folder_.write("model.py", std::to_string(++writes));
        timer.expires_after(std::chrono::milliseconds(10));
        timer.async_wait([&](boost::system::error_code error) {
            if (!error) go_on();
        });
    };
    go_on();
    EXPECT_THAT(next(), ElementsAre(folder_.file("model.py")));
    EXPECT_GT(writes, 5) << "the report did not wait for quiet";
    timer.cancel();
    loop_.poll();
}

TEST_F(FileWatches, CountATouchAndNotAChmod) {
    want_model();
    ASSERT_EQ(::chmod(folder_.file("model.py").c_str(), 0600), 0);
    EXPECT_THAT(until_marked(), IsEmpty());
    ASSERT_EQ(::utimensat(AT_FDCWD, folder_.file("model.py").c_str(), nullptr, 0), 0);
    EXPECT_THAT(next(), ElementsAre(folder_.file("model.py")));
}

TEST_F(FileWatches, IgnoreTheNeighbours) {
    want_model();
    folder_.write("model.pyc", "x");
    folder_.write(".model.py.swp", "x");
    EXPECT_THAT(until_marked(), IsEmpty());
}

TEST_F(FileWatches, ReportAFileThatComesBack) {
    want_model();
    fs::remove(folder_.file("model.py"));
    EXPECT_THAT(until_marked(), IsEmpty()) << "a missing file is not reported";
    folder_.write("model.py", "back");
    EXPECT_THAT(next(), ElementsAre(folder_.file("model.py")));
}

TEST_F(FileWatches, DoNotReportAFileThatComesBackUnchanged) {
    want_model();
    fs::rename(folder_.file("model.py"), folder_.file("away"));
    EXPECT_THAT(until_marked(), IsEmpty());
    fs::rename(folder_.file("away"), folder_.file("model.py"));
    EXPECT_THAT(until_marked(), IsEmpty());
}

TEST_F(FileWatches, WaitForAFileInFoldersThatAreNotThereYet) {
    const std::string file = folder_.file("a/b/parts.py");
    want({.files = {file}});
    fs::create_directories(folder_.file("a/b"));
    folder_.write("a/b/parts.py", "one");
    EXPECT_THAT(next(), ElementsAre(file));
    EXPECT_THAT(until_marked(), IsEmpty());
    folder_.write("a/b/parts.py", "two");
    EXPECT_THAT(next(), ElementsAre(file));
}

TEST_F(FileWatches, SurviveAFolderThatIsRemovedAndMadeAgain) {
    fs::create_directories(folder_.file("src"));
    folder_.write("src/parts.py", "one");
    want({.files = {folder_.file("src/parts.py")}});
    fs::remove_all(folder_.file("src"));
    EXPECT_THAT(until_marked(), IsEmpty());
    fs::create_directories(folder_.file("src"));
    folder_.write("src/parts.py", "two");
    EXPECT_THAT(next(), ElementsAre(folder_.file("src/parts.py")));
}

TEST_F(FileWatches, SurviveAFolderThatIsReplacedByAnother) {
    for (const char* name : {"src", "src.new"}) {
        fs::create_directories(folder_.file(name));
        folder_.write(std::string(name) + "/parts.py", name);
    }
    want({.files = {folder_.file("src/parts.py")}});
    fs::rename(folder_.file("src"), folder_.file("src.old"));
    fs::rename(folder_.file("src.new"), folder_.file("src"));
    EXPECT_THAT(next(), ElementsAre(folder_.file("src/parts.py")));
    EXPECT_THAT(until_marked(), IsEmpty());
    folder_.write("src/parts.py", "three");
    EXPECT_THAT(next(), ElementsAre(folder_.file("src/parts.py")));
}

TEST_F(FileWatches, FollowALinkToItsTargetAndToANewTarget) {
    fs::create_directories(folder_.file("v1"));
    fs::create_directories(folder_.file("v2"));
    folder_.write("v1/model.py", "one");
    folder_.write("v2/model.py", "two");
    fs::create_symlink("v1", folder_.file("current"));
    fs::create_symlink("current/model.py", folder_.file("link.py"));
    const std::string link = folder_.file("link.py");
    want({.files = {link}});
    folder_.write("v1/model.py", "changed");
    EXPECT_THAT(next(), ElementsAre(link));
    fs::create_symlink("v2", folder_.file("current.new"));
    fs::rename(folder_.file("current.new"), folder_.file("current"));
    EXPECT_THAT(next(), ElementsAre(link)) << "a folder of the path is now a link to another one";
    folder_.write("v2/model.py", "changed");
    EXPECT_THAT(next(), ElementsAre(link));
}

TEST_F(FileWatches, EndWithLinksThatLeadInACircle) {
    fs::create_symlink("b.py", folder_.file("a.py"));
    fs::create_symlink("a.py", folder_.file("b.py"));
    want({.files = {folder_.file("a.py")}});
    EXPECT_THAT(until_marked(), IsEmpty());
    fs::remove(folder_.file("a.py"));
    folder_.write("a.py", "one");
    EXPECT_THAT(next(), ElementsAre(folder_.file("a.py")));
}

TEST_F(FileWatches, KeepPendingChangesWhenOtherFilesAreWanted) {
    folder_.write("parts.py", "one");
    want_model();
    folder_.write("model.py", "two");
    want({.files = {folder_.file("model.py"), folder_.file("parts.py")}});
    EXPECT_THAT(next(), ElementsAre(folder_.file("model.py")));
}

TEST_F(FileWatches, ForgetWhatIsNotWantedAnyMore) {
    want_model();
    want({});
    folder_.write("model.py", "two");
    EXPECT_THAT(until_marked(), IsEmpty());
}

TEST_F(FileWatches, ReportNewPythonFilesAndPackagesOfAFolder) {
    fs::create_directories(folder_.file("pack"));
    want({.folders = {folder_.file("")}});
    folder_.write("foo.py", "one");
    EXPECT_THAT(next(), ElementsAre(folder_.file("foo.py")));
    folder_.write("pack/__init__.py", "");
    EXPECT_THAT(next(), ElementsAre(folder_.file("pack/__init__.py")));
    folder_.write("foo.py", "two");
    EXPECT_THAT(until_marked(), IsEmpty()) << "it is not new any more";
    fs::create_directories(folder_.file("later"));
    EXPECT_THAT(until_marked(), IsEmpty());
    folder_.write("later/__init__.py", "");
    EXPECT_THAT(next(), ElementsAre(folder_.file("later/__init__.py")));
}

TEST_F(FileWatches, IgnoreNewFilesOfCachesAndEnvironments) {
    want({.folders = {folder_.file("")}});
    for (const char* name : {".git", "__pycache__", "venv", ".mypy_cache"})
        fs::create_directories(folder_.file(name));
    folder_.write("venv/pyvenv.cfg", "");
    for (const char* name : {".git/__init__.py", "__pycache__/__init__.py", "venv/__init__.py",
                             ".mypy_cache/__init__.py", ".hidden.py", "notes.txt"})
        folder_.write(name, "x");
    EXPECT_THAT(until_marked(), IsEmpty());
}

TEST_F(FileWatches, SayWhatToDoWhenNothingCanBeWatched) {
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    const auto problem = watch_.want({.files = {folder_.file("model.py")}});
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    ASSERT_TRUE(problem);
    EXPECT_THAT(*problem, HasSubstr("sysctl fs.inotify.max_user_instances"));
    want_model();
    folder_.write("model.py", "two");
    EXPECT_THAT(next(), ElementsAre(folder_.file("model.py"))) << "it could be watched later";
}

}  // namespace
}  // namespace turnpike
