#!/usr/bin/env python3
"""Mutation check of the simulation: each mutant of tools/mutants.toml must make `sim` fail within 200 seeds.

Compiles only the mutated source, with the flags of the build's compile_commands.json, and links it before the archives, so that
the archive's own member is never pulled in. Non-zero exit when a mutant survives or its original text is not found exactly once.

  tools/mutants.py [--build FOLDER] [--seeds N] [NAME...]
"""
import argparse
import concurrent.futures
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
SEEDS = 200
JOBS = 2
RUN_SECONDS_MAX = 240  # a mutant that hangs the simulation counts as found


class Fault(Exception):
    pass


def compile_commands(build):
    path = build / "compile_commands.json"
    if not path.exists():
        raise Fault(f"{path} is missing: build first (./dev build)")
    return {pathlib.Path(entry["file"]).resolve(): entry for entry in json.loads(path.read_text())}


def link_command(build):
    lines = subprocess.run(["ninja", "-C", str(build), "-t", "commands", "-s", "sim"], capture_output=True, text=True, check=True).stdout
    command = lines.strip().splitlines()[-1].removeprefix(": && ").removesuffix(" && :")
    return shlex.split(command)


def mutate(edit, overlay):
    """Writes the mutated copy below `overlay`; answers the sources to compile with it."""
    source = ROOT / edit["file"]
    text = source.read_text()
    if (found := text.count(edit["original"])) != 1:
        raise Fault(f"{edit['file']}: the original text is there {found} times, must be once:\n{edit['original']}")
    copy = overlay / edit["file"]
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_text(text.replace(edit["original"], edit["mutated"]))
    return [edit["file"]] if source.suffix == ".cc" else edit["compile"]


def compile_one(name, overlay, commands):
    source = (ROOT / name).resolve()
    if source not in commands:
        raise Fault(f"{name}: not in compile_commands.json")
    entry = commands[source]
    given = overlay / name if (overlay / name).exists() else source
    obj = overlay / (name.replace("/", "_") + ".o")
    command = [part for part in shlex.split(entry["command"]) if not part.endswith("ccache")]
    command[command.index("-o") + 1] = str(obj)
    command = [str(given) if pathlib.Path(part) == source else part for part in command]
    command.insert(1, f"-I{overlay / 'src'}")  # mutated headers first
    command.append("-Wno-error")
    done = subprocess.run(command, cwd=entry["directory"], capture_output=True, text=True)
    if done.returncode != 0:
        raise Fault(f"{name}: the mutant does not compile:\n{done.stderr[-2000:]}")
    return obj


def link(objects, build, link_line, program):
    command = list(link_line)
    command[command.index("-o") + 1] = str(program)
    first_archive = next(i for i, part in enumerate(command) if part.endswith(".a"))
    command[first_archive:first_archive] = [str(obj) for obj in objects]
    done = subprocess.run(command, cwd=build, capture_output=True, text=True)
    if done.returncode != 0:
        raise Fault(f"the mutant does not link:\n{done.stderr[-2000:]}")


def run(mutant, build, commands, link_line, seeds):
    """Answers (found, what the simulation said)."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        overlay = pathlib.Path(folder)
        sources = [name for edit in mutant["edit"] for name in mutate(edit, overlay)]
        objects = [compile_one(name, overlay, commands) for name in dict.fromkeys(sources)]
        program = overlay / "sim"
        link(objects, build, link_line, program)
        try:
            done = subprocess.run([str(program), f"--seeds={seeds}"], capture_output=True, text=True, timeout=RUN_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            return True, "it hangs"
        if done.returncode == 0:
            return False, "every history passes"
        first = re.search(r"seed \d+ .*\n.*", done.stdout)
        return True, " ".join(first.group(0).split()) if first else f"exit {done.returncode}: {done.stderr.strip()[-200:]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default=str(ROOT / "build/release"))
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    build = pathlib.Path(given.build).resolve()
    mutants = tomllib.loads((ROOT / "tools/mutants.toml").read_text())["mutant"]
    if given.names:
        mutants = [mutant for mutant in mutants if mutant["name"] in given.names]
    try:
        commands, link_line = compile_commands(build), link_command(build)
    except (Fault, subprocess.CalledProcessError) as wrong:
        print(f"mutants: {wrong}", file=sys.stderr)
        return 1

    survived = 0
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        running = {mutant["name"]: pool.submit(run, mutant, build, commands, link_line, given.seeds) for mutant in mutants}
        for name, future in running.items():
            try:
                found, said = future.result()
            except Fault as wrong:
                found, said = False, str(wrong)
            survived += not found
            print(f"{'found   ' if found else 'SURVIVED'} {name}: {said[:160]}", flush=True)
    print(f"{len(mutants)} mutants, {survived} survived")
    return 1 if survived or not mutants else 0


if __name__ == "__main__":
    sys.exit(main())
