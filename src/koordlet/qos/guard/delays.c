/* delays.c - who waits for a CPU; on cgroup v2 also for memory and I/O. */
#include "base/map.h"
#include "base/num.h"
#include "koordlet/kernel/parse.h"
#include "koordlet/kernel/sysfs.h"
#include "koordlet/kernel/text.h"
#include "koordlet/qos/guard/guard.h"
#include "koordlet/states/tasks.h"

struct thread_delay {
    pid_t id;
    uint64_t ns;
};
struct entry { /* of a container (v1) or a pod (v2) */
    char *key;
    nsec_t at;                                 /* the last look; monotonic */
    struct vec_of(struct thread_delay) delays; /* by ID, as it was then */
    uint64_t other_ns;                         /* v1: throttled */
    uint64_t stalled_ns[3];                    /* v2: in all, for a CPU, memory, I/O */
    uint32_t round;
};
struct delays {
    const struct host *host;
    struct map entries;
    uint32_t round;
    uint32_t next_pod; /* where the last round stopped */
    struct task_ids ids;
};

struct delays *delays_new(const struct host *h)
{
    struct delays *d = xnew0(struct delays);

    d->host = h;
    return d;
}

static void entry_free(struct entry *e)
{
    vec_fini(&e->delays);
    free(e->key);
    free(e);
}

struct delays *delays_free(struct delays *d)
{
    if (!d)
        return NULL;
    map_foreach(&d->entries, it)
        entry_free(it->value);
    map_fini(&d->entries);
    vec_fini(&d->ids);
    free(d);
    return NULL;
}

static struct entry *entry_get(struct delays *d, const char *key)
{
    struct entry *e = map_getz(&d->entries, key);

    if (!e) {
        e = xnew0(struct entry);
        e->key = xstrdup(key);
        map_putz(&d->entries, e->key, e);
    }
    e->round = d->round;
    return e;
}

static void sweep(struct delays *d)
{
    struct vec_of(struct entry *) old = { 0 };

    map_foreach(&d->entries, it) {
        struct entry *e = it->value;
        if (d->round - e->round > 60)
            vec_push(&old, e);
    }
    vec_foreach(&old, i) {
        map_removez(&d->entries, old.items[i]->key);
        entry_free(old.items[i]);
    }
    vec_fini(&old);
}

/* ---- cgroup v1 ------------------------------------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
    const struct thread_delay *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

/* "ran waited slices", in nanoseconds. false: the thread is gone. */
static bool read_delay(const struct host *h, pid_t id, uint64_t *ret)
{
    struct str text, ran, waited;

    return sysfs_text(h, h->proc_fd, &text, "%d/schedstat", id) == 0 && text_word(&text, &ran) &&
           text_word(&text, &waited) && u64_parse(waited.p, waited.n, ret) == 0;
}

static uint64_t read_throttled(const struct host *h, const char *dir)
{
    struct cpu_stat st;
    struct str text;

    if (sysfs_text(h, h->cgroup_fd, &text, "cpu/%s/cpu.stat", dir) < 0 ||
        cpu_stat_parse(CGROUP_V1, text.p, text.n, &st, NULL) < 0)
        return 0;
    return (uint64_t)MAX(st.throttled_ns, INT64_C(0));
}

/* Threads that were there at both looks count. */
static uint64_t waited_since(const struct entry *e, const struct thread_delay *now, size_t n)
{
    uint64_t sum = 0;

    for (size_t i = 0; e->delays.n > 0 && i < n; i++) {
        const struct thread_delay *was =
            bsearch(&now[i], e->delays.items, e->delays.n, sizeof *now, by_id);
        if (was && now[i].ns > was->ns)
            sum += now[i].ns - was->ns;
    }
    return sum;
}

static double look_v1(struct delays *d, const struct npod *p, const struct npod_container *c,
                      nsec_t now)
{
    struct entry *e = entry_get(d, c->id);
    struct vec_of(struct thread_delay) fresh = { 0 };
    CLEANUP(mem_free) char *dir = xasprintf("%s/%s", p->cgroup_dir, c->dir);
    double share = 0;

    vec_foreach(&d->ids, i) {
        struct thread_delay one = { d->ids.items[i], 0 };
        if (read_delay(d->host, one.id, &one.ns))
            vec_push(&fresh, one);
    }
    if (fresh.n > 0)
        qsort(fresh.items, fresh.n, sizeof *fresh.items, by_id);
    uint64_t throttled = read_throttled(d->host, dir);
    if (e->at > 0 && now > e->at) {
        uint64_t waited = waited_since(e, fresh.items, fresh.n);
        uint64_t own = throttled > e->other_ns ? throttled - e->other_ns : 0;
        share = waited > own ? (double)(waited - own) / (double)(now - e->at) : 0;
    }
    vec_fini(&e->delays);
    memcpy(&e->delays, &fresh, sizeof fresh);
    e->other_ns = throttled;
    e->at = now;
    return share;
}

/* ---- cgroup v2 ------------------------------------------------------------------------------- */

/* How long somebody waited, in all; false: the kernel does not say. Of CPUs less the time when
 * nobody could run: that is the pod's own limit. */
static bool read_stalled(const struct host *h, const struct npod *p, int what, uint64_t *ret)
{
    static const char *const files[] = { "cpu.pressure", "memory.pressure", "io.pressure" };
    struct str text;
    struct psi psi;

    if (sysfs_text(h, h->cgroup_fd, &text, "%s/%s", p->cgroup_dir, files[what]) < 0 ||
        psi_parse(text.p, text.n, &psi, NULL) < 0)
        return false;
    uint64_t own = what == 0 && psi.full_supported ? psi.full.total : 0;
    *ret = (psi.some.total > own ? psi.some.total - own : 0) * 1000;
    return true;
}

/* The longest of the three. */
static double look_v2(struct delays *d, const struct npod *p, nsec_t now)
{
    struct entry *e = entry_get(d, p->uid);
    double share = 0;

    for (int i = 0; i < 3; i++) {
        uint64_t stalled = 0, was = e->stalled_ns[i];
        if (!read_stalled(d->host, p, i, &stalled))
            continue;
        if (e->at > 0 && now > e->at && stalled > was)
            share = MAX(share, (double)(stalled - was) / (double)(now - e->at));
        e->stalled_ns[i] = stalled;
    }
    e->at = now;
    return share;
}

/* ---- a round --------------------------------------------------------------------------------- */

static bool is_service(const struct npod *p)
{
    return p->kube_qos != KUBE_QOS_BEST_EFFORT && pod_qos_class_raw(npod_pod(p)) != QOS_BE &&
           npod_pod(p)->status.phase == POD_RUNNING;
}

static void note(struct delays_worst *w, const struct npod *p, const char *container, double share)
{
    if (!w->pod || share > w->waited)
        *w = (struct delays_worst){ p, container, share };
}

/* Returns how many threads were read. */
static size_t look_at(struct delays *d, const struct npod *p, nsec_t now, struct delays_worst *w)
{
    size_t n = 0;

    if (d->host->version == CGROUP_V2) {
        note(w, p, "", look_v2(d, p, now));
        return 1;
    }
    for (uint32_t i = 0; i < p->ncontainers; i++) {
        const struct npod_container *c = &p->containers[i];
        vec_clear(&d->ids);
        if (!c->running || !c->dir || npod_task_ids(d->host, p, c->id, &d->ids, NULL) < 0)
            continue;
        d->ids.n = MIN(d->ids.n, (size_t)DELAYS_PER_ROUND);
        note(w, p, c->name, look_v1(d, p, c, now));
        n += d->ids.n;
    }
    return n;
}

struct delays_worst delays_round(struct delays *d, const struct podset *pods, nsec_t now)
{
    struct delays_worst w = { .pod = NULL };
    size_t read = 0;

    d->round++;
    for (uint32_t i = 0; i < pods->n && read < DELAYS_PER_ROUND; i++) {
        const struct npod *p = pods->pods[d->next_pod++ % pods->n];
        if (is_service(p))
            read += look_at(d, p, now, &w);
    }
    if (d->round % 60 == 0)
        sweep(d);
    return w;
}
