/* controller.c - quotaprofile: the root quotas that ElasticQuotaProfiles ask for (manager 11).
 *
 * Upstream looks at every profile every 10 s; here one is looked at when it, its quota or a node
 * changes. A quota is patched with what differs, so that the scheduler's status stays.
 */
#include <stdio.h>

#include "api/protocol/quota.h"
#include "client/events.h"
#include "manager/cached.h"
#include "manager/manager_int.h"
#include "manager/quota/profile.h"
#include "json/kj.h"

/* After a failed write; and how long news of nodes are gathered. */
#define AGAIN  (2 * NSEC_PER_SEC)
#define GATHER NSEC_PER_SEC

struct quotaprofile_controller {
    struct manager *m;
    struct controller *controller;
    struct informer *profiles, *quotas;
};

/* ---- writes ---------------------------------------------------------------------------------- */

struct profile_write {
    struct quotaprofile_controller *c;
    const struct kobj *profile;
    bool create;
};

static bool on_written(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    const struct profile_write *x = arg;

    (void)r;
    if (!err)
        return true;
    batch_again(b, AGAIN);
    /* Made, or deleted, by somebody else meanwhile: the next look sees it. */
    if (err->reason != KR_ALREADY_EXISTS && err->reason != KR_NOT_FOUND)
        recorder_event_on(x->c->m->events, x->profile, true,
                          x->create ? "CreateQuotaFailed" : "UpdateQuotaFailed", NULL,
                          "failed to %s quota, err: %s", x->create ? "create" : "update",
                          err->text);
    return true;
}

static bool on_labelled(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    (void)r, (void)arg;
    if (err && err->reason != KR_NOT_FOUND)
        batch_again(b, AGAIN);
    return true;
}

static void label_profile(struct batch *b, const struct kobj *profile, const char *tree)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);

    kjw_obj(&w, NULL);
    kjw_obj(&w, "metadata");
    kjw_obj(&w, "labels");
    kjw_str(&w, LABEL_QUOTA_TREE_ID, tree);
    kjw_end(&w);
    kjw_end(&w);
    kjw_end(&w);
    batch_patch(b, profile, NULL, KUBE_PATCH_MERGE, &body, on_labelled, NULL);
}

/* ---- one profile ----------------------------------------------------------------------------- */

static const struct node **all_nodes(const struct quotaprofile_controller *c, struct arena *a,
                                     size_t *ret_n)
{
    size_t n = 0, room = informer_count(c->m->nodes);
    const struct node **out = arena_newn0(a, room + 1, const struct node *);
    const struct kobj *o;

    for (size_t it = 0; n < room && (o = informer_next(c->m->nodes, &it));)
        out[n++] = node_of(o);
    *ret_n = n;
    return out;
}

static void write_quota(struct quotaprofile_controller *c, struct batch *b,
                        const struct kobj *profile, const struct quota_plan *plan)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    const struct elasticquotaprofile *p = elasticquotaprofile_of(profile);
    struct arena *a = batch_arena(b);
    const struct kobj *have =
        informer_get(c->quotas, arena_printf(a, "%s/%s", profile->meta.ns, p->spec.quota_name));
    struct profile_write *x = arena_new0(a, struct profile_write);

    *x = (struct profile_write){ c, batch_hold(b, profile), !have };
    if (!quota_plan_write(plan, p, have ? elasticquota_of(have) : NULL, &body))
        return;
    if (have)
        batch_patch(b, have, NULL, KUBE_PATCH_MERGE, &body, on_written, x);
    else
        batch_create(b, &kind_elasticquota, profile->meta.ns, &body, on_written, x);
}

static void sync(void *self, struct batch *b, const char *key, struct kobj *obj)
{
    struct quotaprofile_controller *c = self;
    struct quota_plan plan;
    struct kerr err = { 0 };
    size_t n;

    (void)key;
    if (!obj || obj->meta.deleted)
        return;
    const struct node **nodes = all_nodes(c, batch_arena(b), &n);
    if (quota_profile_plan(elasticquotaprofile_of(obj), nodes, n, batch_arena(b), &plan, &err) <
        0) {
        recorder_event_on(c->m->events, obj, true, "InvalidProfile", NULL, "%s", err.text);
        return;
    }
    if (!*quota_tree_id(&obj->meta.labels))
        label_profile(b, obj, plan.tree);
    write_quota(c, b, obj, &plan);
}

/* ---- news ------------------------------------------------------------------------------------ */

static void add_all(struct quotaprofile_controller *c)
{
    char key[KOBJ_KEY_MAX];
    const struct kobj *o;

    for (size_t it = 0; (o = informer_next(c->profiles, &it));) {
        kobj_key(o, key, sizeof key);
        controller_add_after(c->controller, key, GATHER);
    }
}

static void on_node(void *arg, struct kobj *o)
{
    (void)o;
    add_all(arg);
}

static void on_node_update(void *arg, struct kobj *old, struct kobj *o)
{
    if (old != o && quota_profile_node_differs(node_of(old), node_of(o)))
        add_all(arg);
}

static void on_quota(void *arg, struct kobj *o)
{
    struct quotaprofile_controller *c = arg;
    const char *profile = kstrmap_get(&o->meta.labels, LABEL_QUOTA_PROFILE);
    char key[KOBJ_KEY_MAX];

    if (str_empty(profile))
        return;
    (void)snprintf(key, sizeof key, "%s/%s", o->meta.ns, profile);
    if (informer_get(c->profiles, key))
        controller_add(c->controller, key);
}

/* What the scheduler writes changes nothing here: the patch would be empty. */
static void on_quota_update(void *arg, struct kobj *old, struct kobj *o)
{
    on_quota(arg, old);
    on_quota(arg, o);
}

/* ---- life ------------------------------------------------------------------------------------ */

struct quotaprofile_controller *quotaprofile_controller_new(struct manager *m)
{
    static const struct informer_handler nodes = { on_node, on_node_update, on_node, NULL };
    static const struct informer_handler quotas = { on_quota, on_quota_update, on_quota, NULL };
    struct quotaprofile_controller *c = xnew0(struct quotaprofile_controller);

    c->m = m;
    c->profiles = caches_get(m->caches, &kind_elasticquotaprofile);
    c->quotas = caches_get(m->caches, &kind_elasticquota);
    c->controller = controller_new(
        m->controllers, &(struct controller_opts){
                            .name = "quotaprofile", .of = c->profiles, .sync = sync, .self = c });
    controller_watch(c->controller, c->profiles, NULL, NULL);
    controller_watch(c->controller, c->quotas, &quotas, c);
    controller_watch(c->controller, m->nodes, &nodes, c);
    return c;
}

struct quotaprofile_controller *quotaprofile_controller_free(struct quotaprofile_controller *c)
{
    if (!c)
        return NULL;
    controller_free(c->controller);
    free(c);
    return NULL;
}
