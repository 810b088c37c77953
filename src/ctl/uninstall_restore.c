/* uninstall_restore.c - koordlet --restore on every node that had a koordlet: a pod for each, made
 * from the DaemonSet's template, which stands in a ConfigMap while the DaemonSet is gone. */
#include "api/core.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/workload.h"
#include "base/vec.h"
#include "client/kube.h"
#include "ctl/uninstall.h"

#define NOTE         "koordlet-restore" /* the ConfigMap, and the label of the pods */
#define POD_PREFIX   "koordlet-restore-"
#define POD_DEADLINE 120 /* seconds: a memory limit may take the kernel a while */
enum { POD_NAME_MAX = 250 };

struct restore {
    struct removal *x;
    struct kj_doc *template; /* spec of a pod */
    struct vec_of(const char *) nodes;
    unsigned done, failed, waiting;
};

/* ---- remembering ----------------------------------------------------------------------------- */

struct node_names {
    struct arena *arena;
    struct vec_of(const char *) names;
};

static bool add_node_of_pod(void *arg, const struct kj_val *pod)
{
    struct node_names *l = arg;
    const char *node = kj_str_or(kj_path(pod, "spec.nodeName"), "");

    if (*node && streq(pod_app(pod), koord_parts[PART_KOORDLET].program))
        vec_push(&l->names, arena_strdup(l->arena, node));
    return true;
}

static void write_note(const struct removal *x, const struct kj_val *template,
                       const struct node_names *nodes, struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf spec = STRBUF_INIT;
    CLEANUP(strbuf_fini) struct strbuf list = STRBUF_INIT;
    struct kjw w = kjw_to(out);

    kj_write(template, 0, &spec);
    vec_foreach(&nodes->names, i)
        strbuf_appendf(&list, "%s\n", nodes->names.items[i]);
    kjw_obj(&w, NULL);
    kjw_str(&w, "apiVersion", "v1");
    kjw_str(&w, "kind", "ConfigMap");
    kjw_obj(&w, "metadata");
    kjw_str(&w, "name", NOTE);
    kjw_str(&w, "namespace", x->ns);
    kjw_end(&w);
    kjw_obj(&w, "data");
    kjw_str(&w, "template", strbuf_str(&spec));
    kjw_str(&w, "nodes", strbuf_str(&list));
    kjw_end(&w);
    kjw_end(&w);
}

static int make_note(struct removal *x, const struct kj_val *daemonset, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    CLEANUP(strbuf_fini) struct strbuf answer = STRBUF_INIT;
    struct node_names nodes = { .arena = x->arena };

    int r = ctl_each(x->c, &(struct kube_req){ .kind = &kind_pod, .ns = x->ns }, add_node_of_pod,
                     &nodes, err);
    if (r == 0) {
        write_note(x, kj_path(daemonset, "spec.template.spec"), &nodes, &body);
        removal_say(x, "noted", "would note", "the nodes of koordlet: %zu", nodes.names.n);
    }
    vec_fini(&nodes.names);
    if (r < 0 || x->o->dry_run)
        return r;
    const struct kube_req create = { .verb = KUBE_CREATE,
                                     .kind = &kind_configmap,
                                     .ns = x->ns,
                                     .body = strbuf_str(&body),
                                     .body_len = body.len };
    r = ctl_call(x->c, &create, &answer, err);
    if (r < 0 && err->reason == KR_ALREADY_EXISTS) { /* of an earlier removal: koordlet is back */
        removal_delete(x, &kind_configmap, x->ns, NOTE);
        r = ctl_call(x->c, &create, &answer, err);
    }
    return r;
}

void restore_remember(struct removal *x)
{
    CLEANUP(kj_doc_free) struct kj_doc *daemonset = NULL;
    const struct kube_req r = { .verb = KUBE_GET,
                                .kind = &kind_daemonset,
                                .ns = x->ns,
                                .name = koord_parts[PART_KOORDLET].program };
    struct kerr err = { 0 };

    if (ctl_ask(x->c, &r, &daemonset, &err) < 0) {
        if (err.reason != KR_NOT_FOUND)
            removal_fail(x, &err, "koordlet");
        return;
    }
    if (make_note(x, kj_root(daemonset), &err) < 0)
        removal_fail(x, &err, "cannot note where koordlet runs");
}

/* ---- pods ------------------------------------------------------------------------------------ */

/* The pod of a DaemonSet as one that ends: on this node, once, with --restore. */
static void write_pod(const struct restore *r, const char *node, const char *name,
                      struct strbuf *out)
{
    static const char *const dropped[] = { "livenessProbe", "readinessProbe", "startupProbe",
                                           "ports", "lifecycle" };
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct kj_mval *pod = kj_mobj(d), *meta = kj_mobj(d), *labels = kj_mobj(d);
    struct kj_mval *spec = kj_mcopy(d, kj_root(r->template)), *one = kj_marr(d);
    struct kj_mval *main = kj_mclone(d, kj_mat(kj_mget(spec, "containers"), 0));
    struct kj_mval *args = kj_mget(main, "args");

    kj_mset(d, labels, LABEL_KOORD_APP, kj_mstr(d, NOTE));
    kj_mset(d, meta, "name", kj_mstr(d, name));
    kj_mset(d, meta, "namespace", kj_mstr(d, r->x->ns));
    kj_mset(d, meta, "labels", labels);
    for (size_t i = 0; i < ARRAY_LEN(dropped); i++)
        kj_mdel(main, dropped[i], strlen(dropped[i]));
    if (!args) {
        args = kj_marr(d);
        kj_mset(d, main, "args", args);
        args = kj_mget(main, "args");
    }
    kj_mpush(args, kj_mstr(d, "--restore"));
    if (!str_empty(r->x->o->image))
        kj_mset(d, main, "image", kj_mstr(d, r->x->o->image));
    kj_mpush(one, main);
    kj_mset(d, spec, "containers", one);
    kj_mdel(spec, "affinity", strlen("affinity"));
    kj_mdel(spec, "nodeSelector", strlen("nodeSelector"));
    kj_mset(d, spec, "tolerations", kj_mraw(d, "[{\"operator\":\"Exists\"}]", 23));
    kj_mset(d, spec, "nodeName", kj_mstr(d, node));
    kj_mset(d, spec, "restartPolicy", kj_mstr(d, "Never"));
    kj_mset(d, spec, "activeDeadlineSeconds", kj_mi64(d, POD_DEADLINE));
    kj_mset(d, pod, "apiVersion", kj_mstr(d, "v1"));
    kj_mset(d, pod, "kind", kj_mstr(d, "Pod"));
    kj_mset(d, pod, "metadata", meta);
    kj_mset(d, pod, "spec", spec);
    kj_mwrite(pod, 0, out);
}

static const char *pod_name(const struct restore *r, const char *node)
{
    return arena_printf(r->x->arena, POD_PREFIX "%.*s", POD_NAME_MAX - (int)sizeof POD_PREFIX,
                        node);
}

static void start_pod(struct restore *r, const char *node)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    CLEANUP(strbuf_fini) struct strbuf answer = STRBUF_INIT;
    struct kerr err = { 0 };

    write_pod(r, node, pod_name(r, node), &body);
    const struct kube_req create = { .verb = KUBE_CREATE,
                                     .kind = &kind_pod,
                                     .ns = r->x->ns,
                                     .body = strbuf_str(&body),
                                     .body_len = body.len };
    if (ctl_call(r->x->c, &create, &answer, &err) < 0 && err.reason != KR_ALREADY_EXISTS)
        removal_fail(r->x, &err, "koordlet --restore on node %s", node);
}

static const char *last_words(const struct kj_val *pod)
{
    const struct kj_val *status = kj_at(kj_path(pod, "status.containerStatuses"), 0);
    const char *text = kj_str_or(kj_path(status, "state.terminated.message"), "");

    return *text ? text : kj_str_or(kj_path(pod, "status.message"), "no reason given");
}

static bool look_at_pod(void *arg, const struct kj_val *pod)
{
    struct restore *r = arg;
    const char *phase = kj_str_or(kj_path(pod, "status.phase"), "");

    if (!streq(pod_app(pod), NOTE))
        return true;
    r->done += streq(phase, "Succeeded");
    r->failed += streq(phase, "Failed");
    r->waiting += !streq(phase, "Succeeded") && !streq(phase, "Failed");
    return true;
}

static bool end_pod(void *arg, const struct kj_val *pod)
{
    struct restore *r = arg;
    const char *phase = kj_str_or(kj_path(pod, "status.phase"), "");
    const char *node = kj_str_or(kj_path(pod, "spec.nodeName"), "");

    if (!streq(pod_app(pod), NOTE))
        return true;
    if (streq(phase, "Succeeded"))
        removal_say(r->x, "restored", "would restore", "the cgroups of node %s", node);
    else
        removal_fail(r->x, NULL, "koordlet --restore on node %s: %s", node,
                     streq(phase, "Failed") ? last_words(pod) : "it has not ended in time");
    removal_delete(r->x, &kind_pod, r->x->ns, kj_str_or(kj_path(pod, "metadata.name"), ""));
    return true;
}

static void wait_for_pods(struct restore *r)
{
    const struct kube_req pods = { .kind = &kind_pod, .ns = r->x->ns };
    struct kerr err = { 0 };

    do {
        r->done = r->failed = r->waiting = 0;
        if (ctl_each(r->x->c, &pods, look_at_pod, r, &err) < 0) {
            removal_fail(r->x, &err, "pods of %s", r->x->ns);
            return;
        }
        ctl_progress(r->x->c, "koordlet --restore: %u nodes done, %u failed, %u to go", r->done,
                     r->failed, r->waiting);
    } while (r->waiting && removal_wait(r->x));
    ctl_progress_end(r->x->c);
    if (ctl_each(r->x->c, &pods, end_pod, r, &err) < 0)
        removal_fail(r->x, &err, "pods of %s", r->x->ns);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* A pod on a node that is away would wait for ever, and the removal with it. */
static void restore_node(struct restore *r, const char *node)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    const struct kube_req get = { .verb = KUBE_GET, .kind = &kind_node, .name = node };
    struct kerr err = { 0 };

    if (ctl_ask(r->x->c, &get, &doc, &err) < 0 && err.reason == KR_NOT_FOUND)
        return;
    if (doc && condition_is(kj_root(doc), "Ready", "True"))
        start_pod(r, node);
    else
        removal_say(r->x, "passed over", "would pass over",
                    "node %s, which is not ready: koordlet --restore there, or a reboot, puts its "
                    "cgroups right",
                    node);
}

static void each_node(struct restore *r, const char *list)
{
    for (const char *p = list; *p; p += strspn(p, "\n")) {
        size_t n = strcspn(p, "\n");
        restore_node(r, arena_strndup(r->x->arena, p, n));
        p += n;
    }
}

void restore_run(struct removal *x)
{
    CLEANUP(kj_doc_free) struct kj_doc *note = NULL;
    const struct kube_req get = {
        .verb = KUBE_GET, .kind = &kind_configmap, .ns = x->ns, .name = NOTE
    };
    struct restore r = { .x = x };
    struct kerr err = { 0 };
    bool failed_before = x->failed;

    if (x->o->dry_run)
        return;
    if (ctl_ask(x->c, &get, &note, &err) < 0) {
        if (err.reason != KR_NOT_FOUND)
            removal_fail(x, &err, "configmap " NOTE);
        return;
    }
    const struct kj_val *data = kj_get(kj_root(note), "data");
    const char *spec = kj_str_or(kj_get(data, "template"), "");
    if (kj_parse(spec, strlen(spec), 0, &r.template, &err) < 0) {
        removal_fail(x, &err, "configmap " NOTE);
        return;
    }
    x->failed = false;
    each_node(&r, kj_str_or(kj_get(data, "nodes"), ""));
    wait_for_pods(&r);
    if (!x->failed) /* else the next run tries again */
        removal_delete(x, &kind_configmap, x->ns, NOTE);
    x->failed |= failed_before;
    kj_doc_free(r.template);
}
