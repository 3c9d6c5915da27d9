#include "config/nearest.h"

#include <algorithm>
#include <vector>

namespace turnpike {
namespace {

constexpr std::size_t word_length_max = 64;  // the table of distances grows with the square

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::vector<std::size_t>> distance(a.size() + 1,
                                                   std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i) {
        for (std::size_t j = 0; j <= b.size(); ++j) {
            if (i == 0 || j == 0) {
                distance[i][j] = i + j;
                continue;
            }
            const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
            std::size_t best = distance[i - 1][j - 1] + change;
            best = std::min({best, distance[i - 1][j] + 1, distance[i][j - 1] + 1});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = std::min(best, distance[i - 2][j - 2] + 1);
            distance[i][j] = best;
        }
    }
    return distance[a.size()][b.size()];
}

std::string nearest(std::string_view word, std::span<const std::string> known) {
    if (word.size() > word_length_max) return "";
    std::size_t fewest = std::max<std::size_t>(1, word.size() / 3) + 1;
    std::string best;
    for (const std::string& candidate : known) {
        const std::size_t distance = edit_distance(word, candidate);
        if (distance >= fewest) continue;
        fewest = distance;
        best = candidate;
    }
    return best;
}

}  // namespace turnpike
