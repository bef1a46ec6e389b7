// One spelling per path, so that no respelling buys a fresh counter. Pure, never fails.
#pragma once

#include <string>
#include <string_view>

#include "core/policy.h"

namespace dripgate::check {

/// The path of a request target ("/a//b/./%70w/?x=1" -> "/a/b/pw"): without query and fragment, percent
/// encodings decoded where they are no structure (an encoded slash stays "%2F": it is data), "." and ".."
/// taken out, slashes that double or trail dropped. What is left encoded is written in capitals.
[[nodiscard]] std::string normal_path(std::string_view target);

/// Brings the facts `route` ("POST /auth/login"), `method` (one word), `path` and `ip` (without port) to one
/// spelling; a request that names `method` and `path` has a `route` too.
void normalise(core::Descriptor& descriptor);

}  // namespace dripgate::check
