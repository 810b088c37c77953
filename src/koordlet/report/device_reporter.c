/* device_reporter.c - Device, when something of it changed. */
#include "base/map.h"
#include "client/informer.h"
#include "koordlet/report/reporter.h"
#include "loop/loop.h"

struct device_reporter {
    struct reporter r;
    struct informer *objects;
    char *selector;
    struct arena *arena; /* of one run */
    /* Fingerprint of a patch, which names the version it is for: not sent again while the watch has
     * not told of what became of it. */
    uint64_t sent, settled;
};

static void create(struct device_reporter *dr, const struct device_report_in *in,
                   const struct node *owner)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;

    device_report_object(in, owner, &body);
    dr->sent = 0;
    reporter_send(&dr->r, (struct kube_req){ .verb = KUBE_CREATE, .kind = &kind_device }, &body);
}

/* false: it was sent before. */
static bool patch(struct device_reporter *dr, const struct device_report_in *in,
                  const struct device *stored)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;

    device_report_patch(in, stored, &body);
    dr->sent = hash_stable(body.data, body.len);
    if (dr->sent == dr->settled)
        return false;
    reporter_send(
        &dr->r,
        (struct kube_req){ .verb = KUBE_PATCH, .kind = &kind_device, .patch = KUBE_PATCH_MERGE },
        &body);
    return true;
}

/* true: a request is under way. */
static bool update_stored(struct device_reporter *dr, struct device_report_in *in)
{
    const struct report_env *e = dr->r.env;
    struct kobj *o = informer_get(dr->objects, e->node_name);
    const struct device *stored = o ? device_of(o) : NULL;
    const struct node *owner = snapshots_get(e->snapshots)->node;

    if (!stored && (in->devices.n == 0 || !owner))
        return false;
    device_report_keep(in, stored, dr->arena);
    device_report_settle(in, stored, loop_wall(e->loop));
    if (stored)
        return device_report_differs(in, stored) && patch(dr, in, stored);
    create(dr, in, owner);
    return true;
}

static void run(void *arg)
{
    struct device_reporter *dr = arg;
    const struct report_devices *d = &dr->r.env->devices;
    struct device_report_in in = { 0 };
    struct kerr err = { 0 };

    arena_reset(dr->arena);
    int r = d->devices ? d->devices(d->arg, dr->arena, &in, &err) : -EAGAIN;
    if (r == -EAGAIN) {
        reporter_miss(&dr->r, "the devices of this node are not known yet");
    } else if (r < 0) {
        reporter_complain(&dr->r, &err);
    } else if (!informer_synced(dr->objects)) {
        reporter_miss(&dr->r, "Devices are not listed yet: %s",
                      str_or(informer_problem(dr->objects), "no answer"));
    } else {
        if (update_stored(dr, &in))
            return;
        reporter_well(&dr->r);
    }
    reporter_rest(&dr->r);
}

static bool done(void *arg, struct kube_resp *resp, const struct kerr *err)
{
    struct device_reporter *dr = arg;

    (void)resp;
    if (!err)
        dr->settled = dr->sent;
    return !err || err->reason == KR_ALREADY_EXISTS;
}

struct device_reporter *device_reporter_new(const struct report_env *env)
{
    static const struct reporter_ops ops = { "Device", run, done };
    struct device_reporter *dr = xnew0(struct device_reporter);

    reporter_init(&dr->r, env, &ops, dr);
    dr->r.rest = env->o->topology_interval;
    dr->arena = arena_new();
    dr->selector = xasprintf("metadata.name=%s", env->node_name);
    dr->objects = informer_new(
        env->kube, &(struct informer_opts){ .kind = &kind_device, .field_selector = dr->selector });
    return dr;
}

struct device_reporter *device_reporter_free(struct device_reporter *dr)
{
    if (!dr)
        return NULL;
    reporter_fini(&dr->r);
    informer_free(dr->objects);
    arena_free(dr->arena);
    free(dr->selector);
    free(dr);
    return NULL;
}

void device_reporter_start(struct device_reporter *dr)
{
    nsec_t interval = dr->r.env->o->topology_interval;

    if (interval <= 0)
        return;
    informer_start(dr->objects);
    reporter_after(&dr->r, (nsec_t)loop_rand_below(dr->r.env->loop, (uint64_t)interval));
}

const char *device_reporter_missing(const struct device_reporter *dr)
{
    return dr->r.missing[0] ? dr->r.missing : NULL;
}
