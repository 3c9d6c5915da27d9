// Finds the member "model" of a JSON request, as in OpenAI's API, while the body arrives. Only the
// top level counts. Only that one string is kept in memory, however large the body is.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace turnpike {

class ModelField {
public:
    ModelField();
    ~ModelField();
    ModelField(ModelField&&) noexcept;
    ModelField& operator=(ModelField&&) noexcept;

    void take(std::string_view bytes);

    enum class Found : std::uint8_t {
        name,      // name() returns it
        nothing,   // a JSON object without "model"
        not_json,  // not JSON, or not an object
    };
    /// Returns what was found. Must be called when the body is complete.
    Found finish();
    [[nodiscard]] const std::string& name() const;

private:
    struct Reader;
    std::unique_ptr<Reader> reader_;
};

}  // namespace turnpike
