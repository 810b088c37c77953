/* check_nodes.c - what each node can do, in the words of its koordlet. */
#include "api/node.h"
#include "client/kube.h"
#include "component/version.h"
#include "ctl/check.h"

/* A kubelet that knows rights to single paths (nodes/pods, nodes/configz). */
enum { KUBELET_MINOR_FINE = 33, NAMED = 3 };

/* ---- one koordlet ---------------------------------------------------------------------------- */

static struct node_feature *feature_of(struct check *k, const char *name)
{
    vec_foreach(&k->node_features, i)
        if (streq(k->node_features.items[i].name, name))
            return &k->node_features.items[i];
    vec_push(
        &k->node_features,
        ((struct node_feature){ .name = arena_strdup(k->arena, name), .needs = "", .why = "" }));
    return &vec_last(&k->node_features);
}

static const char *needs_of(struct check *k, const struct kj_val *feature)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct kj_iter it = kj_iter(kj_get(feature, "needs"));
    const struct kj_val *need;

    while (kj_next(&it, NULL, &need))
        strbuf_appendf(&out, "%s%s", out.len ? ", " : "", kj_str_or(need, ""));
    return arena_strdup(k->arena, strbuf_str(&out));
}

static const char *capability_reason(const struct kj_val *caps, const char *name)
{
    struct kj_iter it = kj_iter(kj_get(caps, "capabilities"));
    const struct kj_val *cap;

    while (kj_next(&it, NULL, &cap))
        if (streq(kj_str_or(kj_get(cap, "name"), ""), name))
            return kj_str_or(kj_get(cap, "reason"), "");
    return "";
}

/* One of them on one node. true: it is on and cannot work there. */
static bool count_feature(struct check *k, const char *node, const struct kj_val *caps,
                          const struct kj_val *feature)
{
    const char *state = kj_str_or(kj_get(feature, "state"), "");
    const char *missing = kj_str(kj_get(feature, "missing"));
    struct node_feature *f = feature_of(k, kj_str_or(kj_get(feature, "name"), ""));
    bool blocked = streq(state, "blocked");

    if (!*f->needs)
        f->needs = needs_of(k, feature);
    f->on += streq(state, "on") || streq(state, "ready");
    f->reduced += streq(state, "reduced");
    f->blocked += blocked;
    f->off += streq(state, "off");
    f->other += streq(state, "waiting") || streq(state, "unable");
    if (missing && (!*f->why || (blocked && f->blocked == 1))) {
        f->example = arena_strdup(k->arena, node);
        f->why =
            arena_printf(k->arena, "%s [%s: %s]", kj_str_or(kj_get(feature, "consequence"), ""),
                         missing, capability_reason(caps, missing));
    }
    return blocked;
}

static void judge_node(struct check *k, const char *node, const struct kj_val *caps)
{
    CLEANUP(strbuf_fini) struct strbuf blocked = STRBUF_INIT;
    struct kj_iter it = kj_iter(kj_get(caps, "features"));
    const struct kj_val *feature;

    while (kj_next(&it, NULL, &feature))
        if (count_feature(k, node, caps, feature))
            strbuf_appendf(&blocked, "%s%s", blocked.len ? ", " : "",
                           kj_str_or(kj_get(feature, "name"), ""));
    k->asked++;
    check_add(k, "Nodes", blocked.len ? FINDING_WARN : FINDING_OK,
              "%s: kernel %s, cgroup %s, driver %s%s%s", node,
              kj_str_or(kj_get(caps, "kernel"), "unknown"),
              kj_str_or(kj_get(caps, "cgroupVersion"), "unknown"),
              kj_str_or(kj_get(caps, "cgroupDriver"), "not known yet"),
              blocked.len ? "; on, and cannot work there: " : "", strbuf_str(&blocked));
}

static void ask_koordlet(struct check *k, const char *node, const struct kj_val *pod)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    int64_t port = container_port(pod_main(kj_get(pod, "spec")), koord_parts[PART_KOORDLET].port);
    const char *path =
        arena_printf(k->arena, "/api/v1/namespaces/%s/pods/%s:%lld/proxy/capabilities", k->ns,
                     kj_str_or(kj_path(pod, "metadata.name"), ""), (long long)(port ? port : 9316));
    struct kerr err = { 0 };

    if (ctl_ask(k->c, &(struct kube_req){ .verb = KUBE_GET, .raw_path = path, .no_retry = true },
                &doc, &err) < 0)
        check_add(k, "Nodes", FINDING_WARN, "%s: its koordlet cannot be asked: %s", node,
                  check_cause(k, &err));
    else
        judge_node(k, node, kj_root(doc));
}

/* ---- all nodes ------------------------------------------------------------------------------- */

struct names { /* of nodes with the same flaw: a few by name, the others counted */
    struct strbuf text;
    unsigned n;
};
struct walk {
    struct check *k;
    struct names alien, bare, old_kubelet;
};

static void names_add(struct names *l, const char *node, const char *detail)
{
    if (l->n++ < NAMED)
        strbuf_appendf(&l->text, "%s%s (%s)", l->n > 1 ? ", " : "", node, detail);
}

static void names_tell(struct check *k, struct names *l, enum finding_level level, const char *what)
{
    CLEANUP(strbuf_fini) struct strbuf more = STRBUF_INIT;

    if (l->n > NAMED)
        strbuf_appendf(&more, " and %u more", l->n - NAMED);
    if (l->n)
        check_add(k, "Nodes", level, "%s%s: %s", strbuf_str(&l->text), strbuf_str(&more), what);
    strbuf_fini(&l->text);
}

static const struct kj_val *koordlet_on(const struct check *k, const char *node)
{
    struct kj_iter it = kj_iter(kj_get(kj_root(k->pods), "items"));
    const struct kj_val *pod;

    while (kj_next(&it, NULL, &pod)) {
        if (streq(pod_app(pod), koord_parts[PART_KOORDLET].program) &&
            streq(kj_str_or(kj_path(pod, "spec.nodeName"), ""), node) &&
            streq(kj_str_or(kj_path(pod, "status.phase"), ""), "Running"))
            return pod;
    }
    return NULL;
}

static int minor_of(const char *version)
{
    const char *dot = strchr(version, '.');
    return dot ? (int)strtol(dot + 1, NULL, 10) : 0;
}

static bool look_at(void *arg, const struct kj_val *node)
{
    static const char architecture[] = KOORD_PLATFORM;
    struct walk *w = arg;
    struct check *k = w->k;
    const char *name = kj_str_or(kj_path(node, "metadata.name"), "");
    const char *arch = kj_str_or(kj_path(node, "status.nodeInfo.architecture"), "");
    const char *kubelet = kj_str_or(kj_path(node, "status.nodeInfo.kubeletVersion"), "");

    k->nodes++;
    if (*arch && !streq(arch, strchr(architecture, '/') + 1))
        names_add(&w->alien, name, arch);
    if (*kubelet && minor_of(kubelet) < KUBELET_MINOR_FINE)
        names_add(&w->old_kubelet, name, kubelet);
    if (!k->parts[PART_KOORDLET].there)
        return true;
    const struct kj_val *pod = koordlet_on(k, name);
    if (pod)
        ask_koordlet(k, name, pod);
    else
        names_add(&w->bare, name, "no pod of koordlet runs there");
    return true;
}

void check_nodes(struct check *k)
{
    struct walk w = { .k = k };
    struct kerr err = { 0 };

    if (!k->o->nodes)
        return;
    if (ctl_each(k->c, &(struct kube_req){ .kind = &kind_node }, look_at, &w, &err) < 0)
        check_add(k, "Nodes", FINDING_NOTE, "they cannot be listed: %s", check_cause(k, &err));
    else if (!k->installed)
        check_add(k, "Nodes", FINDING_OK, "%u; what each can do koordlet --check tells there",
                  k->nodes);
    names_tell(k, &w.bare, FINDING_WARN, "not measured, and nothing is enforced there");
    names_tell(k, &w.alien, FINDING_WARN, "images of this build are for " KOORD_PLATFORM);
    names_tell(k, &w.old_kubelet, FINDING_WARN,
               "before 1.33 koordlet needs the right to get nodes/proxy (docs/security.md)");
}
