"""installed - what the images are and what an installation costs: a bench of its own for tests/bench/run.

The sizes that tools/images prints; then tests/system/test_cluster on a real cluster with 40 pods: CPU and memory of one replica of each
program at rest, and the time from `helm install` to the first batch pod.
"""
import json
import os
import re
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SIZES = re.compile(r"^\S+/([\w-]+):\S+: ([0-9.]+) MB unpacked, ([0-9.]+) MB compressed$", re.M)
UNPACKED_MB, COMPRESSED_MB = 12, 5


def images(figure, note):
    note("container images: unpacked, and as they are sent")
    with tempfile.TemporaryDirectory() as folder:
        out = subprocess.run([f"{ROOT}/tools/images", "--out", folder], capture_output=True, text=True, check=True).stdout
    for name, unpacked, sent in SIZES.findall(out):
        figure(f"image-{name}", float(unpacked), "MB", f"<= {UNPACKED_MB}")
        figure(f"image-{name}-compressed", float(sent), "MB", f"<= {COMPRESSED_MB}")


def measured(part):
    """What a part of test_cluster has found out on a cluster of its own, and the last line that it said."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/figures.json"
        out = subprocess.run([f"{ROOT}/tests/system/test_cluster", part], capture_output=True, text=True, check=False,
                             env={**os.environ, "KOORD_FIGURES": path}).stdout
        with open(path) as f:
            return json.load(f), out.strip().splitlines()[-1]


def cluster(figure, note):
    note("koord installed by its chart on a real cluster of one node: the first batch pod; at rest beside 40 pods")
    found = {}
    for part in ("story", "costs"):
        figures, last = measured(part)
        found.update(figures)
        if not figures:
            note(f"left out: {last}")
    if "cpu_m" in found:
        rounded = {kind: {name: round(v, 2) for name, v in found[kind].items()} for kind in ("cpu_m", "memory_mb")}
        figure("installed-cpu-at-rest", round(sum(found["cpu_m"].values()), 2), "m", "<= 10", **rounded["cpu_m"])
        figure("installed-memory", round(sum(found["memory_mb"].values()), 1), "MB", "<= 50", **rounded["memory_mb"])
    if "ready_s" in found:
        figure("installed-ready", round(found["ready_s"], 1), "s", "<= 30")
    if "first_batch_s" in found:
        figure("installed-first-batch-pod", round(found["first_batch_s"], 1), "s", "<= 90")
