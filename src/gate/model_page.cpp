#include "gate/model_page.h"

#include "gate/json_object.h"

namespace turnpike {
namespace {

void append_loading(JsonWriter& json, const LoadNews& news, const Caller& caller) {
    json.open_object();
    json.key("fraction");
    if (news.permille)
        json.thousandths(*news.permille);
    else
        json.value(nullptr);
    json.text_or_null("text", caller.is_admin ? news.text : "");
    json.close_object();
}

}  // namespace

std::string model_name(const ModelChoice& model, const Caller& caller) {
    if (caller.is_admin) return model.text;
    return model.path.substr(model.path.rfind('/') + 1) +
           (model.name.empty() ? "" : ":" + model.name);
}

void append_native(JsonWriter& json, const WorkerFacts& facts, LaneState state,
                   const Caller& caller) {
    json.key("loading");
    if (facts.loading && is_coming_up(state))
        append_loading(json, *facts.loading, caller);
    else
        json.value(nullptr);
    json.text_or_null("sdk", facts.sdk);
    json.key("model_facts");
    if (caller.is_admin && is_json_object(facts.model_facts))  // as the worker sent it
        json.raw(facts.model_facts);
    else
        json.value(nullptr);
}

}  // namespace turnpike
