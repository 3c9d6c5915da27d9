#include "gate/reload_page.h"

#include <algorithm>

namespace turnpike {

void append_reload(JsonWriter& json, const OwnRouteDeps& deps, const View& view, PoolId pool,
                   const Caller& caller) {
    const ReloadFacts* reload = deps.reload_of ? deps.reload_of(pool) : nullptr;
    if (reload == nullptr) return json.value(nullptr);
    const LanesSwitched lanes = lanes_switched(*reload, view, pool);
    json.open_object();
    json.member("generation", reload->generation.value);
    json.member("state", name_of(state_of(*reload, view.pools[pool.value])));
    json.member("kind", name_of(reload->kind));
    json.member("why", cause_text(reload->order));
    json.key("files"), json.open_array();
    if (caller.is_admin)
        for (const std::string& file : reload->order.files) json.value(file);
    json.close_array();
    json.member("took_s", std::min(reload->ended, deps.clock.now()) - reload->began);
    json.member("lanes", lanes.all);
    json.member("lanes_switched", lanes.switched);
    json.text_or_null("trouble", caller.is_admin ? std::string_view(reload->trouble) : "");
    json.close_object();
}

}  // namespace turnpike
