#include "cli/prove.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/utc.h"
#include "cli/command.h"
#include "cli/orders.h"
#include "cli/pools_and_lanes.h"
#include "cli/print.h"
#include "cli/running_gate.h"
#include "cli/version.h"
#include "proof/proof_check.h"
#include "terminal/facts.h"
#include "terminal/safe_text.h"

namespace turnpike {

namespace {

using Gate = std::optional<std::string>;
using WallClock = std::chrono::steady_clock;

constexpr Duration look_every = 100ms;
constexpr Duration told_every = 10s;

/// True if the lane will run its proof once its jobs are done.
bool will_prove(const ProvedLane& lane) {
    constexpr std::array on_the_way{"ready", "busy", "proving", "draining"};
    return std::ranges::find(on_the_way, lane.state) != on_the_way.end();
}

RecordingPlan refuse(std::string why) {
    return {.write = {}, .text = "nothing recorded: " + std::move(why), .exit_code = exit_failed};
}

/// Returns why these answers can't be recorded as the right one, or nullopt if they can.
std::optional<std::string> objection_to(const ProvedPool& pool) {
    for (const ProvedLane& lane : pool.lanes) {
        if (!lane.serves) return fmt::format("lane {} does not serve", lane.lane);
        if (!lane.proof.is_passed)
            return fmt::format("lane {} has not passed its proof", lane.lane);
    }
    if (answers_of(pool).groups.size() != 1) return "the lanes answer differently";
    const LaneProof& proof = *pool.any_proof();
    if (!proof.request.body.is_whole() || !proof.answer.body.is_whole())
        return "the example or its answer is larger than 64 KiB";
    return std::nullopt;
}

std::string now_in_utc() {
    std::string text;
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    append_utc(text, std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
    return text;
}

Recording recording_of(const ProvedPool& pool) {
    const LaneProof& proof = *pool.any_proof();
    return {.model = pool.model,
            .recorded = now_in_utc(),
            .turnpike = std::string(version()),
            .request = proof.request,
            .answer = proof.answer};
}

std::string how_it_differs(const Recording& recorded, const LaneProof& proof) {
    if (!is_same_request(recorded.request, proof.request))
        return "the model's example has changed since";
    const auto difference = difference_from(recorded, proof.answer);
    return difference ? text_of(*difference, "recorded") : "";
}

}  // namespace

std::vector<std::size_t> lanes_to_wait_for(const ProvedPool& before, const ProvedPool& now) {
    std::vector<std::size_t> lanes;
    for (const ProvedLane& lane : now.lanes) {
        const auto was = std::ranges::find(before.lanes, lane.lane, &ProvedLane::lane);
        const bool has_ended = was != before.lanes.end() && lane.count > was->count;
        if ((!has_ended && will_prove(lane)) || (has_ended && lane.state == "proving"))
            lanes.push_back(lane.lane);
    }
    return lanes;
}

Answers answers_of(const ProvedPool& pool) {
    AnswerGroups groups;
    ProofConfig rule{.compare = Compare::json,
                     .tolerance_absolute = recorded_tolerance_absolute,
                     .tolerance_relative = recorded_tolerance_relative,
                     .integers_exact = true};
    for (const ProvedLane& lane : pool.lanes) {
        const ProofAnswer& answer = lane.proof.answer;
        if (answer.status != 0) groups.add(rule, lane.lane, answer.body.bytes);
    }
    Answers answers{.groups = groups.lanes_by_group(), .oddities = {}};
    for (const Opinion& opinion : groups.opinions(rule))
        if (!opinion.oddity.empty())
            answers.oddities.push_back(fmt::format("lane {} {}", opinion.lane, opinion.oddity));
    return answers;
}

RecordingPlan plan_recording(const ProvedPool& pool, const FoundRecording& found, Accept accept) {
    const auto objection = objection_to(pool);
    if (objection) return refuse(*objection);
    if (pool.is_configured)
        return {.write = {},
                .text = fmt::format("not recorded, because [pool.{}.proof] says what is right",
                                    pool.pool)};
    const LaneProof& proof = *pool.any_proof();
    Recording recording = recording_of(pool);
    const std::string& file = proof.file;
    if (!found && accept == Accept::no)
        return refuse(fmt::format("{}; replace it with --accept", found.error()));
    if (!found || !*found)
        return {.write = std::move(recording), .text = "recorded in " + sanitized(file)};
    const std::string difference = how_it_differs(**found, proof);
    if (difference.empty())
        return {.write = {},
                .text = fmt::format("the answer is the same as recorded in {}", sanitized(file))};
    if (accept == Accept::no)
        return refuse(
            fmt::format("{} has another answer: {}; if the new one is right: turnpike "
                        "prove --accept",
                        sanitized(file), sanitized(difference)));
    recording.tolerance_absolute = (*found)->tolerance_absolute;
    recording.tolerance_relative = (*found)->tolerance_relative;
    return {.write = std::move(recording),
            .text = "replaced the recorded answer in " + sanitized(file)};
}

// ── the command ──────────────────────────────────────────────────────────────────────────────────

namespace {

std::expected<ProvedPool, CommandError> ask_proof(const Gate& gate, const std::string& pool) {
    const auto got = ask_gate(gate, {.target = *pool_route(pool, "proof")});
    if (!got) return std::unexpected(got.error());
    auto page = parse_proved_pool(got->answer.body);
    if (!page) return std::unexpected(CommandError{exit_failed, page.error()});
    return *std::move(page);
}

/// Asks for a proof on every lane and waits until each lane that serves has answered.
std::expected<ProvedPool, CommandError> prove(const Gate& gate, const std::string& pool) {
    const auto before = ask_proof(gate, pool);
    if (!before) return before;
    const auto asked =
        ask_gate(gate, {.method = http::Method::post, .target = *pool_route(pool, "prove")});
    if (!asked) return std::unexpected(asked.error());
    auto told_at = WallClock::now();
    for (;;) {
        auto now = ask_proof(gate, pool);
        if (!now) return now;
        const auto lanes = lanes_to_wait_for(*before, *now);
        if (lanes.empty()) return now;
        if (WallClock::now() - told_at > told_every) {
            told_at = WallClock::now();
            print_to_stderr(
                fmt::format("turnpike: waiting for {}: a lane runs its proof between two jobs\n",
                            lanes_text(lanes)));
        }
        std::this_thread::sleep_for(look_every);
    }
}

RecordingPlan record_answers(const ProvedPool& pool, const ProveCommand& command) {
    const LaneProof* any = pool.any_proof();
    if (any == nullptr) return refuse("no lane has answered");
    const FoundRecording found =
        any->file.empty() ? FoundRecording(std::nullopt) : read_recording(any->file);
    RecordingPlan plan = plan_recording(pool, found, command.accept ? Accept::yes : Accept::no);
    if (command.no_record) {
        plan.write.reset();
        plan.text = plan.exit_code == exit_done ? "" : plan.text;
    }
    if (!plan.write) return plan;
    if (const auto written = write_recording(any->file, *plan.write); !written)
        return refuse(written.error());
    return plan;
}

/// Returns the pool that was named, or every pool of the running gate that has a proof.
std::expected<std::vector<std::string>, CommandError> pools_to_prove(const ProveCommand& command) {
    if (command.pool) {
        if (auto trouble = check_pool(command.gate, *command.pool))
            return std::unexpected(*std::move(trouble));
        return std::vector{*command.pool};
    }
    const auto got = ask_gate(command.gate, {.target = "/-/status"});
    if (!got) return std::unexpected(got.error());
    const auto page = parse_facts(got->answer.body);
    if (!page) return std::unexpected(CommandError{exit_failed, page.error()});
    std::vector<std::string> pools;
    for (const auto& pool : list_of(*page, "pools"))
        if (text_of(object_of(pool), "proof") != "none")
            pools.push_back(text_of(object_of(pool), "pool"));
    if (!pools.empty()) return pools;
    const auto comes_up = [](const auto& lane) {
        return !text_of(object_of(lane), "starting_s").empty();
    };
    return std::unexpected(CommandError{
        exit_failed,
        std::ranges::all_of(list_of(*page, "lanes"), comes_up)
            ? "no lane is up yet, so it is not known whether the model has an `example`; see: "
              "turnpike status"
            : "no pool has a proof: give the model an `example`, or configure [pool.NAME.proof]"});
}

}  // namespace

int run(const ProveCommand& command) {
    const auto pools = pools_to_prove(command);
    if (!pools) return complain(pools.error());
    std::string text;
    std::string list;
    int exit_code = exit_done;
    for (const std::string& name : *pools) {
        const auto pool = prove(command.gate, name);
        if (!pool) return complain(pool.error());
        const RecordingPlan plan = record_answers(*pool, command);
        exit_code = std::max(exit_code, plan.exit_code);
        text += (text.empty() ? "" : "\n") + text_of(*pool) +
                (plan.text.empty() ? "" : plan.text + '\n');
        list += (list.empty() ? "" : ",") + json_of(*pool, plan);
    }
    if (command.json) text = (pools->size() == 1 ? list : '[' + list + ']') + '\n';
    const int printed = print(text);
    return printed == exit_done ? exit_code : printed;
}

}  // namespace turnpike
