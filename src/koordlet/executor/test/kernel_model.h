/* kernel_model.h - the kernel's files of cgroups in memory, with the kernel's refusals.
 *
 * As Linux 6.18 answers (test_koordlet_executor_model compares them): cpu.cfs_quota_us, _burst_us,
 * cpu.shares, cpu.idle, cpuset.cpus and memory.limit_in_bytes of v1, cpu.max, cpu.max.burst,
 * cpu.weight, cpuset.cpus and memory.max of v2. A write can be made to fail by name.
 */
#ifndef KOORD_KOORDLET_EXECUTOR_TEST_KERNEL_MODEL_H
#define KOORD_KOORDLET_EXECUTOR_TEST_KERNEL_MODEL_H
#include <stdio.h>

#include "base/num.h"
#include "koordlet/executor/executor.h"
#include "koordlet/kernel/convert.h"
#include "koordlet/kernel/resource.h"

enum { MODEL_DIRS = 64 };

struct model_dir {
    bool there;
    char path[128];
    int parent; /* -1: the root */
    int64_t quota, burst, shares, idle, limit;
    uint64_t cpus;
};
struct kernel_model {
    enum cgroup_version version;
    uint64_t all_cpus;
    struct model_dir dirs[MODEL_DIRS];
    unsigned reads, writes, refused;
    char log[4096];        /* "path=value;" of each write, with a "!" when refused */
    const char *fail_path; /* a part of the path whose writes fail */
    int fail_code;
    struct {
        char path[256];
    } opened[16];
    unsigned nopened;
};

UNUSED static int model_find(const struct kernel_model *m, const char *path)
{
    for (int i = 0; i < MODEL_DIRS; i++)
        if (m->dirs[i].there && streq(m->dirs[i].path, path))
            return i;
    return -1;
}

UNUSED static void model_init(struct kernel_model *m, enum cgroup_version v, unsigned ncpus)
{
    memset(m, 0, sizeof *m);
    m->version = v;
    m->all_cpus = ncpus >= 64 ? UINT64_MAX : (UINT64_C(1) << ncpus) - 1;
    m->dirs[0] = (struct model_dir){
        .there = true, .parent = -1, .quota = -1, .shares = 1024, .limit = -1, .cpus = m->all_cpus
    };
}

/* As the kubelet and runc make one: with the CPUs of its parent. */
UNUSED static int model_mkdir(struct kernel_model *m, const char *path)
{
    char up[128];
    int i = 0;

    snprintf(up, sizeof up, "%s", path);
    char *slash = strrchr(up, '/');
    *(slash ? slash : up) = '\0';
    int parent = model_find(m, up);
    assert(parent >= 0 && model_find(m, path) < 0);
    while (m->dirs[i].there)
        i++;
    assert(i < MODEL_DIRS);
    m->dirs[i] = (struct model_dir){ .there = true,
                                     .parent = parent,
                                     .quota = -1,
                                     .shares = m->version == CGROUP_V2 ? 100 : 1024,
                                     .limit = -1,
                                     .cpus = m->dirs[parent].cpus };
    snprintf(m->dirs[i].path, sizeof m->dirs[i].path, "%s", path);
    return i;
}

UNUSED static void model_rmdir(struct kernel_model *m, const char *path)
{
    int i = model_find(m, path);
    assert(i > 0);
    m->dirs[i].there = false;
}

/* The directory and the name of the file in a path such as "cpu/kubepods/cpu.shares". */
UNUSED static int model_split(const struct kernel_model *m, const char *path, const char **ret_file)
{
    char dir[256];
    const char *p = path, *slash = strrchr(path, '/');

    if (m->version == CGROUP_V1) {
        p = strchr(path, '/');
        p = p ? p + 1 : path;
    }
    *ret_file = slash ? slash + 1 : path;
    size_t n = slash && slash > p ? (size_t)(slash - p) : 0;
    assert(n < sizeof dir);
    memcpy(dir, p, n);
    dir[n] = '\0';
    return model_find(m, dir);
}

/* ---- rules ----------------------------------------------------------------------------------- */

static int64_t model_above(const struct kernel_model *m, int i)
{
    for (i = m->dirs[i].parent; i >= 0; i = m->dirs[i].parent)
        if (m->dirs[i].quota >= 0)
            return m->dirs[i].quota;
    return -1;
}

/* No directory has more than the nearest limit above it. */
UNUSED static bool model_quotas_hold(const struct kernel_model *m)
{
    for (int i = 0; i < MODEL_DIRS; i++) {
        const struct model_dir *d = &m->dirs[i];
        int64_t above = d->there ? model_above(m, i) : -1;
        if (d->there && d->quota >= 0 && above >= 0 && d->quota > above)
            return false;
    }
    return true;
}

UNUSED static bool model_cpus_hold(const struct kernel_model *m)
{
    for (int i = 1; i < MODEL_DIRS; i++)
        if (m->dirs[i].there && (m->dirs[i].cpus & ~m->dirs[m->dirs[i].parent].cpus))
            return false;
    return true;
}

static int model_set_quota(struct kernel_model *m, int i, int64_t v)
{
    struct model_dir *d = &m->dirs[i];
    int64_t old = d->quota;

    v = v < 0 ? -1 : v;
    if (v >= 0 && (v < 1000 || d->burst > v))
        return -EINVAL;
    d->quota = v;
    if (m->version == CGROUP_V1 && !model_quotas_hold(m)) {
        d->quota = old;
        return -EINVAL;
    }
    return 0;
}

static int model_set_cpus(struct kernel_model *m, int i, uint64_t v)
{
    struct model_dir *d = &m->dirs[i];

    if (v & ~m->all_cpus)
        return -ERANGE;
    for (int k = 1; m->version == CGROUP_V1 && k < MODEL_DIRS; k++)
        if (m->dirs[k].there && m->dirs[k].parent == i && (m->dirs[k].cpus & ~v))
            return -EBUSY;
    if (m->version == CGROUP_V1 && (v & ~m->dirs[d->parent].cpus))
        return -EACCES;
    d->cpus = v;
    return 0;
}

static int model_set_number(struct kernel_model *m, int i, const char *file, int64_t v)
{
    struct model_dir *d = &m->dirs[i];

    if (streq(file, "cpu.cfs_quota_us") || streq(file, "cpu.max"))
        return model_set_quota(m, i, v);
    if (streq(file, "cpu.cfs_burst_us") || streq(file, "cpu.max.burst")) {
        if (v < 0 || (d->quota >= 0 && v > d->quota))
            return -EINVAL;
        d->burst = v;
    } else if (streq(file, "cpu.shares") || streq(file, "cpu.weight")) {
        if (d->idle)
            return -EINVAL;
        d->shares = v < 2 && file[4] == 's' ? 2 : MIN(v, (int64_t)262144);
    } else if (streq(file, "cpu.idle")) {
        if (v < 0 || v > 1)
            return -EINVAL;
        if (v != d->idle)
            d->shares = m->version == CGROUP_V2 ? (v ? 0 : 100) : (v ? 3 : 1024);
        d->idle = v;
    } else if (streq(file, "memory.limit_in_bytes") || streq(file, "memory.max")) {
        d->limit = v < 0 ? -1 : v / 4096 * 4096;
    } else if (!streq(file, "memory.force_empty") && !streq(file, "memory.reclaim")) {
        return -ENOENT; /* what is given back is not modelled */
    }
    return 0;
}

/* ---- ops ------------------------------------------------------------------------------------- */

static void model_put_cpus(uint64_t cpus, struct strbuf *out)
{
    for (int i = 0, n = 0; i < 64; i++) {
        int end = i;
        if (!(cpus >> i & 1))
            continue;
        while (end < 63 && cpus >> (end + 1) & 1)
            end++;
        strbuf_append(out, n++ ? "," : "");
        strbuf_append_i64(out, i);
        if (end > i)
            strbuf_appendc(out, '-');
        if (end > i)
            strbuf_append_i64(out, end);
        i = end;
    }
    strbuf_appendc(out, '\n');
}

UNUSED static int model_read(void *arg, enum executor_root r, const char *path, struct strbuf *out)
{
    struct kernel_model *m = arg;
    const char *file;
    int i = model_split(m, path, &file);

    m->reads++;
    if (r != EXECUTOR_CGROUP || i < 0)
        return -ENOENT;
    const struct model_dir *d = &m->dirs[i];
    if (streq(file, "cpu.max"))
        d->quota < 0 ? strbuf_append(out, "max 100000\n")
                     : strbuf_appendf(out, "%lld 100000\n", (long long)d->quota);
    else if (streq(file, "cpuset.cpus") || streq(file, "cpuset.cpus.effective"))
        model_put_cpus(d->cpus, out);
    else if (streq(file, "memory.limit_in_bytes"))
        strbuf_appendf(out, "%lld\n", d->limit < 0 ? 9223372036854771712LL : (long long)d->limit);
    else if (streq(file, "memory.max") && d->limit < 0)
        strbuf_append(out, "max\n");
    else
        strbuf_appendf(out, "%lld\n",
                       (long long)(streq(file, "cpu.cfs_quota_us")    ? d->quota
                                   : strstr(file, "burst")            ? d->burst
                                   : streq(file, "cpu.idle")          ? d->idle
                                   : strncmp(file, "memory.", 7) == 0 ? d->limit
                                                                      : d->shares));
    return 0;
}

UNUSED static int model_write_text(struct kernel_model *m, const char *path, const char *text)
{
    const char *file;
    int i = model_split(m, path, &file);
    struct cpuset cpus;
    int64_t v = -1;

    if (i < 0)
        return -ENOENT;
    if (m->fail_path && strstr(path, m->fail_path))
        return m->fail_code;
    if (streq(file, "cpuset.cpus")) {
        if (cpus_parse(text, strlen(text), &cpus, NULL) < 0)
            return -EINVAL;
        return model_set_cpus(m, i, cpus.w[0]);
    }
    if (!streq(text, "max") && i64_parse(text, strlen(text), &v) < 0)
        return -EINVAL;
    return model_set_number(m, i, file, v);
}

UNUSED static int model_write(void *arg, enum executor_root r, const char *path, const char *text,
                              size_t n, bool append)
{
    struct kernel_model *m = arg;
    char copy[512];

    (void)r, (void)append;
    assert(n < sizeof copy);
    memcpy(copy, text, n);
    copy[n] = '\0';
    m->writes++;
    int code = model_write_text(m, path, copy);
    size_t used = strlen(m->log);
    snprintf(m->log + used, sizeof m->log - used, "%s%s=%s;", code < 0 ? "!" : "", path, copy);
    if (code < 0 && code != -ENOENT)
        m->refused++;
    return code;
}

UNUSED static int model_write_begin(void *arg, enum executor_root r, const char *path)
{
    struct kernel_model *m = arg;
    const char *file;
    unsigned i = m->nopened++ % ARRAY_LEN(m->opened);

    (void)r;
    if (model_split(m, path, &file) < 0)
        return -ENOENT;
    snprintf(m->opened[i].path, sizeof m->opened[i].path, "%s", path);
    return (int)i;
}

UNUSED static int model_write_end(void *arg, int opened, const char *text, size_t n)
{
    struct kernel_model *m = arg;
    return model_write(m, EXECUTOR_CGROUP, m->opened[opened].path, text, n, false);
}

UNUSED static bool model_exists(void *arg, enum executor_root r, const char *path)
{
    struct kernel_model *m = arg;
    const char *file;

    return r == EXECUTOR_CGROUP && model_split(m, path, &file) >= 0 &&
           ((strncmp(file, "cpu.", 4) == 0 && !streq(file, "cpu.bvt_warp_ns")) ||
            streq(file, "memory.force_empty") || streq(file, "memory.reclaim"));
}

UNUSED static int model_no_dir(void *arg, enum executor_root r, const char *path)
{
    (void)arg, (void)r, (void)path;
    return -ENOENT;
}

UNUSED static void model_list(void *arg, enum executor_root r, const char *path,
                              void (*fn)(void *to, const char *name), void *to)
{
    struct kernel_model *m = arg;
    const char *dir = path;

    (void)r;
    if (m->version == CGROUP_V1)
        dir = strchr(path, '/') ? strchr(path, '/') + 1 : "";
    int at = model_find(m, dir);
    for (int i = 1; at >= 0 && i < MODEL_DIRS; i++)
        if (m->dirs[i].there && m->dirs[i].parent == at)
            fn(to,
               strrchr(m->dirs[i].path, '/') ? strrchr(m->dirs[i].path, '/') + 1 : m->dirs[i].path);
}

UNUSED static const struct executor_ops model_ops = {
    .read = model_read,
    .write = model_write,
    .write_begin = model_write_begin,
    .write_end = model_write_end,
    .exists = model_exists,
    .make_dir = model_no_dir,
    .remove_dir = model_no_dir,
    .list = model_list,
};
#endif
