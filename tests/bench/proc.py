"""proc - what a process costs, from /proc."""
import os
import re


def memory_mb(pid, key="VmRSS"):
    with open(f"/proc/{pid}/status") as f:
        return round(int(re.search(rf"{key}:\s+(\d+)", f.read()).group(1)) / 1024, 1)


def private_mb(pid):
    """What would be free without it: pages that nobody else maps."""
    with open(f"/proc/{pid}/smaps_rollup") as f:
        return round(sum(map(int, re.findall(r"(?m)^Private_\w+:\s+(\d+)", f.read()))) / 1024, 1)


def thread_ms(pid):
    """Milliseconds of CPU time of all threads, to the nanosecond of the scheduler's account."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat") as f:
            total += int(f.read().split()[0])
    return total / 1e6
