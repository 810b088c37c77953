/* explain_cluster.c - the cluster is read into a scheduler that tries pods on it. */
#include "api/core.h"
#include "api/node.h"
#include "api/pod.h"
#include "base/arena.h"
#include "client/kube.h"
#include "ctl/ctl.h"
#include "ctl/explain.h"
#include "ctl/quota.h"
#include "json/kj.h"

enum { PAGE = 500 };

static void add_object(struct explain_cluster *x, const struct kind *k, const struct kj_val *v)
{
    CLEANUP(kobj_unref) struct kobj *o = NULL;
    struct kerr err = { 0 };

    if (kobj_decode(k, v, x->scratch, &o, &err) == 0) {
        if (x->quotas) {
            CLEANUP(strbuf_fini) struct strbuf notes = STRBUF_INIT;
            quota_forest_add(x->quotas, o, &notes);
        }
        if (x->scheduler->add(x->self, o, &err) == 0)
            return;
    }
    /* One malformed object must not keep us from all the others. */
    (void)ctl_fail(x->c, "left out %s %s: %s", k->kind,
                   kj_str_or(kj_path(v, "metadata.name"), "without name"), err.text);
}

static int add_page(struct explain_cluster *x, const struct kind *k, const struct strbuf *body,
                    char **ret_token, struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    const struct kj_val *item;
    struct str key;

    if (kj_parse(strbuf_str(body), body->len, 0, &doc, err) < 0)
        return kerr_wrap(err, "the server's list of %s", k->plural);
    const char *token = kj_str(kj_path(kj_root(doc), "metadata.continue"));
    *ret_token = str_empty(token) ? NULL : arena_strdup(x->arena, token);
    struct kj_iter it = kj_iter(kj_get(kj_root(doc), "items"));
    while (kj_next(&it, &key, &item))
        add_object(x, k, item);
    return 0;
}

static int read_kind(struct explain_cluster *x, const struct kind *k, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kube_req r = { .verb = KUBE_LIST, .kind = k, .limit = PAGE };
    char *token = NULL;

    if (k == &kind_pod)
        r.field_selector = "status.phase!=Succeeded,status.phase!=Failed";
    do {
        r.continue_token = token;
        int e = ctl_call(x->c, &r, &body, err);
        if (e < 0)
            return e;
        e = add_page(x, k, &body, &token, err);
        if (e < 0)
            return e;
    } while (token);
    return 0;
}

/* The ConfigMap of Koordinator's chart, which koordctl up has too (api-config 9). NULL: not there.
 */
static const char *read_config(struct explain_cluster *x)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    const struct kube_req r = { .verb = KUBE_GET,
                                .kind = &kind_configmap,
                                .ns = "koordinator-system",
                                .name = "koord-scheduler-config" };
    struct kerr err = { 0 };

    if (ctl_call(x->c, &r, &body, &err) < 0 || kj_parse(body.data, body.len, 0, &doc, &err) < 0) {
        if (err.reason == KR_FORBIDDEN)
            fprintf(x->c->err,
                    "note: the scheduler's configuration may not be read (get configmaps "
                    "in koordinator-system): the one that is shipped counts\n");
        return NULL;
    }
    const char *text = kj_str(kj_get(kj_get(kj_root(doc), "data"), "koord-scheduler-config"));
    return text ? arena_strdup(x->arena, text) : NULL;
}

int explain_read_cluster(struct explain_cluster *x, const char *scheduler_name, const char *config)
{
    CLEANUP(strbuf_fini) struct strbuf notes = STRBUF_INIT;
    const struct kind *k;
    struct kerr err = { 0 };

    const struct explain_config from = { config, str_empty(config) ? read_config(x) : NULL };
    if (x->scheduler->open(scheduler_name, &from, &notes, &x->self, &err) < 0)
        return ctl_fail(x->c, "%s", err.text);
    (void)fputs(strbuf_str(&notes), x->c->err);
    if (read_kind(x, &kind_node, &err) < 0 || read_kind(x, &kind_pod, &err) < 0)
        return ctl_complain(x->c, &err);
    for (unsigned i = 0; (k = x->scheduler->kind(x->self, i)); i++) {
        int r = read_kind(x, k, &err);
        if (r < 0 && err.reason != KR_NOT_FOUND) /* a kind that this server does not have */
            return ctl_complain(x->c, &err);
    }
    return CTL_OK;
}

struct kobj *explain_template_pod(const struct explain_cluster *x, const struct kj_val *template,
                                  const char *ns, const char *name, const char *node,
                                  struct kerr *err)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kj_mval *pod = kj_mcopy(d, template), *meta = kj_mget(pod, "metadata");
    struct kobj *ret = NULL;

    if (kj_mtype(meta) != KJ_OBJ) {
        meta = kj_mobj(d);
        kj_mset(d, pod, "metadata", meta);
    }
    kj_mset(d, meta, "name", kj_mstr(d, name));
    kj_mset(d, meta, "uid", kj_mstr(d, name));
    kj_mset(d, meta, "namespace", kj_mstr(d, ns));
    if (node)
        kj_mset(d, kj_mget(pod, "spec"), "nodeName", kj_mstr(d, node));
    doc = kj_freeze(pod);
    return kobj_decode(&kind_pod, kj_root(doc), x->scratch, &ret, err) < 0 ? NULL : ret;
}
