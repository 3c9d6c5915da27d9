// Finds the "model" of a JSON request while its body arrives (OpenAI's habit): only the top level
// counts, nothing is kept but that one string, however large the body is.
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
        name,      // name() is it
        nothing,   // a JSON object without one
        not_json,  // or not an object
    };
    /// The body is complete.
    Found finish();
    [[nodiscard]] const std::string& name() const;

private:
    struct Reader;
    std::unique_ptr<Reader> reader_;
};

}  // namespace turnpike
