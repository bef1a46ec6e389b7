// Secret reader: a secret as {file: PATH} or {env: NAME}, never as itself. Called by the server reader. Reads
// files; the environment is injected.
#pragma once

#include <string>

#include "config/context.h"
#include "config/fields.h"

namespace dripgate::config {

inline constexpr std::string_view kSecretForms =
    "a secret never stands in this file; accepted: { file: PATH } or { env: NAME }";

/// The value that the keys `file` or `env` of the mapping lead to, without the line end; empty: reported.
/// No message shows it.
[[nodiscard]] std::string read_secret(const Fields& fields, Context& context);

}  // namespace dripgate::config
