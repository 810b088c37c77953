/* be.c - BEResourceCollector: what best effort may use, asks for and uses (4.4). */
#include "koordlet/collect/collect_int.h"

#include "base/num.h"
#include "koordlet/kernel/convert.h"
#include "koordlet/kernel/naming.h"
#include "koordlet/kernel/scan.h"

enum be_what { BE_USAGE, BE_LIMIT, BE_REQUEST, BE_WHATS };

struct be_self {
    struct be_cpus *cpus;
    const struct cgroup_layout *driver; /* who named the class */
    struct track track;                 /* of the class */
    struct kernelfile quota, period;    /* v2: cpu.max, which has both, is quota */
    uint64_t last_ns;
    nsec_t last_at;
    bool last_known;
    struct podset *set; /* what the request was summed over; a reference */
    int64_t request;
    struct series *series[BE_WHATS];
    struct gauge *gauge;
    struct track_reader *reader;
};

static const struct metric_desc used_desc = {
    "koordlet_be_suppress_be_used_cpu_cores",
    "CPU cores that best-effort pods use.",
    METRIC_GAUGE,
    .labels = { "node" },
};

static nsec_t be_interval(const struct collect_env *e)
{
    return e->o->no_kubelet ? 0 : e->o->collect.interval; /* who would make the cgroup? */
}

static int be_setup(struct collect_env *e, void **ret, struct kerr *err)
{
    if (!e->host->driver_known)
        return kerr_set(err, -EAGAIN, "the cgroup driver is not known yet");
    struct be_self *s = xnew0(struct be_self);
    s->cpus = be_cpus_new(e->host);
    s->reader = &e->pods->reader;
    s->driver = e->host->driver;
    track_init(&s->track, cgroup_qos_dir(s->driver, KUBE_QOS_BEST_EFFORT), "");
    s->quota.fd = s->period.fd = -1;
    *ret = s;
    return 0;
}

static void be_destroy(void *self)
{
    struct be_self *s = self;

    be_cpus_free(s->cpus);
    track_fini(&s->track, s->reader);
    kernelfile_close(&s->quota);
    kernelfile_close(&s->period);
    for (int i = 0; i < BE_WHATS; i++)
        series_close(s->series[i]);
    podset_unref(s->set);
    free(s);
}

/* The driver may have been a guess: then the class has another name now. */
static void follow_driver(struct be_self *s, const struct host *h)
{
    if (s->driver == h->driver)
        return;
    s->driver = h->driver;
    track_fini(&s->track, s->reader);
    track_init(&s->track, cgroup_qos_dir(s->driver, KUBE_QOS_BEST_EFFORT), "");
    kernelfile_close(&s->quota);
    kernelfile_close(&s->period);
    s->last_known = false;
    be_cpus_changed(s->cpus);
}

/* ---- the limit ------------------------------------------------------------------------------- */

static int read_file(struct be_self *s, struct host *h, struct kernelfile *p, const char *v1_name,
                     struct str *ret, struct kerr *err)
{
    struct strbuf *path = &s->reader->path;
    int r = 0;

    if (p->fd < 0) {
        strbuf_reset(path);
        if (h->version == CGROUP_V1)
            strbuf_appendf(path, "cpu/%s/%s", s->track.dir, v1_name);
        else
            strbuf_appendf(path, "%s/cpu.max", s->track.dir);
        r = kernelfile_open(p, h->cgroup_fd, strbuf_str(path), err);
    }
    if (r == 0)
        r = kernelfile_read(p, h->buf, ret, err);
    if (r < 0) {
        kernelfile_close(p);
        return kerr_wrap(err, "quota of best effort");
    }
    while (ret->n > 0 && ret->p[ret->n - 1] == '\n')
        ret->n--;
    return 0;
}

/* quota -1: none. */
static int read_quota(struct be_self *s, struct host *h, int64_t *quota, int64_t *period,
                      struct kerr *err)
{
    struct str text;

    int r = read_file(s, h, &s->quota, "cpu.cfs_quota_us", &text, err);
    if (r < 0)
        return r;
    if (h->version == CGROUP_V2) {
        r = cpu_max_quota(text.p, text.n, quota, err);
        return r < 0 ? r : cpu_max_period(text.p, text.n, period, err);
    }
    r = file_i64(text.p, text.n, quota, err);
    if (r == 0)
        r = read_file(s, h, &s->period, "cpu.cfs_period_us", &text, err);
    return r < 0 ? r : file_i64(text.p, text.n, period, err);
}

static int real_limit(struct be_self *s, struct collect_env *e, int64_t *ret, struct kerr *err)
{
    int64_t quota = -1, period = 0;
    struct cpuset cpus;

    int r = be_cpus_read(s->cpus, &cpus, err);
    if (r == 0)
        r = read_quota(s, e->host, &quota, &period, err);
    if (r < 0)
        return r;
    *ret = 1000 * (int64_t)cpuset_count(&cpus);
    if (quota < 0)
        return 0;
    if (period <= 0)
        return kerr_set(err, -EINVAL, "quota of best effort: the period is not above 0");
    *ret = MIN(*ret, i64_muldiv(quota, 1000, period));
    return 0;
}

/* ---- request and usage ----------------------------------------------------------------------- */

static int64_t request_of(const containerlist *l, bool sidecars_only)
{
    int64_t sum = 0;

    for (size_t i = 0; i < l->n; i++) {
        const struct container *c = &l->items[i];
        if (sidecars_only && !container_is_sidecar(c))
            continue;
        int64_t v = qty_value(reslist_get(&c->resources.requests, RES_BATCH_CPU));
        sum = i64_add_sat(sum, MAX(v, INT64_C(0)));
    }
    return sum;
}

/* Summed anew when the kubelet tells other pods. */
static void follow_pods(struct be_self *s, struct podset *set)
{
    if (set == s->set)
        return;
    podset_unref(s->set);
    s->set = podset_ref(set);
    s->request = 0;
    for (uint32_t i = 0; i < set->n; i++) {
        const struct pod *p = npod_pod(set->pods[i]);
        if (pod_qos_class_raw(p) == QOS_BE)
            s->request =
                i64_add_sat(s->request, i64_add_sat(request_of(&p->spec->containers, false),
                                                    request_of(&p->spec->init_containers, true)));
    }
    be_cpus_changed(s->cpus);
}

/* Whole milliseconds of CPU time and of the clock, as upstream counts; 0 in the first round. */
static int64_t usage_milli(struct be_self *s, nsec_t expire)
{
    const struct track *t = &s->track;
    int64_t ms = (t->usage_at - s->last_at) / NSEC_PER_MSEC, milli = 0;

    if (s->last_known && ms > 0 && t->usage_at - s->last_at <= expire && t->usage_ns >= s->last_ns)
        milli = i64_from_f64((double)((t->usage_ns - s->last_ns) / (uint64_t)NSEC_PER_MSEC) /
                             (double)ms * 1000);
    s->last_ns = t->usage_ns;
    s->last_at = t->usage_at;
    s->last_known = true;
    return milli;
}

static void record(struct be_self *s, struct collect_env *e, int64_t milli)
{
    if (!s->gauge && collect_may_record(e))
        s->gauge = metric_gauge(metrics_add(e->internal, &used_desc), METRIC_VALUES(e->node_name));
    if (s->gauge)
        gauge_set(s->gauge, (double)milli / 1000);
}

static int be_tick(void *self, struct collect_env *e, struct kerr *err)
{
    static const char *const names[BE_WHATS] = { "usage", "real-limit", "request" };
    struct podset *set = e->known->pods;
    struct be_self *s = self;
    int64_t values[BE_WHATS] = { 0 };

    if (!set)
        return kerr_set(err, -EAGAIN, "no pods from the kubelet yet");
    follow_driver(s, e->host);
    follow_pods(s, set);
    int r = real_limit(s, e, &values[BE_LIMIT], err);
    if (r == 0)
        r = track_cpu(s->reader, &s->track, err);
    if (r < 0)
        return track_is_gone(r) ? kerr_set(err, -EAGAIN, "there is no best-effort cgroup yet") : r;
    values[BE_USAGE] = usage_milli(s, RATE_EXPIRES * be_interval(e));
    values[BE_REQUEST] = s->request;
    for (int i = 0; i < BE_WHATS; i++)
        collect_put(e, &s->series[i], M_NODE_BE, METRIC_VALUES("cpu", names[i]), (double)values[i]);
    record(s, e, values[BE_USAGE]);
    return 0;
}

const struct collector collector_be = {
    .name = "BEResourceCollector",
    .interval = be_interval,
    .setup = be_setup,
    .destroy = be_destroy,
    .tick = be_tick,
};
