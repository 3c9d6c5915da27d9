#include "proof/recording.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "base/base64.h"
#include "base/json_text.h"
#include "base/utf8.h"
#include "os/file.h"
#include "proof/json_layout.h"

namespace turnpike {

namespace json = boost::json;

namespace {

constexpr std::size_t file_max = 1024 * 1024;
constexpr int depth_max = 512;
using Wrong = std::unexpected<std::string>;

Wrong failed(const std::string& path, const char* what) {
    return Wrong(fmt::format("{}: can't {}: {}", path, what, std::strerror(errno)));
}

std::string json_string(std::string_view text) {
    std::string out;
    append_json_string(out, text);
    return out;
}

// ── writing ──────────────────────────────────────────────────────────────────────────────────────

/// Returns `"content_type": …, "json": …`, or "text" or "base64" instead of "json".
std::string body_members(const ProofBody& body) {
    std::string type = fmt::format("\"content_type\":{}", json_string(body.content_type));
    if (body.bytes.empty()) return type;
    if (is_json(body.bytes)) return fmt::format("{},\"json\":{}", type, body.bytes);
    if (is_utf8(body.bytes)) return fmt::format("{},\"text\":{}", type, json_string(body.bytes));
    return fmt::format("{},\"base64\":{}", type, json_string(base64_of(body.bytes)));
}

void sync_folder_of(const std::string& path) {
    const std::string folder = std::filesystem::path(path).parent_path().string();
    const UniqueFd opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (opened) ::fsync(opened.get());
}

// ── reading ──────────────────────────────────────────────────────────────────────────────────────

const json::object* object_in(const json::object& page, std::string_view key) {
    const json::value* value = page.if_contains(key);
    return value == nullptr ? nullptr : value->if_object();
}

std::string text_in(const json::object& object, std::string_view key) {
    const json::value* value = object.if_contains(key);
    const json::string* text = value == nullptr ? nullptr : value->if_string();
    return text == nullptr ? "" : std::string(*text);
}

std::expected<ProofBody, std::string> body_in(const json::object& object) {
    const std::string type = text_in(object, "content_type");
    if (const json::value* value = object.if_contains("json"))
        return proof_body(type, json::serialize(*value));
    if (object.contains("text")) return proof_body(type, text_in(object, "text"));
    if (!object.contains("base64")) return proof_body(type, "");
    const auto bytes = bytes_of_base64(text_in(object, "base64"));
    if (!bytes) return Wrong("its \"base64\" is not valid");
    return proof_body(type, *bytes);
}

/// Returns 0 if the key is missing, and nullopt if its value is not a valid tolerance.
std::optional<double> tolerance_in(const json::object& page, std::string_view key) {
    const json::object* tolerance = object_in(page, "tolerance");
    const json::value* value = tolerance == nullptr ? nullptr : tolerance->if_contains(key);
    if (value == nullptr) return 0;
    if (!value->is_number()) return std::nullopt;
    const auto number = value->to_number<double>();
    return std::isfinite(number) && number >= 0 ? std::optional(number) : std::nullopt;
}

std::expected<Recording, std::string> recording_in(const json::object& page) {
    const json::value* version = page.if_contains("version");
    if (version == nullptr || *version != 1) return Wrong("its \"version\" is not 1");
    const json::object* request = object_in(page, "request");
    const json::object* answer = object_in(page, "answer");
    if (request == nullptr) return Wrong("it has no \"request\"");
    if (answer == nullptr) return Wrong("it has no \"answer\"");
    const json::value* status = answer->if_contains("status");
    if (status == nullptr || !status->is_int64()) return Wrong("its answer has no \"status\"");
    auto asked = body_in(*request);
    if (!asked) return Wrong("request: " + asked.error());
    auto answered = body_in(*answer);
    if (!answered) return Wrong("answer: " + answered.error());
    if (!asked->is_whole() || !answered->is_whole()) return Wrong("a body is over 64 KiB");
    const auto absolute = tolerance_in(page, "absolute");
    const auto relative = tolerance_in(page, "relative");
    if (!absolute || !relative) return Wrong("a tolerance must be a number, 0 or more");
    return Recording{
        .model = text_in(page, "model"),
        .recorded = text_in(page, "recorded"),
        .turnpike = text_in(page, "turnpike"),
        .request = {.method = text_in(*request, "method"),
                    .path = text_in(*request, "path"),
                    .body = *std::move(asked)},
        .answer = {.status = static_cast<int>(status->get_int64()), .body = *std::move(answered)},
        .tolerance_absolute = *absolute,
        .tolerance_relative = *relative};
}

}  // namespace

std::string recording_path(const ModelChoice& model) {
    if (model.path.empty()) return "";
    std::filesystem::path path(model.path);
    path.replace_filename(path.stem().string() + ".proof.json");
    return path.string();
}

std::string text_of(const Recording& recording) {
    return laid_out(
        fmt::format("{{\"version\":1,\"model\":{},\"recorded\":{},\"turnpike\":{},"
                    "\"request\":{{\"method\":{},\"path\":{},{}}},\"answer\":{{\"status\":{},{}}},"
                    "\"tolerance\":{{\"absolute\":{},\"relative\":{}}}}}",
                    json_string(recording.model), json_string(recording.recorded),
                    json_string(recording.turnpike), json_string(recording.request.method),
                    json_string(recording.request.path), body_members(recording.request.body),
                    recording.answer.status, body_members(recording.answer.body),
                    recording.tolerance_absolute, recording.tolerance_relative));
}

std::expected<Recording, std::string> parse_recording(std::string_view text) {
    json::error_code error;
    const json::value page = json::parse(json::string_view(text.data(), text.size()), error, {},
                                         {.max_depth = depth_max});
    if (error) return Wrong("it is not valid JSON: " + error.message());
    if (!page.is_object()) return Wrong("it is not a JSON object");
    return recording_in(page.get_object());
}

std::expected<std::optional<Recording>, std::string> read_recording(const std::string& path) {
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!file && errno == ENOENT) return std::nullopt;
    if (!file) return failed(path, "open it");
    const auto text = read_all(file.get(), file_max + 1);
    if (!text) return failed(path, "read it");
    if (text->size() > file_max) return Wrong(path + ": it is larger than 1 MiB");
    auto recording = parse_recording(*text);
    if (!recording) return Wrong(fmt::format("{}: {}", path, recording.error()));
    return *std::move(recording);
}

std::expected<void, std::string> write_recording(const std::string& path,
                                                 const Recording& recording) {
    constexpr mode_t mode = 0666;  // minus the umask: the recording is as public as the model
    const std::string fresh = fmt::format("{}.{}.new", path, ::getpid());
    UniqueFd file(
        ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode));
    if (!file) return failed(fresh, "make it");
    if (!write_all(file.get(), text_of(recording)) || ::fsync(file.get()) != 0 ||
        ::rename(fresh.c_str(), path.c_str()) != 0) {
        auto problem = failed(path, "write it");
        ::unlink(fresh.c_str());
        return problem;
    }
    sync_folder_of(path);
    return {};
}

ProofConfig rule_of(const Recording& recording) {
    return {.status = recording.answer.status,
            .compare = is_json(recording.answer.body.bytes) ? Compare::json : Compare::exact,
            .expected = recording.answer.body.bytes,
            .tolerance_absolute = recording.tolerance_absolute,
            .tolerance_relative = recording.tolerance_relative,
            .integers_exact = true};
}

bool is_same_request(const ProofRequest& a, const ProofRequest& b) {
    if (a.method != b.method || a.path != b.path) return false;
    if (a.body.content_type != b.body.content_type) return false;
    if (a.body.bytes == b.body.bytes) return a.body.size == b.body.size;
    return a.body.is_whole() && b.body.is_whole() &&
           is_same_answer({.compare = Compare::json}, a.body.bytes, b.body.bytes);
}

std::optional<Difference> difference_from(const Recording& recording, const ProofAnswer& answer) {
    if (answer.status != recording.answer.status)
        return Difference{"status", std::to_string(answer.status),
                          std::to_string(recording.answer.status)};
    if (!answer.body.is_whole())
        return Difference{"size", std::to_string(answer.body.size),
                          std::to_string(recording.answer.body.size)};
    const ProofConfig rule = rule_of(recording);
    if (is_same_answer(rule, rule.expected, answer.body.bytes)) return std::nullopt;
    return first_difference(rule, answer.body.bytes, rule.expected);
}

}  // namespace turnpike
