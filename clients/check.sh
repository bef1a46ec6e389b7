#!/usr/bin/env bash
# Checks one client, in build/clients: lint, types, tests (recipes too, with real Redis), the package, the README's first lines.
# check.sh typescript|python [DRIPGATE]. Exit 77: skipped, the last line says why.
set -euo pipefail
cd "$(dirname "$0")/.."
language=$1
DRIPGATE_BIN=$(realpath "${2:-build/release/dripgate}"); export DRIPGATE_BIN
out=$PWD/build/clients
mkdir -p "$out"

say() { printf -- '-- %s\n' "$*"; }
skip() { echo "skipped: $*"; exit 77; }
AWAY='ECONNREFUSED|ECONNRESET|ENOTFOUND|ETIMEDOUT|EAI_AGAIN|NewConnectionError|ConnectTimeout|Read timed out|[Cc]onnection broken|Name or service'
# fetch REGISTRY FILE COMMAND...: runs COMMAND unless it succeeded before with this FILE.
fetch() {
  local registry=$1 file=$2 stamp=$out/$language.stamp; shift 2
  cmp -s "$file" "$stamp" && return
  if "$@" >"$stamp.log" 2>&1; then cp "$file" "$stamp"; return; fi
  tail -n 20 "$stamp.log"
  if grep -qE "$AWAY" "$stamp.log"; then skip "$registry cannot be reached"; fi
  exit 1
}

check_typescript() {
  command -v node >/dev/null && command -v npm >/dev/null || skip "no Node.js with npm (Debian: nodejs, npm)"
  [ "$(node -p 'process.versions.node.split(".")[0]')" -ge 18 ] || skip "Node.js $(node -v) is older than 18"
  local work=$out/typescript
  mkdir -p "$work"
  (cd "$work" && rm -rf src tests recipes build dist -- *.tgz)
  cp -r clients/typescript/. "$work"
  export DRIPGATE_HTTP_FLOW=$PWD/clients/http-flow/n8n.json DRIPGATE_PACKED=$out/typescript-packed
  cd "$work"
  fetch "the npm registry" package-lock.json npm ci --no-audit --no-fund --ignore-scripts --fetch-retries=1 --fetch-retry-mintimeout=2000
  say "tsc, eslint"; npm run --silent lint
  say "npm pack"
  npm pack --silent --ignore-scripts  # lint has built it
  rm -rf "$DRIPGATE_PACKED" && mkdir -p "$DRIPGATE_PACKED"
  echo '{"private":true}' >"$DRIPGATE_PACKED/package.json"
  (cd "$DRIPGATE_PACKED" && npm install --silent --offline --no-audit --no-fund "$work"/dripgate-client-*.tgz)
  say "tests"; npm run --silent test
}

check_python() {
  python3 -c 'import venv, ensurepip' 2>/dev/null || skip "no python3 with venv (Debian: python3-venv)"
  local work=$out/python venv=$out/python-venv wheel=$out/python-wheel-venv
  rm -rf "$work" && cp -r clients/python "$work"
  cd "$work"
  [ -x "$venv/bin/pip" ] || python3 -m venv "$venv"
  fetch "the Python package index" requirements-dev.txt "$venv/bin/pip" install -q --disable-pip-version-check --retries 1 -r requirements-dev.txt
  export PATH="$venv/bin:$PATH"
  say "ruff, mypy"; ruff check -q .; ruff format -q --check .; mypy
  say "wheel"
  pip wheel -q --no-deps --no-build-isolation --no-index -w dist .
  rm -rf "$wheel" && python3 -m venv "$wheel"
  "$wheel/bin/pip" install -q --no-index dist/dripgate-*.whl
  export DRIPGATE_WHEEL_PYTHON=$wheel/bin/python
  say "tests"; python -W error::ResourceWarning -m unittest
}

case "$language" in
  typescript|python) "check_$language" ;;
  *) echo "check.sh: accepted: typescript, python" >&2; exit 2 ;;
esac
