#include "gate/job_digest.h"

#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "http/fields.h"

namespace turnpike {

namespace {

constexpr std::size_t word_size = sizeof(std::uint64_t);

/// Reads a number whose first byte is the highest.
std::uint64_t word_of(std::span<const unsigned char, word_size> bytes) {
    std::uint64_t word = 0;
    for (const unsigned char byte : bytes) word = word << 8U | byte;
    return word;
}

class Sha256 {
public:
    Sha256() : state_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
        is_sound_ =
            state_ != nullptr && EVP_DigestInit_ex(state_.get(), EVP_sha256(), nullptr) == 1;
    }

    void add(std::string_view bytes) {
        is_sound_ = is_sound_ && EVP_DigestUpdate(state_.get(), bytes.data(), bytes.size()) == 1;
    }

    /// Adds eight bytes, the highest first.
    void add_number(std::uint64_t number) {
        std::array<char, word_size> bytes;
        for (std::size_t i = 0; i < word_size; ++i)
            bytes[i] = static_cast<char>(number >> (8 * (word_size - 1 - i)));
        add({bytes.data(), bytes.size()});
    }

    /// Returns the first half of the result, or nullopt if OpenSSL failed.
    std::optional<Digest> finish() {
        std::array<unsigned char, EVP_MAX_MD_SIZE> bytes;
        if (!is_sound_ || EVP_DigestFinal_ex(state_.get(), bytes.data(), nullptr) != 1)
            return std::nullopt;
        const std::span<const unsigned char> all(bytes);
        return Digest{.high = word_of(all.subspan<0, word_size>()),
                      .low = word_of(all.subspan<word_size, word_size>())};
    }

private:
    std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> state_;
    bool is_sound_ = false;
};

/// Returns the values of the fields of that name, with commas between them. `lines` are fields as
/// the worker gets them.
std::string values_of(std::string_view lines, std::string_view name) {
    std::string values;
    while (!lines.empty()) {
        const std::string_view line = lines.substr(0, lines.find("\r\n"));
        lines.remove_prefix(std::min(line.size() + 2, lines.size()));
        const std::size_t colon = std::min(line.find(": "), line.size());
        if (!http::is_named(line.substr(0, colon), name)) continue;
        values.append(values.empty() ? "" : ", ");
        values.append(line.substr(std::min(colon + 2, line.size())));
    }
    return values;
}

}  // namespace

Digest random_digest() {
    std::array<unsigned char, 2 * word_size> bytes;
    CHECK(RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1);
    const std::span<const unsigned char> all(bytes);
    return {.high = word_of(all.subspan<0, word_size>()),
            .low = word_of(all.subspan<word_size, word_size>())};
}

std::function<Digest()> digest_of(const Exchange& exchange, std::size_t step) {
    std::array<std::string, 4> texts{exchange.method, exchange.target,
                                     values_of(exchange.fields, "content-type"),
                                     values_of(exchange.fields, "content-encoding")};
    return [texts = std::move(texts), size = exchange.body.size(),
            read = exchange.body.piece_reader(step)] {
        Sha256 hash;
        const auto add = [&hash](std::string_view bytes) { hash.add(bytes); };
        for (const std::string& text : texts) {  // the lengths keep the parts from running together
            hash.add_number(text.size());
            hash.add(text);
        }
        hash.add_number(size);
        const bool is_read = read(add) == 0;
        const std::optional<Digest> digest = hash.finish();
        return is_read && digest ? *digest : random_digest();
    };
}

}  // namespace turnpike
