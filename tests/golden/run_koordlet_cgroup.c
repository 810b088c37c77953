/* run_koordlet_cgroup.c - texts and numbers of cgroup files and of /proc. */
#include <stdio.h>

#include "koordlet/kernel/convert.h"
#include "koordlet/kernel/parse.h"
#include "koordlet/kernel/resource.h"
#include "run_koordlet.h"

struct op {
    const struct kj_val *in;
    const char *content;
    size_t n;
    struct arena *arena;
    struct kjw *w;
};
typedef int (*op_fn)(struct op *o, struct kerr *err); /* writes the answer's members */

static int op_shares_to_weight(struct op *o, struct kerr *err)
{
    int64_t weight;
    int r = shares_text_to_weight(kj_str_or(kj_get(o->in, "shares"), ""), &weight, err);
    if (r == 0)
        kjw_i64(o->w, "value", weight);
    return r;
}

static int op_weight_to_shares(struct op *o, struct kerr *err)
{
    int64_t shares;
    int r = weight_to_shares(kj_i64_or(kj_get(o->in, "weight"), -1), &shares, err);
    if (r == 0)
        kjw_i64(o->w, "value", shares);
    return r;
}

static int op_cpu_max(struct op *o, struct kerr *err)
{
    int64_t quota, period;

    if (cpu_max_quota(o->content, o->n, &quota, err) == 0)
        kjw_i64(o->w, "quota", quota);
    if (cpu_max_period(o->content, o->n, &period, err) == 0)
        kjw_i64(o->w, "period", period);
    return 0;
}

static int op_write(struct op *o, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    bool v2 = streq(kj_str_or(kj_get(o->in, "cgroupVersion"), ""), "v2");
    enum cgroup_version v = v2 ? CGROUP_V2 : CGROUP_V1;
    const struct cgroup_resource *resource =
        cgroup_resource_find(v, kj_str_or(kj_get(o->in, "resource"), ""), err);

    if (!resource)
        return err->code;
    int r = cgroup_resource_content(resource, v, kj_str_or(kj_get(o->in, "value"), ""), &text, err);
    if (r < 0)
        return r;
    kjw_str(o->w, "file", resource->files[v].name);
    kjw_str(o->w, "content", strbuf_str(&text));
    return 0;
}

static int write_cpu_stat(struct op *o, enum cgroup_version v, struct kerr *err)
{
    struct cpu_stat c;
    int r = cpu_stat_parse(v, o->content, o->n, &c, err);
    if (r < 0)
        return r;
    kjw_obj(o->w, "value");
    kjw_i64(o->w, "nrPeriods", c.periods);
    kjw_i64(o->w, "nrThrottled", c.throttled);
    kjw_i64(o->w, "throttledNanoSeconds", c.throttled_ns);
    kjw_end(o->w);
    return 0;
}

static int op_cpu_stat_v1(struct op *o, struct kerr *err)
{
    return write_cpu_stat(o, CGROUP_V1, err);
}

static int op_cpu_stat_v2(struct op *o, struct kerr *err)
{
    return write_cpu_stat(o, CGROUP_V2, err);
}

static int op_cpu_usage_v2(struct op *o, struct kerr *err)
{
    uint64_t ns;
    int r = cpu_usage_parse(CGROUP_V2, o->content, o->n, &ns, err);
    if (r == 0)
        kjw_i64(o->w, "value", (int64_t)ns);
    return r;
}

static int write_memory_stat(struct op *o, enum cgroup_version v, struct kerr *err)
{
    struct memory_stat m;
    int r = memory_stat_parse(v, o->content, o->n, &m, err);
    if (r < 0)
        return r;
    kjw_obj(o->w, "value");
    kjw_i64(o->w, "cache", m.cache);
    kjw_i64(o->w, "rss", m.rss);
    kjw_i64(o->w, "inactiveFile", m.inactive_file);
    kjw_i64(o->w, "activeFile", m.active_file);
    kjw_i64(o->w, "inactiveAnon", m.inactive_anon);
    kjw_i64(o->w, "activeAnon", m.active_anon);
    kjw_i64(o->w, "unevictable", m.unevictable);
    kjw_i64(o->w, "usage", memory_stat_usage(&m));
    kjw_end(o->w);
    return 0;
}

static int op_memory_stat_v1(struct op *o, struct kerr *err)
{
    return write_memory_stat(o, CGROUP_V1, err);
}

static int op_memory_stat_v2(struct op *o, struct kerr *err)
{
    return write_memory_stat(o, CGROUP_V2, err);
}

static int write_numa(struct op *o, enum cgroup_version v, struct kerr *err)
{
    struct numa_pages *pages = arena_newn0(o->arena, NUMA_NODES_MAX, struct numa_pages);
    size_t n;
    int r = memory_numa_parse(v, o->content, o->n, pages, NUMA_NODES_MAX, &n, err);
    if (r < 0)
        return r;
    kjw_arr(o->w, "value");
    for (size_t i = 0; i < n; i++) {
        kjw_arr(o->w, NULL);
        kjw_i64(o->w, NULL, pages[i].node);
        kjw_i64(o->w, NULL, (int64_t)pages[i].pages);
        kjw_end(o->w);
    }
    kjw_end(o->w);
    return 0;
}

static int op_numa_v1(struct op *o, struct kerr *err)
{
    return write_numa(o, CGROUP_V1, err);
}

static int op_numa_v2(struct op *o, struct kerr *err)
{
    return write_numa(o, CGROUP_V2, err);
}

static int op_cpuset(struct op *o, struct kerr *err)
{
    struct cpuset cpus;
    int r = cpus_parse(o->content, o->n, &cpus, err);
    if (r < 0)
        return r;
    kjw_obj(o->w, "value");
    kjw_arr(o->w, "cpus");
    cpuset_foreach(&cpus, cpu)
        kjw_i64(o->w, NULL, cpu);
    kjw_end(o->w);
    kjw_str(o->w, "string", cpuset_format(&cpus, o->arena));
    kjw_end(o->w);
    return 0;
}

static void write_psi_line(struct kjw *w, const char *key, const struct psi_line *l)
{
    kjw_obj(w, key);
    kjw_f64(w, "avg10", l->avg10);
    kjw_f64(w, "avg60", l->avg60);
    kjw_f64(w, "avg300", l->avg300);
    kjw_i64(w, "total", (int64_t)l->total);
    kjw_end(w);
}

static int op_psi(struct op *o, struct kerr *err)
{
    struct psi p;
    int r = psi_parse(o->content, o->n, &p, err);
    if (r < 0)
        return r;
    kjw_obj(o->w, "value");
    if (p.has_some)
        write_psi_line(o->w, "some", &p.some);
    else
        kjw_null(o->w, "some");
    write_psi_line(o->w, "full", &p.full);
    kjw_bool(o->w, "fullSupported", p.full_supported);
    kjw_end(o->w);
    return 0;
}

static int op_stat_total(struct op *o, struct kerr *err)
{
    uint64_t ticks;
    int r = proc_stat_total(o->content, o->n, &ticks, err);
    if (r == 0)
        kjw_i64(o->w, "value", (int64_t)ticks);
    return r;
}

static int op_stat_cpus(struct op *o, struct kerr *err)
{
    struct cpu_ticks *ticks = arena_newn0(o->arena, CPUSET_MAX, struct cpu_ticks);
    char key[16];
    size_t n;
    int r = proc_stat_cpus(o->content, o->n, ticks, CPUSET_MAX, &n, err);
    if (r < 0)
        return r;
    kjw_obj(o->w, "value");
    for (size_t i = 0; i < n; i++) {
        snprintf(key, sizeof key, "%u", ticks[i].cpu);
        kjw_i64(o->w, key, (int64_t)ticks[i].ticks);
    }
    kjw_end(o->w);
    return 0;
}

static int op_meminfo(struct op *o, struct kerr *err)
{
    bool numa = kj_bool(kj_get(o->in, "numa"), false);
    struct meminfo m;
    int r = meminfo_parse(o->content, o->n, numa, &m, err);
    if (r < 0)
        return r;
    kjw_obj(o->w, "value");
    kjw_i64(o->w, "memTotalKiB", (int64_t)m.total);
    kjw_i64(o->w, "memTotalBytes", (int64_t)m.total * 1024);
    kjw_i64(o->w, "memFreeKiB", (int64_t)m.free);
    kjw_i64(o->w, "memAvailableKiB", (int64_t)m.available);
    kjw_i64(o->w, "buffersKiB", (int64_t)m.buffers);
    kjw_i64(o->w, "cachedKiB", (int64_t)m.cached);
    kjw_i64(o->w, "activeFileKiB", (int64_t)m.active_file);
    kjw_i64(o->w, "inactiveFileKiB", (int64_t)m.inactive_file);
    kjw_i64(o->w, "sReclaimableKiB", (int64_t)m.sreclaimable);
    kjw_i64(o->w, "hugePagesTotal", (int64_t)m.huge_pages);
    kjw_i64(o->w, "usageBytes", (int64_t)meminfo_usage(&m));
    kjw_i64(o->w, "usageWithPageCacheBytes", (int64_t)meminfo_usage_with_page_cache(&m));
    kjw_i64(o->w, "numaUsageBytes", (int64_t)meminfo_numa_usage(&m));
    kjw_end(o->w);
    return 0;
}

static struct cpu_stat stat_of(const struct kj_val *v)
{
    return (struct cpu_stat){ kj_i64_or(kj_at(v, 0), 0), kj_i64_or(kj_at(v, 1), 0), 0 };
}

static int op_throttled(struct op *o, struct kerr *err)
{
    struct cpu_stat before = stat_of(kj_get(o->in, "previous"));
    struct cpu_stat now = stat_of(kj_get(o->in, "current"));

    (void)err;
    kjw_f64(o->w, "value", cpu_throttled_ratio(&before, &now));
    return 0;
}

static op_fn op_find(const char *name)
{
    static const struct {
        const char *name;
        op_fn fn;
    } ops[] = {
        { "sharesToWeight", op_shares_to_weight },
        { "weightToShares", op_weight_to_shares },
        { "cpuMax", op_cpu_max },
        { "write", op_write },
        { "cpuStatV1", op_cpu_stat_v1 },
        { "cpuStatV2", op_cpu_stat_v2 },
        { "cpuUsageV2", op_cpu_usage_v2 },
        { "memoryStatV1", op_memory_stat_v1 },
        { "memoryStatV2", op_memory_stat_v2 },
        { "memoryNumaStatV1", op_numa_v1 },
        { "memoryNumaStatV2", op_numa_v2 },
        { "cpusetParse", op_cpuset },
        { "psi", op_psi },
        { "procStatTotal", op_stat_total },
        { "procStatPerCPU", op_stat_cpus },
        { "meminfo", op_meminfo },
        { "throttledRatio", op_throttled },
    };
    for (size_t i = 0; i < ARRAY_LEN(ops); i++)
        if (streq(ops[i].name, name))
            return ops[i].fn;
    return NULL;
}

int run_cgroup(const struct kj_val *in, struct arena *a, struct strbuf *got, struct kerr *err)
{
    op_fn fn = op_find(kj_str_or(kj_get(in, "op"), ""));
    const struct kj_val *content = kj_get(in, "content");
    struct kerr refused = { 0 };
    struct kjw w = kjw_to(got);
    struct op o = { in, kj_str_or(content, ""), kj_len(content), a, &w };

    if (!fn)
        return kerr_set(err, -EINVAL, "no such op");
    kjw_obj(&w, NULL);
    if (fn(&o, &refused) < 0)
        kjw_str(&w, "error", refused.text);
    kjw_end(&w);
    return 0;
}

/* Of cpu.max, what is not in `out` could not be read. */
bool same_cgroup(const struct kj_val *out, const struct kj_val *got)
{
    const struct kj_val *value = kj_get(out, "value");

    if (!kj_get(out, "error") != !kj_get(got, "error"))
        return false;
    if (!value)
        return kj_get(out, "error") || kj_equal(out, got);
    return near(value, kj_get(got, "value"), 1e-9, 0);
}
