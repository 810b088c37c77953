/* adopt_live.c - Koordinator as it runs: arguments, sizes, configuration, webhooks. */
#include "api/core.h"
#include "base/num.h"
#include "client/kube.h"
#include "ctl/adopt.h"

/* ---- arguments ------------------------------------------------------------------------------- */

enum value_form { FORM_TEXT, FORM_PORT, FORM_HOST };
/* Flags that the chart writes. path NULL: it follows from other values. */
static const struct arg_rule {
    enum part_id part;
    const char *flag, *path, *otherwise; /* otherwise: our chart's default */
    enum value_form form;
} arg_rules[] = {
    { PART_MANAGER, "enable-leader-election", NULL, NULL, FORM_TEXT },
    { PART_MANAGER, "leader-election-namespace", NULL, NULL, FORM_TEXT },
    { PART_MANAGER, "config-namespace", NULL, NULL, FORM_TEXT },
    { PART_MANAGER, "enable-pprof", NULL, NULL, FORM_TEXT },
    { PART_MANAGER, "logtostderr", NULL, NULL, FORM_TEXT },
    { PART_MANAGER, "metrics-addr", "manager.metrics.port", "8080", FORM_PORT },
    { PART_MANAGER, "metrics-addr", "manager.metrics.addr", "", FORM_HOST },
    { PART_MANAGER, "health-probe-addr", "manager.healthProbe.port", "8000", FORM_PORT },
    { PART_MANAGER, "sync-period", "manager.resyncPeriod", "0", FORM_TEXT },
    { PART_MANAGER, "feature-gates", "featureGates", "", FORM_TEXT },
    { PART_MANAGER, "v", "manager.log.level", "4", FORM_TEXT },
    { PART_SCHEDULER, "port", "scheduler.port", "10251", FORM_PORT },
    { PART_SCHEDULER, "authentication-skip-lookup", NULL, NULL, FORM_TEXT },
    { PART_SCHEDULER, "config", NULL, NULL, FORM_TEXT },
    { PART_SCHEDULER, "enable-network-topology-manager", NULL, NULL, FORM_TEXT },
    { PART_SCHEDULER, "feature-gates", "scheduler.featureGates", "", FORM_TEXT },
    { PART_SCHEDULER, "v", "scheduler.log.level", "4", FORM_TEXT },
    { PART_DESCHEDULER, "config", NULL, NULL, FORM_TEXT },
    { PART_DESCHEDULER, "feature-gates", "descheduler.featureGates", "", FORM_TEXT },
    { PART_DESCHEDULER, "v", "descheduler.log.level", "4", FORM_TEXT },
    { PART_KOORDLET, "addr", "koordlet.metrics.port", "9316", FORM_PORT },
    { PART_KOORDLET, "cgroup-root-dir", NULL, NULL, FORM_TEXT },
    { PART_KOORDLET, "runtime-hooks-network", NULL, NULL, FORM_TEXT },
    { PART_KOORDLET, "runtime-hooks-addr", NULL, NULL, FORM_TEXT },
    { PART_KOORDLET, "runtime-hooks-host-endpoint", NULL, NULL, FORM_TEXT },
    { PART_KOORDLET, "logtostderr", NULL, NULL, FORM_TEXT },
    { PART_KOORDLET, "feature-gates", "koordlet.features",
      "BECPUEvict=true,BEMemoryEvict=true,CgroupReconcile=true,Accelerators=true", FORM_TEXT },
    { PART_KOORDLET, "v", "koordlet.log.level", "4", FORM_TEXT },
    { PART_DEVICES, "v", "deviceDaemon.log.level", "4", FORM_TEXT },
    { PART_DEVICES, "logtostderr", NULL, NULL, FORM_TEXT },
};

/* The part of a flag's value that the chart's value holds. */
static const char *formed(struct adoption *x, enum value_form form, const char *value)
{
    const char *colon = strrchr(value, ':');

    if (form == FORM_PORT)
        return colon ? colon + 1 : value;
    if (form == FORM_HOST)
        return colon ? arena_strndup(x->arena, value, (size_t)(colon - value)) : "";
    return value;
}

/* What the flag should say, going by the release; without one, by our chart's default. An empty
 * value of koordlet.features means the default list. */
static const char *expected(struct adoption *x, const struct arg_rule *r)
{
    const struct kj_val *v = adopt_release_value(x, r->path);
    char number[32];

    if (kj_type(v) == KJ_NUM) {
        (void)kj_num_text(v, number, sizeof number);
        return arena_strdup(x->arena, number);
    }
    const char *text = kj_str_or(v, r->otherwise);
    return *text ? text : r->otherwise;
}

static void take_value(struct adoption *x, const struct arg_rule *r, const char *value)
{
    const char *now = formed(x, r->form, value);
    int64_t port = 0;

    if (streq(now, expected(x, r)))
        return;
    if (r->form != FORM_PORT)
        adopt_set(x, r->path, kj_mstr(x->d, now));
    else if (i64_parse(now, strlen(now), &port) == 0)
        adopt_set(x, r->path, kj_mi64(x->d, port));
    adopt_add(x, ADOPT_KEPT,
              x->release ? "by its argument, which was changed by hand" : "by its argument",
              "%s: %s", r->path, now);
}

/* A flag that the chart does not write: our program takes it, or says why not. */
static void take_extra(struct adoption *x, enum part_id id, const char *arg)
{
    const char *program = koord_parts[id].program;
    const char *path = arena_printf(x->arena, "%s.extraArgs", koord_parts[id].value);
    struct kj_mval *part = kj_mget(x->values, koord_parts[id].value);
    struct kj_mval *list = kj_mget(part, "extraArgs");
    struct kerr err = { 0 };

    int r = x->programs ? x->programs->try_arg(program, arg, &err) : 0;
    if (r < 0) {
        adopt_add(x, ADOPT_MISSING, arena_strdup(x->arena, err.text), "argument of %s: %s", program,
                  arg);
        return;
    }
    if (r > 0) {
        adopt_add(x, ADOPT_UNUSED, "taken without effect; left out", "argument of %s: %s", program,
                  arg);
        return;
    }
    if (!list) {
        adopt_set(x, path, kj_marr(x->d));
        list = kj_mget(kj_mget(x->values, koord_parts[id].value), "extraArgs");
    }
    kj_mpush(list, kj_mstr(x->d, arg));
    adopt_add(x, ADOPT_KEPT, path, "argument of %s: %s", program, arg);
}

static void take_arg(struct adoption *x, enum part_id id, const char *arg)
{
    size_t dashes = strspn(arg, "-"), n = strcspn(arg + dashes, "=");
    const char *value = arg[dashes + n] == '=' ? arg + dashes + n + 1 : "true";
    bool found = false;

    for (size_t i = 0; i < ARRAY_LEN(arg_rules); i++) {
        const struct arg_rule *r = &arg_rules[i];
        if (r->part != id || strlen(r->flag) != n || memcmp(r->flag, arg + dashes, n) != 0)
            continue;
        found = true;
        if (r->path)
            take_value(x, r, value);
    }
    if (!found)
        take_extra(x, id, arg);
}

/* "--name value" is one argument in two words. */
static void take_args(struct adoption *x, enum part_id id, const struct kj_val *container)
{
    const struct kj_val *args = kj_get(container, "args");

    for (size_t i = 0; i < kj_len(args); i++) {
        const char *word = kj_str_or(kj_at(args, i), ""), *next = kj_str(kj_at(args, i + 1));
        if (*word != '-')
            continue;
        if (!strchr(word, '=') && next && *next != '-' && *next) {
            take_arg(x, id, arena_printf(x->arena, "%s=%s", word, next));
            i++;
        } else {
            take_arg(x, id, word);
        }
    }
}

/* ---- sizes and places ------------------------------------------------------------------------ */

static void take_as_is(struct adoption *x, enum part_id id, const char *name,
                       const struct kj_val *v)
{
    const char *path = arena_printf(x->arena, "%s.%s", koord_parts[id].value, name);

    if (kj_len(v) == 0 && !kj_bool(v, false))
        return;
    adopt_set(x, path, kj_mcopy(x->d, v));
    adopt_add(x, ADOPT_KEPT, "as it runs", "%s", path);
}

static void take_replicas(struct adoption *x, enum part_id id, const struct kj_val *workload)
{
    const char *path = arena_printf(x->arena, "%s.replicas", koord_parts[id].value);
    int64_t now = kj_i64_or(kj_path(workload, "spec.replicas"), 1);

    if (now == kj_i64_or(adopt_release_value(x, path), 2))
        return;
    adopt_set(x, path, kj_mi64(x->d, now));
    adopt_add(x, ADOPT_KEPT, x->release ? "changed by hand" : "as it runs", "%s: %lld", path,
              (long long)now);
}

static void take_workload(struct adoption *x, enum part_id id, const struct kj_val *w)
{
    const struct kj_val *spec = kj_path(w, "spec.template.spec");
    const struct kj_val *container = pod_main(spec);
    bool on_nodes = streq(koord_parts[id].kind->plural, "daemonsets");

    x->parts++;
    adopt_add(x, ADOPT_CHANGED, "koord's own image", "image of %s: %s", koord_parts[id].program,
              kj_str_or(kj_get(container, "image"), ""));
    take_args(x, id, container);
    if (!on_nodes)
        take_replicas(x, id, w);
    if (x->release)
        return; /* the values have them */
    take_as_is(x, id, "resources", kj_get(container, "resources"));
    if (on_nodes)
        return;
    take_as_is(x, id, "hostNetwork", kj_get(spec, "hostNetwork"));
    take_as_is(x, id, "nodeSelector", kj_get(spec, "nodeSelector"));
    take_as_is(x, id, "tolerations", kj_get(spec, "tolerations"));
}

int adopt_workloads(struct adoption *x)
{
    for (enum part_id id = 0; id < PARTS; id++) {
        CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
        const struct part *p = &koord_parts[id];
        const struct kube_req r = {
            .verb = KUBE_GET, .kind = p->kind, .ns = x->ns, .name = p->program
        };
        struct kerr err = { 0 };
        if (ctl_ask(x->c, &r, &doc, &err) == 0) {
            take_workload(x, id, kj_root(doc));
            continue;
        }
        if (err.reason != KR_NOT_FOUND)
            return ctl_complain(x->c, &err);
        adopt_set(x, arena_printf(x->arena, "%s.enabled", p->value), kj_mbool(x->d, false));
        adopt_add(x, ADOPT_KEPT, "it is not installed", "%s.enabled: false", p->value);
    }
    if (x->parts == 0)
        return ctl_fail(
            x->c, "nothing of Koordinator is installed in %s; -n names another namespace", x->ns);
    return CTL_OK;
}

/* ---- configuration --------------------------------------------------------------------------- */

static int try_config(const struct adoption *x, const char *what, const char *text,
                      const char **ret_note)
{
    CLEANUP(strbuf_fini) struct strbuf notes = STRBUF_INIT;
    struct kerr err = { 0 };

    int r = x->programs ? x->programs->try_config(what, text, &notes, &err) : 0;
    *ret_note = arena_strdup(x->arena, r < 0 ? err.text : strbuf_str(&notes));
    return r;
}

static struct kj_doc *live_configmap(struct adoption *x, const char *name)
{
    struct kj_doc *doc = NULL;
    struct kerr err = { 0 };

    (void)ctl_ask(
        x->c,
        &(struct kube_req){ .verb = KUBE_GET, .kind = &kind_configmap, .ns = x->ns, .name = name },
        &doc, &err);
    return doc;
}

/* An upgrade keeps it as it is. */
static void look_at_slo(struct adoption *x)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = live_configmap(x, CONFIGMAP_SLO);
    struct kj_iter it = kj_iter(kj_get(kj_root(doc), "data"));
    const struct kj_val *v;
    struct str key;

    while (kj_next(&it, &key, &v)) {
        const char *name = arena_strndup(x->arena, key.p, key.n), *note = "";
        int r = try_config(x, name, kj_str_or(v, ""), &note);
        adopt_add(x, r < 0 ? ADOPT_MISSING : ADOPT_KEPT, note, "%s: %s", CONFIGMAP_SLO, name);
    }
}

/* The chart writes it anew; what was changed by hand in it has no value. */
static void look_at_profile(struct adoption *x, const char *program)
{
    const char *name = arena_printf(x->arena, "%s-config", program), *note = "";
    CLEANUP(kj_doc_free) struct kj_doc *now = live_configmap(x, name);
    CLEANUP(kj_doc_free) struct kj_doc *then = adopt_installed_configmap(x, name);
    const struct kj_val *text = kj_get(kj_get(kj_root(now), "data"), name);

    if (!kj_str(text))
        return;
    if (try_config(x, program, kj_str(text), &note) < 0)
        adopt_add(x, ADOPT_MISSING, note, "%s: our program cannot read it", name);
    else if (then && kj_equal(kj_get(kj_root(then), "data"), kj_get(kj_root(now), "data")))
        adopt_add(x, ADOPT_KEPT, note, "%s", name);
    else
        adopt_add(x, ADOPT_CHANGED,
                  "the chart writes its own; save this one, put changes back after the upgrade",
                  "%s%s", name, x->release ? ", which was changed by hand" : "");
}

void adopt_configmaps(struct adoption *x)
{
    look_at_slo(x);
    look_at_profile(x, koord_parts[PART_SCHEDULER].program);
    look_at_profile(x, koord_parts[PART_DESCHEDULER].program);
}

/* ---- webhooks -------------------------------------------------------------------------------- */

static const char *policy_value(const char *hook)
{
    static const struct {
        const char *word, *value;
    } words[] = { { "melasticquota", "elasticquotas" },
                  { "velasticquota", "elasticquotas" },
                  { "mnode-status", "nodeStatus" },
                  { "vnode", "nodes" },
                  { "mreservation", "reservations" },
                  { "vconfigmap", "configmaps" },
                  { "mpod-create", "pods" },
                  { "vpod.", "pods" } };

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (str_starts(hook, words[i].word))
            return words[i].value;
    return NULL;
}

static void take_policies(struct adoption *x, const struct kj_val *config)
{
    struct kj_iter it = kj_iter(kj_get(config, "webhooks"));
    const struct kj_val *hook;

    while (kj_next(&it, NULL, &hook)) {
        const char *value = policy_value(kj_str_or(kj_get(hook, "name"), ""));
        const char *policy = kj_str_or(kj_get(hook, "failurePolicy"), "Fail");
        const char *path =
            arena_printf(x->arena, "webhookConfiguration.failurePolicy.%s", str_or(value, ""));
        const struct kj_val *was = adopt_release_value(x, path);
        if (!value || streq(policy, kj_str_or(was, "Ignore")))
            continue;
        adopt_set(x, path, kj_mstr(x->d, policy));
        adopt_add(x, ADOPT_KEPT, "as it is in the cluster", "%s: %s", path, policy);
    }
}

void adopt_webhooks(struct adoption *x)
{
    static const struct {
        const struct kind *kind;
        const char *name;
    } configs[] = { { &kind_mutating_webhooks, MUTATING_WEBHOOKS },
                    { &kind_validating_webhooks, VALIDATING_WEBHOOKS },
                    { &kind_mutating_webhooks, "koord-mutating-webhook-configuration" },
                    { &kind_validating_webhooks, "koord-validating-webhook-configuration" } };

    for (size_t i = 0; i < ARRAY_LEN(configs); i++) {
        CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
        const struct kube_req r = { .verb = KUBE_GET,
                                    .kind = configs[i].kind,
                                    .name = configs[i].name };
        struct kerr err = { 0 };
        if (ctl_ask(x->c, &r, &doc, &err) < 0)
            continue;
        take_policies(x, kj_root(doc));
        if (i >= 2) /* of the kustomize base: koord-manager looks for the chart's names */
            adopt_add(x, ADOPT_CHANGED,
                      "the chart's has another name: kubectl delete this one first", "%s %s",
                      configs[i].kind->kind, configs[i].name);
    }
}
