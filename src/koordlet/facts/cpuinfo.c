/* cpuinfo.c - where each CPU is: core, socket, NUMA node, caches. */
#include "koordlet/facts/cpuinfo.h"

#include "base/vec.h"
#include "koordlet/kernel/sysfs.h"
#include "koordlet/kernel/text.h"
#include "sys/file.h"

enum { CACHES_MAX = 16 };

static const char cpu_root[] = "devices/system/cpu", node_root[] = "devices/system/node";

/* ---- groups of CPUs: a core, a socket, a cache ----------------------------------------------- */

/* CPUs that share something. A number is given in the order of first appearance. */
struct group {
    struct cpuset cpus;
    int32_t key; /* tells groups apart where the kernel lists no CPUs: its id of the thing */
    int32_t id;
};
struct groups vec_of(struct group);

static const struct group *group_of(const struct groups *g, int32_t cpu)
{
    vec_foreach(g, i)
        if (cpuset_has(&g->items[i].cpus, (unsigned)cpu))
            return &g->items[i];
    return NULL;
}

/* The group of a CPU that is in none: a new one with the CPUs of the list; without a list the one
 * of the same key. id < 0: counted. */
static int32_t group_add(struct groups *g, int32_t cpu, const struct cpuset *list, int32_t key,
                         int32_t id)
{
    struct group fresh = { .key = key, .id = id >= 0 ? id : (int32_t)g->n };

    if (list && cpuset_has(list, (unsigned)cpu)) {
        fresh.cpus = *list;
    } else {
        vec_foreach(g, i) {
            if (key >= 0 && g->items[i].key == key) {
                cpuset_add(&g->items[i].cpus, (unsigned)cpu);
                return g->items[i].id;
            }
        }
        cpuset_add(&fresh.cpus, (unsigned)cpu);
    }
    vec_push(g, fresh);
    return fresh.id;
}

struct reader {
    const struct host *h;
    struct groups cores, sockets, nodes, l1, l3;
    struct vec_of(struct cpu_place) places;
};

static void reader_fini(struct reader *r)
{
    vec_fini(&r->cores);
    vec_fini(&r->sockets);
    vec_fini(&r->nodes);
    vec_fini(&r->l1);
    vec_fini(&r->l3);
    vec_fini(&r->places);
}

/* ---- one CPU --------------------------------------------------------------------------------- */

static int32_t topology_id(const struct reader *r, int32_t cpu, const char *name)
{
    int64_t v;
    int got = sysfs_i64(r->h, r->h->sys_fd, &v, "%s/cpu%d/topology/%s", cpu_root, cpu, name);
    return got < 0 || v < 0 || v > INT32_MAX ? -1 : (int32_t)v;
}

static const struct cpuset *topology_list(const struct reader *r, int32_t cpu, const char *name,
                                          struct cpuset *buf)
{
    int got = sysfs_list(r->h, r->h->sys_fd, buf, "%s/cpu%d/topology/%s", cpu_root, cpu, name);
    return got < 0 ? NULL : buf;
}

static int32_t socket_of(struct reader *r, int32_t cpu)
{
    const struct group *known = group_of(&r->sockets, cpu);
    struct cpuset buf;

    if (known)
        return known->id;
    const struct cpuset *list = topology_list(r, cpu, "core_siblings_list", &buf);
    return group_add(&r->sockets, cpu, list, topology_id(r, cpu, "physical_package_id"), -1);
}

static int32_t core_of(struct reader *r, int32_t cpu, int32_t socket)
{
    const struct group *known = group_of(&r->cores, cpu);
    struct cpuset buf;

    if (known)
        return known->id;
    const struct cpuset *list = topology_list(r, cpu, "thread_siblings_list", &buf);
    int32_t id = topology_id(r, cpu, "core_id");
    /* The kernel's core ids begin anew in every socket. */
    int32_t key = id < 0 || id > 0xffff || socket > 0x7fff ? -1 : socket << 16 | id;
    return group_add(&r->cores, cpu, list, key, -1);
}

static int32_t node_of(const struct reader *r, int32_t cpu)
{
    const struct group *g = group_of(&r->nodes, cpu);
    return g ? g->id : 0;
}

/* Finds the CPU's first-level data cache and its third level, unless a CPU before it shares both.
 */
static void caches_read(struct reader *r, int32_t cpu)
{
    const struct host *h = r->h;
    struct cpuset list;
    struct str type;
    int64_t level, id;

    for (int i = 0; i < CACHES_MAX; i++) {
        if (sysfs_i64(h, h->sys_fd, &level, "%s/cpu%d/cache/index%d/level", cpu_root, cpu, i) < 0)
            return;
        if (level != 1 && level != 3)
            continue;
        if (level == 1 &&
            (sysfs_text(h, h->sys_fd, &type, "%s/cpu%d/cache/index%d/type", cpu_root, cpu, i) < 0 ||
             str_eqz(type, "Instruction")))
            continue;
        struct groups *g = level == 1 ? &r->l1 : &r->l3;
        if (group_of(g, cpu))
            continue;
        bool listed = sysfs_list(h, h->sys_fd, &list, "%s/cpu%d/cache/index%d/shared_cpu_list",
                                 cpu_root, cpu, i) == 0;
        if (sysfs_i64(h, h->sys_fd, &id, "%s/cpu%d/cache/index%d/id", cpu_root, cpu, i) < 0 ||
            id < 0 || id > INT32_MAX)
            id = -1;
        group_add(g, cpu, listed ? &list : NULL, (int32_t)id, (int32_t)id);
    }
}

static int32_t cache_of(const struct groups *g, int32_t cpu)
{
    const struct group *found = group_of(g, cpu);
    return found ? found->id : 0;
}

static void cpu_read(struct reader *r, int32_t cpu)
{
    /* Gone while the CPU is offline; a CPU without a place cannot be given to anybody. */
    if (!sysfs_exists(r->h->sys_fd, "%s/cpu%d/topology", cpu_root, cpu))
        return;
    if (!group_of(&r->l1, cpu) || !group_of(&r->l3, cpu))
        caches_read(r, cpu);
    struct cpu_place p = { .cpu = cpu, .online = true, .node = node_of(r, cpu) };
    p.socket = socket_of(r, cpu);
    p.core = core_of(r, cpu, p.socket);
    p.l1l2 = cache_of(&r->l1, cpu);
    p.l3 = cache_of(&r->l3, cpu);
    vec_push(&r->places, p);
}

/* ---- the machine ----------------------------------------------------------------------------- */

static int node_add(int dirfd, const char *name, unsigned char type, void *arg, struct kerr *err)
{
    struct reader *r = arg;
    int32_t id = sysfs_number(name, "node");
    struct group g = { .id = id };

    (void)dirfd, (void)type, (void)err;
    if (id >= 0 && sysfs_list(r->h, r->h->sys_fd, &g.cpus, "%s/%s/cpulist", node_root, name) == 0)
        vec_push(&r->nodes, g);
    return 0;
}

static int online_cpus(const struct host *h, struct cpuset *ret, struct kerr *err)
{
    struct str text;
    int r = sysfs_text(h, h->sys_fd, &text, "%s/online", cpu_root);

    if (r < 0)
        return kerr_set(err, r, "read %s%s/online: %s", h->roots.sys, cpu_root, strerror(-r));
    r = cpuset_parse(text.p, text.n, ret, err);
    return r < 0 && err ? kerr_wrap(err, "%s%s/online", h->roots.sys, cpu_root) : r;
}

static int place_cmp(const void *a, const void *b)
{
    const struct cpu_place *x = a, *y = b;
    const int32_t xs[] = { x->node, x->socket, x->core, x->cpu };
    const int32_t ys[] = { y->node, y->socket, y->core, y->cpu };

    for (size_t i = 0; i < ARRAY_LEN(xs); i++)
        if (xs[i] != ys[i])
            return xs[i] < ys[i] ? -1 : 1;
    return 0;
}

static uint32_t count_nodes(const struct cpu_info *c) /* they are sorted by it */
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->n; i++)
        n += i == 0 || c->cpus[i].node != c->cpus[i - 1].node;
    return n;
}

static uint32_t count_l3(const struct cpu_info *c)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->n; i++) {
        uint32_t before = 0;
        while (before < i && c->cpus[before].l3 != c->cpus[i].l3)
            before++;
        n += before == i;
    }
    return n;
}

/* ---- basic facts ----------------------------------------------------------------------------- */

/* The value of the first line of /proc/cpuinfo that has the key; "" when there is none. */
static char *cpuinfo_value(struct str text, const char *key, const char *other_key)
{
    struct str line;

    while (text_line(&text, &line)) {
        const char *colon = memchr(line.p, ':', line.n);
        if (!colon || !(memmem(line.p, line.n, key, strlen(key)) ||
                        memmem(line.p, line.n, other_key, strlen(other_key))))
            continue;
        size_t used = (size_t)(colon - line.p) + 1;
        struct str value = text_trim((struct str){ line.p + used, line.n - used });
        return xstrndup(value.p, value.n);
    }
    return xstrdup("");
}

char *cpu_vendor(struct str cpuinfo)
{
    char *vendor = cpuinfo_value(cpuinfo, "vendor_id", "vendor_id");

    if (vendor[0])
        return vendor;
    free(vendor);
    return xstrdup("unknown");
}

struct switches {
    bool hyper_thread, turbo;
    struct str l3_mask; /* in the host's buffer */
};

static struct switches switches_read(const struct cpu_info *c, const struct host *h)
{
    struct switches s = { .hyper_thread = c->n > c->ncores, .l3_mask = STR("") };
    int64_t v;

    if (sysfs_i64(h, h->sys_fd, &v, "%s/smt/active", cpu_root) == 0)
        s.hyper_thread = v == 1;
    if (sysfs_i64(h, h->sys_fd, &v, "%s/intel_pstate/no_turbo", cpu_root) == 0)
        s.turbo = v == 0;
    if (sysfs_text(h, h->sys_fs_fd, &s.l3_mask, "resctrl/info/L3/cbm_mask") < 0)
        s.l3_mask = STR("");
    return s;
}

static void basic_read(struct cpu_info *c, const struct host *h)
{
    struct str text = STR("");

    if (kernelfile_once(h->proc_fd, "cpuinfo", h->buf, &text, NULL) < 0)
        text = STR("");
    c->model = cpuinfo_value(text, "model name", "Model Name");
    c->vendor = cpu_vendor(text);
    struct switches s = switches_read(c, h);
    c->hyper_thread = s.hyper_thread;
    c->turbo = s.turbo;
    c->l3_mask = xstrndup(s.l3_mask.p, s.l3_mask.n);
}

/* ---- what callers get ------------------------------------------------------------------------ */

int cpu_info_read(const struct host *h, struct cpu_info **ret, struct kerr *err)
{
    struct reader r = { .h = h };
    struct cpuset online;

    int code = online_cpus(h, &online, err);
    if (code < 0)
        return code;
    dir_each(h->sys_fd, node_root, node_add, &r, NULL); /* a machine may have no such directory */
    cpuset_foreach(&online, cpu)
        cpu_read(&r, cpu);
    if (r.places.n == 0) {
        reader_fini(&r);
        return kerr_set(err, -ENODATA, "no CPU in %s%s has a topology", h->roots.sys, cpu_root);
    }
    struct cpu_info *c = xnew0(struct cpu_info);
    c->refs = 1;
    c->n = (uint32_t)r.places.n;
    c->cpus = xmemdup(r.places.items, r.places.n * sizeof *r.places.items);
    qsort(c->cpus, c->n, sizeof *c->cpus, place_cmp);
    c->ncores = (uint32_t)r.cores.n;
    c->nsockets = (uint32_t)r.sockets.n;
    c->nnodes = count_nodes(c);
    c->nl3 = count_l3(c);
    basic_read(c, h);
    reader_fini(&r);
    *ret = c;
    return 0;
}

bool cpu_info_current(const struct cpu_info *c, const struct host *h)
{
    struct cpuset online, known = cpu_info_set(c);

    if (online_cpus(h, &online, NULL) < 0 || !cpuset_equal(&online, &known))
        return false;
    struct switches s = switches_read(c, h);
    return s.hyper_thread == c->hyper_thread && s.turbo == c->turbo &&
           str_eqz(s.l3_mask, c->l3_mask);
}

struct cpu_info *cpu_info_ref(struct cpu_info *c)
{
    c->refs++;
    return c;
}

struct cpu_info *cpu_info_unref(struct cpu_info *c)
{
    if (!c || --c->refs > 0)
        return NULL;
    free(c->cpus);
    free(c->model);
    free(c->vendor);
    free(c->l3_mask);
    free(c);
    return NULL;
}

const struct cpu_place *cpu_info_find(const struct cpu_info *c, int32_t cpu)
{
    for (uint32_t i = 0; i < c->n; i++)
        if (c->cpus[i].cpu == cpu)
            return &c->cpus[i];
    return NULL;
}

struct cpuset cpu_info_set(const struct cpu_info *c)
{
    struct cpuset s = { 0 };
    for (uint32_t i = 0; i < c->n; i++)
        cpuset_add(&s, (unsigned)c->cpus[i].cpu);
    return s;
}
