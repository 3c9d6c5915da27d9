#include "gate/model_page.h"

#include <boost/json.hpp>

namespace turnpike {
namespace {

/// What a worker sends is put into the page as it is, so it must be what it should be.
bool is_object(std::string_view text) {
    boost::json::error_code error;
    const auto value =
        boost::json::parse(boost::json::string_view(text.data(), text.size()), error);
    return !error && value.is_object();
}

void append_loading(JsonWriter& json, const LoadNews& news, const Caller& caller) {
    json.open_object();
    json.key("fraction");
    if (news.permille)
        json.value(Duration(*news.permille * 1ms));  // of one: shown as seconds are
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
    if (caller.is_admin && is_object(facts.model_facts))
        json.raw(facts.model_facts);
    else
        json.value(nullptr);
}

}  // namespace turnpike
