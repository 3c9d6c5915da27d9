#include "gate/job_name.h"

#include <array>
#include <cstddef>

namespace turnpike {

namespace {

constexpr std::string_view letters = "0123456789abcdefghjkmnpqrstvwxyz";  // no i, l, o, u
constexpr std::size_t length = 13;                                        // × 5 bits ≥ 64

constexpr std::uint64_t factor = 0x9E3779B97F4A7C15ULL;

constexpr std::uint64_t inverse_of(std::uint64_t odd) {
    std::uint64_t inverse = odd;  // Newton's method: each step doubles the correct bits
    for (int i = 0; i < 6; ++i) inverse *= 2 - odd * inverse;
    return inverse;
}
static_assert(factor * inverse_of(factor) == 1);

constexpr std::uint64_t fold(std::uint64_t bits) { return bits ^ (bits >> 32); }  // its own inverse

constexpr std::uint64_t scramble(std::uint64_t id, std::uint64_t secret) {
    return fold(fold((id ^ secret) * factor) * factor);
}
constexpr std::uint64_t unscramble(std::uint64_t bits, std::uint64_t secret) {
    constexpr std::uint64_t inverse = inverse_of(factor);
    return (fold(fold(bits) * inverse) * inverse) ^ secret;
}
static_assert(unscramble(scramble(12345, 678), 678) == 12345);

}  // namespace

Text<24> JobNames::name_of(JobId job) const {
    std::uint64_t bits = scramble(job.value, secret_);
    std::array<char, length> name{};
    for (std::size_t i = length; i > 0; --i, bits >>= 5) name[i - 1] = letters[bits & 31];
    return Text<24>(std::string_view(name.data(), name.size()));
}

std::optional<JobId> JobNames::find(std::string_view name) const {
    if (name.size() != length || letters.find(name[0]) > 15) return std::nullopt;
    std::uint64_t bits = 0;
    for (const char c : name) {
        const std::size_t digit = letters.find(c);
        if (digit == std::string_view::npos) return std::nullopt;
        bits = (bits << 5) | digit;
    }
    return JobId{unscramble(bits, secret_)};
}

}  // namespace turnpike
