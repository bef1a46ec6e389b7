#!/usr/bin/env python3
"""Checks the house: arrows between rooms, file sizes, banned calls, room READMEs. Prints each fault with what to do instead."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILE_LINES_MAX = 400
PORT_LINES_MAX = 80      # interfaces of store and broker
README_LINES_MAX = 40

# Calls that belong to one place only: pattern, where it may stand, what to use instead.
BANNED = [
    (r"\b(system_clock|steady_clock|high_resolution_clock)::now\b", ("src/runtime/real_clock.cc",), "take a Clock (base/time.h) or `now` as an argument"),
    (r"\bgettimeofday\b|\bclock_gettime\b|\bstd::time\(", ("src/runtime/real_clock.cc",), "take a Clock (base/time.h)"),
    (r"\bsleep_for\b|\bsleep_until\b|\busleep\(|\bnanosleep\(", (), "post_after on an Executor (base/time.h)"),
    (r"\bgetenv\b", ("src/cli/", "src/embed/"), "config::Environment, filled by cli and embed"),
    (r"\bstd::(thread|jthread|async)\b", ("src/app/", "src/runtime/", "src/embed/host."), "an Executor; app and runtime own the threads"),
    (r"#include <(iostream|ostream|istream)>", ("src/cli/",), "obs/log.h for logs; printing belongs to cli"),
    (r"\bstd::(cout|cerr)\b|\bprintf\(", ("src/cli/",), "obs/log.h for logs; printing belongs to cli"),
    (r"\b(srand|rand)\(", (), "a seeded generator passed in"),
]
BANNED_WORDS = re.compile(r"\b(\w*(?:[Tt]hrottle|[Mm]anager|[Hh]elper)\w*)\b")


def tracked(*patterns):
    out = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / line for line in out.stdout.splitlines() if (ROOT / line).exists()]


def rooms_and_uses():
    """The arrows as CMakeLists.txt declares them, closed over transitivity by hand-written USES only."""
    text = (ROOT / "CMakeLists.txt").read_text()
    uses = {}
    for match in re.finditer(r"dripgate_room\((\w+)(.*?)\)", text, re.S):
        words = match.group(2).split()
        allowed = set()
        if "USES" in words:
            for word in words[words.index("USES") + 1:]:
                if word == "LINKS":
                    break
                allowed.add(word)
        uses[match.group(1)] = allowed
    return uses


def included_rooms(room):
    """The rooms that the room's own files name: what they bring along does not count."""
    found = set()
    for path in tracked(f"src/{room}/*.h", f"src/{room}/*.cc"):
        found.update(re.findall(r'^\s*#include "(\w+)/', path.read_text(), re.M))
    return found - {room}


def code_without_comments(text):
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group(0).count("\n"), text, flags=re.S)
    return re.sub(r"//[^\n]*", "", text)


def check_file(path, uses, faults):
    relative = path.relative_to(ROOT).as_posix()
    text = path.read_text()
    lines = text.splitlines()
    if len(lines) > FILE_LINES_MAX:
        faults.append(f"{relative}: {len(lines)} lines, at most {FILE_LINES_MAX}: split it by job")
    if not relative.startswith("src/"):
        return
    room = relative.split("/")[1]
    code = code_without_comments(text)
    for number, line in enumerate(code.splitlines(), 1):
        include = re.match(r'\s*#include "(\w+)/', line)
        if include and include.group(1) != room and include.group(1) in uses and include.group(1) not in uses.get(room, set()):
            faults.append(f"{relative}:{number}: room {room} may not include {include.group(1)} (CMakeLists.txt names what it may)")
        if re.match(r'\s*#include "tests?/|\s*#include "support/', line):
            faults.append(f"{relative}:{number}: production never includes tests")
        for pattern, places, instead in BANNED:
            if re.search(pattern, line) and not relative.startswith(tuple(places) or ("\0",)):
                faults.append(f"{relative}:{number}: {line.strip()[:80]}: use {instead}")
        word = BANNED_WORDS.search(line)
        if word:
            faults.append(f"{relative}:{number}: '{word.group(1)}': name it by what it does (docs: CONTRIBUTING.md, Names)")
    if re.match(r"src/(store|broker)/[a-z_]+\.h$", relative) and len(lines) > PORT_LINES_MAX:
        faults.append(f"{relative}: a port of {len(lines)} lines, at most {PORT_LINES_MAX}")


def main():
    faults = []
    uses = rooms_and_uses()
    files = tracked("src/*.h", "src/*.cc", "tests/*.h", "tests/*.cc", "bench/*.h", "bench/*.cc", "include/*.h")
    for path in files:
        check_file(path, uses, faults)
    for room in uses:
        for idle in sorted(uses[room] - included_rooms(room)):
            faults.append(f"CMakeLists.txt: room {room} uses {idle}, but no file of it includes {idle}/: remove the arrow")
        readme = ROOT / "src" / room / "README.md"
        if not readme.exists():
            faults.append(f"src/{room}/README.md is missing")
        elif len(readme.read_text().splitlines()) > README_LINES_MAX:
            faults.append(f"src/{room}/README.md: over {README_LINES_MAX} lines")
    for path in tracked():
        if path.suffix in {".md", ".cc", ".h", ".py", ".yaml", ".txt", ".sh"} and path != pathlib.Path(__file__):
            for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
                if re.search(r"\b(TODO|FIXME|XXX)\b", line):
                    faults.append(f"{path.relative_to(ROOT)}:{number}: unfinished by its own words: finish it or name it in docs/not-yet.md")
    for fault in faults:
        print(fault)
    print(f"house: {len(files)} files, {len(uses)} rooms, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
