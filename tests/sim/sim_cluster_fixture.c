/* sim_cluster_fixture.c - the surroundings of sim_cluster.c. */
#include "sim_cluster.h"

#include <stdio.h>

/* ---- a client that loses answers ----------------------------------------------------------- */

struct fault_call {
    struct kube_call head;
    struct kube_call *inner;
    struct timer *timer;
    kube_done_fn fn;
    void *arg;
    struct fault_kube *k;
    bool lose;
    struct kube_resp resp; /* kept while slow */
    struct kerr err;
    bool has_err;
    const struct kube_watch_handler *on;
    struct fault_call *next; /* of the open watches */
};
struct fault_kube {
    struct kube head;
    struct sim *s;
};

static void deliver(struct loop *l, void *arg)
{
    struct fault_call *c = arg;
    char *body = c->resp.body;
    (void)l;
    c->timer = NULL;
    c->fn(c->arg, &c->resp, c->has_err ? &c->err : NULL);
    free(body);
    free(c);
}

static void answered(void *arg, struct kube_resp *r, const struct kerr *err)
{
    struct fault_call *c = arg;
    struct sim *s = c->k->s;
    bool slow = loop_rand_below(s->loop, 1000) < s->faults.slow;

    c->inner = NULL;
    c->resp = *r;
    c->resp.body = xmalloc(r->n + 8);
    memset(c->resp.body, 0, r->n + 8);
    if (r->n)
        memcpy(c->resp.body, r->body, r->n);
    if (err)
        c->err = *err, c->has_err = true;
    if (c->lose) {
        memset(&c->err, 0, sizeof c->err);
        kerr_set(&c->err, -ECONNRESET, "connection reset (injected)");
        c->has_err = true;
        c->resp.status = 0;
        c->resp.n = 0;
    }
    nsec_t wait = slow ? (nsec_t)loop_rand_below(s->loop, (uint64_t)s->faults.slow_max + 1) : 0;
    c->timer = loop_after(s->loop, wait, deliver, c);
}

static struct kube_call *fault_do(struct kube *k, const struct kube_req *r, kube_done_fn fn,
                                  void *arg)
{
    struct fault_kube *fk = container_of(k, struct fault_kube, head);
    struct fault_call *c = xnew0(struct fault_call);
    struct sim *s = fk->s;

    *c = (struct fault_call){ .head = { k }, .fn = fn, .arg = arg, .k = fk };
    if (loop_rand_below(s->loop, 1000) < s->faults.refuse) {
        kerr_set(&c->err, -ECONNREFUSED, "connection refused (injected)");
        c->has_err = true;
        c->timer = loop_after(s->loop, NSEC_PER_MSEC, deliver, c);
        return &c->head;
    }
    if (s->faults.too_many && loop_rand_below(s->loop, 1000) < s->faults.too_many) {
        kerr_api(&c->err, -EAGAIN, KR_TOO_MANY_REQUESTS, "too many requests (injected)");
        c->has_err = true;
        c->resp = (struct kube_resp){ .status = 429, .retry_after = SEC };
        c->timer = loop_after(s->loop, NSEC_PER_MSEC, deliver, c);
        return &c->head;
    }
    c->lose = loop_rand_below(s->loop, 1000) < s->faults.lose;
    c->inner = kube_do(s->kube, r, answered, c);
    return &c->head;
}

static void forget_watch(struct fault_call *c)
{
    for (struct fault_call **p = &c->k->s->watches; *p; p = &(*p)->next)
        if (*p == c) {
            *p = c->next;
            return;
        }
}

static void on_event(void *arg, enum kube_event_type type, const struct kj_val *obj)
{
    struct fault_call *c = arg;
    c->on->on_event(c->arg, type, obj);
}

static void on_end(void *arg, const struct kerr *err)
{
    struct fault_call *c = arg;
    const struct kube_watch_handler *on = c->on;
    void *to = c->arg;
    forget_watch(c);
    free(c);
    on->on_end(to, err);
}

static void on_open(void *arg)
{
    struct fault_call *c = arg;
    if (c->on->on_open)
        c->on->on_open(c->arg);
}

static struct kube_call *fault_watch(struct kube *k, const struct kube_req *r,
                                     const struct kube_watch_handler *on, void *arg)
{
    static const struct kube_watch_handler mine = { on_event, on_end, on_open };
    struct fault_kube *fk = container_of(k, struct fault_kube, head);
    struct fault_call *c = xnew0(struct fault_call);

    *c = (struct fault_call){ .head = { k }, .on = on, .arg = arg, .k = fk };
    c->inner = kube_watch(fk->s->kube, r, &mine, c);
    c->next = fk->s->watches;
    fk->s->watches = c;
    return &c->head;
}

static void break_off(struct loop *l, void *arg)
{
    struct fault_call *c = arg;
    struct kerr err = { 0 };

    (void)l;
    c->timer = NULL;
    kube_cancel(c->inner);
    kerr_set(&err, -ECONNRESET, "connection reset (injected)");
    on_end(c, &err);
}

void sim_drop_watches(struct sim *s)
{
    for (struct fault_call *c = s->watches; c; c = c->next)
        if (!c->timer)
            c->timer = loop_after(s->loop, 1, break_off, c);
}

static void fault_cancel(struct kube_call *call)
{
    struct fault_call *c = container_of(call, struct fault_call, head);
    if (c->on)
        forget_watch(c);
    kube_cancel(c->inner);
    timer_cancel(c->timer);
    free(c->resp.body);
    free(c);
}

static void fault_free(struct kube *k)
{
    free(container_of(k, struct fault_kube, head));
}

static struct kube *fault_new(struct sim *s)
{
    static const struct kube_ops ops = { fault_do, fault_watch, fault_cancel, fault_free };
    struct fault_kube *fk = xnew0(struct fault_kube);
    fk->head = (struct kube){ &ops, s->loop, s->strings };
    fk->s = s;
    return &fk->head;
}

/* ---- a binder ------------------------------------------------------------------------------ */

static void bound(void *arg, struct kube_resp *r, const struct kerr *err)
{
    (void)arg, (void)r, (void)err;
}

void sim_bind(struct sim *s, const struct kobj *pod, const char *node)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;

    strbuf_appendf(&body,
                   "{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{\"name\":\"%s\"},"
                   "\"target\":{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":\"%s\"}}",
                   pod->meta.name, node);
    struct kube_req r = { .verb = KUBE_CREATE,
                          .kind = &kind_pod,
                          .ns = pod->meta.ns,
                          .name = pod->meta.name,
                          .subresource = "binding",
                          .body = body.data,
                          .body_len = body.len };
    kube_do(s->kube, &r, bound, NULL);
}

/* The node that a pod's affinity names, as for the pods of a DaemonSet; NULL: any. */
static const char *pinned_to(const struct pod *p)
{
    const struct affinity *a = p->spec->affinity;
    const struct node_selector *sel = a && a->node ? a->node->required : NULL;

    if (!sel || sel->terms.n != 1 || sel->terms.items[0].match_fields.n != 1)
        return NULL;
    return sel->terms.items[0].match_fields.items[0].values.items[0];
}

static void bind(struct sim *s, const struct kobj *pod)
{
    const char *pinned = pinned_to(pod_of(pod));
    if (pinned) {
        sim_bind(s, pod, pinned);
        return;
    }
    size_t n = informer_count(s->nodes), it = 0, skip = s->next_node++ % n;
    struct kobj *node = NULL;

    for (size_t tries = 0; tries < n; tries++, skip = (skip + 1) % n) {
        it = 0;
        for (size_t i = 0; i <= skip; i++)
            node = informer_next(s->nodes, &it);
        if (node_of(node)->spec.taints.n == 0 && !node_of(node)->spec.unschedulable)
            break;
        node = NULL;
    }
    if (node)
        sim_bind(s, pod, node->meta.name);
}

static void binder(struct loop *l, void *arg)
{
    struct sim *s = arg;
    struct kobj *o;
    size_t it = 0;

    s->binder = loop_after(l, 100 * NSEC_PER_MSEC, binder, s);
    if (s->no_binder || informer_count(s->nodes) == 0)
        return;
    while ((o = informer_next(s->pods, &it)))
        if (str_empty(pod_of(o)->node_name) && o->meta.deleted == 0 && !pod_is_terminal(pod_of(o)))
            bind(s, o);
}

/* ---- life ---------------------------------------------------------------------------------- */

static void quiet(void *arg, const char *text, size_t n)
{
    (void)arg;
    if (getenv("SIM_LOG"))
        (void)fwrite(text, 1, n, stderr);
}

static void init(struct sim *s, uint64_t seed, const struct apiserver_opts *o)
{
    struct kerr err = { 0 };

    memset(s, 0, sizeof *s);
    klog_set_sink(quiet, NULL);
    s->loop = loop_new_virtual(WALL0, seed);
    klog_set_clock(loop_wall_hook, s->loop);
    if (getenv("SIM_LOG"))
        klog_set_level(atoi(getenv("SIM_LOG")));
    s->strings = intern_new();
    if (apiserver_new(s->loop, o, &s->server, &err) < 0)
        fail_msg("apiserver: %s", err.text);
    s->kube = apiserver_kube(s->server, s->strings, NULL);
    s->faulty = fault_new(s);
    s->pods = informer_new(s->kube, &(struct informer_opts){ .kind = &kind_pod });
    s->nodes = informer_new(s->kube, &(struct informer_opts){ .kind = &kind_node });
    informer_start(s->pods);
    informer_start(s->nodes);
    s->binder = loop_after(s->loop, 1, binder, s);
}

void sim_init(struct sim *s, uint64_t seed)
{
    init(s, seed,
         &(struct apiserver_opts){ .version = "v1.35.4+koord",
                                   .accounts = APISERVER_ACCOUNTS_MADE });
}

void sim_init_alpha(struct sim *s, uint64_t seed)
{
    init(s, seed,
         &(struct apiserver_opts){
             .version = "v1.35.4+koord", .accounts = APISERVER_ACCOUNTS_MADE, .alpha_apis = true });
}

void sim_init_koordinator(struct sim *s, uint64_t seed)
{
    init(s, seed,
         &(struct apiserver_opts){ .version = "v1.35.4+koord",
                                   .accounts = APISERVER_ACCOUNTS_MADE,
                                   .koordinator = true });
}

void sim_start(struct sim *s, const struct cluster_opts *o)
{
    struct hollow_shape shape = { .count = 5, .zones = 3 };
    struct cluster_opts all = {
        .deployment = true,
        .replicaset = true,
        .replicationcontroller = true,
        .statefulset = true,
        .daemonset = true,
        .endpoints = true,
        .job = true,
        .cronjob = true,
        .gc = true,
        .namespaces = true,
        .nodes = true,
        .pdb = true,
        .resourceclaims = true,
        .accounts = true,
        .autoscaler = true,
        .volumes = true,
        .servicecidrs = true,
        .provisioner = true,
        .usage = true,
        .root_ca = SIM_ROOT_CA,
        .hollow = { .shapes = &shape, .nshapes = 1, .seed = 7 },
    };
    struct kerr err = { 0 };

    s->cluster = cluster_new(s->loop, s->faulty, o ? o : &all, &err);
    if (!s->cluster)
        fail_msg("cluster: %s", err.text);
}

void sim_stop_cluster(struct sim *s)
{
    s->cluster = cluster_free(s->cluster);
}

void sim_fini(struct sim *s)
{
    timer_cancel(s->binder);
    cluster_free(s->cluster);
    informer_free(s->pods);
    informer_free(s->nodes);
    kube_free(s->faulty);
    kube_free(s->kube);
    apiserver_free(s->server);
    intern_free(s->strings);
    klog_set_clock(NULL, NULL);
    loop_free(s->loop);
}

void sim_run(struct sim *s, nsec_t by)
{
    loop_advance(s->loop, by);
}

/* ---- requests ------------------------------------------------------------------------------ */

struct waiting {
    bool done;
    int status;
    char *body;
    size_t n;
    struct kerr err;
};

static void on_done(void *arg, struct kube_resp *r, const struct kerr *err)
{
    struct waiting *w = arg;
    w->done = true;
    w->status = err ? kreason_http(err->reason) : r->status;
    if (err) {
        w->err = *err;
    } else {
        w->body = xmemdup(r->n ? r->body : "", r->n + 1);
        w->n = r->n;
    }
}

int sim_do(struct sim *s, const struct kube_req *r, struct kj_doc **ret_doc)
{
    struct waiting w = { 0 };

    kube_do(s->kube, r, on_done, &w);
    for (int i = 0; i < 1000 && !w.done; i++)
        loop_advance(s->loop, NSEC_PER_MSEC);
    if (!w.done)
        fail_msg("no answer");
    if (w.err.code && getenv("SIM_LOG"))
        fprintf(stderr, "request: %s\n", w.err.text);
    if (ret_doc)
        *ret_doc = NULL;
    if (ret_doc && w.body && kj_parse(w.body, w.n, 0, ret_doc, NULL) < 0)
        fail_msg("unreadable answer");
    free(w.body);
    return w.status;
}

int sim_create(struct sim *s, const char *json)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    char version[64];
    const struct kind *k = NULL;

    if (kj_parse(json, strlen(json), 0, &doc, NULL) < 0)
        fail_msg("bad test object: %s", json);
    const char *kind = kj_str_or(kj_get(kj_root(doc), "kind"), "");
    for (size_t i = 0; (k = kind_at(i)); i++) {
        kind_api_version(k, version, sizeof version);
        if (streq(k->kind, kind) &&
            streq(version, kj_str_or(kj_get(kj_root(doc), "apiVersion"), "")))
            break;
    }
    struct kube_req r = {
        .verb = KUBE_CREATE,
        .kind = k,
        .ns = k->namespaced ? kj_str_or(kj_path(kj_root(doc), "metadata.namespace"), "default")
                            : NULL,
        .body = json,
        .body_len = strlen(json)
    };
    return sim_do(s, &r, NULL);
}

int sim_patch(struct sim *s, const struct kind *k, const char *ns, const char *name,
              const char *sub, const char *json)
{
    struct kube_req r = { .verb = KUBE_PATCH,
                          .kind = k,
                          .ns = ns,
                          .name = name,
                          .subresource = sub,
                          .patch = KUBE_PATCH_MERGE,
                          .body = json,
                          .body_len = strlen(json) };
    return sim_do(s, &r, NULL);
}

int sim_delete(struct sim *s, const struct kind *k, const char *ns, const char *name,
               const char *opts)
{
    struct kube_req r = { .verb = KUBE_DELETE,
                          .kind = k,
                          .ns = ns,
                          .name = name,
                          .body = opts,
                          .body_len = opts ? strlen(opts) : 0 };
    return sim_do(s, &r, NULL);
}

struct kj_doc *sim_get(struct sim *s, const struct kind *k, const char *ns, const char *name)
{
    struct kj_doc *doc = NULL;
    sim_do(s, &(struct kube_req){ .verb = KUBE_GET, .kind = k, .ns = ns, .name = name }, &doc);
    return doc;
}

struct kj_doc *sim_list(struct sim *s, const struct kind *k, const char *ns, const char *selector)
{
    struct kj_doc *doc = NULL;
    sim_do(s,
           &(struct kube_req){ .verb = KUBE_LIST, .kind = k, .ns = ns, .label_selector = selector },
           &doc);
    return doc;
}

int64_t sim_num(struct sim *s, const struct kind *k, const char *ns, const char *name,
                const char *path)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = sim_get(s, k, ns, name);
    return kj_i64_or(kj_path(doc ? kj_root(doc) : NULL, path), -1);
}

void sim_text(struct sim *s, const struct kind *k, const char *ns, const char *name,
              const char *path, char *out, size_t size)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = sim_get(s, k, ns, name);
    (void)snprintf(out, size, "%s", kj_str_or(kj_path(doc ? kj_root(doc) : NULL, path), ""));
}

const char *sim_condition(struct sim *s, const struct kind *k, const char *ns, const char *name,
                          const char *type)
{
    static char out[32];
    CLEANUP(kj_doc_free) struct kj_doc *doc = sim_get(s, k, ns, name);
    struct str key;
    const struct kj_val *c;

    out[0] = '\0';
    for (struct kj_iter it = kj_iter(kj_path(doc ? kj_root(doc) : NULL, "status.conditions"));
         kj_next(&it, &key, &c);)
        if (streq(kj_str_or(kj_get(c, "type"), ""), type))
            (void)snprintf(out, sizeof out, "%s", kj_str_or(kj_get(c, "status"), ""));
    return out;
}

size_t sim_count(struct sim *s, const struct kind *k, const char *ns, const char *selector)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = sim_list(s, k, ns, selector);
    return kj_len(kj_get(doc ? kj_root(doc) : NULL, "items"));
}

bool sim_until(struct sim *s, nsec_t limit, sim_fn fn, void *arg)
{
    for (nsec_t t = 0; t < limit; t += 100 * NSEC_PER_MSEC) {
        if (fn(s, arg))
            return true;
        loop_advance(s->loop, 100 * NSEC_PER_MSEC);
    }
    return fn(s, arg);
}

bool sim_nodes_ready(struct sim *s, void *arg)
{
    (void)arg;
    return cluster_ready(s->cluster);
}

void sim_begin(struct sim *s, uint64_t seed)
{
    sim_init(s, seed);
    sim_start(s, NULL);
    assert_true(sim_until(s, 30 * SEC, sim_nodes_ready, NULL));
}
