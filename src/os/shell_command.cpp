#include "os/shell_command.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace turnpike {
namespace {

/// Words that the shell handles itself, although some are programs, too. A command that begins with
/// one of them needs the shell.
constexpr std::array<std::string_view, 32> shell_words{
    "!",    ".",      "[",     "alias", "break",  "case", "cd",       "command",
    "do",   "eval",   "exec",  "exit",  "export", "for",  "function", "if",
    "read", "return", "set",   "shift", "source", "test", "time",     "times",
    "trap", "ulimit", "umask", "unset", "until",  "wait", "while",    "{"};

bool is_name_letter(char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/// Returns where the word that begins at `at` ends. A quoted blank does not end it.
std::size_t end_of_word(std::string_view text, std::size_t at) {
    char quote = '\0';
    for (; at < text.size(); ++at) {
        const char c = text[at];
        if (c == '\\' && quote != '\'')
            ++at;
        else if (quote != '\0')
            quote = c == quote ? '\0' : quote;
        else if (c == '\'' || c == '"')
            quote = c;
        else if (c == ' ' || c == '\t')
            break;
    }
    return std::min(at, text.size());
}

bool is_assignment(std::string_view word) {
    const std::size_t name =
        static_cast<std::size_t>(std::ranges::find_if_not(word, is_name_letter) - word.begin());
    return name > 0 && name < word.size() && word[name] == '=';
}

}  // namespace

std::string without_shell(const std::string& command) {
    if (command.find_first_of(";|&<>()`\n") != std::string::npos) return command;
    const std::string_view text = command;
    for (std::size_t at = 0; at < text.size();) {
        at = std::min(text.find_first_not_of(" \t", at), text.size());
        const std::size_t end = end_of_word(text, at);
        const std::string_view word = text.substr(at, end - at);
        if (!is_assignment(word)) {
            const bool is_program =
                !word.empty() && std::ranges::find(shell_words, word) == shell_words.end();
            return is_program ? command.substr(0, at) + "exec " + command.substr(at) : command;
        }
        at = end;
    }
    return command;
}

}  // namespace turnpike
