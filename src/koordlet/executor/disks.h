/* disks.h - the disks that the blkio files of a cgroup name: those have settings. */
#ifndef KOORD_KOORDLET_EXECUTOR_DISKS_H
#define KOORD_KOORDLET_EXECUTOR_DISKS_H
#include "koordlet/executor/plan.h"
#include "koordlet/kernel/host.h"

struct disks vec_of(const char *); /* "253:16"; the texts are in the arena */
/* Adds those of the files from first to last that are not there yet. Reads files. */
void disks_read(const struct host *h, const char *dir, enum plan_file first, enum plan_file last,
                struct arena *a, struct disks *out);
#endif
