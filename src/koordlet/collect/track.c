/* track.c - reading the files of one cgroup. */
#include "koordlet/collect/track.h"

#include <sys/resource.h>

#include "koordlet/kernel/convert.h"
#include "loop/loop.h"
#include "sys/file.h"

/* ---- the reader ------------------------------------------------------------------------------ */

static const char *const file_types[TRACK_FILES] = {
    [TRACK_CPU_USAGE] = "cpuacct.usage",           [TRACK_CPU_STAT] = "cpu.stat",
    [TRACK_MEMORY_STAT] = "memory.stat",           [TRACK_MEMORY_CURRENT] = "memory.usage_in_bytes",
    [TRACK_NUMA_STAT] = "memory.numa_stat",        [TRACK_PSI_CPU] = "cpu.pressure",
    [TRACK_PSI_MEMORY] = "memory.pressure",        [TRACK_PSI_IO] = "io.pressure",
    [TRACK_IDLE_PAGES] = "memory.idle_page_stats",
};

static uint32_t raise_limit(void)
{
    struct rlimit l;

    if (getrlimit(RLIMIT_NOFILE, &l) < 0)
        return 256;
    if (l.rlim_cur < l.rlim_max) {
        struct rlimit all = { l.rlim_max, l.rlim_max };
        if (setrlimit(RLIMIT_NOFILE, &all) == 0)
            l = all;
    }
    return (uint32_t)MIN(l.rlim_cur, (rlim_t)(1 << 20));
}

void track_reader_init(struct track_reader *r, struct host *host, struct loop *loop)
{
    *r = (struct track_reader){ .host = host, .loop = loop, .tick = 1 };
    r->max_open = raise_limit() / 4 * 3;
    for (int f = 0; f < TRACK_FILES; f++) {
        const struct cgroup_resource *res =
            cgroup_resource_find(host->version, file_types[f], NULL);
        r->files[f] = res ? &res->files[host->version] : NULL;
    }
}

void track_reader_fini(struct track_reader *r)
{
    strbuf_fini(&r->path);
}

bool rate_next(struct rate *r, uint64_t value, nsec_t at, nsec_t expire, double *ret)
{
    struct rate was = *r;

    *r = (struct rate){ value, at, true };
    if (!was.known || at <= was.at || at - was.at > expire || value < was.last)
        return false;
    *ret = (double)(value - was.last) / (double)(at - was.at);
    return true;
}

/* ---- files ----------------------------------------------------------------------------------- */

void track_init(struct track *t, const char *dir, const char *leaf)
{
    *t = (struct track){ .dir = dir, .leaf = leaf };
    for (int f = 0; f < TRACK_FILES; f++)
        t->files[f].fd = -1;
}

void track_retry(struct track *t)
{
    for (int f = 0; f < TRACK_FILES; f++)
        t->files[f].tries = 0;
}

static void slot_close(struct track_reader *r, struct track_slot *s)
{
    if (s->fd < 0)
        return;
    s->fd = fd_close(s->fd);
    r->open--;
}

void track_fini(struct track *t, struct track_reader *r)
{
    for (int f = 0; f < TRACK_FILES; f++)
        slot_close(r, &t->files[f]);
    for (int i = 0; i < TRACK_SERIES; i++)
        t->series[i] = series_close(t->series[i]);
    if (t->psi) {
        for (int i = 0; i < 6; i++)
            series_close(t->psi->series[i / 2][i % 2]);
        series_close(t->psi->cpu_full);
    }
    if (t->cpi)
        for (int i = 0; i < 2; i++)
            series_close(t->cpi->series[i]);
    free(take(t->psi));
    free(take(t->cpi));
}

static const char *path_of(struct track_reader *r, const struct track *t, enum track_file f)
{
    const struct cgroup_file *file = r->files[f];
    const char *const parts[] = { file->subsystem, t->dir, t->leaf };

    strbuf_reset(&r->path);
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        if (!*parts[i])
            continue;
        strbuf_append(&r->path, parts[i]);
        strbuf_appendc(&r->path, '/');
    }
    strbuf_append(&r->path, file->name);
    return strbuf_str(&r->path);
}

static uint32_t second(const struct track_reader *r)
{
    return (uint32_t)(loop_mono(r->loop) / NSEC_PER_SEC);
}

/* Not there: it is left alone for a while, longer each time. */
static void slot_wait(const struct track_reader *r, struct track_slot *s)
{
    s->retry_s = second(r) + (1U << MIN(s->tries, 5U));
    s->tries++;
}

/* The messages name the file, not the group: a thousand groups with one fault are one message. */
static int slot_failed(struct track_reader *r, struct track_slot *s, enum track_file f, int code,
                       struct kerr *err)
{
    if (track_is_gone(code)) {
        slot_close(r, s);
        slot_wait(r, s);
    }
    return kerr_set(err, code, "%s: %s", r->files[f]->name, strerror(-code));
}

int track_text(struct track_reader *r, struct track *t, enum track_file f, struct str *ret,
               struct kerr *err)
{
    struct track_slot *s = &t->files[f];
    struct kernelfile p = { s->fd };

    if (!r->files[f])
        return kerr_set(err, -ENOENT, "%s: there is none", file_types[f]);
    if (s->fd < 0) {
        if (s->tries > 0 && second(r) < s->retry_s)
            return kerr_set(err, -ENOENT, "%s: is not there", r->files[f]->name);
        int code = kernelfile_open(&p, r->host->cgroup_fd, path_of(r, t, f), NULL);
        if (code < 0)
            return slot_failed(r, s, f, code, err);
    }
    int code = kernelfile_read(&p, r->host->buf, ret, NULL);
    if (s->fd < 0 && code == 0 && r->open < r->max_open) {
        s->fd = p.fd;
        r->open++;
    } else if (s->fd < 0) {
        kernelfile_close(&p);
    }
    if (code < 0)
        return slot_failed(r, s, f, code, err);
    s->tries = 0;
    return 0;
}

/* ---- what is in them ------------------------------------------------------------------------- */

int track_number(struct track_reader *r, struct track *t, enum track_file f, uint64_t *ret,
                 struct kerr *err)
{
    struct str text;

    int code = track_text(r, t, f, &text, err);
    if (code < 0)
        return code;
    while (text.n > 0 && text.p[text.n - 1] == '\n')
        text.n--;
    code = file_u64(text.p, text.n, ret, err);
    return code < 0 ? kerr_wrap(err, "%s", r->files[f]->name) : 0;
}

/* What is wrong was told to the first who asked in this tick. */
static int told(struct kerr *err)
{
    return kerr_set(err, -ENOENT, "could not be read in this tick");
}

/* v2: usage and throttling are in one file. */
static void read_both(struct track_reader *r, struct track *t, struct kerr *err)
{
    bool has_stat = false;
    struct str text;

    t->cpu_tick = t->throttled_tick = r->tick;
    t->cpu_code = track_text(r, t, TRACK_CPU_USAGE, &text, err);
    t->usage_at = loop_stopwatch(r->loop);
    if (t->cpu_code == 0)
        t->cpu_code = cpu_both_parse(text.p, text.n, &t->usage_ns, &t->stat, &has_stat, err);
    t->throttled_code = t->cpu_code == 0 && !has_stat ? -ENOENT : t->cpu_code;
}

int track_cpu(struct track_reader *r, struct track *t, struct kerr *err)
{
    struct str text;

    if (t->cpu_tick == r->tick)
        return t->cpu_code < 0 ? told(err) : 0;
    if (r->host->version == CGROUP_V2) {
        read_both(r, t, err);
        return t->cpu_code;
    }
    t->cpu_tick = r->tick;
    t->cpu_code = track_text(r, t, TRACK_CPU_USAGE, &text, err);
    t->usage_at = loop_stopwatch(r->loop);
    if (t->cpu_code == 0)
        t->cpu_code = cpu_usage_parse(CGROUP_V1, text.p, text.n, &t->usage_ns, err);
    return t->cpu_code;
}

int track_throttled(struct track_reader *r, struct track *t, struct kerr *err)
{
    struct str text;

    if (t->throttled_tick == r->tick)
        return t->throttled_code < 0 ? told(err) : 0;
    if (r->host->version == CGROUP_V2) {
        read_both(r, t, err);
        return t->throttled_code;
    }
    t->throttled_tick = r->tick;
    t->throttled_code = track_text(r, t, TRACK_CPU_STAT, &text, err);
    if (t->throttled_code == 0)
        t->throttled_code = cpu_stat_parse(CGROUP_V1, text.p, text.n, &t->stat, err);
    return t->throttled_code;
}

int track_memory(struct track_reader *r, struct track *t, struct kerr *err)
{
    struct str text;

    if (t->memory_tick == r->tick)
        return t->memory_code < 0 ? told(err) : 0;
    t->memory_tick = r->tick;
    t->memory_code = track_text(r, t, TRACK_MEMORY_STAT, &text, err);
    if (t->memory_code == 0)
        t->memory_code = memory_stat_parse(r->host->version, text.p, text.n, &t->memory, err);
    return t->memory_code;
}
