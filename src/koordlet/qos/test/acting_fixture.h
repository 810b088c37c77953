/* acting_fixture.h - strategies that act: an executor on a model of the kernel, an API server that
 * notes evictions, a virtual loop. What is known and measured is set by hand. */
#ifndef KOORD_KOORDLET_QOS_TEST_ACTING_FIXTURE_H
#define KOORD_KOORDLET_QOS_TEST_ACTING_FIXTURE_H
#include "koordlet/qos/test/plan_fixture.h"

#include "base/klog.h"
#include "client/kube.h"
#include "component/metrics.h"
#include "koordlet/collect/collect.h"
#include "koordlet/executor/test/kernel_model.h"
#include "koordlet/facts/caps.h"
#include "koordlet/qos/qos.h"
#include "koordlet/qos/strategies.h"
#include "loop/loop.h"

#define SECOND NSEC_PER_SEC

struct acting;
struct acting_call {
    struct kube_call head;
    struct acting *of;
    kube_done_fn fn;
    void *arg;
    struct timer *timer;
    int status; /* 0: lost */
};
/* An eviction is asked for: the status of the answer, and when it comes. */
typedef int (*acting_evict_fn)(void *arg, const char *pod, nsec_t *ret_delay);

struct acting {
    struct object_fixture *b;
    struct loop *l;
    struct kube kube;
    acting_evict_fn on_evict; /* NULL: 201 at once */
    void *on_evict_arg;
    struct host host;
    struct kernel_model model;
    struct executor *executor;
    struct metrics *metrics;
    struct metriccache *mc;
    struct snapshots *snapshots;
    struct koordlet_options o;
    struct collect_env collect;
    struct caps caps;
    struct cpu_place places[8];
    struct cpu_info cpus;
    kstrmap topology;
    struct qos_env env;
    struct qos *qos;
};

static inline void acting_answer(struct loop *l, void *arg)
{
    struct acting_call c = *(struct acting_call *)arg;
    struct kube_resp r = { .status = c.status };
    struct kerr err;

    (void)l;
    free(arg);
    kerr_api(&err, -EIO, kreason_from_http(c.status), "status %d", c.status);
    c.fn(c.arg, &r, c.status == 201 ? NULL : &err);
}

static inline struct kube_call *acting_ask(struct kube *k, const struct kube_req *r,
                                           kube_done_fn fn, void *arg)
{
    struct acting *a = container_of(k, struct acting, kube);
    struct acting_call *c = xnew0(struct acting_call);
    nsec_t delay = NSEC_PER_MSEC;

    *c = (struct acting_call){ .head = { k }, .of = a, .fn = fn, .arg = arg, .status = 201 };
    if (r->subresource && a->on_evict)
        c->status = a->on_evict(a->on_evict_arg, r->name, &delay);
    c->timer = loop_after(a->l, delay, acting_answer, c);
    return &c->head;
}

static inline void acting_cancel(struct kube_call *call)
{
    struct acting_call *c = container_of(call, struct acting_call, head);

    timer_cancel(c->timer);
    free(c);
}

static const struct kube_ops acting_kube_ops = { .call = acting_ask, .cancel = acting_cancel };

static inline const kstrmap *acting_topology(void *arg)
{
    return &((struct acting *)arg)->topology;
}

static inline void acting_quiet(void *arg, const char *text, size_t n)
{
    (void)arg, (void)text, (void)n;
}

/* 8 CPUs, 2 a core. The strategies are made by acting_start(). */
static inline UNUSED void acting_init(struct acting *a, struct object_fixture *b,
                                      enum cgroup_version v, uint64_t seed)
{
    *a = (struct acting){ .b = b, .l = loop_new_virtual(NOW, seed) };
    klog_set_sink(acting_quiet, NULL);
    a->kube = (struct kube){ .ops = &acting_kube_ops, .loop = a->l };
    a->host = (struct host){ .version = v,
                             .driver = CGROUP_SYSTEMD,
                             .driver_known = true,
                             .page_size = 4096,
                             .cgroup_fd = -1,
                             .proc_fd = -1,
                             .sys_fd = -1,
                             .sys_fs_fd = -1 };
    model_init(&a->model, v, 8);
    model_mkdir(&a->model, "kubepods.slice");
    model_mkdir(&a->model, CLASS_BE);
    model_mkdir(&a->model, "kubepods.slice/kubepods-burstable.slice");
    a->metrics = metrics_new();
    a->executor = executor_new(&(struct executor_env){ .loop = a->l,
                                                       .host = &a->host,
                                                       .ops = &model_ops,
                                                       .ops_arg = &a->model,
                                                       .metrics = a->metrics,
                                                       .force_update = 60 * SECOND });
    a->mc = metriccache_new();
    for (int k = 0; k < M_KINDS; k++)
        metriccache_retain(a->mc, (enum metric_kind)k, SECOND, 600 * SECOND);
    a->snapshots = snapshots_new(a->l);
    for (int32_t i = 0; i < 8; i++)
        a->places[i] = (struct cpu_place){ .cpu = i, .core = i / 2 };
    a->cpus = (struct cpu_info){ .refs = 1, .cpus = a->places, .n = 8 };
    a->collect.cpu_info = &a->cpus;
    gates_init(&a->o.gates, koordlet_gates, KOORDLET_GATES);
    a->o.collect.interval = SECOND;
    a->o.acting = (struct acting_options){ .cpu_suppress = 1,
                                           .cpu_evict = 1,
                                           .cpu_evict_cool = 20,
                                           .memory_evict = 1,
                                           .memory_evict_cool = 4,
                                           .reconcile = 1,
                                           .only_evict_by_api = true };
    a->env = (struct qos_env){ .loop = a->l,
                               .kube = &a->kube,
                               .host = &a->host,
                               .mc = a->mc,
                               .snapshots = a->snapshots,
                               .o = &a->o,
                               .internal = a->metrics,
                               .external = a->metrics,
                               .node_name = "n",
                               .executor = a->executor,
                               .collect = &a->collect,
                               .caps = &a->caps,
                               .topology = acting_topology,
                               .topology_arg = a };
}

static inline UNUSED void acting_start(struct acting *a, const char *gates)
{
    assert_int_equal(gates_set(&a->o.gates, gates, NULL), 0);
    a->qos = qos_new(&a->env);
    qos_start(a->qos);
}

static inline UNUSED void acting_fini(struct acting *a)
{
    qos_free(a->qos);
    executor_free(a->executor);
    loop_advance(a->l, SECOND);
    snapshots_free(a->snapshots);
    metriccache_free(a->mc);
    metrics_free(a->metrics);
    loop_free(a->l);
    klog_set_sink(NULL, NULL);
}

static inline UNUSED void acting_put(struct acting *a, enum metric_kind k, const char *label,
                                     double v)
{
    struct series *s = metriccache_open(a->mc, k, label ? METRIC_VALUES(label) : NULL);

    series_append(s, loop_wall(a->l) / NSEC_PER_MSEC, v, NULL);
    series_close(s);
}

static inline UNUSED struct model_dir *acting_dir(struct acting *a, const char *path)
{
    int i = model_find(&a->model, path);

    if (i < 0)
        fail_msg("no directory %s", path);
    return &a->model.dirs[i];
}
#endif
