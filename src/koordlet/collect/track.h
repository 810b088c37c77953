/* track.h - one cgroup that is measured: its open files, the newest read of each, and its series.
 *
 * Files are opened when they are first asked for and stay open as long as the reader has
 * descriptors to spare. In one tick a file is read once, whoever asks. A file that is not there is
 * tried again after 1, 2, 4 ... 32 seconds. Rates count on the monotonic clock.
 */
#ifndef KOORD_KOORDLET_TRACK_H
#define KOORD_KOORDLET_TRACK_H
#include "base/strbuf.h"
#include "koordlet/kernel/host.h"
#include "koordlet/kernel/parse.h"
#include "koordlet/metriccache/store.h"

struct loop;

enum track_file {
    TRACK_CPU_USAGE, /* v2: cpu.stat, which has both */
    TRACK_CPU_STAT,  /* v1 only */
    TRACK_MEMORY_STAT,
    TRACK_MEMORY_CURRENT,
    TRACK_NUMA_STAT,
    TRACK_PSI_CPU,
    TRACK_PSI_MEMORY,
    TRACK_PSI_IO,
    TRACK_IDLE_PAGES, /* v1 only */
    TRACK_FILES
};
enum track_series {
    SERIES_CPU,
    SERIES_MEMORY,
    SERIES_PAGE_CACHE,
    SERIES_HOT,
    SERIES_COLD,
    SERIES_THROTTLED,
    TRACK_SERIES
};

struct track_reader { /* shared by all tracks */
    struct host *host;
    struct loop *loop;
    uint32_t tick;           /* counts turns of the advisor, from 1 */
    uint32_t open, max_open; /* descriptors that stay open */
    struct strbuf path;
    const struct cgroup_file *files[TRACK_FILES]; /* NULL: this version has none */
};
/* Raises the limit of descriptors as far as it goes, and takes three quarters of it. */
void track_reader_init(struct track_reader *r, struct host *host, struct loop *loop);
void track_reader_fini(struct track_reader *r);

struct rate { /* of a counter that only grows */
    uint64_t last;
    nsec_t at;
    bool known;
};
/* How much a nanosecond since the last call. false: there was none, it is too old, the counter went
 * back (a group of the same name that is new) or no time has passed. */
bool rate_next(struct rate *r, uint64_t value, nsec_t at, nsec_t expire, double *ret);

struct track_slot {
    int fd;
    uint32_t retry_s; /* monotonic second before which a missing file is not tried */
    uint32_t tries;
};
struct track_psi { /* resources: cpu, memory, io */
    struct psi values[3];
    bool known;
    struct series *series[3][2], *cpu_full; /* some, full */
};
struct track_cpi {
    double cycles, instructions;
    bool known;
    struct series *series[2];
};
struct track {
    const char *dir, *leaf; /* borrowed: below the root; leaf "" for a pod */
    struct track_slot files[TRACK_FILES];
    uint32_t cpu_tick, throttled_tick, memory_tick; /* of the reads below */
    int cpu_code, throttled_code, memory_code;      /* and how they ended */
    uint64_t usage_ns;
    nsec_t usage_at;
    struct cpu_stat stat;
    struct memory_stat memory;
    struct rate cpu_rate;
    struct cpu_stat last_stat;
    nsec_t last_stat_at;
    bool last_stat_known;
    struct series *series[TRACK_SERIES]; /* NULL until the first sample */
    struct track_psi *psi;               /* NULL unless pressure is collected */
    struct track_cpi *cpi;
};
void track_init(struct track *t, const char *dir, const char *leaf);
/* Something is new about the group: files that were not there are looked for at once. */
void track_retry(struct track *t);
/* Closes its files and its series. */
void track_fini(struct track *t, struct track_reader *r);

/* The text of a file now; borrowed until the next read. -ENOENT: the group or the file is not
 * there (or was not a moment ago), which is no failure. */
int track_text(struct track_reader *r, struct track *t, enum track_file f, struct str *ret,
               struct kerr *err);
/* Read in this tick already or now: usage_ns, usage_at. A failure is told to the first who asks in
 * a tick; for the others the file is not there. */
int track_cpu(struct track_reader *r, struct track *t, struct kerr *err);
/* stat. -ENOENT too when the group has no limit to be throttled by (no cpu controller). */
int track_throttled(struct track_reader *r, struct track *t, struct kerr *err);
/* memory. */
int track_memory(struct track_reader *r, struct track *t, struct kerr *err);
/* "memory.usage_in_bytes" and the like: one number. */
int track_number(struct track_reader *r, struct track *t, enum track_file f, uint64_t *ret,
                 struct kerr *err);
/* Is this a group or file that is not there, rather than one that cannot be read? */
static inline bool track_is_gone(int code)
{
    return code == -ENOENT || code == -ENODEV || code == -ESRCH || code == -ENOTDIR;
}
#endif
