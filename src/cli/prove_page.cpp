// Reads what GET /-/pools/NAME/proof answered, and shows it as text and as JSON.
#include <algorithm>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "base/base64.h"
#include "base/json_writer.h"
#include "base/utf8.h"
#include "cli/prove.h"
#include "proof/json_layout.h"
#include "proof/proof_check.h"
#include "terminal/facts.h"
#include "terminal/safe_text.h"

namespace turnpike {

namespace json = boost::json;

namespace {

constexpr std::size_t shown_lines_max = 24;
constexpr std::size_t shown_columns = 120;

ProofBody body_in(const json::object& object) {
    const std::string bytes = object.contains("body_base64")
                                  ? bytes_of_base64(raw_text(object, "body_base64")).value_or("")
                                  : raw_text(object, "body");
    return {.content_type = raw_text(object, "content_type"),
            .bytes = bytes,
            .size = count_of(object, "size")};
}

ProofBy by_named(std::string_view name) {
    for (const ProofBy by :
         {ProofBy::pool, ProofBy::agreement, ProofBy::recording, ProofBy::check, ProofBy::example})
        if (name_of(by) == name) return by;
    return ProofBy::nobody;
}

ProvedLane lane_in(const json::object& object) {
    ProvedLane lane{.lane = count_of(object, "lane"),
                    .state = text_of(object, "state"),
                    .serves = is_true(object, "serves"),
                    .count = count_of(object, "count"),
                    .proof = {}};
    const json::object& request = object_of(object, "request");
    const json::object& answer = object_of(object, "answer");
    lane.proof.by = by_named(text_of(object, "by"));
    lane.proof.is_passed = is_true(object, "passed");
    lane.proof.trouble = raw_text(object, "trouble");
    lane.proof.remark = raw_text(object, "remark");
    lane.proof.file = raw_text(object, "file");
    lane.proof.request = {.method = raw_text(request, "method"),
                          .path = raw_text(request, "path"),
                          .body = body_in(request)};
    lane.proof.answer = {.status = static_cast<int>(count_of(answer, "status")),
                         .body = body_in(answer)};
    return lane;
}

/// Returns the body indented, JSON with one member per line. Only the size is shown if the body is
/// not text.
std::string shown(const ProofBody& body) {
    if (body.size == 0) return "  (no body)\n";
    if (!body.is_whole() || !is_utf8(body.bytes)) return fmt::format("  ({} bytes)\n", body.size);
    const std::string text = is_json(body.bytes) ? laid_out(body.bytes) : body.bytes + "\n";
    std::string lines;
    std::size_t count = 0;
    for (std::size_t at = 0; at < text.size();) {
        if (++count > shown_lines_max) return lines + "  …\n";
        const std::size_t end = text.find('\n', at);
        lines += "  " + shortened(sanitized(text.substr(at, end - at)), shown_columns) + '\n';
        at = end + 1;
    }
    return lines;
}

std::string type_text(const ProofBody& body) {
    return body.content_type.empty() ? "" : ", " + sanitized(body.content_type);
}

void append_body(JsonWriter& json, const ProofBody& body) {
    json.text_or_null("content_type", body.content_type);
    json.member("size", body.size);
    if (is_json(body.bytes))
        json.key("json"), json.raw(body.bytes);
    else if (is_utf8(body.bytes))
        json.member("text", body.bytes);
    else
        json.member("base64", base64_of(body.bytes));
}

const ProvedLane& lane_of(const ProvedPool& pool, std::size_t number) {
    return *std::ranges::find(pool.lanes, number, &ProvedLane::lane);
}

void append_answers(JsonWriter& json, const ProvedPool& pool, const Answers& answers) {
    json.key("answers"), json.open_array();
    for (const auto& group : answers.groups) {
        const ProofAnswer& answer = lane_of(pool, group.front()).proof.answer;
        json.open_object();
        json.key("lanes"), json.open_array();
        for (const std::size_t lane : group) json.value(lane);
        json.close_array();
        json.member("status", answer.status);
        append_body(json, answer.body);
        json.close_object();
    }
    json.close_array();
}

}  // namespace

const LaneProof* ProvedPool::any_proof() const {
    for (const ProvedLane& lane : lanes)
        if (lane.proof.by != ProofBy::nobody) return &lane.proof;
    return nullptr;
}

std::expected<ProvedPool, std::string> parse_proved_pool(std::string_view text) {
    const auto page = parse_facts(text);
    if (!page) return std::unexpected(page.error());
    ProvedPool pool{.pool = text_of(*page, "pool"),
                    .model = raw_text(*page, "model"),
                    .has_proof = is_true(*page, "has_proof"),
                    .is_configured = is_true(*page, "is_configured"),
                    .lanes = {}};
    for (const json::value& lane : list_of(*page, "lanes"))
        pool.lanes.push_back(lane_in(object_of(lane)));
    return pool;
}

std::string text_of(const ProvedPool& pool) {
    const LaneProof* any = pool.any_proof();
    if (any == nullptr) return "";
    const ProofRequest& request = any->request;
    std::string text =
        fmt::format("pool {}: {} {}{}{}\n{}", pool.pool, sanitized(request.method),
                    sanitized(request.path), type_text(request.body),
                    pool.is_configured ? "" : ": the model's example", shown(request.body));
    const Answers answers = answers_of(pool);
    for (const auto& group : answers.groups) {
        const LaneProof& proof = lane_of(pool, group.front()).proof;
        text += fmt::format("{} answer{} {}{}\n{}", lanes_text(group), group.size() == 1 ? "s" : "",
                            proof.answer.status, type_text(proof.answer.body),
                            shown(proof.answer.body));
    }
    for (const std::string& oddity : answers.oddities) text += sanitized(oddity) + '\n';
    for (const ProvedLane& lane : pool.lanes) {
        const LaneProof& proof = lane.proof;
        if (!lane.serves)
            text += fmt::format("lane {} does not serve: {}\n", lane.lane, lane.state);
        if (!proof.trouble.empty())
            text += fmt::format("lane {}: {}\n", lane.lane, sanitized(proof.trouble));
    }
    if (std::ranges::all_of(pool.lanes, [](const auto& lane) { return lane.proof.is_passed; }))
        text += fmt::format("passed by {}\n", words_for(any->by));
    return text;
}

std::string json_of(const ProvedPool& pool, const RecordingPlan& plan) {
    std::string page;
    JsonWriter json(page);
    json.open_object();
    json.member("pool", pool.pool);
    if (const LaneProof* any = pool.any_proof()) {
        json.member("by", name_of(any->by));
        json.key("request"), json.open_object();
        json.member("method", any->request.method);
        json.member("path", any->request.path);
        append_body(json, any->request.body);
        json.close_object();
        json.text_or_null("file", any->file);
    }
    const Answers answers = answers_of(pool);
    append_answers(json, pool, answers);
    json.key("differences"), json.open_array();
    for (const std::string& oddity : answers.oddities) json.value(oddity);
    json.close_array();
    json.key("lanes"), json.open_array();
    for (const ProvedLane& lane : pool.lanes) {
        json.open_object();
        json.member("lane", lane.lane);
        json.member("serves", lane.serves);
        json.member("passed", lane.proof.is_passed);
        json.text_or_null("trouble", lane.proof.trouble);
        json.close_object();
    }
    json.close_array();
    json.member("recorded", plan.write.has_value());
    json.member("outcome", plan.text);
    json.close_object();
    return page;
}

}  // namespace turnpike
