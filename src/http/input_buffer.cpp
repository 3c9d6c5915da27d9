#include "http/input_buffer.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace turnpike::http {

std::span<char> InputBuffer::room(const Sizes& sizes) {
    if (empty()) begin_ = end_ = 0;
    if (end_ == 0 && memory_.size() != sizes.if_empty) memory_ = std::string(sizes.if_empty, '\0');
    if (is_filled() && begin_ > 0) {
        std::memmove(memory_.data(), memory_.data() + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
    }
    if (is_filled() && memory_.size() < sizes.most)
        memory_.resize(std::min(2 * memory_.size(), sizes.most));
    return std::span(memory_).subspan(end_);
}

void InputBuffer::came(std::size_t size) {
    CHECK(size <= memory_.size() - end_);
    end_ += size;
}

void InputBuffer::take(std::size_t size) {
    CHECK(size <= end_ - begin_);
    begin_ += size;
}

void InputBuffer::clear(std::size_t kept) {
    begin_ = end_ = 0;
    if (memory_.size() > kept) memory_ = std::string();
}

}  // namespace turnpike::http
