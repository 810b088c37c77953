/* control.c - the status of PodGroups. */
#include "scheduler/plugins/coscheduling/control.h"

#include <stdio.h>

#include "api/koord/podgroup.h"
#include "api/pod.h"
#include "base/klog.h"
#include "base/strbuf.h"
#include "client/events.h"
#include "controllers/controller.h"
#include "loop/loop.h"
#include "scheduler/plugins/coscheduling/gangs.h"
#include "scheduler/plugins/coscheduling/status.h"
#include "json/kj.h"

#define SOON NSEC_PER_MSEC
/* Each look at a gang of many costs as much as it has members, and they change one by one. */
enum { MANY = 256 };
#define MANY_WAIT (100 * NSEC_PER_MSEC)

enum fate { FATE_UNKNOWN, FATE_SUCCEEDED, FATE_FAILED };
struct left { /* a member that went */
    char uid[KUID_TEXT_MAX];
    char *name;
    enum fate fate;
};
struct followed {  /* a PodGroup */
    bool listed;   /* it is known who had ended before */
    uint64_t told; /* hash of what people were told to be wrong with it */
    struct vec_of(struct left) left;
    char key[];
};
struct gang_control {
    struct gangs *gangs;
    struct controller_env env;
    struct controller *status;
    struct informer *objects;
    struct map followed; /* by key */
};

static struct followed *follow(struct gang_control *c, const char *key)
{
    struct followed *f = map_getz(&c->followed, key);
    size_t n = strlen(key) + 1;

    if (f)
        return f;
    f = xcalloc(1, sizeof *f + n);
    memcpy(f->key, key, n);
    map_putz(&c->followed, f->key, f);
    return f;
}

static void followed_free(struct followed *f)
{
    vec_foreach(&f->left, i)
        free(f->left.items[i].name);
    vec_fini(&f->left);
    free(f);
}

static struct left *left_find(struct followed *f, const char *uid)
{
    vec_foreach(&f->left, i)
        if (streq(f->left.items[i].uid, uid))
            return &f->left.items[i];
    return NULL;
}

static void left_add(struct followed *f, const char *uid, const char *name, enum fate fate)
{
    struct left *l = left_find(f, uid);

    if (l) {
        l->fate = fate ? fate : l->fate;
        return;
    }
    struct left new = { .name = xstrdup(name), .fate = fate };
    (void)snprintf(new.uid, sizeof new.uid, "%s", uid);
    vec_push(&f->left, new);
}

static void left_remove(struct followed *f, const char *uid)
{
    struct left *l = left_find(f, uid);

    if (!l)
        return;
    free(l->name);
    vec_swap_remove(&f->left, (size_t)(l - f->left.items));
}

void gang_control_touch(struct gang_control *c, const struct gang *g)
{
    if (c && g->by_podgroup)
        controller_add_after(c->status, g->id, g->members.n > MANY ? MANY_WAIT : 0);
}

void gang_control_left(struct gang_control *c, const struct gang_member *m)
{
    char uid[KUID_TEXT_MAX];

    if (!c || !m->gang->by_podgroup || m->state != MEMBER_BOUND || gangs_is_placeholder(m))
        return;
    kuid_format(m->uid, uid, sizeof uid);
    left_add(follow(c, m->gang->id), uid, m->pod->meta.name, FATE_UNKNOWN);
}

/* ---- what became of them --------------------------------------------------------------------- */

static enum fate fate_of(const struct kj_val *pod)
{
    const char *phase = kj_str_or(kj_path(pod, "status.phase"), "");

    return streq(phase, "Succeeded") ? FATE_SUCCEEDED
           : streq(phase, "Failed")  ? FATE_FAILED
                                     : FATE_UNKNOWN;
}

struct question {
    struct gang_control *control;
    const char *key, *uid; /* in the arena of the batch */
};

static bool on_answer(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    const struct question *q = arg;
    struct followed *f = map_getz(&q->control->followed, q->key);
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    if (err && err->reason != KR_NOT_FOUND)
        return false;
    batch_again(b, SOON);
    struct left *l = f ? left_find(f, q->uid) : NULL;
    if (!l)
        return true;
    if (!err && kj_parse(r->body, r->n, 0, &doc, NULL) == 0 &&
        streq(kj_str_or(kj_path(kj_root(doc), "metadata.uid"), ""), q->uid))
        l->fate = fate_of(kj_root(doc));
    if (l->fate == FATE_UNKNOWN)
        left_remove(f, q->uid); /* deleted, or another pod has its name */
    return true;
}

/* True: there is somebody to ask about. */
static bool ask(struct gang_control *c, struct batch *b, struct followed *f, const char *ns)
{
    bool any = false;

    vec_foreach(&f->left, i) {
        if (f->left.items[i].fate != FATE_UNKNOWN)
            continue;
        struct arena *a = batch_arena(b);
        struct question *q = arena_new0(a, struct question);
        *q = (struct question){ c, arena_strdup(a, f->key), arena_strdup(a, f->left.items[i].uid) };
        const struct kube_req r = {
            .verb = KUBE_GET, .kind = &kind_pod, .ns = ns, .name = f->left.items[i].name
        };
        batch_call(b, &r, on_answer, q);
        any = true;
    }
    return any;
}

static bool on_list(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    const struct question *q = arg;
    struct followed *f = map_getz(&q->control->followed, q->key);
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    if (err || kj_parse(r->body, r->n, 0, &doc, NULL) < 0)
        return false;
    const struct kj_val *items = kj_get(kj_root(doc), "items");
    for (size_t i = 0; f && i < kj_len(items); i++) {
        const struct kj_val *pod = kj_at(items, i);
        const char *uid = kj_str_or(kj_path(pod, "metadata.uid"), "");
        if (fate_of(pod) != FATE_UNKNOWN && strlen(uid) < KUID_TEXT_MAX)
            left_add(f, uid, kj_str_or(kj_path(pod, "metadata.name"), ""), fate_of(pod));
    }
    if (f)
        f->listed = true;
    batch_again(b, SOON);
    return true;
}

/* Members that went before we led. */
static void list_ended(struct gang_control *c, struct batch *b, const struct followed *f,
                       const struct kobj *o)
{
    struct arena *a = batch_arena(b);
    struct question *q = arena_new0(a, struct question);

    *q = (struct question){ c, arena_strdup(a, f->key), NULL };
    const struct kube_req r = {
        .verb = KUBE_LIST,
        .kind = &kind_pod,
        .ns = o->meta.ns,
        .label_selector = arena_printf(a, "%s=%s", LABEL_POD_GROUP, o->meta.name),
        .field_selector = "status.phase!=Pending,status.phase!=Running,status.phase!=Unknown",
    };
    batch_call(b, &r, on_list, q);
}

/* ---- the status ------------------------------------------------------------------------------ */

/* The first by name comes first: its owner is the gang's. */
static void first_to_front(struct kobj **pods, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (strcmp(pods[i]->meta.name, pods[0]->meta.name) < 0) {
            struct kobj *first = pods[i];
            pods[i] = pods[0];
            pods[0] = first;
        }
}

static struct podgroup_facts facts_of(const struct gang_control *c, const struct followed *f,
                                      struct arena *a)
{
    const struct gang *g = gangs_find(c->gangs, f->key);
    struct podgroup_facts x = { .now = loop_wall(c->env.loop) };
    struct kobj **pods = arena_newn0(a, (g ? g->members.n : 0) + 1, struct kobj *);

    for (size_t i = 0; g && i < g->members.n; i++) {
        const struct gang_member *m = g->members.items[i];
        if (!gangs_is_placeholder(m))
            pods[x.n++] = m->pod;
        else if (m->state == MEMBER_BOUND)
            x.placed++;
        else
            x.waiting++;
    }
    first_to_front(pods, x.n);
    x.pods = pods;
    vec_foreach(&f->left, i) {
        x.succeeded += f->left.items[i].fate == FATE_SUCCEEDED;
        x.failed += f->left.items[i].fate == FATE_FAILED;
    }
    return x;
}

static void write_number(struct kjw *w, const char *key, int32_t from, int32_t to)
{
    if (from != to)
        kjw_i64(w, key, to);
}

static void write_status(struct batch *b, const struct kobj *o, const struct podgroup_status *to)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    const struct podgroup_status *from = &podgroup_of(o)->status;
    struct kjw w = kjw_to(&body);

    kjw_obj(&w, NULL);
    kjw_obj(&w, "metadata");
    kjw_str(&w, "resourceVersion", o->meta.resource_version);
    kjw_end(&w);
    kjw_obj(&w, "status");
    if (from->phase != to->phase)
        kjw_str(&w, "phase", podgroup_phase_names[to->phase]);
    if (!streq(str_or(from->occupied_by, ""), str_or(to->occupied_by, "")))
        kjw_str(&w, "occupiedBy", to->occupied_by);
    write_number(&w, "scheduled", from->scheduled, to->scheduled);
    write_number(&w, "running", from->running, to->running);
    write_number(&w, "succeeded", from->succeeded, to->succeeded);
    write_number(&w, "failed", from->failed, to->failed);
    if (from->schedule_start_time != to->schedule_start_time)
        kjw_time(&w, "scheduleStartTime", to->schedule_start_time);
    kjw_end(&w);
    kjw_end(&w);
    batch_patch(b, o, NULL, KUBE_PATCH_MERGE, &body, NULL, NULL);
}

static void forget(struct gang_control *c, const char *key)
{
    struct followed *f = map_removez(&c->followed, key);

    if (f)
        followed_free(f);
}

/* Once, until it changes. */
static void tell_problem(struct gang_control *c, struct followed *f, const struct kobj *o,
                         struct arena *a)
{
    const struct gang *g = gangs_find(c->gangs, f->key);
    const char *text = g ? gang_problem(&o->meta, g, a) : NULL;
    uint64_t hash = text ? hash_bytes(text, strlen(text)) | 1 : 0;

    if (hash && hash != f->told && c->env.events)
        recorder_event_on(c->env.events, o, true, "InvalidGang", "Scheduling", "%s", text);
    f->told = hash;
}

static void sync(void *self, struct batch *b, const char *key, struct kobj *o)
{
    struct gang_control *c = self;
    struct podgroup_status to;

    if (!o || o->meta.deleted || !podgroup_is_watched(podgroup_of(o))) {
        forget(c, key);
        return;
    }
    struct followed *f = follow(c, key);
    tell_problem(c, f, o, batch_arena(b));
    if (ask(c, b, f, o->meta.ns))
        return;
    struct podgroup_facts facts = facts_of(c, f, batch_arena(b));
    const struct podgroup_status *was = &podgroup_of(o)->status;
    if (!f->listed && was->scheduled > 0 &&
        facts.n + facts.placed + f->left.n < (size_t)was->scheduled) {
        list_ended(c, b, f, o);
        return;
    }
    f->listed = true;
    podgroup_plan(podgroup_of(o), &facts, batch_arena(b), &to);
    if (!podgroup_status_equal(&to, was))
        write_status(b, o, &to);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void *control_start(void *service, struct controllers *all, const struct controller_env *env)
{
    struct gang_control *c = xnew0(struct gang_control);

    c->gangs = service;
    c->env = *env;
    c->objects = caches_get(env->caches, &kind_podgroup);
    c->status = controller_new(all, &(struct controller_opts){
                                        .name = "podgroup",
                                        .of = c->objects,
                                        .sync = sync,
                                        .self = c,
                                        .queue.concurrency = (unsigned)c->gangs->workers,
                                    });
    controller_watch(c->status, c->objects, NULL, NULL);
    c->gangs->control = c;
    return c;
}

static void control_stop(void *started)
{
    struct gang_control *c = started;
    struct map_entry *e;

    c->gangs->control = NULL;
    controller_free(c->status);
    for (size_t it = 0; (e = map_next(&c->followed, &it));)
        followed_free(e->value);
    map_fini(&c->followed);
    free(c);
}

const struct ks_controller gangs_controller = { control_start, control_stop };
