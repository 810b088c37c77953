/* migration.c - the MigrationController as a plugin: its life, its news, its filters. */
#include "descheduler/migration/migration.h"

#include <stdio.h>

#include "api/selector/selector.h"
#include "base/strbuf.h"
#include "client/events.h"
#include "controllers/conditions.h"
#include "descheduler/framework/nodefit.h"
#include "descheduler/migration/migration_int.h"
#include "loop/loop.h"
#include "json/kj.h"

/* ---- what is known --------------------------------------------------------------------------- */

void migration_changed(struct migration *m)
{
    m->tally = jobtally_free(m->tally);
    workloads_changed(m->workloads);
    m->changed = true;
}

bool migration_owns(const struct migration *m, const struct podmigrationjob *j)
{
    const char *by = kstrmap_get(&j->obj.meta.annotations, ANNO_JOB_CREATED_BY);

    return str_empty(by) ? m->env.profile_index == 0 : streq(by, m->identity);
}

struct job_state *migration_state(struct migration *m, const struct podmigrationjob *j)
{
    const char *name = j->obj.meta.name;
    struct job_state *s = map_getz(&m->states, name);
    size_t n = strlen(name);

    if (s && kuid_equal(s->uid, j->obj.meta.uid))
        return s;
    migration_forget(m, name); /* another one by this name */
    s = xcalloc(1, sizeof *s + n + 1);
    s->uid = j->obj.meta.uid;
    memcpy(s->name, name, n + 1);
    map_put(&m->states, s->name, n, s);
    return s;
}

struct job_state *migration_find_state(const struct migration *m, const struct podmigrationjob *j)
{
    struct job_state *s = map_getz(&m->states, j->obj.meta.name);

    return s && kuid_equal(s->uid, j->obj.meta.uid) ? s : NULL;
}

static void state_free(struct job_state *s)
{
    free(s->waits_for);
    free(s);
}

void migration_forget(struct migration *m, const char *name)
{
    struct job_state *s = map_removez(&m->states, name);

    if (s)
        state_free(s);
}

const struct pod *migration_pod_of(const struct migration *m, const struct podmigrationjob *j)
{
    const struct object_ref *ref = j->spec.pod_ref;
    char key[KOBJ_KEY_MAX];

    if (!ref || !*ref->ns || !*ref->name)
        return NULL;
    const struct kobj named = { .kind = &kind_pod, .meta = { .ns = ref->ns, .name = ref->name } };
    kobj_key(&named, key, sizeof key);
    const struct kobj *o = informer_get(m->pods, key);
    return o ? pod_of(o) : NULL;
}

bool job_has_passed(const struct migration *m, const struct podmigrationjob *j)
{
    const struct job_state *s = migration_find_state(m, j);

    if (j->status.phase == MIGRATION_RUNNING || !migration_owns(m, j))
        return j->status.phase == MIGRATION_RUNNING ||
               kstrmap_get(&j->obj.meta.annotations, ANNO_PASSED_ARBITRATION);
    return s && (s->passed || (s->has_verdict && s->verdict == VERDICT_PASS));
}

static struct jobtally *tally(struct migration *m)
{
    struct kobj *o;

    if (m->tally)
        return m->tally;
    m->tally = jobtally_new();
    for (size_t it = 0; (o = informer_next(m->jobs, &it));) {
        const struct podmigrationjob *j = podmigrationjob_of(o);
        if (!job_is_over(j) || job_is_rejected(j))
            jobtally_add(m->tally, j, migration_pod_of(m, j), job_has_passed(m, j));
    }
    creations_count(m, m->tally);
    return m->tally;
}

struct checks migration_checks(struct migration *m)
{
    return (struct checks){ m->args, m->workloads, tally(m) };
}

void migration_event(const struct migration *m, const struct podmigrationjob *j,
                     const struct job_event *e)
{
    if (m->env.events)
        recorder_event_on(m->env.events, &j->obj, e->warning, e->reason, "Migrating", "%s",
                          e->text);
}

/* ---- news ------------------------------------------------------------------------------------ */

static void on_job(void *arg, struct kobj *o)
{
    creations_shown(arg, o);
    migration_changed(arg);
}

static void on_job_update(void *arg, struct kobj *old, struct kobj *o)
{
    (void)old, (void)o;
    migration_changed(arg);
}

static void on_job_delete(void *arg, struct kobj *o)
{
    struct migration *m = arg;
    CLEANUP(arena_free) struct arena *a = arena_new();

    if (migration_owns(m, podmigrationjob_of(o)))
        controller_add(m->clean, act_reservation_name(podmigrationjob_of(o), a));
    migration_changed(m);
}

static void add_jobs_of_pod(struct migration *m, const struct kobj *pod);

static void on_pod(void *arg, struct kobj *o)
{
    migration_changed(arg);
    add_jobs_of_pod(arg, o);
}

/* Kubelets report all the time; few reports matter. */
static void on_pod_update(void *arg, struct kobj *old, struct kobj *o)
{
    const struct pod *a = pod_of(old), *b = pod_of(o);

    if (kuid_equal(old->meta.uid, o->meta.uid) && pod_is_up(a) == pod_is_up(b) &&
        a->spec == b->spec && old->meta.deleted == o->meta.deleted &&
        streq(str_or(a->node_name, ""), str_or(b->node_name, "")) &&
        kstrmap_equal(&old->meta.annotations, &o->meta.annotations) &&
        kstrmap_equal(&old->meta.labels, &o->meta.labels))
        return;
    on_pod(arg, o);
}

static void on_workload(void *arg)
{
    migration_changed(arg);
}

/* Jobs by the pods they are about: the one that goes, and the one that comes. */
static void index_job_pods(const struct kobj *o, index_emit_fn emit, void *to)
{
    const struct podmigrationjob *j = podmigrationjob_of(o);
    const struct object_ref *refs[] = { j->spec.pod_ref, j->status.pod_ref };
    char key[KOBJ_KEY_MAX];

    for (size_t i = 0; i < ARRAY_LEN(refs); i++)
        if (refs[i] && !job_is_over(j)) {
            (void)snprintf(key, sizeof key, "%s/%s", str_or(refs[i]->ns, ""),
                           str_or(refs[i]->name, ""));
            emit(to, key);
        }
}

static void index_job_reservation(const struct kobj *o, index_emit_fn emit, void *to)
{
    const struct object_ref *ref = job_reservation(podmigrationjob_of(o));

    if (ref && !job_is_over(podmigrationjob_of(o)))
        emit(to, ref->name);
}

static void add_jobs_of_pod(struct migration *m, const struct kobj *pod)
{
    char key[KOBJ_KEY_MAX];

    kobj_key(pod, key, sizeof key);
    controller_add_by(m->sync, m->jobs, index_job_pods, key);
}

static void on_reservation(void *arg, struct kobj *o)
{
    struct migration *m = arg;

    controller_add_by(m->sync, m->jobs, index_job_reservation, o->meta.name);
    if (streq(str_or(kstrmap_get(&o->meta.labels, LABEL_APP_CREATED_BY), ""),
              APP_CREATED_BY_DESCHEDULER))
        controller_add(m->clean, o->meta.name);
}

static void on_reservation_update(void *arg, struct kobj *old, struct kobj *o)
{
    struct migration *m = arg;

    (void)old;
    controller_add_by(m->sync, m->jobs, index_job_reservation, o->meta.name);
}

/* ---- leading --------------------------------------------------------------------------------- */

nsec_t migration_evicted_at(const struct migration *m, const struct podmigrationjob *j)
{
    const struct timed_condition *c = conditions_find(&j->status.conditions, MIGRATION_EVICTION);
    const struct pod *p = migration_pod_of(m, j);
    nsec_t now = loop_wall(m->env.loop), deadline;

    if (!c || !j->spec.pod_ref)
        return 0;
    if (c->status == COND_TRUE) /* times in conditions are whole seconds, cut off */
        return MIN(now, c->last_transition_time + NSEC_PER_SEC);
    if (p && !p->obj.meta.deleted && kuid_equal(p->obj.meta.uid, j->spec.pod_ref->uid))
        return 0;
    if (!job_is_over(j))
        return now;
    return job_deadline(j, &deadline) ? MIN(now, deadline) : c->last_transition_time;
}

struct past_eviction {
    const struct podmigrationjob *job;
    nsec_t at; /* wall */
};

static int by_time(const void *a, const void *b)
{
    nsec_t x = ((const struct past_eviction *)a)->at, y = ((const struct past_eviction *)b)->at;
    return x < y ? -1 : x > y;
}

/* What a job says of its workload was written by us, but anybody may have edited it: what cannot be
 * read counts for the namespace alone. */
static void recall(struct migration *m, const struct podmigrationjob *j, nsec_t when)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    const char *text = kstrmap_get(&j->obj.meta.annotations, ANNO_JOB_WORKLOAD);
    struct owner_ref owner;
    bool known = text && kj_decode_text(&owner_ref_schema, text, strlen(text), 0, a, &owner,
                                        &(struct kerr){ 0 }) == 0;

    evictrate_recall(m->rate, m->args, str_or(j->spec.pod_ref->ns, ""), known ? &owner : NULL,
                     when);
}

/* Evictions before our time count for the rate and for the limiters of their workloads and
 * namespaces. */
static void recall_evictions(struct migration *m)
{
    struct vec_of(struct past_eviction) past = { 0 };
    nsec_t wall = loop_wall(m->env.loop), mono = loop_mono(m->env.loop);
    struct kobj *o;

    for (size_t it = 0; (o = informer_next(m->jobs, &it));) {
        const struct podmigrationjob *j = podmigrationjob_of(o);
        nsec_t when = migration_owns(m, j) ? migration_evicted_at(m, j) : 0;
        if (when && when <= wall)
            vec_push(&past, ((struct past_eviction){ j, when }));
    }
    if (past.n)
        qsort(past.items, past.n, sizeof *past.items, by_time);
    vec_foreach(&past, i)
        recall(m, past.items[i].job, mono - (wall - past.items[i].at));
    vec_fini(&past);
}

/* Jobs that passed before we led have passed: by the annotation, which counts at this moment only.
 * Who writes it into a job that waits does not get past arbitration. */
static void on_start(void *self)
{
    struct migration *m = self;
    struct kobj *o;

    recall_evictions(m);
    for (size_t it = 0; (o = informer_next(m->jobs, &it));) {
        const struct podmigrationjob *j = podmigrationjob_of(o);
        if (!migration_owns(m, j))
            continue;
        if (!job_is_over(j) && kstrmap_get(&o->meta.annotations, ANNO_PASSED_ARBITRATION))
            migration_state(m, j)->passed = true;
    }
    migration_changed(m);
    arbitration_start(m);
}

static void on_stop(void *self)
{
    struct migration *m = self;

    arbitration_stop(m);
    map_foreach(&m->states, e)
        state_free(e->value);
    map_fini(&m->states);
}

static void start(void *self)
{
    struct migration *m = self;
    controllers_start(m->controllers);
}

static void stop(void *self)
{
    struct migration *m = self;
    controllers_stop(m->controllers);
}

static void make_controllers(struct migration *m)
{
    static const struct informer_handler pods = { 0 };
    static const struct informer_handler reservations = { .on_add = on_reservation,
                                                          .on_update = on_reservation_update,
                                                          .on_delete = on_reservation };
    const struct controller_env env = { m->env.loop, m->env.kube, m->env.caches, m->env.events };

    m->controllers = controllers_new(&env);
    m->sync = controller_new(
        m->controllers, &(struct controller_opts){
                            .name = "migration",
                            .of = m->jobs,
                            .sync = job_sync,
                            .start = on_start,
                            .stop = on_stop,
                            .self = m,
                            .queue = { .concurrency = (unsigned)m->args->max_concurrent_reconciles,
                                       .backoff_max = 30 * NSEC_PER_SEC } });
    m->clean = controller_new(m->controllers, &(struct controller_opts){ .name = "migration-clean",
                                                                         .of = m->reservations,
                                                                         .sync = clean_sync,
                                                                         .self = m });
    controller_watch(m->sync, m->jobs, NULL, NULL);
    controller_watch(m->sync, m->pods, &pods, m);
    controller_watch(m->sync, m->reservations, &reservations, m);
    controller_read(m->clean, m->jobs);
}

/* ---- life ------------------------------------------------------------------------------------ */

/* The same after a restart, so that own jobs are known again, and another in each profile. */
static void make_identity(struct migration *m)
{
    CLEANUP(mem_free) char *text = xasprintf("koord-descheduler/%s", m->env.profile);
    uint64_t a = hash_stable(text, strlen(text)), b = hash_stable(text + 1, strlen(text) - 1);

    (void)snprintf(m->identity, sizeof m->identity, "%08x-%04x-5%03x-8%03x-%012llx",
                   (unsigned)(a >> 32), (unsigned)(a >> 16 & 0xffff), (unsigned)(a & 0xfff),
                   (unsigned)(b >> 52), (unsigned long long)(b & 0xffffffffffff));
}

static int create(const struct kd_env *env, const void *args, void **ret_self, struct kerr *err)
{
    static const struct informer_handler jobs = { .on_add = on_job,
                                                  .on_update = on_job_update,
                                                  .on_delete = on_job_delete };
    static const struct informer_handler pods = { .on_add = on_pod,
                                                  .on_update = on_pod_update,
                                                  .on_delete = on_pod };
    struct migration *m = xnew0(struct migration);

    (void)err;
    m->env = *env;
    m->args = args;
    make_identity(m);
    m->jobs = caches_get(env->caches, &kind_podmigrationjob);
    m->pods = caches_get(env->caches, &kind_pod);
    m->reservations = caches_get(env->caches, &kind_reservation);
    m->owners = owners_new(&(struct owners_opts){ .loop = env->loop,
                                                  .kube = env->kube,
                                                  .caches = env->caches,
                                                  .on_news = on_workload,
                                                  .arg = m });
    const struct workload_source source = owners_source(m->owners);
    m->workloads = workloads_new(&source);
    m->rate = evictrate_new(m->workloads);
    make_controllers(m);
    leaving_init(m);
    m->job_news = informer_add_handler(m->jobs, &jobs, m);
    m->pod_news = informer_add_handler(m->pods, &pods, m);
    *ret_self = m;
    return 0;
}

static void destroy(void *self)
{
    struct migration *m = self;

    on_stop(m);
    informer_remove_handler(m->job_news);
    informer_remove_handler(m->pod_news);
    creations_drop(m);
    controller_free(m->clean);
    controller_free(m->sync);
    controllers_free(m->controllers);
    jobtally_free(m->tally);
    evictrate_free(m->rate);
    workloads_free(m->workloads);
    owners_free(m->owners);
    free(m);
}

static void update(void *self, const void *args)
{
    struct migration *m = self;

    m->args = args;
    migration_changed(m);
}

/* ---- filters --------------------------------------------------------------------------------- */

static bool filter(void *self, const struct kd_view *v, const struct pod *p, struct kd_why *why)
{
    struct migration *m = self;
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    const struct checks c = migration_checks(m);

    (void)v;
    if (p->obj.meta.deleted) /* upstream lets it pass, and has a job that does nothing */
        return kd_no(why, "it is on its way out already");
    return check_filter(&c, p, why ? &text : NULL) || kd_no(why, "%s", strbuf_str(&text));
}

static bool pre_eviction_filter(void *self, const struct kd_view *v, const struct pod *p,
                                struct kd_why *why)
{
    struct migration *m = self;
    struct vec_of(uint32_t) nodes = { 0 };

    if (!m->args->node_fit || args_skip(m->args, GATE_NODE_FIT))
        return true;
    for (uint32_t i = 0; i < kd_view_count(v); i++) {
        const struct kd_node *n = kd_view_node(v, i);
        if (n->ready && (!m->args->node_selector ||
                         labelsel_matches(m->args->node_selector, &n->node->obj.meta.labels)))
            vec_push(&nodes, i);
    }
    bool fits = nodes.n && kd_fits_any_other(v, p, nodes.items, (uint32_t)nodes.n, KD_FIT_KUBE);
    vec_fini(&nodes);
    return fits || kd_no(why, "it fits no other node");
}

static bool ready(const void *self)
{
    const struct migration *m = self;
    return owners_ready(m->owners);
}

static const struct kind *const kinds[] = { &kind_podmigrationjob, &kind_reservation, NULL };

const struct kd_plugin plugin_migrationcontroller = {
    .abi = KD_PLUGIN_ABI,
    .size = sizeof(struct kd_plugin),
    .name = "MigrationController",
    .args = &migration_kd_args,
    .kinds = kinds,
    .create = create,
    .destroy = destroy,
    .update = update,
    .ready = ready,
    .start = start,
    .stop = stop,
    .filter = filter,
    .pre_eviction_filter = pre_eviction_filter,
    .evict = migration_evict,
    .leaving = migration_leaving,
};
