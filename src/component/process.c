/* process.c - what /proc says of this process, under the names of Prometheus' clients. */
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/num.h"
#include "base/strbuf.h"
#include "component/metrics_int.h"
#include "sys/file.h"

enum { STAT_MAX = 8192, BOOT_MAX = 1 << 20 };
enum { /* fields of /proc/PID/stat, counted from the one behind the name */
       STAT_UTIME = 11,
       STAT_STIME = 12,
       STAT_START = 19,
       STAT_VSIZE = 20,
       STAT_RSS = 21,
};

struct process_metrics {
    char *proc;
    double ticks, page, boot; /* ticks a second; boot: wall seconds */
    struct gauge *cpu, *rss, *virt, *fds, *max_fds, *start;
};

void process_metrics_free(struct process_metrics *p)
{
    if (p)
        free(p->proc);
    free(p);
}

static int count_entry(int dirfd, const char *name, unsigned char type, void *arg, struct kerr *err)
{
    (void)dirfd, (void)name, (void)type, (void)err;
    ++*(size_t *)arg;
    return 0;
}

static double count_fds(const struct process_metrics *p)
{
    CLEANUP(mem_free) char *path = xasprintf("%s/self/fd", p->proc);
    size_t n = 0;

    if (dir_each(AT_FDCWD, path, count_entry, &n, NULL) != 0)
        return 0;
    return n ? (double)(n - 1) : 0; /* one is the directory we read */
}

static double field(const char *fields, int at)
{
    const char *p = fields;
    uint64_t v = 0;

    for (; at > 0 && *p; at--) {
        p += strcspn(p, " ");
        p += *p == ' ';
    }
    return u64_parse(p, strcspn(p, " \n"), &v) == 0 ? (double)v : 0;
}

static void update(void *arg)
{
    struct process_metrics *p = arg;
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    CLEANUP(mem_free) char *path = xasprintf("%s/self/stat", p->proc);
    struct rlimit limit;

    if (file_read_all(AT_FDCWD, path, STAT_MAX, &text, NULL) < 0)
        return;
    const char *name_end = strrchr(strbuf_str(&text), ')'); /* a name may contain anything */
    if (!name_end || name_end[1] != ' ')
        return;
    const char *fields = name_end + 2;
    gauge_set(p->cpu, (field(fields, STAT_UTIME) + field(fields, STAT_STIME)) / p->ticks);
    gauge_set(p->rss, field(fields, STAT_RSS) * p->page);
    gauge_set(p->virt, field(fields, STAT_VSIZE));
    gauge_set(p->start, p->boot + field(fields, STAT_START) / p->ticks);
    gauge_set(p->fds, count_fds(p));
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        gauge_set(p->max_fds, (double)limit.rlim_cur);
}

static double boot_time(const char *proc)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    CLEANUP(mem_free) char *path = xasprintf("%s/stat", proc);

    if (file_read_all(AT_FDCWD, path, BOOT_MAX, &text, NULL) < 0)
        return 0;
    const char *line = strstr(strbuf_str(&text), "\nbtime ");
    return line ? field(line + 1, 1) : 0;
}

void metrics_add_process(struct metrics *m, const char *proc)
{
    static const struct metric_desc descs[] = {
        { "process_cpu_seconds_total", "Total user and system CPU time spent in seconds.",
          METRIC_COUNTER },
        { "process_resident_memory_bytes", "Resident memory size in bytes.", METRIC_GAUGE },
        { "process_virtual_memory_bytes", "Virtual memory size in bytes.", METRIC_GAUGE },
        { "process_open_fds", "Number of open file descriptors.", METRIC_GAUGE },
        { "process_max_fds", "Maximum number of open file descriptors.", METRIC_GAUGE },
        { "process_start_time_seconds", "Start time of the process since unix epoch in seconds.",
          METRIC_GAUGE },
    };
    struct gauge **slots[ARRAY_LEN(descs)];

    if (m->process)
        return;
    struct process_metrics *p = m->process = xnew0(struct process_metrics);
    p->proc = xstrdup(proc ? proc : "/proc");
    p->ticks = (double)sysconf(_SC_CLK_TCK);
    p->page = (double)sysconf(_SC_PAGESIZE);
    p->boot = boot_time(p->proc);
    slots[0] = &p->cpu, slots[1] = &p->rss, slots[2] = &p->virt;
    slots[3] = &p->fds, slots[4] = &p->max_fds, slots[5] = &p->start;
    for (size_t i = 0; i < ARRAY_LEN(descs); i++) {
        struct metric *f = metrics_add(m, &descs[i]);
        /* A counter that is read, not counted: its number lies where a gauge's does. */
        *slots[i] = descs[i].type == METRIC_GAUGE ? metric_gauge(f, NULL)
                                                  : (struct gauge *)metric_counter(f, NULL);
    }
    metrics_on_scrape(m, update, p);
}
