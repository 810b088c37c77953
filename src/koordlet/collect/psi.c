/* psi.c - pressure of pods and containers, the PSI half of PerformanceCollector (4.11). */
#include "koordlet/collect/collect_int.h"

#include <unistd.h>

#include "koordlet/kernel/naming.h"

enum { PSI_RESOURCES = 3 };
static const char *const psi_names[PSI_RESOURCES] = { "cpu", "mem", "io" };

struct psi_self {
    struct collect_env *env;
    struct metric *pods, *containers;
};

#define PSI_LABELS "psi_resource_type", "psi_precision", "psi_degree", "cpu_full_supported"
static const struct metric_desc container_desc = {
    "koordlet_container_psi",
    "Pressure of a container in percent.",
    METRIC_GAUGE,
    .labels = { "node", "container_id", "container_name", "pod_uid", "pod_name", "pod_namespace",
                PSI_LABELS },
};
static const struct metric_desc pod_desc = {
    "koordlet_pod_psi",
    "Pressure of a pod in percent.",
    METRIC_GAUGE,
    .labels = { "node", "pod_uid", "pod_name", "pod_namespace", PSI_LABELS },
};

static nsec_t psi_interval(const struct collect_env *e)
{
    return gates_on(&e->o->gates, GATE_PSI_COLLECTOR) ? e->o->collect.psi : 0;
}

/* ---- Prometheus ------------------------------------------------------------------------------ */

/* One group's eighteen values (nine when a resource has no full line); values are the labels that
 * do not change, n of them, and room for four more. */
static void put_group(const struct track_psi *p, const char **values, size_t n, metric_put_fn put,
                      void *out)
{
    static const char *const precisions[] = { "avg10", "avg60", "avg300" };

    values[n + 3] = p->values[0].full_supported ? "true" : "false";
    for (int res = 0; res < PSI_RESOURCES; res++)
        for (int full = 0; full <= p->values[res].full_supported; full++) {
            const struct psi_line *l = full ? &p->values[res].full : &p->values[res].some;
            const double numbers[] = { l->avg10, l->avg60, l->avg300 };
            values[n] = psi_names[res];
            values[n + 2] = full ? "full" : "some";
            for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
                values[n + 1] = precisions[i];
                put(out, values, numbers[i]);
            }
        }
}

static void pod_rows(void *arg, metric_put_fn put, void *out)
{
    const struct psi_self *s = arg;

    if (!collect_may_record(s->env))
        return;
    COLLECT_EACH_POD(s->env, p) {
        const struct objmeta *m = &p->pod->obj->meta;
        const char *values[8] = { s->env->node_name, p->pod->uid, m->name, m->ns };
        if (p->track.psi && p->track.psi->known)
            put_group(p->track.psi, values, 4, put, out);
    }
}

static void container_rows(void *arg, metric_put_fn put, void *out)
{
    const struct psi_self *s = arg;

    if (!collect_may_record(s->env))
        return;
    COLLECT_EACH_POD(s->env, p)
        COLLECT_EACH_CONTAINER(p, c) {
            const struct objmeta *m = &p->pod->obj->meta;
            const char *values[10] = { s->env->node_name, c->c->id, c->c->name,
                                       p->pod->uid,       m->name,  m->ns };
            if (c->track.psi && c->track.psi->known)
                put_group(c->track.psi, values, 6, put, out);
        }
}

/* ---- life ------------------------------------------------------------------------------------ */

static int psi_setup(struct collect_env *e, void **ret, struct kerr *err)
{
    struct psi_self *s = xnew0(struct psi_self);

    (void)err;
    s->env = e;
    s->pods = metrics_add(e->external, &pod_desc);
    s->containers = metrics_add(e->external, &container_desc);
    metric_set_rows(s->pods, pod_rows, s);
    metric_set_rows(s->containers, container_rows, s);
    *ret = s;
    return 0;
}

static void psi_destroy(void *self)
{
    struct psi_self *s = self;

    metric_set_rows(s->pods, NULL, NULL);
    metric_set_rows(s->containers, NULL, NULL);
    free(s);
}

/* ---- rounds ---------------------------------------------------------------------------------- */

/* Kernels without pressure have no such files, and there is nothing to do. */
static int check(struct collect_env *e, struct kerr *err)
{
    struct track_reader *r = &e->pods->reader;

    if (!e->host->driver_known)
        return kerr_set(err, -EAGAIN, "the cgroup driver is not known yet");
    for (int f = TRACK_PSI_CPU; f <= TRACK_PSI_IO; f++) {
        const struct cgroup_file *file = r->files[f];
        strbuf_reset(&r->path);
        strbuf_appendf(&r->path, "%s%s%s/%s", file->subsystem, *file->subsystem ? "/" : "",
                       cgroup_kubepods(e->host->driver), file->name);
        if (faccessat(e->host->cgroup_fd, strbuf_str(&r->path), F_OK, 0) < 0)
            return kerr_set(err, -EOPNOTSUPP,
                            "there is no %s in the cgroup of pods: this kernel "
                            "does not tell pressure",
                            file->name);
    }
    return 0;
}

static bool read_group(struct collect_env *e, struct track *t, const char *subject)
{
    struct psi values[PSI_RESOURCES];
    struct kerr err = { 0 };
    struct str text;

    for (int i = 0; i < PSI_RESOURCES; i++) {
        enum track_file f = (enum track_file)(TRACK_PSI_CPU + i);
        int r = track_text(&e->pods->reader, t, f, &text, &err);
        if (r == 0)
            r = psi_parse(text.p, text.n, &values[i], &err);
        if (r == 0 && !values[i].has_some)
            r = kerr_set(&err, -EINVAL, "pressure: the file has no line 'some'");
        if (r < 0) {
            collect_complain(e, subject, &err);
            if (t->psi)
                t->psi->known = false;
            return false;
        }
    }
    if (!t->psi)
        t->psi = xnew0(struct track_psi);
    memcpy(t->psi->values, values, sizeof values);
    t->psi->known = true;
    return true;
}

/* labels: of the group; behind them resource, precision, degree. */
static void put_series(struct collect_env *e, struct track *t, bool container,
                       const char *const *group, size_t n)
{
    struct track_psi *p = t->psi;
    const char *labels[METRIC_LABELS];

    memcpy(labels, group, n * sizeof *group);
    labels[n + 1] = "10";
    for (int res = 0; res < PSI_RESOURCES; res++)
        for (int full = 0; full < 2; full++) {
            labels[n] = psi_names[res];
            labels[n + 2] = full ? "full" : "some";
            collect_put(e, &p->series[res][full], container ? M_CONTAINER_PSI : M_POD_PSI, labels,
                        full ? p->values[res].full.avg10 : p->values[res].some.avg10);
        }
    collect_put(e, &p->cpu_full, container ? M_CONTAINER_PSI_CPU_FULL : M_POD_PSI_CPU_FULL, group,
                p->values[0].full_supported);
}

static int psi_tick(void *self, struct collect_env *e, struct kerr *err)
{
    (void)self;
    int r = collect_pods(e, err);
    if (r == 0)
        r = check(e, err);
    if (r < 0)
        return r;
    COLLECT_EACH_POD(e, p) {
        const char *labels[2] = { p->pod->uid };
        COLLECT_EACH_CONTAINER(p, c) {
            labels[1] = c->c->id;
            if (read_group(e, &c->track, c->c->id))
                put_series(e, &c->track, true, labels, 2);
        }
        if (read_group(e, &p->track, p->pod->uid))
            put_series(e, &p->track, false, labels, 1);
    }
    return 0;
}

const struct collector collector_psi = {
    .name = "PSICollector",
    .interval = psi_interval,
    .setup = psi_setup,
    .destroy = psi_destroy,
    .tick = psi_tick,
};
