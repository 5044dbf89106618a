"""Many spoiled files for every reader, each kind in a process of its own under a watchdog.

``python tests/support/fuzz_campaign.py -n 2000`` prints a table: inputs, how many were valid or refused, findings, the
slowest input, and the most that one input added to the resident memory. Names select readers; ``command line`` runs
commands with odd values. An input is known by its reader and number; ``--show N`` prints it. A finding is anything but
a valid object or an error that helps: another exception, a process that died, an input that took more than a minute.
"""

import argparse
import collections
import faulthandler
import json
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path
from random import Random

ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "pyproject.toml").is_file())
sys.path.append(str(ROOT))  # which has the package `paper`

import fuzzing  # noqa: E402
from fuzz_commands import COMMAND_LINE, judge_command, random_command  # noqa: E402

WATCHDOG_SECONDS = 60


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("readers", nargs="*", help="by default all")
    parser.add_argument("-n", type=int, default=2000, help="inputs for each reader")
    parser.add_argument("--start", type=int, default=0, help="number of the first input")
    parser.add_argument("--show", type=int, help="print this input of the reader instead")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    names = asked.readers or [*fuzzing.READERS, COMMAND_LINE]
    if asked.show is not None:
        print(made_input(names[0], asked.show))
        return 0
    if asked.worker:
        work(names[0], asked.start, asked.n)
        return 0
    print("| reader | inputs | valid | refused | findings | slowest, s | most memory, MiB |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    return sum(run(name, asked.start, asked.n) for name in names) > 0


def run(name: str, start: int, count: int) -> int:
    """Run one reader's inputs; a process that dies is a finding, and the next input runs in a new one."""
    outcomes, findings, slowest, most = collections.Counter(), dict[str, str](), 0.0, 0.0
    at, end = start, start + count
    while at < end:
        command = [sys.executable, __file__, name, "--worker", "--start", str(at), "-n", str(end - at)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            for line in process.stdout:
                if not line.startswith('{"number"'):
                    continue
                told = json.loads(line)
                at = told["number"] + 1
                outcomes[told["outcome"]] += 1
                slowest, most = max(slowest, told["seconds"]), max(most, told["mebibytes"])
                if told["outcome"] == "finding":
                    findings.setdefault(told["where"], f"{name} {told['number']}: {told['what']}")
            tail = process.stderr.read().strip().splitlines()[-3:]
        if process.returncode != 0:
            outcomes["finding"] += 1
            findings.setdefault(
                f"died {process.returncode}", f"{name} {at}: the process died, {process.returncode}: {tail}"
            )
            at += 1
    print(
        f"| {name} | {count:,} | {outcomes['valid']:,} | {outcomes['refused']:,} | {outcomes['finding']:,} "
        f"| {slowest:.2f} | {most:.0f} |",
        flush=True,
    )
    for text in findings.values():
        print(f"    {text[:400]}", flush=True)
    return len(findings)


def made_input(name: str, number: int) -> object:
    random = Random(f"{name} {number}")
    return random_command(random) if name == COMMAND_LINE else fuzzing.spoil(name, random)


def work(name: str, start: int, count: int) -> None:
    """Judge inputs one after the other, and print a line for each."""
    with tempfile.TemporaryDirectory() as folder:
        for number in range(start, start + count):
            content = made_input(name, number)
            faulthandler.dump_traceback_later(WATCHDOG_SECONDS, exit=True)
            before, started = reset_peak(), time.perf_counter()
            told: dict[str, object] = {"number": number}
            try:
                is_command = name == COMMAND_LINE
                judged = (
                    judge_command(content, Path(folder)) if is_command else fuzzing.judge(name, content, Path(folder))
                )
                told["outcome"] = judged
            except Exception as error:
                place = traceback.extract_tb(error.__traceback__)[-1]
                where = f"{type(error).__name__} {Path(place.filename).name}:{place.lineno}"
                told |= {"outcome": "finding", "where": where, "what": f"{where}: {error!s:.300}".replace("\n", " ")}
            told |= {"seconds": time.perf_counter() - started, "mebibytes": (peak() - before) / 1024}
            faulthandler.cancel_dump_traceback_later()
            print(json.dumps(told), flush=True)


def reset_peak() -> int:
    """Set the peak of the resident memory to what it is now, in KiB (Linux)."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak()


def peak() -> int:
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM:")).split()[1])


if __name__ == "__main__":
    sys.exit(main())
