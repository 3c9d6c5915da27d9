// Which digit is this? model.py in C++, for Turnpike.
//
//     turnpike up build/release/examples/digits/digits-worker
//     curl http://127.0.0.1:8000/predict -d @examples/digits/seven.json
//
// The network is in network.h. This file connects it to Turnpike.
#include "network.h"

#include <turnpike/worker.h>

#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

namespace {

using Pixels = std::array<double, digits::pixel_count>;
namespace json = boost::json;

// Returns the list of an input, which is `{"pixels": […]}` or the list alone. Returns nullptr if the
// input has no list.
const json::array* list_of(const json::value& input) {
    const json::value* list = input.is_object() ? input.as_object().if_contains("pixels") : &input;
    return list == nullptr ? nullptr : list->if_array();
}

// Returns the 64 numbers of an input. Throws BadInput, which says what to send.
Pixels pixels_of(std::string_view body) {
    json::error_code error;
    const json::value input = json::parse(body, error);
    if (error) {
        throw turnpike::BadInput("The body is not JSON: " + error.message() + ".");
    }
    const json::array* list = list_of(input);
    if (list == nullptr || list->size() != digits::pixel_count) {
        throw turnpike::BadInput(
            "Send {\"pixels\": [...]}: a list of 64 numbers, 8 rows of 8; this was " +
            (list ? "a list of " + std::to_string(list->size()) : "something else") + ".");
    }
    Pixels pixels{};
    for (std::size_t at = 0; at < pixels.size(); ++at) {
        const json::value& value = (*list)[at];
        pixels[at] = value.is_number() ? value.to_number<double>() : -1;
        if (!(pixels[at] >= 0 && pixels[at] <= 16)) {
            throw turnpike::BadInput(
                "A pixel must be a number from 0 (paper) to 16 (ink); pixels[" +
                std::to_string(at) + "] is not.");
        }
    }
    return pixels;
}

class Digits : public turnpike::Model {
public:
    void load(turnpike::Lane& lane) override {
        lane.progress(0.1, "reading the weights");
        const auto program = std::filesystem::read_symlink("/proc/self/exe");
        network_.emplace(program.parent_path() / "digits.safetensors");
    }

    turnpike::Answer predict(const turnpike::Request& request) override {
        const digits::Scores scores = network_->probabilities(pixels_of(request.body()));
        const auto best = std::max_element(scores.begin(), scores.end());
        return json::serialize(json::object{{"digit", std::distance(scores.begin(), best)},
                                            {"confidence", *best},
                                            {"scores", json::array(scores.begin(), scores.end())}});
    }

    [[nodiscard]] std::string facts() const override { return network_->metadata(); }

    // Every lane answers this before its first job.
    [[nodiscard]] std::optional<turnpike::Example> example() const override {
        return turnpike::Example{.body = R"({"pixels": [0, 0, 7, 16, 16, 16,  6, 0,
             0, 0, 9, 12,  9, 15, 10, 0,
             0, 0, 0,  0,  1, 15,  7, 0,
             0, 0, 4, 11, 13, 16,  8, 0,
             0, 0, 9, 16, 16, 13,  5, 0,
             0, 0, 0, 10, 13,  1,  0, 0,
             0, 0, 2, 15,  7,  0,  0, 0,
             0, 0, 8, 14,  1,  0,  0, 0]})"};
    }

private:
    std::optional<digits::Network> network_;
};

}  // namespace

int main() { return turnpike::serve<Digits>(); }
