/* clean.c - Reservations that were made for a job which is gone, or has failed: they go too. */
#include "descheduler/migration/migration_int.h"

/* The job that made it, by the owner reference; NULL: nobody's that we know. */
static const struct owner_ref *maker_of(const struct kobj *o)
{
    for (uint32_t i = 0; i < o->meta.owners.n; i++)
        if (streq(o->meta.owners.items[i].kind, kind_podmigrationjob.kind))
            return &o->meta.owners.items[i];
    return NULL;
}

static bool on_job(struct batch *b, struct kube_resp *resp, const struct kerr *err, void *arg)
{
    const struct kobj *o = arg;
    struct kerr unread = { 0 };
    bool gone = err && err->reason == KR_NOT_FOUND;

    if (!err) { /* another one by its name? */
        const struct kobj *job = act_decode(b, &kind_podmigrationjob, resp, &unread);
        gone = job && !kuid_equal(job->meta.uid, maker_of(o)->uid);
    }
    if (gone)
        batch_delete(b, o, &(struct delete_opts){ .grace = -1, .any_version = true }, NULL, NULL);
    return !err || gone;
}

void clean_sync(void *self, struct batch *b, const char *key, struct kobj *o)
{
    struct migration *m = self;
    const struct owner_ref *maker = o && !o->meta.deleted ? maker_of(o) : NULL;

    (void)key;
    if (!maker)
        return;
    const struct kobj *job = informer_get(m->jobs, maker->name);
    if (job && kuid_equal(job->meta.uid, maker->uid)) {
        if (podmigrationjob_of(job)->status.phase == MIGRATION_FAILED ||
            podmigrationjob_of(job)->status.phase == MIGRATION_ABORTED)
            batch_delete(b, o, &(struct delete_opts){ .grace = -1, .any_version = true }, NULL,
                         NULL);
        return;
    }
    /* A watch of jobs that lags behind must not take a place away: the server is asked. */
    batch_call(
        b,
        &(struct kube_req){ .verb = KUBE_GET, .kind = &kind_podmigrationjob, .name = maker->name },
        on_job, (void *)(uintptr_t)o);
}
