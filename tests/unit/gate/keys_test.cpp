#include "gate/keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/temporary_folder.h"

namespace turnpike {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Not;
using testing::StartsWith;

const std::string abc_hash =  // of "abc", from FIPS 180-2
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
const std::string good_line = "alice\tadmin\t" + abc_hash + "\t2026-11-15T10:00:00.000Z\n";

mode_t mode_of(const std::string& path) {
    struct stat info{};
    EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
    return info.st_mode & 0777;
}

std::string made(const std::string& path, std::string_view name, Access access = Access::plain) {
    const auto text = new_key(path, name, access);
    EXPECT_TRUE(text) << text.error();
    return text.value_or("");
}

std::vector<std::string> names_in(const std::string& path) {
    const auto keys = read_keys(path);
    EXPECT_TRUE(keys) << keys.error();
    std::vector<std::string> names;
    for (const ApiKey& key : keys.value_or(std::vector<ApiKey>())) names.push_back(key.name);
    return names;
}

/// Returns the error of reading a file with this text that only its owner can write.
std::string error_of(std::string_view text) {
    const TemporaryFolder folder;
    folder.write("keys", text);
    ::chmod(folder.file("keys").c_str(), 0600);
    const auto keys = read_keys(folder.file("keys"));
    if (keys) return "";
    EXPECT_THAT(keys.error(), StartsWith(folder.file("keys")));
    return keys.error().substr(folder.file("keys").size());
}

TEST(KeysPath, FollowsTheConventions) {
    EXPECT_EQ(keys_path("/etc/xdg", "/home/alice"), "/etc/xdg/turnpike/keys");
    EXPECT_EQ(keys_path("", "/home/alice"), "/home/alice/.config/turnpike/keys");
    EXPECT_EQ(keys_path("not/absolute", "/home/alice"), "/home/alice/.config/turnpike/keys");
    EXPECT_EQ(keys_path("", ""), "");
}

TEST(Keys, AreShownOnceAndFoundAgain) {
    const TemporaryFolder folder;
    const std::string path = folder.file("keys");
    const std::string alice = made(path, "alice", Access::admin);
    const std::string bob = made(path, "bob");
    EXPECT_THAT(alice, MatchesRegex("tp_[A-Za-z0-9_-]{43}"));
    EXPECT_NE(alice, bob);
    EXPECT_THAT(folder.read("keys"), Not(HasSubstr(alice.substr(3))));

    const KeyRing ring(*read_keys(path));
    ASSERT_NE(ring.find(alice), nullptr);
    EXPECT_EQ(ring.find(alice)->name, "alice");
    EXPECT_EQ(ring.find(alice)->access, Access::admin);
    EXPECT_EQ(ring.find(bob)->name, "bob");
    EXPECT_EQ(ring.find(bob)->access, Access::plain);
    EXPECT_THAT(ring.find(bob)->created, MatchesRegex("20..-..-..T..:..:...+Z"));
}

TEST(Keys, AreNeverTheSameTwice) {
    const TemporaryFolder folder;
    std::set<std::string> seen;
    for (int i = 0; i < 20; ++i) seen.insert(made(folder.file("keys"), "k" + std::to_string(i)));
    EXPECT_EQ(seen.size(), 20U);
}

TEST(Keys, AreOneLineEach) {
    const TemporaryFolder folder;
    made(folder.file("keys"), "alice", Access::admin);
    EXPECT_THAT(folder.read("keys"), MatchesRegex("alice\tadmin\t[0-9a-f]{64}\t[^\t\n]+Z\n"));
}

TEST(Keys, AreForTheirOwnerAlone) {
    const TemporaryFolder folder;
    const mode_t before = ::umask(0);
    made(folder.file("config/turnpike/keys"), "alice");
    ::umask(before);
    EXPECT_EQ(mode_of(folder.file("config/turnpike/keys")), 0600U);
    EXPECT_EQ(mode_of(folder.file("config/turnpike")), 0700U);
    EXPECT_FALSE(folder.has("config/turnpike/keys.new"));
}

TEST(Keys, AreEmptyWithoutAFile) {
    const TemporaryFolder folder;
    EXPECT_THAT(names_in(folder.file("keys")), IsEmpty());
    EXPECT_THAT(names_in(folder.file("no/such/folder/keys")), IsEmpty());
}

TEST(Keys, HaveNamesOfPlainCharacters) {
    EXPECT_TRUE(is_key_name("Ci-runner_2.eu"));
    EXPECT_TRUE(is_key_name(std::string(64, 'a')));
    for (const std::string& name : {std::string(), std::string(65, 'a'), std::string("a b"),
                                    std::string("a\tb"), std::string("a\nb"), std::string("é")}) {
        EXPECT_FALSE(is_key_name(name)) << name;
        const TemporaryFolder folder;
        const auto key = new_key(folder.file("keys"), name, Access::plain);
        ASSERT_FALSE(key);
        EXPECT_THAT(key.error(), HasSubstr("a name must have 1 to 64"));
        EXPECT_FALSE(folder.has("keys"));
    }
}

TEST(Keys, HaveDifferentNames) {
    const TemporaryFolder folder;
    const std::string first = made(folder.file("keys"), "alice");
    const auto second = new_key(folder.file("keys"), "alice", Access::admin);
    ASSERT_FALSE(second);
    EXPECT_THAT(second.error(), HasSubstr("there is a key named 'alice' already"));
    EXPECT_NE(KeyRing(*read_keys(folder.file("keys"))).find(first), nullptr) << "it still holds";
}

TEST(Keys, CanBeRevoked) {
    const TemporaryFolder folder;
    const std::string path = folder.file("keys");
    const std::string alice = made(path, "alice");
    const std::string bob = made(path, "bob");
    ASSERT_TRUE(revoke_key(path, "alice"));
    EXPECT_THAT(names_in(path), ElementsAre("bob"));
    const KeyRing ring(*read_keys(path));
    EXPECT_EQ(ring.find(alice), nullptr);
    EXPECT_NE(ring.find(bob), nullptr);
    EXPECT_EQ(revoke_key(path, "alice").error(), "there is no key named 'alice'");
    ASSERT_TRUE(revoke_key(path, "bob"));
    EXPECT_EQ(folder.read("keys"), "");
}

TEST(Keys, AreAllKeptWhenManyAreMadeAtOnce) {
    const TemporaryFolder folder;
    std::vector<std::thread> makers;
    for (int i = 0; i < 8; ++i)
        makers.emplace_back([&, i] { made(folder.file("a/b/keys"), "key" + std::to_string(i)); });
    for (std::thread& maker : makers) maker.join();
    EXPECT_EQ(names_in(folder.file("a/b/keys")).size(), 8U);
}

TEST(Keys, SurviveTheLeftoversOfAKilledWriter) {
    const TemporaryFolder folder;
    folder.write("keys.new", "half a li");
    made(folder.file("keys"), "alice");
    EXPECT_THAT(names_in(folder.file("keys")), ElementsAre("alice"));
}

TEST(Keys, AreNotAddedToADamagedFile) {
    const TemporaryFolder folder;
    folder.write("keys", "garbage\n");
    ::chmod(folder.file("keys").c_str(), 0600);
    EXPECT_FALSE(new_key(folder.file("keys"), "alice", Access::plain));
    EXPECT_FALSE(revoke_key(folder.file("keys"), "garbage"));
    EXPECT_EQ(folder.read("keys"), "garbage\n") << "it is the user's to mend";
}

TEST(Keys, SayWhyTheyCantBeStored) {
    const TemporaryFolder folder;
    folder.write("file", "");
    const auto key = new_key(folder.file("file/keys"), "alice", Access::plain);
    ASSERT_FALSE(key);
    EXPECT_THAT(key.error(), HasSubstr("can't open the folder: Not a directory"));
}

TEST(KeyLines, AreRead) {
    EXPECT_EQ(error_of(""), "");
    EXPECT_EQ(error_of(good_line), "");
    EXPECT_EQ(error_of(good_line.substr(0, good_line.size() - 1)), "") << "no newline at the end";
}

TEST(KeyLines, AreRefusedByNumber) {
    const std::string rest = "\t" + abc_hash + "\tnow\n";
    EXPECT_THAT(error_of(good_line + "bob\tplain\n"),
                StartsWith(":2: must be NAME, plain or admin"));
    EXPECT_THAT(error_of(good_line + "\n"), StartsWith(":2: must be NAME"));
    EXPECT_EQ(error_of("b b\tplain" + rest),
              ":1: a name must have 1 to 64 of the characters A-Z a-z 0-9 . _ -");
    EXPECT_EQ(error_of("bob\troot" + rest), ":1: the access must be 'plain' or 'admin'");
    EXPECT_EQ(error_of(good_line + good_line), ":2: a second key is named 'alice'");
    for (const std::string& hash : {abc_hash.substr(1), abc_hash + "0", "x" + abc_hash.substr(1),
                                    "A" + abc_hash.substr(1), std::string()})
        EXPECT_THAT(error_of("bob\tplain\t" + hash + "\tnow\n"),
                    StartsWith(":1: the SHA-256 must have"));
}

std::string line_with(const std::string& limits) {
    return "bob\tplain\t" + abc_hash + "\t2026-11-15T10:00:00.000Z" + limits + "\n";
}

TEST(KeyLimitsOfALine, AreKeptWithTheKey) {
    const TemporaryFolder folder;
    const std::string path = folder.file("keys");
    const KeyLimits limits{.jobs_max = 20,
                           .bytes_max = mebibyte,
                           .rate = Rate{.jobs = 90, .per = 1min},
                           .priority_max = Priority{7}};
    ASSERT_TRUE(new_key(path, "bob", Access::plain, limits));
    EXPECT_THAT(folder.read("keys"),
                EndsWith("Z\tjobs_max=20\tbytes_max=1MiB\trate=90/min\tpriority_max=7\n"));
    made(path, "eve");
    ASSERT_TRUE(revoke_key(path, "eve"));
    const auto keys = read_keys(path);
    ASSERT_TRUE(keys && keys->size() == 1) << "other keys come and go";
    EXPECT_EQ(keys->front().limits, limits);
}

TEST(KeyLimitsOfALine, MayBeLeftOut) {
    const TemporaryFolder folder;
    folder.write("keys", good_line + line_with("\tpriority_max=9\tjobs_max=1"));
    ::chmod(folder.file("keys").c_str(), 0600);
    const auto keys = read_keys(folder.file("keys"));
    ASSERT_TRUE(keys) << keys.error();
    EXPECT_EQ((*keys)[0].limits, KeyLimits{}) << "a line of an older version";
    EXPECT_EQ((*keys)[0].created, "2026-11-15T10:00:00.000Z");
    EXPECT_EQ((*keys)[1].limits.priority_max, Priority{9});
    EXPECT_EQ((*keys)[1].limits.jobs_max, 1U);
    EXPECT_EQ((*keys)[1].limits.rate, std::nullopt);
    EXPECT_EQ((*keys)[1].created, "2026-11-15T10:00:00.000Z");
}

TEST(KeyLimitsOfALine, AreRefusedWithAReason) {
    EXPECT_EQ(error_of(line_with("\tmore")),
              ":1: 'more' is no limit of a key; those are jobs_max, bytes_max, rate and "
              "priority_max");
    EXPECT_EQ(error_of(line_with("\tjobs_max=0")),
              ":1: 'jobs_max' must be a number from 1 to 1000000");
    EXPECT_EQ(error_of(line_with("\tjobs_max=1\tjobs_max=2")), ":1: has 'jobs_max' twice");
    for (const std::string limits :
         {"\t\t", "\tjobs_max", "\tjobs_max=", "\tjobs_max=1=2", "\trate=5/h", "\tbytes_max=x",
          "\tpriority_max=10", "\tJOBS_MAX=1", "\tjobs_max =1", "\tjobs_max=1 "})
        EXPECT_THAT(error_of(line_with(limits)), StartsWith(":1: ")) << limits;
}

TEST(KeyLines, AreNotReadWithoutEnd) {
    EXPECT_EQ(error_of(std::string(5 * 1024 * 1024, 'x')), ": is too large");
    std::string many;
    for (std::size_t i = 0; i <= keys_max; ++i)
        many += "k" + std::to_string(i) + "\tplain\t" + abc_hash + "\tnow\n";
    EXPECT_EQ(error_of(many), ":1001: too many keys");
}

TEST(KeyFileRights, OthersMustNotBeAbleToWrite) {
    const TemporaryFolder folder;
    folder.write("keys", good_line);
    const std::string path = folder.file("keys");
    for (const mode_t mode : {0620U, 0602U, 0666U}) {
        ::chmod(path.c_str(), mode);
        ASSERT_FALSE(read_keys(path)) << std::oct << mode;
        EXPECT_THAT(read_keys(path).error(), EndsWith("can be written by others; chmod 600 it"));
    }
    ::chmod(path.c_str(), 0644);
    EXPECT_TRUE(read_keys(path)) << "hashes are no secret";
}

TEST(KeyFileRights, ItMustBelongToTheUser) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
    const TemporaryFolder folder;
    folder.write("keys", good_line);
    ::chmod(folder.file("keys").c_str(), 0600);
    ASSERT_EQ(::chown(folder.file("keys").c_str(), 12345, 12345), 0);
    EXPECT_EQ(read_keys(folder.file("keys")).error(),
              folder.file("keys") + ": belongs to another user");
}

TEST(KeyFileRights, ItMustBeAFile) {
    const TemporaryFolder folder;
    ASSERT_EQ(::mkfifo(folder.file("keys").c_str(), 0600), 0);
    EXPECT_THAT(read_keys(folder.file("keys")).error(), EndsWith("is not a file"));
    EXPECT_THAT(read_keys(folder.file(".")).error(), EndsWith("is not a file"));
}

TEST(KeyRing, KnowsAKeyByItsSha256) {
    const TemporaryFolder folder;
    folder.write("keys", good_line);
    ::chmod(folder.file("keys").c_str(), 0600);
    const KeyRing ring(*read_keys(folder.file("keys")));
    ASSERT_NE(ring.find("abc"), nullptr);
    EXPECT_EQ(ring.find("abc")->name, "alice");
}

TEST(KeyRing, FindsNothingElse) {
    const TemporaryFolder folder;
    const std::string key = made(folder.file("keys"), "alice");
    const KeyRing ring(*read_keys(folder.file("keys")));
    for (const std::string& wrong :
         {std::string(), std::string("tp_"), key.substr(0, key.size() - 1), key + "A", key + " ",
          key + std::string(1, '\0'), std::string(1'000'000, 'x'), folder.read("keys")})
        EXPECT_EQ(ring.find(wrong), nullptr) << wrong.substr(0, 80);
}

TEST(KeyRing, LetsNobodyInWhenEmpty) {
    const KeyRing ring;
    EXPECT_TRUE(ring.empty());
    EXPECT_EQ(ring.find(""), nullptr);
    EXPECT_EQ(ring.find("tp_x"), nullptr);
}

}  // namespace
}  // namespace turnpike
