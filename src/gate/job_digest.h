// The digest of a job's request. Jobs with equal digests are the same request, whoever sent them.
#pragma once

#include <cstddef>
#include <functional>

#include "core/words.h"
#include "stream/exchange.h"

namespace turnpike {

/// Returns a function that computes the digest: the first 128 bits of a SHA-256 over method, target,
/// content type, content encoding and body. The body must be complete; it is read in pieces of at
/// most `step` bytes. If it can't be read, the digest is random, so that it equals no other.
///
/// The function owns what it needs, so it works even after the exchange is used for another job. It
/// blocks, so it must be called on the disk thread.
[[nodiscard]] std::function<Digest()> digest_of(const Exchange& exchange, std::size_t step);

/// Returns a digest that equals no other.
[[nodiscard]] Digest random_digest();

}  // namespace turnpike
