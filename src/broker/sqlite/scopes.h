// Scopes: the numbers of topics, timers and dead-letter lists in the file, and the next free position of
// each. Positions grow for ever: the file keeps the next one, written once per turn, and this process never
// gives one out twice even when a turn was rolled back, because a token in somebody's hands may still name
// it. On the database's executor; one per Database.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sqlite/database.h"
#include "sqlite/schema.h"

namespace dripgate::broker::sqlite {

namespace db = dripgate::sqlite;

struct Scope {
  db::ScopeKind kind;
  std::string name;
  std::int64_t number = 0;  // 0: not in the file, or not known since forget()
  std::int64_t next = 1;
  bool changed = false;

  /// The sequence of position 0; rows of the scope lie in (first(), end()).
  [[nodiscard]] std::int64_t first() const { return number << db::kScopeShift; }
  [[nodiscard]] std::int64_t end() const { return (number + 1) << db::kScopeShift; }
};

class Scopes final : public db::Participant {
 public:
  explicit Scopes(db::Database& database);
  ~Scopes() override;
  Scopes(const Scopes&) = delete;
  Scopes& operator=(const Scopes&) = delete;

  /// The one Scope of that name, valid as long as this; not yet looked up in the file.
  [[nodiscard]] Scope& scope(db::ScopeKind kind, const std::string& name);
  /// Looks it up, without writing. False: it has no rows and never had.
  Result<bool> find(Scope& scope);
  /// Looks it up or adds it. Inside a write.
  Result<void> ensure(Scope& scope);
  /// The sequence for a new row; taken() makes it used.
  [[nodiscard]] static std::int64_t next_sequence(const Scope& scope) { return scope.first() | scope.next; }
  void taken(Scope& scope);

  Result<void> flush() override;
  void forget() override;

 private:
  db::Database& database_;
  std::map<std::pair<db::ScopeKind, std::string>, Scope> scopes_;
  std::vector<Scope*> changed_;
};

}  // namespace dripgate::broker::sqlite
