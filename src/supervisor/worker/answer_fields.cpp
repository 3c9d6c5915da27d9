#include "supervisor/worker/answer_fields.h"

#include "http/fields.h"
#include "http/write.h"

namespace turnpike {

Verdict verdict_of(int status) {
    if (status < 400) return Verdict::answered;
    return status < 500 ? Verdict::bad_input : Verdict::model_failed;
}

void take_field(const http::Field& field, AnswerHead& head) {
    if (http::has_name_prefix(field.name, "turnpike-")) return;
    if (http::is_named(field.name, "date")) head.has_date = true;
    if (http::is_named(field.name, "access-control-allow-origin")) head.allows_origins = true;
    http::append_field(head.fields, field.name, field.value);
}

void take_fields(std::string_view lines, AnswerHead& head) {
    while (!lines.empty()) {
        const std::string_view line = lines.substr(0, lines.find("\r\n"));
        const std::size_t colon = line.find(':');
        std::string_view value = line.substr(colon + 1);
        while (value.starts_with(' ') || value.starts_with('\t')) value.remove_prefix(1);
        const http::Field field{line.substr(0, colon), value};
        if (!http::is_hop_by_hop(field, {})) take_field(field, head);
        lines.remove_prefix(line.size() + 2);
    }
}

std::string_view field_in(std::string_view fields, std::string_view name) {
    while (!fields.empty()) {
        const std::string_view line = fields.substr(0, fields.find("\r\n"));
        const std::size_t colon = line.find(':');
        if (colon != std::string_view::npos && http::is_named(line.substr(0, colon), name))
            return line.substr(std::min(colon + 2, line.size()));
        fields.remove_prefix(std::min(line.size() + 2, fields.size()));
    }
    return {};
}

}  // namespace turnpike
