// Scopes over the table of that name.
#include "broker/sqlite/scopes.h"

#include <algorithm>

namespace dripgate::broker::sqlite {
namespace {

constexpr const char* kFind = "SELECT number, next FROM scopes WHERE kind=?1 AND name=?2";
constexpr const char* kAdd = "INSERT INTO scopes(kind, name, next) VALUES(?1, ?2, ?3)";
constexpr const char* kAdvance = "UPDATE scopes SET next=?2 WHERE number=?1";

}  // namespace

Scopes::Scopes(db::Database& database) : database_(database) {
  database_.join(this);
}

Scopes::~Scopes() {
  database_.leave(this);
}

Scope& Scopes::scope(db::ScopeKind kind, const std::string& name) {
  return scopes_.try_emplace({kind, name}, Scope{kind, name}).first->second;
}

Result<bool> Scopes::find(Scope& scope) {
  if (scope.number != 0) return true;
  db::Statement& statement = database_.statement(kFind).bind(static_cast<int>(scope.kind), scope.name);
  const Result<bool> row = statement.step();
  if (!row || !*row) return row;
  scope.number = statement.integer(0);
  scope.next = std::max(scope.next, statement.integer(1));
  statement.reset();
  return true;
}

Result<void> Scopes::ensure(Scope& scope) {
  const Result<bool> there = find(scope);
  if (!there) return std::unexpected(there.error());
  if (*there) return {};
  const Result<void> added =
      database_.statement(kAdd).bind(static_cast<int>(scope.kind), scope.name, scope.next).run();
  if (!added) return added;
  const Result<bool> found = find(scope);
  if (!found) return std::unexpected(found.error());
  return {};
}

void Scopes::taken(Scope& scope) {
  ++scope.next;
  if (scope.changed) return;
  scope.changed = true;
  changed_.push_back(&scope);
}

Result<void> Scopes::flush() {
  db::Statement& statement = database_.statement(kAdvance);
  for (Scope* scope : changed_) {
    if (Result<void> written = statement.bind(scope->number, scope->next).run(); !written) return written;
    scope->changed = false;
  }
  changed_.clear();
  return {};
}

void Scopes::forget() {
  for (auto& [name, scope] : scopes_) {
    scope.number = 0;
    scope.changed = false;
  }
  changed_.clear();
}

}  // namespace dripgate::broker::sqlite
