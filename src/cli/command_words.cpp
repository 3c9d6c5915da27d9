#include "cli/command_words.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>

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

void add_gate(CLI::App& sub, std::optional<std::string>& gate) {
    sub.add_option("--name", gate, "Which gate, if several run")->type_name("NAME");
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
                   "model.py[:Name], a program, turnpike.toml, or a folder with either file [.]")
        ->type_name("");
    sub.add_option("--python", flags.python,
                   "For a model [$VIRTUAL_ENV, .venv beside it, $CONDA_PREFIX, the PATH]")
        ->type_name("PATH");
    sub.add_option("--worker", flags.worker,
                   "An HTTP server for each lane; has {port} or {socket}, maybe {gpu}")
        ->type_name("CMD");
    sub.add_option("--attach", flags.attach,
                   "A worker that somebody else started; once for each: one lane each")
        ->type_name("URL")
        ->allow_extra_args(false);
    sub.add_option("--gpus", flags.gpus, "Which GPUs: all, none, or a list such as 0,2 [all]")
        ->type_name("GPUS");
    add_count(sub, "--gpus-per-lane", flags.gpus_per_lane, "GPUs that each worker gets [1]");
    add_count(sub, "--lanes", flags.lanes,
              "Lanes in all; several may share a GPU [one per GPU; without a GPU 4]");
    sub.add_option("--host", flags.host, "Where to listen [127.0.0.1]")->type_name("HOST");
    sub.add_option("--port", flags.port, "Where to listen; 0: any free port [8000]")
        ->type_name("PORT")
        ->check(CLI::Range(0, 65535).description(""));
    add_count(sub, "--slots", flags.slots,
              "Jobs that a lane takes at once [1, or as a model says]");
    sub.add_flag("--watch", flags.watch, "Reload a model when one of its files is saved");
    sub.add_option("--log-jobs", flags.log_jobs, "JSON line per job to this file; -: to stdout")
        ->type_name("FILE");
    sub.add_flag("--log-starts", flags.log_starts, "Also a line when a job starts");
}

void add_up(CLI::App& app, Chosen& chosen) {
    auto [sub, up] = add_command<UpCommand>(
        app,
        {"up", "Serve: one queue in front of the workers, until Ctrl-C or `turnpike down`",
         "  turnpike up model.py                                    one on every GPU\n"
         "  turnpike up model.py --watch                            a save reloads it\n"
         "  turnpike up model.py:Digits --gpus 0,1 --python envs/draw/bin/python\n"
         "  turnpike up app.py:app                                  an ASGI app (FastAPI, "
         "Starlette)\n"
         "  turnpike up --worker 'uvicorn app:app --port {port}'    an HTTP server on every GPU\n"
         "  turnpike up --worker './serve --socket {socket}' --gpus 0 --lanes 4    four share one\n"
         "  turnpike up --attach http://127.0.0.1:8001 --attach http://127.0.0.1:8002\n"
         "  turnpike up turnpike.toml --port 9000\n"
         "  turnpike up turnpike.toml --detach && turnpike status"},
        chosen);
    add_config(sub, up.config, up.flags);
    sub.add_option("--name", up.name,
                   "What other commands call this gate, if several run [default]")
        ->type_name("NAME");
    sub.add_flag("--detach", up.detach, "In the background, until `turnpike down`");
    sub.add_option("--ready-fd", up.ready_fd)->group("");  // hidden: only a detached gate gets it
}

void add_check(CLI::App& app, Chosen& chosen) {
    auto [sub, check] = add_command<CheckCommand>(
        app,
        {"check", "Say what `up` would serve, or every mistake of the configuration",
         "  turnpike check turnpike.toml\n"
         "  turnpike check model.py\n"
         "  turnpike check --worker 'uvicorn app:app --port {port}' --gpus 0,1\n"
         "  turnpike check --example > turnpike.toml    every key with its default"},
        chosen);
    add_config(sub, check.config, check.flags);
    sub.add_flag("--example", check.example, "Print a configuration with every key");
    add_json(sub, check.json);
}

void add_status(CLI::App& app, Chosen& chosen) {
    auto [sub, status] =
        add_command<StatusCommand>(app,
                                   {"status", "Show queues and lanes",
                                    "  turnpike status\n"
                                    "  watch turnpike status\n"
                                    "  turnpike status --json | jq '.lanes[].state'"},
                                   chosen);
    add_gate(sub, status.gate);
    add_json(sub, status.json);
}

void add_jobs(CLI::App& app, Chosen& chosen) {
    auto [sub, jobs] = add_command<JobsCommand>(
        app, {"jobs", "List the live jobs and the last ended ones", "  turnpike jobs --last 50"},
        chosen);
    add_gate(sub, jobs.gate);
    sub.add_option("--last", jobs.last, "How many ended jobs [20]")
        ->type_name("N")
        ->check(CLI::Range(0, 1'000'000).description(""));
    add_json(sub, jobs.json);
}

void add_cancel(CLI::App& app, Chosen& chosen) {
    auto [sub, cancel] = add_command<CancelCommand>(
        app,
        {"cancel", "Cancel a job, whether it waits or runs",
         "  turnpike cancel 3k9f2m1x0a7bq    `turnpike jobs` shows the names of jobs"},
        chosen);
    sub.add_option("JOB", cancel.job, "Its name, as in the header Turnpike-Job")
        ->required()
        ->type_name("");
    add_gate(sub, cancel.gate);
    add_json(sub, cancel.json);
}

void add_logs(CLI::App& app, Chosen& chosen) {
    auto [sub, logs] = add_command<LogsCommand>(
        app,
        {"logs", "Show what the workers print",
         "  turnpike logs            all lanes, by time\n"
         "  turnpike logs 0 -f       lane 0, and what follows until Ctrl-C\n"
         "  turnpike logs --json | jq -r 'select(.stream == \"err\").text'"},
        chosen);
    sub.add_option("LANE", logs.lane, "Its number, as in `turnpike status`; without it, all lanes")
        ->type_name("");
    sub.add_flag("-f,--follow", logs.follow, "Go on with new lines until Ctrl-C");
    sub.add_option("--lines", logs.lines, "How many of the last lines, 2000 at most [200]")
        ->type_name("N")
        ->check(CLI::Range(0, 2000).description(""));
    add_gate(sub, logs.gate);
    sub.add_flag("--json", logs.json, "Print a JSON object per line");
}

void add_crashes(CLI::App& app, Chosen& chosen) {
    auto [sub, crashes] = add_command<CrashesCommand>(
        app,
        {"crashes", "List the workers that died, or show all that is known of one",
         "  turnpike crashes\n"
         "  turnpike crashes 20261115-140311-123-lane0-4711"},
        chosen);
    sub.add_option("ID", crashes.id, "Of a report, as the list shows it")->type_name("");
    add_gate(sub, crashes.gate);
    add_json(sub, crashes.json);
}

void add_restart(CLI::App& app, Chosen& chosen) {
    auto [sub, restart] = add_command<RestartCommand>(
        app,
        {"restart",
         "Let lanes finish their jobs and start them anew, with the code that they run; asked "
         "again: at once",
         "  turnpike restart 0       one lane; also revives one that failed or is quarantined\n"
         "  turnpike restart chat    every lane of a pool\n"
         "  turnpike restart all"},
        chosen);
    sub.add_option("WHAT", restart.what, "The number of a lane, the name of a pool, or all")
        ->required()
        ->type_name("");
    add_gate(sub, restart.gate);
    add_json(sub, restart.json);
}

void add_reload(CLI::App& app, Chosen& chosen) {
    auto [sub, reload] = add_command<ReloadCommand>(
        app,
        {"reload",
         "Go over to the edited code; the old code serves until the new one has proved itself",
         "  turnpike reload             every pool; waits until each lane is on the new code\n"
         "  turnpike reload chat\n"
         "  turnpike reload --accept    although its recorded proof differs now"},
        chosen);
    sub.add_option("POOL", reload.pool, "Only this one")->type_name("");
    sub.add_flag("--accept", reload.accept,
                 "A recorded proof may differ: the new answers are right");
    sub.add_flag("--no-wait", reload.no_wait, "Do not wait for its end");
    add_gate(sub, reload.gate);
    add_json(sub, reload.json);
}

void add_lane(CLI::App& sub, std::string& lane) {
    sub.add_option("LANE", lane, "Its number, as `turnpike status` shows it")
        ->required()
        ->type_name("");
}

void add_drain(CLI::App& app, Chosen& chosen) {
    auto [sub, drain] =
        add_command<DrainCommand>(app,
                                  {"drain", "Let a lane finish its jobs and take no more",
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
         "  turnpike resume 0    `turnpike restart 0` revives one that failed, too"},
        chosen);
    add_lane(sub, resume.lane);
    add_gate(sub, resume.gate);
    add_json(sub, resume.json);
}

void add_prove(CLI::App& app, Chosen& chosen) {
    auto [sub, prove] = add_command<ProveCommand>(
        app,
        {"prove", "Show what the lanes answer to their proof, and record it beside the model",
         "  turnpike prove               every pool that has a proof\n"
         "  turnpike prove chat          also records it: model.proof.json\n"
         "  turnpike prove --accept      … although another answer was recorded"},
        chosen);
    sub.add_option("POOL", prove.pool, "Only this one")->type_name("");
    sub.add_flag("--accept", prove.accept, "Record what they answer now, whatever was recorded");
    sub.add_flag("--no-record", prove.no_record, "Only show it");
    add_gate(sub, prove.gate);
    add_json(sub, prove.json);
}

void add_stacks(CLI::App& app, Chosen& chosen) {
    auto [sub, stacks] =
        add_command<StacksCommand>(app,
                                   {"stacks", "Show what a lane's worker is doing right now",
                                    "  turnpike stacks 0    models tell it themselves; else Python "
                                    "needs py-spy on `up`'s PATH"},
                                   chosen);
    add_lane(sub, stacks.lane);
    add_gate(sub, stacks.gate);
    add_json(sub, stacks.json);
}

void add_down(CLI::App& app, Chosen& chosen) {
    auto [sub, down] = add_command<DownCommand>(
        app,
        {"down", "Stop a gate and wait until it is gone; accepted jobs may finish",
         "  turnpike down          Ctrl-C stops the waiting, not the stopping\n"
         "  turnpike down --now    without waiting for its jobs"},
        chosen);
    sub.add_flag("--now", down.now, "At once: jobs that run get an error");
    add_gate(sub, down.gate);
    add_json(sub, down.json);
}

void add_key(CLI::App& app, Chosen& chosen) {
    CLI::App& key = add_heading(app, {"key", "Make, list and revoke API keys",
                                      "  KEY=$(turnpike key new bob)\n"
                                      "  curl -H \"Authorization: Bearer $KEY\" …"});
    key.require_subcommand(1);
    auto [sub_new, fresh] = add_command<KeyNewCommand>(
        key, {"new", "Make a key; it is printed this once", "  KEY=$(turnpike key new bob)"},
        chosen);
    sub_new.add_option("NAME", fresh.name, "Whose key it is")->required()->type_name("");
    sub_new.add_flag_callback(
        "--admin", [&access = fresh.access] { access = Access::admin; },
        "May also see and cancel the jobs of others, read logs and control lanes");
    auto [sub_list, list] = add_command<KeyListCommand>(
        key, {"list", "List the names of the keys", "  turnpike key list --json"}, chosen);
    add_json(sub_list, list.json);
    auto [sub_revoke, revoke] = add_command<KeyRevokeCommand>(
        key, {"revoke", "Make a key worthless", "  turnpike key revoke bob"}, chosen);
    sub_revoke.add_option("NAME", revoke.name, "Whose key it is")->required()->type_name("");
}

void add_doctor(CLI::App& app, Chosen& chosen) {
    auto [sub, doctor] = add_command<DoctorCommand>(
        app,
        {"doctor", "Look at this machine: GPUs, driver, who holds memory, limits, leftovers",
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
        "  turnpike up model.py                                    one on every GPU, one queue\n"
        "  turnpike up --worker 'uvicorn app:app --port {port}'    the same for HTTP servers\n"
        "  turnpike up --attach http://127.0.0.1:8001              the same for what runs already\n"
        "  turnpike help status                                    as: turnpike status --help\n"
        "Exit: 0 done, 1 failed, 2 wrong usage or configuration, 3 nothing is running.");
    for (auto* add : {add_up, add_down, add_status, add_jobs, add_cancel, add_logs, add_crashes,
                      add_reload, add_restart, add_drain, add_resume, add_prove, add_stacks,
                      add_check, add_doctor, add_key, add_version})
        add(app, chosen);
}

}  // namespace turnpike
