/* explain_node.c - koordctl explain node: reads what the manager reads of a node, and lets its
 * calculation run on it.
 */
#include "api/core.h"
#include "api/koord/device.h"
#include "api/koord/nodemetric.h"
#include "api/koord/noderesourcetopology.h"
#include "api/koord/nodeslo.h"
#include "api/node.h"
#include "api/pod.h"
#include "base/vec.h"
#include "client/kube.h"
#include "ctl/ctl.h"
#include "ctl/explain.h"
#include "loop/loop.h"
#include "json/kj.h"

struct reading {
    struct ctl *c;
    struct kj_scratch *scratch;
    struct vec_of(struct kobj *) pods;
    struct explain_node_objects o;
};

/* ---- reading --------------------------------------------------------------------------------- */

/* *ret stays NULL when the object is not there. */
static int read_one(struct reading *x, const struct kind *k, const char *ns, const char *name,
                    struct kobj **ret)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kube_req r = { .verb = KUBE_GET, .kind = k, .ns = ns, .name = name };
    struct kerr err = { 0 };

    if (ctl_call(x->c, &r, &body, &err) < 0)
        return err.reason == KR_NOT_FOUND && k != &kind_node ? CTL_OK : ctl_complain(x->c, &err);
    if (kj_parse(strbuf_str(&body), body.len, 0, &doc, &err) < 0 ||
        kobj_decode(k, kj_root(doc), x->scratch, ret, &err) < 0)
        return ctl_fail(x->c, "the server's %s: %s", k->kind, err.text);
    return CTL_OK;
}

static int read_pods(struct reading *x, const char *node)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    CLEANUP(mem_free) char *selector = xasprintf("spec.nodeName=%s", node);
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kube_req r = { .verb = KUBE_LIST, .kind = &kind_pod, .field_selector = selector };
    struct kerr err = { 0 };
    const struct kj_val *item;
    struct str key;

    if (ctl_call(x->c, &r, &body, &err) < 0)
        return ctl_complain(x->c, &err);
    if (kj_parse(strbuf_str(&body), body.len, 0, &doc, &err) < 0)
        return ctl_fail(x->c, "the server's list of pods: %s", err.text);
    for (struct kj_iter it = kj_iter(kj_get(kj_root(doc), "items")); kj_next(&it, &key, &item);) {
        struct kobj *pod = NULL;
        if (kobj_decode(&kind_pod, item, x->scratch, &pod, &err) < 0)
            (void)ctl_fail(x->c, "left out a pod: %s", err.text);
        else
            vec_push(&x->pods, pod);
    }
    x->o.pods = x->pods.items;
    x->o.npods = x->pods.n;
    return CTL_OK;
}

static int read_objects(struct reading *x, const struct explain_manager *m, const char *name)
{
    const struct {
        const struct kind *kind;
        const char *ns, *name;
        struct kobj **to;
    } table[] = {
        { &kind_node, NULL, name, &x->o.node },
        { &kind_nodemetric, NULL, name, &x->o.metric },
        { &kind_nodeslo, NULL, name, &x->o.slo },
        { &kind_noderesourcetopology, NULL, name, &x->o.topology },
        { &kind_device, NULL, name, &x->o.device },
        { &kind_configmap, m->config_ns, m->config_name, &x->o.config },
    };
    int code = CTL_OK;

    for (size_t i = 0; i < ARRAY_LEN(table) && code == CTL_OK; i++)
        code = read_one(x, table[i].kind, table[i].ns, table[i].name, table[i].to);
    return code == CTL_OK ? read_pods(x, name) : code;
}

static void reading_fini(struct reading *x)
{
    struct kobj *const objects[] = { x->o.node,     x->o.metric, x->o.slo,
                                     x->o.topology, x->o.device, x->o.config };

    for (size_t i = 0; i < ARRAY_LEN(objects); i++)
        kobj_unref(objects[i]);
    vec_foreach(&x->pods, i)
        kobj_unref(x->pods.items[i]);
    vec_fini(&x->pods);
    kj_scratch_free(x->scratch);
}

/* ---- the answer ------------------------------------------------------------------------------ */

int explain_node_run(struct ctl *c, const char *name)
{
    const struct explain_manager *m = c->parts ? c->parts->explain_manager : NULL;
    CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT;
    struct reading x = { .c = c };

    if (!m)
        return ctl_fail(c, "this program has no manager to explain with");
    int code = ctl_connect(c);
    if (code != CTL_OK)
        return code;
    x.scratch = kj_scratch_new(c->strings);
    code = read_objects(&x, m, name);
    if (code == CTL_OK) {
        m->node(&x.o, loop_wall(c->loop), &json);
        code = explain_show(c, &json, explain_node_text);
    }
    reading_fini(&x);
    return code;
}
