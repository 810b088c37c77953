/* parse.h - what the kernel writes into files of cgroups and of /proc.
 *
 * Each takes the text of a file as it was read and refuses one that lacks what is asked for.
 * Nothing is allocated; results are written on success only.
 */
#ifndef KOORD_KOORDLET_KERNEL_PARSE_H
#define KOORD_KOORDLET_KERNEL_PARSE_H
#include "base/base.h"
#include "koordlet/kernel/resource.h"

/* ---- CPU ------------------------------------------------------------------------------------- */

/* The fields of cpu.max, each on its own: the other one may be anything. -1: no quota. */
int cpu_max_quota(const char *s, size_t n, int64_t *ret, struct kerr *err);
int cpu_max_period(const char *s, size_t n, int64_t *ret, struct kerr *err);

struct cpu_stat {
    int64_t periods, throttled, throttled_ns;
};
int cpu_stat_parse(enum cgroup_version v, const char *s, size_t n, struct cpu_stat *ret,
                   struct kerr *err);
/* Of the periods between two reads, the share that was throttled; 0 when there was none. */
double cpu_throttled_ratio(const struct cpu_stat *before, const struct cpu_stat *now);
/* cpuacct.usage (v1), cpu.stat (v2): nanoseconds of CPU time. */
int cpu_usage_parse(enum cgroup_version v, const char *s, size_t n, uint64_t *ret_ns,
                    struct kerr *err);

/* Both from one cpu.stat of v2, in one pass. A group without the cpu controller has the usage only.
 */
int cpu_both_parse(const char *s, size_t n, uint64_t *ret_ns, struct cpu_stat *ret,
                   bool *ret_has_stat, struct kerr *err);

/* /proc/stat: ticks that were used (user, nice, system, irq, softirq). */
int proc_stat_total(const char *s, size_t n, uint64_t *ret, struct kerr *err);
struct cpu_ticks {
    uint32_t cpu;
    uint64_t ticks;
};
/* The same of each CPU, in the order of the file, at most cap of them; -ENODATA when none is there.
 */
int proc_stat_cpus(const char *s, size_t n, struct cpu_ticks *ret, size_t cap, size_t *ret_n,
                   struct kerr *err);

/* ---- memory ---------------------------------------------------------------------------------- */

struct memory_stat {
    int64_t cache, rss, inactive_file, active_file, inactive_anon, active_anon, unevictable;
};
int memory_stat_parse(enum cgroup_version v, const char *s, size_t n, struct memory_stat *ret,
                      struct kerr *err);
int64_t memory_stat_usage(const struct memory_stat *m);
int64_t memory_stat_usage_with_page_cache(const struct memory_stat *m);

enum { NUMA_NODES_MAX = 1024, NUMA_PAGE_BYTES = 4096 };
struct numa_pages {
    uint32_t node;
    uint64_t pages;
};
/* memory.numa_stat; ret has room for cap nodes, -E2BIG beyond. */
int memory_numa_parse(enum cgroup_version v, const char *s, size_t n, struct numa_pages *ret,
                      size_t cap, size_t *ret_n, struct kerr *err);

struct meminfo { /* kB, but for the huge pages; what a file lacks is 0 */
    uint64_t total, free, available, buffers, cached, active_file, inactive_file, sreclaimable;
    uint64_t huge_pages;
};
/* /proc/meminfo, or a NUMA node's ("Node 0 MemTotal: ..."). */
int meminfo_parse(const char *s, size_t n, bool of_numa_node, struct meminfo *ret,
                  struct kerr *err);
/* Bytes, never below 0. */
uint64_t meminfo_usage(const struct meminfo *m);
uint64_t meminfo_usage_with_page_cache(const struct meminfo *m);
uint64_t meminfo_numa_usage(const struct meminfo *m);

/* ---- pressure -------------------------------------------------------------------------------- */

struct psi_line {
    double avg10, avg60, avg300;
    uint64_t total;
};
struct psi { /* a line that the file does not have is all zero */
    struct psi_line some, full;
    bool has_some, full_supported;
};
int psi_parse(const char *s, size_t n, struct psi *ret, struct kerr *err);
#endif
