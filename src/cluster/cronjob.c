/* cronjob.c - CronJobs: a Job for each time of a schedule. */
#include "cluster/cronjob.h"

#include <stdio.h>
#include <time.h>

#include "base/map.h"

enum { MISSED_MAX = 100 };
/* A look after the scheduled time, for clocks that differ a little; and once a minute, because a
 * timer does not hear of a clock that is set. */
#define CRON_DELTA (100 * NSEC_PER_MSEC)
#define CRON_LOOK  (60 * NSEC_PER_SEC)

struct cronzone {
    char *name;
    struct tzone *zone;
};
struct memo { /* what is remembered of a CronJob; forgotten with this process */
    /* Times until then are not made up for: the schedule is younger, since it was edited, or they
     * were too late, which was told. */
    int64_t begin;
    int64_t held; /* the time whose Job has to wait, which was told; 0: none */
    char key[];
};
struct cronctl {
    struct cluster *c;
    struct controller *controller;
    struct expect *expect; /* Jobs that were made and do not show yet */
    struct informer *crons, *jobs;
    struct vec_of(struct cronzone) zones; /* that were asked for; there are some hundreds */
    struct map memos;
};

static int zone_get(struct cronctl *k, const char *name, const struct tzone **ret, struct kerr *err)
{
    struct tzone *z;

    *ret = NULL; /* UTC */
    if (!name)
        return 0;
    vec_foreach(&k->zones, i)
        if (streq(k->zones.items[i].name, name)) {
            *ret = k->zones.items[i].zone;
            return 0;
        }
    if (tzone_open(name, &z, err) < 0)
        return err->code;
    *ret = z;
    struct cronzone known = { xstrdup(name), z };
    vec_push(&k->zones, known);
    return 0;
}

/* ---- making a Job -------------------------------------------------------------------------- */

struct making { /* in the arena of the batch, with all it points to */
    struct cronctl *k;
    const struct cronjob *cj; /* held */
    const char *name;
    int64_t scheduled;
    struct cron_status now; /* without the new Job */
};

static void write_job(const struct cronjob *cj, const char *name, const char *time,
                      struct strbuf *out)
{
    static const char *const kept[] = { "labels", "annotations" };
    CLEANUP(kj_doc_free) struct kj_doc *template = NULL;
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct kj_mval *job = kj_mobj(d), *meta = kj_mobj(d);
    const char *text = str_or(cj->spec.template_json, "{}");

    if (kj_parse(text, strlen(text), 0, &template, NULL) < 0)
        return;
    const struct kj_val *t = kj_root(template);
    kj_mset(d, job, "apiVersion", kj_mstr(d, "batch/v1"));
    kj_mset(d, job, "kind", kj_mstr(d, "Job"));
    kj_mset(d, job, "metadata", meta);
    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        const struct kj_val *v = kj_path(kj_get(t, "metadata"), kept[i]);
        if (kj_len(v) > 0)
            kj_mset(d, meta, kept[i], kj_mcopy(d, v));
    }
    kj_mset(d, meta, "name", kj_mstr(d, name));
    kj_mset(d, meta, "ownerReferences", owner_value(d, &cj->obj));
    pod_set_text(d, job, "annotations", CRON_SCHEDULED, time);
    kj_mset(d, job, "spec", kj_mcopy(d, kj_get(t, "spec")));
    kj_mwrite(job, 0, out);
}

static void add_active(struct making *m, const struct kube_resp *r, struct arena *a)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    object_reflist *l = &m->now.active;
    struct object_ref *items = arena_newn0(a, l->n + 1, struct object_ref);

    if (kj_parse(r->body, r->n, 0, &doc, NULL) < 0)
        return; /* it was made: the cache will show it */
    const struct kj_val *meta = kj_get(kj_root(doc), "metadata");
    const char *uid = kj_str_or(kj_get(meta, "uid"), "");
    for (uint32_t i = 0; i < l->n; i++)
        items[i] = l->items[i];
    l->items = items;
    items[l->n++] = (struct object_ref){ .api_version = "batch/v1",
                                         .kind = "Job",
                                         .ns = m->cj->obj.meta.ns,
                                         .name = m->name,
                                         .resource_version = arena_strdup(
                                             a, kj_str_or(kj_get(meta, "resourceVersion"), "")),
                                         .uid = kuid_parse(uid, strlen(uid)) };
}

/* The name is taken: by the Job of an earlier try, which the cache shows sooner or later, or by
 * somebody else's, and then this time has none. */
static void on_name_taken(struct batch *b, const struct making *m)
{
    char key[KOBJ_KEY_MAX];
    (void)snprintf(key, sizeof key, "%s/%s", m->cj->obj.meta.ns, m->name);
    const struct kobj *o = informer_get(m->k->jobs, key);
    const struct owner_ref *ref = o ? kobj_controller(o) : NULL;

    if (!o || (ref && kuid_equal(ref->uid, m->cj->obj.meta.uid)))
        batch_again(b, NSEC_PER_SEC);
}

static bool on_made(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    struct making *m = arg;
    struct recorder *to = m->k->c->events;
    bool done = true;

    if (!err) {
        recorder_event_on(to, &m->cj->obj, false, "SuccessfulCreate", NULL, "Created job %s",
                          m->name);
        add_active(m, r, batch_arena(b));
        m->now.last_schedule_time = m->scheduled * NSEC_PER_SEC;
    } else {
        expect_created(m->k->expect, batch_key(b), m->name); /* a second try does no harm */
        if (err->reason == KR_ALREADY_EXISTS)
            on_name_taken(b, m);
        else if (!(err->reason == KR_FORBIDDEN && strstr(err->text, "terminated")))
            done = false;
        if (!done && err_is_refusal(err))
            recorder_event_on(to, &m->cj->obj, true, "FailedCreate", NULL, "Error creating job: %s",
                              err->text);
    }
    cron_status_write(b, m->cj, &m->now);
    return done;
}

static void make_job(struct cronctl *k, struct batch *b, const struct cronview *v,
                     const struct tzone *z, int64_t scheduled)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct making *m = arena_new0(batch_arena(b), struct making);
    char time[TZONE_TEXT_MAX];

    m->k = k;
    m->cj = cronjob_of(batch_hold(b, &v->cj->obj));
    m->name = cron_job_name(v->cj, scheduled, batch_arena(b));
    m->scheduled = scheduled;
    m->now = v->now;
    tzone_format(z, scheduled, time);
    write_job(v->cj, m->name, time, &body);
    expect_create(k->expect, batch_key(b), m->name);
    batch_create(b, &doc_job, v->cj->obj.meta.ns, &body, on_made, m);
}

/* ---- which time is due --------------------------------------------------------------------- */

static struct memo *memo_get(struct cronctl *k, const char *key)
{
    struct memo *m = map_getz(&k->memos, key);

    if (!m) {
        size_t n = strlen(key) + 1;
        m = xmalloc(sizeof *m + n);
        m->begin = m->held = 0;
        memcpy(m->key, key, n);
        map_putz(&k->memos, m->key, m);
    }
    return m;
}

/* Times count from the last one that was dealt with. */
static int64_t begin_of(const struct cronctl *k, const struct cronview *v, const char *key)
{
    nsec_t last = v->now.last_schedule_time;
    const struct memo *m = map_getz(&k->memos, key);
    int64_t from = (last ? last : v->cj->obj.meta.created) / NSEC_PER_SEC;

    return m ? MAX(from, m->begin) : from;
}

static void tell_too_late(const struct cronview *v, int64_t scheduled)
{
    char text[64] = "";
    time_t t = (time_t)scheduled;
    struct tm tm;

    if (gmtime_r(&t, &tm))
        strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S +0000", &tm);
    recorder_event_on(v->c->events, &v->cj->obj, true, "MissSchedule", NULL,
                      "Missed scheduled time to start a job: %s", text);
}

enum due { CRON_NOT_DUE, CRON_DUE, CRON_TOO_LATE, CRON_NEVER };

static enum due find_due(const struct cronview *v, const struct cron_schedule *s,
                         const struct tzone *z, int64_t from, int64_t now, int64_t *ret)
{
    const struct opt_i64 *deadline = &v->cj->spec.starting_deadline_seconds;
    int64_t next;

    if (!cron_next(s, z, from, &next)) {
        recorder_event_on(v->c->events, &v->cj->obj, true, "InvalidSchedule", NULL,
                          "invalid schedule: %s : time difference between two schedules is less "
                          "than 1 second",
                          v->cj->spec.schedule);
        return CRON_NEVER;
    }
    if (!cron_latest(s, z, from, now, ret))
        return CRON_NOT_DUE;
    if (deadline->set && now - *ret > deadline->v) {
        tell_too_late(v, *ret);
        return CRON_TOO_LATE;
    }
    if (deadline->set && deadline->v < now)
        from = MAX(from, now - deadline->v);
    if (cron_count(s, z, from, now, MISSED_MAX + 1) > MISSED_MAX)
        recorder_event_on(v->c->events, &v->cj->obj, true, "TooManyMissedTimes", NULL,
                          "too many missed start times. Set or decrease "
                          ".spec.startingDeadlineSeconds or check clock skew");
    return CRON_DUE;
}

static bool read_schedule(struct cronctl *k, const struct cronjob *cj, struct cron_schedule *ret,
                          const struct tzone **ret_zone)
{
    struct recorder *to = k->c->events;
    struct kerr err = { 0 };

    if (zone_get(k, cj->spec.time_zone, ret_zone, &err) < 0) {
        recorder_event_on(to, &cj->obj, true, "UnknownTimeZone", NULL,
                          "invalid timeZone: \"%s\": %s", cj->spec.time_zone, err.text);
        return false;
    }
    if (cj->spec.suspend)
        return false;
    if (cron_parse(str_or(cj->spec.schedule, ""), ret, &err) < 0) {
        recorder_event_on(to, &cj->obj, true, "UnparseableSchedule", NULL,
                          "unparseable schedule: \"%s\" : %s", str_or(cj->spec.schedule, ""),
                          err.text);
        return false;
    }
    return true;
}

/* How long until the schedule's next time; from: what its times count from. */
static nsec_t wait_for_next(const struct cron_schedule *s, const struct tzone *z, int64_t from,
                            nsec_t wall)
{
    int64_t now = wall / NSEC_PER_SEC, next;

    if (from < now)
        from = s->every ? now - (now - from) % s->every : now;
    if (!cron_next(s, z, from, &next) || next > INT64_MAX / NSEC_PER_SEC)
        return CRON_LOOK;
    return MIN(MAX(next * NSEC_PER_SEC - wall, (nsec_t)0) + CRON_DELTA, CRON_LOOK);
}

static void hold_back(struct cronctl *k, const struct cronview *v, const char *key,
                      int64_t scheduled)
{
    struct memo *m = memo_get(k, key);

    if (m->held != scheduled)
        recorder_event_on(k->c->events, &v->cj->obj, false, "JobAlreadyActive", NULL,
                          "Not starting job because prior execution is running and concurrency "
                          "policy is Forbid");
    m->held = scheduled;
}

/* True: a Job is being made, and the status is written with its answer. */
static bool act(struct cronctl *k, struct batch *b, struct cronview *v)
{
    nsec_t wall = loop_wall(k->c->loop);
    struct cron_schedule s;
    const struct tzone *z;
    int64_t scheduled;
    const char *policy = str_or(v->cj->spec.concurrency_policy, "Allow");

    if (v->cj->obj.meta.deleted || !read_schedule(k, v->cj, &s, &z))
        return false;
    int64_t from = begin_of(k, v, batch_key(b));
    enum due due = find_due(v, &s, z, from, wall / NSEC_PER_SEC, &scheduled);
    if (due == CRON_NEVER)
        return false;
    batch_again(b, wait_for_next(&s, z, from, wall));
    if (due == CRON_TOO_LATE)
        memo_get(k, batch_key(b))->begin = scheduled;
    if (due != CRON_DUE)
        return false;
    if (v->now.active.n > 0 && streq(policy, "Forbid")) {
        hold_back(k, v, batch_key(b), scheduled);
        return false;
    }
    if (v->now.active.n > 0 && streq(policy, "Replace")) {
        cronview_replace(b, v); /* the status without them brings the next pass */
        return false;
    }
    make_job(k, b, v, z, scheduled);
    return true;
}

static void sync(void *arg, struct batch *b, const char *key, struct kobj *o)
{
    struct cronctl *k = arg;
    struct cronview v;

    if (!o) {
        expect_forget(k->expect, key);
        free(map_removez(&k->memos, key));
        return;
    }
    if (!expect_settled(k->expect, key)) {
        batch_again(b, CRON_LOOK);
        return;
    }
    cronview_init(&v, k->c, cronjob_of(o), k->jobs, batch_arena(b));
    cronview_prune(b, &v);
    if (!act(k, b, &v))
        cron_status_write(b, v.cj, &v.now);
    cronview_fini(&v);
}

/* ---- news ---------------------------------------------------------------------------------- */

static void on_job(void *arg, struct kobj *o)
{
    struct cronctl *k = arg;
    char key[KOBJ_KEY_MAX];

    if (!owner_key(o, "CronJob", key, sizeof key))
        return;
    expect_created(k->expect, key, o->meta.name);
    controller_add(k->controller, key);
}

static void on_job_update(void *arg, struct kobj *old, struct kobj *o)
{
    (void)old;
    on_job(arg, o);
}

static void on_cron(void *arg, struct kobj *o)
{
    struct cronctl *k = arg;
    controller_add_object(k->controller, o);
}

static void on_cron_update(void *arg, struct kobj *old, struct kobj *o)
{
    struct cronctl *k = arg;
    const struct cron_spec *was = &cronjob_of(old)->spec, *is = &cronjob_of(o)->spec;
    char key[KOBJ_KEY_MAX];

    if (!streq(str_or(was->schedule, ""), str_or(is->schedule, "")) ||
        !streq(str_or(was->time_zone, ""), str_or(is->time_zone, ""))) {
        kobj_key(o, key, sizeof key);
        memo_get(k, key)->begin = loop_wall(k->c->loop) / NSEC_PER_SEC;
    }
    controller_add_object(k->controller, o);
}

static void forget_all(void *arg)
{
    struct cronctl *k = arg;
    expect_forget_all(k->expect);
}

struct cronctl *cronctl_new(struct cluster *c)
{
    static const struct informer_handler crons = { .on_add = on_cron,
                                                   .on_update = on_cron_update,
                                                   .on_delete = on_cron };
    static const struct informer_handler jobs = { .on_add = on_job,
                                                  .on_update = on_job_update,
                                                  .on_delete = on_job };
    struct cronctl *k = xnew0(struct cronctl);

    k->c = c;
    k->expect = expect_new(c->loop);
    k->crons = caches_get(c->caches, &doc_cronjob);
    k->jobs = caches_get(c->caches, &doc_job);
    k->controller =
        controller_new(c->controllers, &(struct controller_opts){ .name = "cronjob",
                                                                  .of = k->crons,
                                                                  .sync = sync,
                                                                  .stop = forget_all,
                                                                  .self = k,
                                                                  .queue.concurrency = 4 });
    controller_watch(k->controller, k->crons, &crons, k);
    controller_watch(k->controller, k->jobs, &jobs, k);
    return k;
}

struct cronctl *cronctl_free(struct cronctl *k)
{
    if (!k)
        return NULL;
    controller_free(k->controller);
    expect_free(k->expect);
    vec_foreach(&k->zones, i) {
        free(k->zones.items[i].name);
        tzone_free(k->zones.items[i].zone);
    }
    vec_fini(&k->zones);
    map_foreach(&k->memos, e)
        free(e->value);
    map_fini(&k->memos);
    free(k);
    return NULL;
}
