// The trained network: reads digits.safetensors and computes. network.py is this file in Python;
// train.py made the weights.
#pragma once

#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace digits {

inline constexpr std::size_t pixel_count = 64;
using Scores = std::array<double, 10>;

struct Tensor {
    std::vector<std::size_t> shape;
    std::vector<float> numbers;
};

// A file in the safetensors format: the header's length as 8 bytes, the header as JSON, then the
// numbers. Reads only float32, which is all that train.py writes. Throws std::exception for anything
// else.
struct Safetensors {
    std::map<std::string, Tensor, std::less<>> tensors;
    std::string metadata;  // a JSON object

    static Safetensors read(const std::filesystem::path& path);
};

// Layers, each a matrix product and a sum. Between two layers, negative numbers become 0 (ReLU).
class Network {
public:
    explicit Network(const std::filesystem::path& path) : Network(Safetensors::read(path)) {}

    // Returns the probability of each of the ten digits. Pixels are from 0 to 16.
    [[nodiscard]] Scores probabilities(std::span<const double, pixel_count> pixels) const;

    [[nodiscard]] const std::string& metadata() const { return metadata_; }

private:
    struct Layer {
        Tensor weights;  // a row for each output
        Tensor biases;
    };

    explicit Network(Safetensors file);
    static std::vector<double> through(const Layer& layer, std::span<const double> values);

    std::vector<Layer> layers_;
    std::string metadata_;
};

inline Safetensors Safetensors::read(const std::filesystem::path& path) {
    static_assert(std::endian::native == std::endian::little,
                  "the file is, and nothing is swapped");
    std::ifstream file(path, std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(file), {});
    std::uint64_t length = 0;
    if (bytes.size() < sizeof(length)) {
        throw std::runtime_error("can't read " + path.string());
    }
    std::memcpy(&length, bytes.data(), sizeof(length));
    const std::string_view rest = std::string_view(bytes).substr(sizeof(length));
    const auto header = boost::json::parse(rest.substr(0, length)).as_object();
    const std::string_view data = rest.substr(std::min<std::uint64_t>(length, rest.size()));

    Safetensors found;
    for (const auto& [name, entry] : header) {
        if (name == "__metadata__") {
            found.metadata = boost::json::serialize(entry);
            continue;
        }
        auto shape = boost::json::value_to<std::vector<std::size_t>>(entry.at("shape"));
        const auto [begin, end] =
            boost::json::value_to<std::array<std::size_t, 2>>(entry.at("data_offsets"));
        const std::size_t count =
            std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
        if (entry.at("dtype") != "F32" || begin > end || end > data.size() ||
            end - begin != count * sizeof(float)) {
            throw std::runtime_error(path.string() + ": " + std::string(name) +
                                     " is not float32 numbers of its shape");
        }
        std::vector<float> numbers(count);
        std::memcpy(numbers.data(), data.data() + begin, end - begin);
        found.tensors[name] = {.shape = std::move(shape), .numbers = std::move(numbers)};
    }
    return found;
}

inline Network::Network(Safetensors file) : metadata_(std::move(file.metadata)) {
    std::size_t inputs = pixel_count;
    for (std::size_t number = 1; number <= file.tensors.size() / 2; ++number) {
        const std::string name = "layer" + std::to_string(number);
        Layer layer{.weights = std::move(file.tensors.at(name + ".weight")),
                    .biases = std::move(file.tensors.at(name + ".bias"))};
        const std::size_t outputs = layer.biases.numbers.size();
        if (layer.weights.shape != std::vector{outputs, inputs}) {
            throw std::runtime_error(name + " does not fit to what is before it");
        }
        inputs = outputs;
        layers_.push_back(std::move(layer));
    }
    if (inputs != std::tuple_size_v<Scores>) {
        throw std::runtime_error("the last layer has other than ten outputs");
    }
}

inline Scores Network::probabilities(std::span<const double, pixel_count> pixels) const {
    std::vector<double> values(pixels.begin(), pixels.end());
    for (double& value : values) {
        value /= 16;
    }
    for (std::size_t number = 0; number < layers_.size(); ++number) {
        for (double& value : values) {
            value = number == 0 ? value : std::max(value, 0.0);
        }
        values = through(layers_[number], values);
    }
    const double largest = *std::max_element(values.begin(), values.end());
    Scores scores{};
    std::transform(values.begin(), values.end(), scores.begin(),
                   [&](double value) { return std::exp(value - largest); });
    const double sum = std::accumulate(scores.begin(), scores.end(), 0.0);
    for (double& score : scores) {
        score /= sum;
    }
    return scores;
}

inline std::vector<double> Network::through(const Layer& layer, std::span<const double> values) {
    std::vector<double> outputs(layer.biases.numbers.begin(), layer.biases.numbers.end());
    for (std::size_t row = 0; row < outputs.size(); ++row) {
        const float* weights = layer.weights.numbers.data() + row * values.size();
        outputs[row] = std::inner_product(values.begin(), values.end(), weights, outputs[row]);
    }
    return outputs;
}

}  // namespace digits
