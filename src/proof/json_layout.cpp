#include "proof/json_layout.h"

#include <vector>

#include "base/check.h"

namespace turnpike {

namespace {

constexpr std::size_t columns = 100;
constexpr std::size_t step = 2;

/// A JSON value. A container has its elements or members inside.
struct Node {
    std::string key;      // of a member, with its quotes; empty for an element
    std::string literal;  // for a container: its opening bracket
    std::vector<Node> inside;

    [[nodiscard]] bool is_container() const { return literal == "{" || literal == "["; }
};

class Reader {
public:
    explicit Reader(std::string_view text) : text_(text) {}

    Node value() {
        skip_blanks();
        const char first = peek();
        if (first != '{' && first != '[') return {.key = {}, .literal = literal(), .inside = {}};
        Node node{.key = {}, .literal = std::string(1, first), .inside = {}};
        ++at_;
        for (skip(); peek() != '}' && peek() != ']'; skip()) {
            std::string key = first == '{' ? literal() : "";
            skip();
            node.inside.push_back(value());
            node.inside.back().key = std::move(key);
        }
        ++at_;
        return node;
    }

private:
    [[nodiscard]] char peek() const {
        CHECK(at_ < text_.size());
        return text_[at_];
    }
    void skip_blanks() {
        while (at_ < text_.size() && std::string_view(" \t\r\n").contains(text_[at_])) ++at_;
    }
    void skip() {
        while (at_ < text_.size() && std::string_view(" \t\r\n,:").contains(text_[at_])) ++at_;
    }
    std::string literal() {
        const std::size_t begin = at_;
        if (peek() == '"') {
            for (++at_; peek() != '"'; ++at_)
                if (peek() == '\\') ++at_;
            ++at_;
        } else {
            while (at_ < text_.size() && !std::string_view(" \t\r\n,:]}").contains(text_[at_]))
                ++at_;
        }
        return std::string(text_.substr(begin, at_ - begin));
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

char closing(const Node& node) { return node.literal == "{" ? '}' : ']'; }

void append_line(std::string& out, const Node& node) {
    if (!node.key.empty()) out += node.key + ": ";
    out += node.literal;
    if (!node.is_container()) return;
    for (const Node& one : node.inside) {
        if (&one != &node.inside.front()) out += ", ";
        append_line(out, one);
    }
    out += closing(node);
}

void append(std::string& out, const Node& node, std::size_t indent);

/// Writes as many elements on a line as fit. Members and containers get a line each.
void append_inside(std::string& out, const Node& node, std::size_t indent) {
    const std::string margin(indent, ' ');
    std::size_t column = columns;
    for (const Node& one : node.inside) {
        const bool is_last = &one == &node.inside.back();
        std::string text;
        append(text, one, indent);
        text += is_last ? "" : ",";
        const bool starts_line =
            node.literal == "{" || one.is_container() || column + 1 + text.size() > columns;
        out += starts_line ? '\n' + margin : " ";
        out += text;
        column = (starts_line ? indent : column + 1) + text.size();
    }
}

void append(std::string& out, const Node& node, std::size_t indent) {
    std::string line;
    append_line(line, node);
    if (!node.is_container() || node.inside.empty() ||
        (indent > 0 && indent + line.size() <= columns)) {
        out += line;
        return;
    }
    if (!node.key.empty()) out += node.key + ": ";
    out += node.literal;
    append_inside(out, node, indent + step);
    out += '\n' + std::string(indent, ' ') + closing(node);
}

}  // namespace

std::string laid_out(std::string_view json) {
    std::string out;
    append(out, Reader(json).value(), 0);
    return out + '\n';
}

}  // namespace turnpike
