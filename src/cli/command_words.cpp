#include "cli/command_words.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/name.h"
#include "cli/version.h"

namespace turnpike {
namespace {

using Chosen = std::optional<Command>;

struct Heading {
    std::string name;
    std::string about;
    std::string examples;  // lines
};

CLI::App& add_heading(CLI::App& parent, Heading heading) {
    CLI::App* sub = parent.add_subcommand(std::move(heading.name), std::move(heading.about));
    sub->footer("Example:\n" + std::move(heading.examples));
    return *sub;
}

/// Adds a command. If its name is on the command line, `chosen` becomes this command with its
/// options filled in.
template <class C>
std::pair<CLI::App&, C&> add_command(CLI::App& parent, Heading heading, Chosen& chosen) {
    CLI::App& sub = add_heading(parent, std::move(heading));
    auto command = std::make_shared<C>();
    sub.callback([command, &chosen] { chosen = *command; });
    return {sub, *command};
}

void add_json(CLI::App& sub, bool& json) { sub.add_flag("--json", json, "Print JSON"); }

/// Returns why this can't be the name of a gate. Empty if it can.
std::string objection_to_name(const std::string& name) {
    return is_name(name) ? "" : fmt::format("\"{}\" is not a name; a name is {}", name, name_rule);
}

void add_gate(CLI::App& sub, std::optional<std::string>& gate) {
    sub.add_option("--name", gate, "Which gate, if several run")
        ->type_name("NAME")
        ->check(objection_to_name);
}

/// The configuration checks the bounds of the value, as it does for the key of the same name.
void add_count(CLI::App& sub, const char* flag, std::optional<std::uint32_t>& count,
               const char* about) {
    sub.add_option(flag, count, about)
        ->type_name("N")
        ->check(CLI::Range(std::int64_t{0}, std::int64_t{std::numeric_limits<std::uint32_t>::max()})
                    .description(""));
}

void add_config(CLI::App& sub, std::optional<std::string>& config, Flags& flags) {
    sub.add_option("MODEL", config,
                   "model.py[:Name], a program, turnpike.toml, or a folder with a turnpike.toml or "
                   "model.py [default: .]")
        ->type_name("");
    sub.add_option("--python", flags.python,
                   "Python for the model [default: first of $VIRTUAL_ENV, .venv beside the model, "
                   "$CONDA_PREFIX, PATH]")
        ->type_name("PATH");
    sub.add_option(
           "--worker", flags.worker,
           "Command that starts an HTTP server, once per lane; it needs {port} or {socket}, "
           "and may use {gpu}")
        ->type_name("CMD");
    sub.add_option("--attach", flags.attach,
                   "HTTP server that you started yourself; one lane for each --attach")
        ->type_name("URL")
        ->allow_extra_args(false);
    sub.add_option("--gpus", flags.gpus,
                   "Which GPUs to use: all, none, or a list such as 0,2 [default: all]")
        ->type_name("GPUS");
    add_count(sub, "--gpus-per-lane", flags.gpus_per_lane,
              "GPUs that each worker gets [default: 1]");
    add_count(
        sub, "--lanes", flags.lanes,
        "Number of lanes; several may share a GPU [default: one per GPU; 4 if there is no GPU]");
    sub.add_option("--host", flags.host, "Address to listen on [default: 127.0.0.1]")
        ->type_name("HOST");
    sub.add_option("--port", flags.port, "Port to listen on; 0 means any free port [default: 8000]")
        ->type_name("PORT")
        ->check(CLI::Range(0, 65535).description(""));
    add_count(sub, "--slots", flags.slots,
              "Jobs that a lane runs at the same time [default: 1, or as the model says]");
    sub.add_flag("--watch", flags.watch, "Reload a model when one of its files is saved");
    sub.add_option("--log-jobs", flags.log_jobs,
                   "Write a JSON line per job to this file; - means stdout")
        ->type_name("FILE");
    sub.add_flag("--log-starts", flags.log_starts, "Also write a line when a job starts");
}

void add_up(CLI::App& app, Chosen& chosen) {
    auto [sub, up] = add_command<UpCommand>(
        app,
        {"up", "Serve a model on every GPU behind one address, until Ctrl-C or `turnpike down`",
         "  turnpike up model.py                                    one worker on every GPU\n"
         "  turnpike up model.py --watch                            saving a file reloads it\n"
         "  turnpike up model.py:Digits --gpus 0,1 --python envs/draw/bin/python\n"
         "  turnpike up app.py:app                                  an ASGI app (FastAPI, "
         "Starlette)\n"
         "  turnpike up --worker 'uvicorn app:app --port {port}'    an HTTP server on every GPU\n"
         "  turnpike up --worker './serve --socket {socket}' --gpus 0 --lanes 4    four share a "
         "GPU\n"
         "  turnpike up --attach http://127.0.0.1:8001 --attach http://127.0.0.1:8002\n"
         "  turnpike up turnpike.toml --port 9000\n"
         "  turnpike up turnpike.toml --detach && turnpike status"},
        chosen);
    add_config(sub, up.config, up.flags);
    sub.add_option("--name", up.name,
                   "Name of this gate for other commands, if several run [default: \"default\"]")
        ->type_name("NAME")
        ->check(objection_to_name);
    sub.add_flag("--detach", up.detach, "Run in the background, until `turnpike down`");
    sub.add_option("--ready-fd", up.ready_fd)->group("");  // hidden: only a detached gate gets it
}

void add_check(CLI::App& app, Chosen& chosen) {
    auto [sub, check] = add_command<CheckCommand>(
        app,
        {"check", "Show what `up` would serve, or list every mistake in the configuration",
         "  turnpike check turnpike.toml\n"
         "  turnpike check model.py\n"
         "  turnpike check --worker 'uvicorn app:app --port {port}' --gpus 0,1\n"
         "  turnpike check --example > turnpike.toml    every key with its default"},
        chosen);
    add_config(sub, check.config, check.flags);
    sub.add_flag("--example", check.example,
                 "Print a configuration with every key and its default");
    add_json(sub, check.json);
}

void add_status(CLI::App& app, Chosen& chosen) {
    auto [sub, status] =
        add_command<StatusCommand>(app,
                                   {"status", "Show the pools, queues and lanes of a gate",
                                    "  turnpike status\n"
                                    "  turnpike status --clients    who has jobs, and how many\n"
                                    "  watch turnpike status\n"
                                    "  turnpike status --json | jq '.lanes[].state'"},
                                   chosen);
    sub.add_flag("--clients", status.clients,
                 "Show who has jobs and bytes here, and who was refused");
    add_gate(sub, status.gate);
    add_json(sub, status.json);
}

void add_jobs(CLI::App& app, Chosen& chosen) {
    auto [sub, jobs] = add_command<JobsCommand>(
        app,
        {"jobs", "List the jobs that wait or run, and those that ended last",
         "  turnpike jobs --last 50"},
        chosen);
    add_gate(sub, jobs.gate);
    sub.add_option("--last", jobs.last, "How many ended jobs to show [default: 20]")
        ->type_name("N")
        ->check(CLI::Range(0, 1'000'000).description(""));
    add_json(sub, jobs.json);
}

void add_cancel(CLI::App& app, Chosen& chosen) {
    auto [sub, cancel] = add_command<CancelCommand>(
        app,
        {"cancel", "Cancel a job that waits or runs",
         "  turnpike cancel 3k9f2m1x0a7bq    `turnpike jobs` shows the ids"},
        chosen);
    sub.add_option("JOB", cancel.job, "Id of the job, as in the response header Turnpike-Job")
        ->required()
        ->type_name("");
    add_gate(sub, cancel.gate);
    add_json(sub, cancel.json);
}

void add_logs(CLI::App& app, Chosen& chosen) {
    auto [sub, logs] = add_command<LogsCommand>(
        app,
        {"logs", "Show what the workers print",
         "  turnpike logs            all lanes, sorted by time\n"
         "  turnpike logs 0 -f       lane 0, then new lines until Ctrl-C\n"
         "  turnpike logs --json | jq -r 'select(.stream == \"err\").text'"},
        chosen);
    sub.add_option("LANE", logs.lane,
                   "Number of a lane, as in `turnpike status`; without it, all lanes")
        ->type_name("");
    sub.add_flag("-f,--follow", logs.follow, "Keep printing new lines until Ctrl-C");
    sub.add_option("--lines", logs.lines,
                   "How many of the last lines to show, at most 2000 [default: 200]")
        ->type_name("N")
        ->check(CLI::Range(0, 2000).description(""));
    add_gate(sub, logs.gate);
    sub.add_flag("--json", logs.json, "Print a JSON object per line");
}

void add_crashes(CLI::App& app, Chosen& chosen) {
    auto [sub, crashes] = add_command<CrashesCommand>(
        app,
        {"crashes", "List the workers that died, or show the report about one",
         "  turnpike crashes\n"
         "  turnpike crashes 20261115-140311-123-lane0-4711"},
        chosen);
    sub.add_option("ID", crashes.id, "Id of a report, as the list shows it")->type_name("");
    add_gate(sub, crashes.gate);
    add_json(sub, crashes.json);
}

void add_restart(CLI::App& app, Chosen& chosen) {
    auto [sub, restart] = add_command<RestartCommand>(
        app,
        {"restart",
         "Let lanes finish their jobs, then start their workers again with the same code",
         "  turnpike restart 0       one lane; also brings back one that failed or is quarantined\n"
         "  turnpike restart 0       a second time: does not wait for its jobs\n"
         "  turnpike restart chat    every lane of a pool\n"
         "  turnpike restart all     every lane"},
        chosen);
    sub.add_option("WHAT", restart.what, "Number of a lane, name of a pool, or all")
        ->required()
        ->type_name("");
    add_gate(sub, restart.gate);
    add_json(sub, restart.json);
}

void add_reload(CLI::App& app, Chosen& chosen) {
    auto [sub, reload] = add_command<ReloadCommand>(
        app,
        {"reload", "Load the edited code; the old code keeps serving until the new code works",
         "  turnpike reload             every pool; waits until every lane runs the new code\n"
         "  turnpike reload chat\n"
         "  turnpike reload --accept    the answer to the recorded proof may change"},
        chosen);
    sub.add_option("POOL", reload.pool, "Reload only this pool")->type_name("");
    sub.add_flag("--accept", reload.accept,
                 "Accept an answer that differs from the recorded proof");
    sub.add_flag("--no-wait", reload.no_wait, "Do not wait until the reload ends");
    add_gate(sub, reload.gate);
    add_json(sub, reload.json);
}

void add_lane(CLI::App& sub, std::string& lane) {
    sub.add_option("LANE", lane, "Number of the lane, as in `turnpike status`")
        ->required()
        ->type_name("");
}

void add_drain(CLI::App& app, Chosen& chosen) {
    auto [sub, drain] =
        add_command<DrainCommand>(app,
                                  {"drain", "Let a lane finish its jobs and give it no new ones",
                                   "  turnpike drain 0     `turnpike resume 0` brings it back"},
                                  chosen);
    add_lane(sub, drain.lane);
    add_gate(sub, drain.gate);
    add_json(sub, drain.json);
}

void add_resume(CLI::App& app, Chosen& chosen) {
    auto [sub, resume] = add_command<ResumeCommand>(
        app,
        {"resume", "Let a drained lane take jobs again",
         "  turnpike resume 0    a lane that failed needs `turnpike restart 0`"},
        chosen);
    add_lane(sub, resume.lane);
    add_gate(sub, resume.gate);
    add_json(sub, resume.json);
}

void add_prove(CLI::App& app, Chosen& chosen) {
    auto [sub, prove] = add_command<ProveCommand>(
        app,
        {"prove",
         "Send every lane its proof (a test request), and record the answer beside the model",
         "  turnpike prove               every pool that has a proof\n"
         "  turnpike prove chat          one pool; records the answer in model.proof.json\n"
         "  turnpike prove --accept      replaces an answer that was recorded earlier"},
        chosen);
    sub.add_option("POOL", prove.pool, "Prove only this pool")->type_name("");
    sub.add_flag("--accept", prove.accept, "Record the new answer even if another one is recorded");
    sub.add_flag("--no-record", prove.no_record, "Show the answer without recording it");
    add_gate(sub, prove.gate);
    add_json(sub, prove.json);
}

void add_stacks(CLI::App& app, Chosen& chosen) {
    auto [sub, stacks] = add_command<StacksCommand>(
        app,
        {"stacks", "Show what a lane's worker is doing right now (its stack traces)",
         "  turnpike stacks 0    an HTTP worker in Python needs "
         "py-spy on the PATH of `up`"},
        chosen);
    add_lane(sub, stacks.lane);
    add_gate(sub, stacks.gate);
    add_json(sub, stacks.json);
}

void add_down(CLI::App& app, Chosen& chosen) {
    auto [sub, down] = add_command<DownCommand>(
        app,
        {"down", "Stop a gate: wait until its jobs have finished and its workers have ended",
         "  turnpike down          Ctrl-C ends the waiting; the gate stops anyway\n"
         "  turnpike down --now    does not wait for its jobs"},
        chosen);
    sub.add_flag("--now", down.now, "Do not wait: running jobs get an error");
    add_gate(sub, down.gate);
    add_json(sub, down.json);
}

struct LimitFlag {
    const char* flag;
    const char* limit;  // its name in the key file
    const char* value;
    const char* about;
};

void add_limit(CLI::App& sub, KeyLimits& limits, const LimitFlag& row) {
    sub.add_option_function<std::string>(
           row.flag,
           [&limits, row](const std::string& text) {
               const auto taken = find_key_limit(row.limit)->take(limits, text);
               if (!taken) throw CLI::ValidationError(row.flag, text + ' ' + taken.error());
           },
           row.about)
        ->type_name(row.value);
}

void add_limits(CLI::App& sub, KeyLimits& limits) {
    for (const LimitFlag& row :
         {LimitFlag{"--jobs-max", "jobs_max", "N",
                    "Jobs that it may have at once [default: no limit]"},
          LimitFlag{"--bytes-max", "bytes_max", "SIZE",
                    "Size of all bodies of these jobs, such as 256MiB [default: no limit]"},
          LimitFlag{"--rate", "rate", "N/s|N/min",
                    "Jobs that it may send per second or minute [default: no limit]"},
          LimitFlag{"--priority-max", "priority_max", "0-9",
                    "Highest level of its jobs against those of others [default: 5]"}})
        add_limit(sub, limits, row);
}

void add_key(CLI::App& app, Chosen& chosen) {
    CLI::App& key = add_heading(app, {"key", "Make, list and revoke API keys",
                                      "  KEY=$(turnpike key new bob)\n"
                                      "  curl -H \"Authorization: Bearer $KEY\" …"});
    key.require_subcommand(1);
    auto [sub_new, fresh] = add_command<KeyNewCommand>(
        key,
        {"new", "Make a key and print it; it is never shown again",
         "  KEY=$(turnpike key new bob)\n"
         "  turnpike key new ops --admin --priority-max 9\n"
         "  turnpike key new web --jobs-max 20 --bytes-max 256MiB --rate 5/s"},
        chosen);
    sub_new.add_option("NAME", fresh.name, "Name of the key's owner")->required()->type_name("");
    sub_new.add_flag_callback(
        "--admin", [&access = fresh.access] { access = Access::admin; },
        "Let the key also see and cancel the jobs of others, read logs and control lanes");
    add_limits(sub_new, fresh.limits);
    sub_new.add_flag(
        "--yes", fresh.is_confirmed,
        "Do not ask, even if a running gate has no keys so far: from its first key on, "
        "it refuses requests without one");
    auto [sub_list, list] = add_command<KeyListCommand>(
        key, {"list", "List the keys, without their secrets", "  turnpike key list --json"},
        chosen);
    add_json(sub_list, list.json);
    auto [sub_revoke, revoke] = add_command<KeyRevokeCommand>(
        key,
        {"revoke", "Revoke a key, so that it is refused from now on", "  turnpike key revoke bob"},
        chosen);
    sub_revoke.add_option("NAME", revoke.name, "Name of the key's owner")
        ->required()
        ->type_name("");
}

void add_doctor(CLI::App& app, Chosen& chosen) {
    auto [sub, doctor] = add_command<DoctorCommand>(
        app,
        {"doctor", "Check this machine: GPUs, driver, who holds GPU memory, limits, leftovers",
         "  turnpike doctor\n"
         "  turnpike doctor --json | jq '.gpus[].holders'"},
        chosen);
    add_json(sub, doctor.json);
}

void add_version(CLI::App& app, Chosen& chosen) {
    auto [sub, version] = add_command<VersionCommand>(
        app, {"version", "Print the version", "  turnpike version --json"}, chosen);
    add_json(sub, version.json);
}

}  // namespace

void add_commands(CLI::App& app, std::optional<Command>& chosen) {
    app.name("turnpike");
    app.set_version_flag("--version", "turnpike " + std::string(version()), "Print the version");
    app.require_subcommand(0, 1);  // so that a later word is never taken for a second command
    app.get_formatter()->column_width(28);
    app.footer(
        "Examples:\n"
        "  turnpike up model.py                                    one worker per GPU, one queue\n"
        "  turnpike up --worker 'uvicorn app:app --port {port}'    HTTP servers as workers\n"
        "  turnpike up --attach http://127.0.0.1:8001              a server that runs already\n"
        "  turnpike help status                                    same as: turnpike status "
        "--help\n"
        "Exit codes: 0 done, 1 failed, 2 wrong usage or configuration, 3 nothing is running.");
    for (auto* add : {add_up, add_down, add_status, add_jobs, add_cancel, add_logs, add_crashes,
                      add_reload, add_restart, add_drain, add_resume, add_prove, add_stacks,
                      add_check, add_doctor, add_key, add_version})
        add(app, chosen);
}

}  // namespace turnpike
