/* hollow_pod.c - a pod on a hollow node: a state machine driven by time and by its own status.
 *
 * A stage is entered here first and then written; while the write has not succeeded the pod stays
 * in it. After a restart the stage is read back from the status.
 */
#include <stdio.h>

#include "api/dra.h"
#include "api/names.h"
#include "api/podresources.h"
#include "base/ktime.h"
#include "base/num.h"
#include "cluster/hollow.h"

#define RUN_DEFAULT (5 * NSEC_PER_SEC) /* of pods that are meant to end */
#define BACKOFF_MAX (300 * NSEC_PER_SEC)

/* ---- what is known of a pod ---------------------------------------------------------------- */

static void give_back(struct hpod *hp)
{
    hp->holds = false;
    vec_foreach(&hp->requests, i)
        free(hp->requests.items[i].name);
    vec_fini(&hp->requests);
    vec_fini(&hp->host_ports);
}

void hpod_free(struct hollow *h, struct hpod *hp)
{
    vec_foreach(&hp->node->pods, i) {
        if (hp->node->pods.items[i] == hp) {
            vec_swap_remove(&hp->node->pods, i);
            break;
        }
    }
    map_removez(&h->pods, hp->key);
    h->c->stats.hollow_pods--;
    husage_pod_lost(hp);
    give_back(hp);
    free(hp->key);
    free(hp->reject_reason);
    free(hp->reject_message);
    free(hp);
}

static bool ip_is_taken(const struct hnode *n, unsigned ip)
{
    vec_foreach(&n->pods, i)
        if (n->pods.items[i]->ip == ip)
            return true;
    return false;
}

/* The number of an address that no other pod of the node has. Addresses of pods that an earlier
 * life of this process started are not known: those handed out begin somewhere. */
static unsigned ip_take(struct hnode *n)
{
    if (n->next_ip == 0)
        n->next_ip = 1 + (unsigned)loop_rand_below(n->h->c->loop, HOLLOW_IPS);
    for (unsigned tries = 0; tries < HOLLOW_IPS; tries++) {
        n->next_ip = n->next_ip % HOLLOW_IPS + 1;
        if (!ip_is_taken(n, n->next_ip))
            break;
    }
    return n->next_ip;
}

static struct hpod *hpod_new(struct hnode *n, const struct kobj *o, const char *key)
{
    struct hpod *hp = xnew0(struct hpod);
    hp->node = n;
    hp->key = xstrdup(key);
    kuid_format(o->meta.uid, hp->uid_text, sizeof hp->uid_text);
    hp->seed = n->h->o.seed ^ hash_stable(key, strlen(key));
    hp->ip = ip_take(n);
    hp->since = loop_wall(n->h->c->loop);
    vec_push(&n->pods, hp);
    map_putz(&n->h->pods, hp->key, hp);
    n->h->c->stats.hollow_pods++;
    return hp;
}

static nsec_t annotation_time(const struct pod *p, const char *key, nsec_t otherwise)
{
    const char *text = meta_annotation(&p->obj, key);
    nsec_t d;
    return *text && kdur_parse(text, strlen(text), &d, NULL) == 0 && d > 0 ? d : otherwise;
}

static int64_t annotation_number(const struct pod *p, const char *key, int64_t otherwise)
{
    const char *text = meta_annotation(&p->obj, key);
    int64_t n;
    return *text && i64_parse(text, strlen(text), &n) == 0 && n >= 0 && n <= 100000 ? n : otherwise;
}

/* registry.k8s.io/pause:3.10: the one image of which everybody knows what it does. */
static bool pauses(const struct container *c)
{
    const char *image = str_or(c->image, ""), *slash = strrchr(image, '/');
    const char *name = slash ? slash + 1 : image;
    return strcspn(name, ":@") == strlen("pause") && str_starts(name, "pause");
}

static bool is_to_end(const struct pod *p)
{
    bool ends =
        p->spec->restart_policy == RESTART_ON_FAILURE || p->spec->restart_policy == RESTART_NEVER;

    for (uint32_t i = 0; ends && i < p->spec->containers.n; i++)
        ends = !pauses(&p->spec->containers.items[i]);
    return ends;
}

/* 0: for ever. */
static nsec_t run_time(const struct hpod *hp, const struct pod *p)
{
    nsec_t usual = hp->script_known ? MAX(hp->script.run, NSEC_PER_MSEC) : RUN_DEFAULT;

    return annotation_time(p, ANNO_RUN, is_to_end(p) ? usual : 0);
}

static bool lacks_image(const struct pod *p)
{
    for (uint32_t i = 0; i < p->spec->containers.n; i++)
        if (hscript_image_is_missing(p->spec->containers.items[i].image))
            return true;
    return false;
}

/* About d: between 0.75 and 1.5 of it, by the pod. */
static nsec_t about(const struct hpod *hp, nsec_t d, uint64_t salt)
{
    return i64_from_f64((double)d * (0.75 + 0.75 * load_noise(hp->seed, salt)));
}

/* ---- admission ----------------------------------------------------------------------------- */

static int64_t in_use(const struct hnode *n, const char *resource)
{
    int64_t sum = 0;
    vec_foreach(&n->pods, i) {
        const struct hpod *hp = n->pods.items[i];
        for (size_t k = 0; hp->holds && k < hp->requests.n; k++)
            if (streq(hp->requests.items[k].name, resource))
                sum = i64_add_sat(sum, hp->requests.items[k].count);
    }
    return sum;
}

static void hold(struct hpod *hp, const struct pod *p, const rescountlist *counts)
{
    struct hcount one = { xstrdup("pods"), 1 };
    vec_push(&hp->requests, one);
    for (uint32_t i = 0; i < counts->n; i++) {
        struct hcount c = { xstrdup(counts->items[i].name), counts->items[i].count };
        vec_push(&hp->requests, c);
    }
    for (uint32_t i = 0; i < p->spec->containers.n; i++) {
        const struct container *c = &p->spec->containers.items[i];
        for (uint32_t k = 0; k < c->ports.n; k++)
            if (c->ports.items[k].host_port > 0)
                vec_push(&hp->host_ports, c->ports.items[k].host_port);
    }
    hp->holds = true;
}

static void reject(struct hpod *hp, const char *reason, const char *fmt, ...) PRINTF(3, 4);
static void reject(struct hpod *hp, const char *reason, const char *fmt, ...)
{
    struct strbuf text = STRBUF_INIT;
    va_list ap;

    strbuf_append(&text, "Pod was rejected: ");
    va_start(ap, fmt);
    strbuf_vappendf(&text, fmt, ap);
    va_end(ap);
    free(hp->reject_reason);
    free(hp->reject_message);
    hp->reject_reason = xstrdup(reason);
    hp->reject_message = strbuf_take(&text);
}

static bool port_taken(const struct hnode *n, int32_t port)
{
    vec_foreach(&n->pods, i) {
        const struct hpod *hp = n->pods.items[i];
        for (size_t k = 0; hp->holds && k < hp->host_ports.n; k++)
            if (hp->host_ports.items[k] == port)
                return true;
    }
    return false;
}

static bool ports_fit(struct hpod *hp, const struct pod *p)
{
    for (uint32_t i = 0; i < p->spec->containers.n; i++) {
        const struct container *c = &p->spec->containers.items[i];
        for (uint32_t k = 0; k < c->ports.n; k++) {
            if (c->ports.items[k].host_port > 0 &&
                port_taken(hp->node, c->ports.items[k].host_port)) {
                reject(hp, "NodePorts",
                       "Predicate NodePorts failed: node(s) didn't have free ports for the "
                       "requested pod ports");
                return false;
            }
        }
    }
    return true;
}

/* As a kubelet, the node leaves extended resources that it does not list to others: devices of a
 * claim may stand behind them. */
static bool is_left_to_others(const struct node *node, const char *name)
{
    return (name_is_extended_resource(name) || str_starts(name, DEVICE_CLASS_RESOURCE_PREFIX)) &&
           !reslist_has(&node->status.allocatable, name);
}

static bool resources_fit(struct hpod *hp, const struct node *node, const rescountlist *counts)
{
    char reason[160];

    for (uint32_t i = 0; i <= counts->n; i++) {
        const char *name = i < counts->n ? counts->items[i].name : "pods";
        int64_t want = i < counts->n ? counts->items[i].count : 1;
        int64_t used = in_use(hp->node, name);
        int64_t room = resource_count(name, reslist_get(&node->status.allocatable, name));
        if (want == 0 || i64_add_sat(used, want) <= room || is_left_to_others(node, name))
            continue;
        (void)snprintf(reason, sizeof reason, "OutOf%s", name);
        reject(hp, reason,
               "Node didn't have enough resource: %s, requested: %lld, used: %lld, capacity: %lld",
               name, (long long)want, (long long)used, (long long)room);
        return false;
    }
    return true;
}

static bool selector_fits(struct hpod *hp, const struct node *node, const struct pod *p)
{
    for (uint32_t i = 0; i < p->spec->node_selector.n; i++) {
        const struct kstrpair *want = &p->spec->node_selector.items[i];
        const char *have = kstrmap_get(&node->obj.meta.labels, want->key);
        if (!have || !streq(have, want->value)) {
            reject(hp, "NodeAffinity",
                   "Predicate NodeAffinity failed: node(s) didn't match Pod's node "
                   "affinity/selector");
            return false;
        }
    }
    return true;
}

static bool admit(struct hpod *hp, const struct pod *p, bool check, struct arena *a)
{
    struct kobj *o = informer_get(hp->node->h->node_cache, hp->node->name);
    reslist requests = pod_requests(p, NULL, a);
    rescountlist counts = reslist_counts(&requests, a);

    if (check && o &&
        (!selector_fits(hp, node_of(o), p) || !ports_fit(hp, p) ||
         !resources_fit(hp, node_of(o), &counts)))
        return false;
    hold(hp, p, &counts);
    return true;
}

/* ---- stages -------------------------------------------------------------------------------- */

static void enter(struct hpod *hp, enum hstage stage, nsec_t now)
{
    hp->stage = stage;
    hp->since = now;
}

static void start(struct hpod *hp, nsec_t now)
{
    husage_pod_lost(hp);
    hp->started_at = now;
    enter(hp, H_STARTED, now);
}

static void end(struct hpod *hp, const struct pod *p, nsec_t now)
{
    husage_pod_ended(hp);
    hp->exit_code =
        (int32_t)annotation_number(p, ANNO_EXIT_CODE, hp->script_known ? hp->script.exit_code : 0);
    bool again = p->spec->restart_policy == RESTART_ALWAYS ||
                 p->spec->restart_policy == RESTART_NONE ||
                 (p->spec->restart_policy == RESTART_ON_FAILURE && hp->exit_code != 0);
    enter(hp, again ? H_BACKOFF : H_ENDED, now);
}

/* With work to do the containers run until it is done, however long that takes. */
static nsec_t ready_length(struct hpod *hp, const struct pod *p)
{
    const struct hdemand *d = husage_demand(hp, p);
    nsec_t run = run_time(hp, p);

    if (d->work)
        return hp->usage.done >= d->work ? 1 : 0;
    return run ? MAX(i64_add_sat(hp->started_at, run) - hp->since, (nsec_t)1) : 0;
}

/* Containers may end before they are ready. */
static nsec_t started_length(struct hpod *hp, const struct pod *p, nsec_t until_ready)
{
    nsec_t run = run_time(hp, p);
    return run && !husage_demand(hp, p)->work ? MIN(run, until_ready) : until_ready;
}

/* How long the stage lasts; 0: until something else happens. */
static nsec_t stage_length(struct hpod *hp, const struct pod *p)
{
    nsec_t delay = hp->node->h->o.start_delay;
    switch (hp->stage) {
    case H_CREATING: return lacks_image(p) ? 0 : MAX(about(hp, delay, 1), (nsec_t)1);
    case H_INIT: return MAX(about(hp, delay, 2) * p->spec->init_containers.n, (nsec_t)1);
    case H_STARTED: return started_length(hp, p, MAX(about(hp, delay / 2, 3), (nsec_t)1));
    case H_READY: return ready_length(hp, p);
    case H_BACKOFF: return MIN((10 * NSEC_PER_SEC) << MIN(hp->restarts, 5), BACKOFF_MAX);
    default: return 0;
    }
}

static void next_stage(struct hpod *hp, const struct pod *p, nsec_t now)
{
    switch (hp->stage) {
    case H_CREATING:
        if (p->spec->init_containers.n > 0)
            enter(hp, H_INIT, now);
        else
            start(hp, now);
        break;
    case H_INIT: start(hp, now); break;
    case H_STARTED:
        if (run_time(hp, p) && !husage_demand(hp, p)->work &&
            now >= i64_add_sat(hp->started_at, run_time(hp, p)))
            end(hp, p, now);
        else
            enter(hp, H_READY, now);
        break;
    case H_READY: end(hp, p, now); break;
    case H_BACKOFF:
        hp->restarts++;
        hp->script_read = false;
        start(hp, now);
        break;
    default: break;
    }
}

/* From the status that an earlier life of this process wrote. */
static void recover(struct hpod *hp, const struct pod *p, nsec_t now)
{
    const struct container_status *c =
        p->status.container_statuses.n ? &p->status.container_statuses.items[0] : NULL;

    hp->restarts = c ? c->restart_count : 0;
    if (c && c->state.running) {
        hp->started_at = c->state.running->started_at;
        enter(hp, pod_is_ready(p) ? H_READY : H_STARTED, hp->started_at);
        hp->written = hp->stage;
    } else if (p->status.phase == POD_RUNNING) {
        enter(hp, H_BACKOFF, now);
        hp->written = hp->stage;
    } else {
        enter(hp, H_CREATING, p->status.start_time);
        hp->written = hp->stage;
    }
}

static void first_look(struct hpod *hp, const struct pod *p, nsec_t now, struct arena *a)
{
    bool known = p->status.start_time != 0;
    if (!admit(hp, p, !known, a)) {
        enter(hp, H_REJECTED, now);
        return;
    }
    if (known)
        recover(hp, p, now);
    else
        enter(hp, H_CREATING, now);
}

/* ---- writes -------------------------------------------------------------------------------- */

struct writing {
    struct hollow *h;
    const char *key, *uid;
    enum hstage stage;
};

static bool on_written(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    struct writing *x = arg;
    struct hpod *hp = map_getz(&x->h->pods, x->key);

    (void)b, (void)r;
    if (err && err->reason != KR_NOT_FOUND)
        return false;
    /* A pod that is gone is told nothing more: the news of its end is on its way. */
    if (hp && streq(hp->uid_text, x->uid)) {
        hp->written = x->stage;
        if (x->stage == H_ENDED || x->stage == H_REJECTED)
            give_back(hp);
    }
    return true;
}

static void write_stage(struct batch *b, struct hpod *hp, const struct pod *p)
{
    struct arena *a = batch_arena(b);
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct writing *x = arena_new0(a, struct writing);

    *x = (struct writing){ hp->node->h, arena_strdup(a, hp->key), arena_strdup(a, hp->uid_text),
                           hp->stage };
    hpod_write_status(hp, p, loop_wall(hp->node->h->c->loop), &body);
    batch_patch(b, &p->obj, "status", KUBE_PATCH_STRATEGIC, &body, on_written, x);
}

/* ---- commands ------------------------------------------------------------------------------ */

static bool on_read(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    struct writing *x = arg;
    struct hpod *hp = map_getz(&x->h->pods, x->key);
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    (void)b;
    if (!hp || !streq(hp->uid_text, x->uid))
        return true;
    hp->script_asked = false;
    if (err)
        return err->reason == KR_NOT_FOUND; /* else: asked again */
    hp->script_read = true;
    if (kj_parse(r->body, r->n, 0, &doc, NULL) == 0)
        hp->script_known =
            hscript_read(kj_root(doc), hp->restarts, hp->seed, &hp->node->files, &hp->script);
    batch_again(b, 1);
    return true;
}

/* Caches leave commands out: those of a pod that is meant to end are read when it begins, and again
 * when its containers are started anew. */
static void read_script(struct batch *b, struct hpod *hp, const struct pod *p)
{
    struct arena *a = batch_arena(b);
    struct writing *x = arena_new0(a, struct writing);

    if (hp->script_asked || hp->script_read || !is_to_end(p))
        return;
    hp->script_asked = true;
    *x = (struct writing){ hp->node->h, arena_strdup(a, hp->key), arena_strdup(a, hp->uid_text),
                           hp->stage };
    struct kube_req r = {
        .verb = KUBE_GET, .kind = &kind_pod, .ns = p->obj.meta.ns, .name = p->obj.meta.name
    };
    batch_call(b, &r, on_read, x);
}

/* ---- deletion ------------------------------------------------------------------------------ */

static void confirm(struct batch *b, const struct kobj *o)
{
    batch_delete(b, o, &(struct delete_opts){ .grace = 0, .any_version = true }, NULL, NULL);
}

static void stop(struct batch *b, struct hpod *hp, const struct pod *p, nsec_t now)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    nsec_t grace = nsec_after(0, p->obj.meta.grace_seconds.set ? p->obj.meta.grace_seconds.v : 0);
    bool runs = hp->stage >= H_STARTED && hp->stage <= H_BACKOFF;
    nsec_t takes = about(hp, hp->node->h->o.start_delay, 4);

    /* Without grace too, containers need a while to end; but then nobody waits for them, unless
     * they have devices. */
    if (hp->stop_at == 0)
        hp->stop_at = now + (!runs ? 0 : hpod_holds_devices(p) ? takes : MIN(grace, takes));
    if (now < hp->stop_at) {
        batch_again(b, hp->stop_at - now);
        return;
    }
    /* The status first: whoever waits for the pod's end (a Job) must see how it ended. */
    if (!pod_is_terminal(p)) {
        hpod_write_stopped(hp, p, now, &body);
        batch_patch(b, &p->obj, "status", KUBE_PATCH_STRATEGIC, &body, NULL, NULL);
        give_back(hp);
        hp->stage = hp->written = H_ENDED;
        return; /* the news of it brings the next step */
    }
    give_back(hp);
    hpod_release_claims(b, p);
    if (p->obj.meta.grace_seconds.set && p->obj.meta.grace_seconds.v == 0)
        return; /* confirmed: it waits for its finalizers */
    confirm(b, &p->obj);
}

/* ---- sync ---------------------------------------------------------------------------------- */

static void restart_on_demand(struct hpod *hp, const struct pod *p, nsec_t now)
{
    int64_t want = annotation_number(p, ANNO_RESTARTS, 0);
    if ((hp->stage == H_READY || hp->stage == H_STARTED) && want > hp->restarts) {
        hp->restarts = (int32_t)want;
        start(hp, now);
        hp->written = H_NEW;
    }
}

/* activeDeadlineSeconds, from the time the node has seen the pod. */
static bool is_past_deadline(struct batch *b, struct hpod *hp, const struct pod *p, nsec_t now)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;

    if (!p->spec->active_deadline_seconds.set || !p->status.start_time || hp->stage == H_REJECTED ||
        hp->stage == H_ENDED)
        return false;
    nsec_t left =
        i64_sub_sat(nsec_after(p->status.start_time, p->spec->active_deadline_seconds.v), now);
    if (left > 0) {
        batch_again(b, left);
        return false;
    }
    hp->past_deadline = true;
    hpod_write_stopped(hp, p, now, &body);
    batch_patch(b, &p->obj, "status", KUBE_PATCH_STRATEGIC, &body, NULL, NULL);
    return true;
}

static void sync_pod(struct batch *b, struct hpod *hp, const struct pod *p)
{
    nsec_t now = loop_wall(hp->node->h->c->loop);

    if (p->obj.meta.deleted) {
        stop(b, hp, p, now);
        return;
    }
    if (pod_is_terminal(p)) {
        give_back(hp);
        hp->stage = hp->written = H_ENDED;
        hpod_release_claims(b, p);
        return;
    }
    if (hp->stage == H_NEW)
        first_look(hp, p, now, batch_arena(b));
    restart_on_demand(hp, p, now);
    read_script(b, hp, p);
    if (is_past_deadline(b, hp, p, now))
        return;
    nsec_t length = stage_length(hp, p);
    bool waits = is_to_end(p) && !hp->script_read; /* for its commands */
    if (hp->written == hp->stage && length && now >= i64_add_sat(hp->since, length) && !waits) {
        if (hp->stage == H_CREATING && !hpod_prepare_claims(b, hp, p))
            return;
        next_stage(hp, p, now);
        length = stage_length(hp, p);
    }
    if (hp->written != hp->stage)
        write_stage(b, hp, p);
    if (length && !waits)
        batch_again(b, MAX(i64_sub_sat(i64_add_sat(hp->since, length), now), (nsec_t)1));
}

void hpod_sync(void *arg, struct batch *b, const char *key, struct kobj *o)
{
    struct hollow *h = arg;
    struct hpod *hp = map_getz(&h->pods, key);
    char uid[KUID_TEXT_MAX] = "";

    if (o)
        kuid_format(o->meta.uid, uid, sizeof uid);
    if (hp && (!o || !streq(hp->uid_text, uid))) {
        hpod_free(h, hp);
        hp = NULL;
    }
    struct hnode *n =
        o && !str_empty(pod_of(o)->node_name) ? map_getz(&h->by_name, pod_of(o)->node_name) : NULL;
    if (n && !n->gone && n->registered) {
        if (!hp)
            hp = hpod_new(n, o, key);
        husage_pod_changed(hp);
        sync_pod(b, hp, pod_of(o));
    } else if (n && !n->gone) {
        batch_again(b, NSEC_PER_SEC); /* the node is not up yet */
    } else if (n && o->meta.deleted) {
        hpod_release_claims(b, pod_of(o)); /* with the node its devices are gone */
    }
}
