#!/usr/bin/env python3
"""Runs fuzz targets of a build: each for so many seconds on the seeds in the repository and what was found before.
What grows stays in BUILD/corpus/, a find in BUILD/finds/; prints a line per target, fails on a find."""

import argparse
import os
import pathlib
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

SEEDS = pathlib.Path(__file__).resolve().parent.parent / "tests" / "fuzz" / "seeds"
RSS_MB_MAX = 2048
INPUT_SECONDS_MAX = 20  # of one input, on a busy machine


def run(build, target, seconds):
    corpus, finds = build / "corpus" / target, build / "finds"
    corpus.mkdir(parents=True, exist_ok=True)
    finds.mkdir(exist_ok=True)
    log = finds / f"{target}.log"
    with open(log, "w") as out:
        code = subprocess.run(
            [build / f"fuzz_{target}", f"-max_total_time={seconds}", f"-timeout={INPUT_SECONDS_MAX}",
             f"-rss_limit_mb={RSS_MB_MAX}", "-print_final_stats=1", f"-artifact_prefix={finds}/{target}-",
             corpus, SEEDS / target], stdout=out, stderr=out, env=os.environ | {"TZ": "UTC"}).returncode
    text = log.read_text(errors="replace")
    done = re.search(r"Done (\d+) runs in (\d+) second", text)
    if code == 0 and done:
        print(f"fuzz {target}: {int(done[1]):,} inputs in {done[2]} s, no find", flush=True)
        return True
    print(f"fuzz {target}: a find (exit {code}); {log}:", *text.splitlines()[-40:], sep="\n", flush=True)
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("seconds", type=int)
    parser.add_argument("target", nargs="?", help="one alone; default: all")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    targets = sorted(folder.name for folder in SEEDS.iterdir())
    if options.target not in [None, *targets]:
        sys.exit(f"no target '{options.target}'; accepted: {', '.join(targets)}")
    chosen = [options.target] if options.target else targets
    with ThreadPoolExecutor(options.jobs) as pool:
        good = list(pool.map(lambda target: run(options.build.resolve(), target, options.seconds), chosen))
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
