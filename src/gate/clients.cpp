#include "gate/clients.h"

#include <algorithm>

#include <boost/asio/ip/address.hpp>
#include "base/check.h"
#include "gate/keys.h"

namespace turnpike {

namespace {

/// Returns whom we take for one client: all of this machine, an IPv4 address, or the network of an
/// IPv6 address.
std::string name_at(std::string_view text) {
    namespace ip = boost::asio::ip;
    boost::system::error_code error;
    ip::address address = ip::make_address(text, error);
    if (error) return std::string(text);
    if (address.is_v6() && address.to_v6().is_v4_mapped())
        address = ip::make_address_v4(ip::v4_mapped, address.to_v6());
    if (address.is_loopback()) return "this machine";
    if (address.is_v4()) return address.to_string();
    ip::address_v6::bytes_type bytes = address.to_v6().to_bytes();
    std::fill(bytes.begin() + 8, bytes.end(), std::uint8_t{0});
    return ip::address_v6(bytes).to_string() + "/64";
}

}  // namespace

static_assert(Clients::addresses_max + keys_max + Clients::unused_max < clients_max,
              "every key must find a number");

ClientUse& ClientUse::operator=(ClientUse&& other) noexcept {
    std::swap(clients_, other.clients_);
    std::swap(id_, other.id_);
    return *this;
}

ClientUse::~ClientUse() {
    if (clients_ != nullptr) clients_->remove_use(id_);
}

ClientUse ClientUse::again() const {
    CHECK(clients_ != nullptr);
    clients_->add_use(id_);
    return {clients_, id_};
}

ClientUse Clients::at_address(std::string_view address) {
    std::string name = address.empty() ? "command line" : name_at(address);
    const auto known = by_address_.find(name);
    return known != by_address_.end() ? use(known->second) : use_new(std::move(name), 0);
}

ClientUse Clients::with_key(const ApiKey& key) {
    const auto known = by_key_.find(key.id());
    return known != by_key_.end() ? use(known->second) : use_new("key " + key.name, key.id());
}

const std::string& Clients::name_of(ClientId id) const {
    CHECK(id.value < entries_.size());
    return entries_[id.value].name;
}

ClientUse Clients::use(ClientId known) {
    add_use(known);
    return {this, known};
}

ClientUse Clients::use_new(std::string name, std::uint64_t key) {
    const bool is_address = key == 0;
    if (is_address && addresses_ >= addresses_max) return use_rest();
    Entry* const found = entry_for_new();
    if (found == nullptr) return use_rest();
    Entry& entry = *found;
    if (key != 0)
        by_key_.emplace(key, entry.id);
    else
        by_address_.emplace(name, entry.id);
    entry.name = std::move(name);
    entry.key = key;
    entry.uses = 1;
    if (is_address) ++addresses_;
    return {this, entry.id};
}

/// Returns an entry that is in no list and has no use, or nullptr if all numbers are in use. Forgets
/// the client that has been unused longest if too many are remembered.
Clients::Entry* Clients::entry_for_new() {
    constexpr std::size_t entries_max = clients_max - 1;  // the last number is for the rest
    if (unused_.size() < unused_max && entries_.size() < entries_max) {
        Entry& entry = entries_.emplace_back();
        entry.id = ClientId{entries_.size() - 1};
        return &entry;
    }
    if (unused_.empty()) return nullptr;
    Entry& oldest = *unused_.front();
    unused_.remove(oldest);
    if (oldest.key != 0)
        by_key_.erase(oldest.key);
    else
        by_address_.erase(oldest.name);
    forgotten_(oldest.id);
    return &oldest;
}

ClientUse Clients::use_rest() {
    if (rest_.is_none()) {
        Entry& entry = entries_.emplace_back();
        entry.id = rest_ = ClientId{entries_.size() - 1};
        entry.name = "all others";
        entry.uses = 1;  // so that it is never unused
    }
    return use(rest_);
}

void Clients::add_use(ClientId id) {
    Entry& entry = entries_[id.value];
    if (entry.uses++ > 0) return;
    unused_.remove(entry);
    if (entry.key == 0) ++addresses_;
}

void Clients::remove_use(ClientId id) {
    Entry& entry = entries_[id.value];
    CHECK(entry.uses > 0);
    if (--entry.uses > 0) return;
    unused_.push_back(entry);
    if (entry.key == 0) --addresses_;
}

}  // namespace turnpike
