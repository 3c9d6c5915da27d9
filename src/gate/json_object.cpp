#include "gate/json_object.h"

#include <boost/json/parse.hpp>

namespace turnpike {

bool is_json_object(std::string_view text) {
    boost::system::error_code error;
    const auto value = boost::json::parse({text.data(), text.size()}, error);
    return !error && value.is_object();
}

}  // namespace turnpike
