/* check_features.c - the table: each feature, what it needs, whether it is on here, and why. */
#include "api/core.h"
#include "client/kube.h"
#include "ctl/check.h"

enum need {
    NEED_MANAGER = 1 << 0,
    NEED_WEBHOOKS = 1 << 1,
    NEED_KOORDLET = 1 << 2,
    NEED_SCHEDULER = 1 << 3,
    NEED_DESCHEDULER = 1 << 4,
    NEED_COLOCATION = 1 << 5, /* slo-controller-config switches it on */
    NEED_THRESHOLD = 1 << 6,
    NEED_LOW_NODE_LOAD = 1 << 7, /* the descheduler's configuration enables it */
    NEED_CRDS = 1 << 8,
};

static const struct feature {
    const char *name;
    unsigned needs;
} features[] = {
    { "batch and mid resources", NEED_MANAGER | NEED_KOORDLET | NEED_COLOCATION | NEED_CRDS },
    { "ClusterColocationProfile", NEED_MANAGER | NEED_WEBHOOKS | NEED_CRDS },
    { "best effort is held back", NEED_MANAGER | NEED_KOORDLET | NEED_THRESHOLD | NEED_CRDS },
    { "load-aware placement", NEED_MANAGER | NEED_KOORDLET | NEED_SCHEDULER | NEED_CRDS },
    { "CPUs and NUMA nodes of pods", NEED_KOORDLET | NEED_SCHEDULER | NEED_CRDS },
    { "gangs, reservations", NEED_SCHEDULER | NEED_CRDS },
    { "quotas", NEED_SCHEDULER | NEED_CRDS },
    { "GPUs and other devices",
      NEED_MANAGER | NEED_WEBHOOKS | NEED_KOORDLET | NEED_SCHEDULER | NEED_CRDS },
    { "migration of pods", NEED_SCHEDULER | NEED_DESCHEDULER | NEED_CRDS },
    { "moving pods from hot nodes", NEED_MANAGER | NEED_KOORDLET | NEED_SCHEDULER |
                                        NEED_DESCHEDULER | NEED_LOW_NODE_LOAD | NEED_CRDS },
};

/* ---- what is there --------------------------------------------------------------------------- */

struct configuration {
    bool colocation, threshold, low_node_load, known;
};

static struct kj_doc *read_configmap(struct check *k, const char *name)
{
    struct kj_doc *doc = NULL;
    struct kerr err = { 0 };

    (void)ctl_ask(
        k->c,
        &(struct kube_req){ .verb = KUBE_GET, .kind = &kind_configmap, .ns = k->ns, .name = name },
        &doc, &err);
    return doc;
}

static bool is_enabled(const struct kj_val *data, const char *key, const char *path)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    const char *text = kj_str_or(kj_get(data, key), "{}");

    return kj_parse(text, strlen(text), 0, &doc, NULL) == 0 &&
           kj_bool(kj_path(kj_root(doc), path), false);
}

/* A plugin under balance.enabled of one of the profiles. */
static bool balances(const struct kj_val *data, const char *plugin)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    const char *text = kj_str_or(kj_get(data, "koord-descheduler-config"), "");
    const struct kj_val *profile, *entry;

    if (kj_parse_yaml(text, strlen(text), 0, &doc, NULL) < 0)
        return false;
    struct kj_iter profiles = kj_iter(kj_get(kj_root(doc), "profiles"));
    while (kj_next(&profiles, NULL, &profile)) {
        struct kj_iter it = kj_iter(kj_path(profile, "plugins.balance.enabled"));
        while (kj_next(&it, NULL, &entry))
            if (streq(kj_str_or(kj_get(entry, "name"), ""), plugin))
                return true;
    }
    return false;
}

static struct configuration read_configuration(struct check *k)
{
    CLEANUP(kj_doc_free) struct kj_doc *slo = read_configmap(k, CONFIGMAP_SLO);
    CLEANUP(kj_doc_free) struct kj_doc *moves = read_configmap(k, "koord-descheduler-config");
    const struct kj_val *data = kj_get(kj_root(slo), "data");

    return (struct configuration){
        .known = slo != NULL,
        .colocation = is_enabled(data, "colocation-config", "enable"),
        .threshold = is_enabled(data, "resource-threshold-config", "clusterStrategy.enable"),
        .low_node_load = balances(kj_get(kj_root(moves), "data"), "LowNodeLoad"),
    };
}

/* ---- the table ------------------------------------------------------------------------------- */

static const char *part_flaw(struct check *k, enum part_id id)
{
    const struct check_part *p = &k->parts[id];

    if (!p->there)
        return arena_printf(k->arena, "%s is not installed", koord_parts[id].program);
    return p->ready ? NULL : arena_printf(k->arena, "%s is not ready", koord_parts[id].program);
}

struct need_row {
    enum need need;
    const char *words;
    int part; /* -1: none */
    const char *flaw;
};
static const struct need_row need_rows[] = {
    { NEED_CRDS, "CRDs", -1, "CRDs are missing" },
    { NEED_MANAGER, "koord-manager", PART_MANAGER, NULL },
    { NEED_WEBHOOKS, "webhooks", -1, "no webhook sends pods to koord-manager" },
    { NEED_KOORDLET, "koordlet", PART_KOORDLET, NULL },
    { NEED_SCHEDULER, "koord-scheduler", PART_SCHEDULER, NULL },
    { NEED_DESCHEDULER, "koord-descheduler", PART_DESCHEDULER, NULL },
    { NEED_COLOCATION, "colocation-config", -1,
      "colocation-config of " CONFIGMAP_SLO " does not say \"enable\": true" },
    { NEED_THRESHOLD, "resource-threshold-config", -1,
      "resource-threshold-config of " CONFIGMAP_SLO
      " does not say \"clusterStrategy\": {\"enable\": true}" },
    { NEED_LOW_NODE_LOAD, "LowNodeLoad", -1,
      "koord-descheduler-config does not enable LowNodeLoad under balance" },
};

static bool is_met(const struct check *k, const struct configuration *conf, enum need n)
{
    switch (n) {
    case NEED_CRDS: return k->crds_complete;
    case NEED_WEBHOOKS: return k->webhooks;
    case NEED_COLOCATION: return conf->colocation;
    case NEED_THRESHOLD: return conf->threshold;
    case NEED_LOW_NODE_LOAD: return conf->low_node_load;
    default: return true;
    }
}

static void add_feature(struct check *k, const struct configuration *conf, const struct feature *f)
{
    CLEANUP(strbuf_fini) struct strbuf needs = STRBUF_INIT;
    struct feature_row row = { .name = f->name, .why = "", .state = FEATURE_ON };

    for (size_t i = 0; i < ARRAY_LEN(need_rows); i++) {
        const struct need_row *n = &need_rows[i];
        if (!(f->needs & n->need))
            continue;
        if (n->need != NEED_CRDS)
            strbuf_appendf(&needs, "%s%s", needs.len ? ", " : "", n->words);
        const char *flaw = n->part >= 0               ? part_flaw(k, (enum part_id)n->part)
                           : is_met(k, conf, n->need) ? NULL
                                                      : n->flaw;
        if (flaw && row.state == FEATURE_ON) {
            row.state = FEATURE_OFF;
            row.why = flaw;
        }
    }
    row.needs = arena_strdup(k->arena, strbuf_str(&needs));
    vec_push(&k->features, row);
}

/* Of koordlet's: over all nodes that have answered. */
static void add_node_feature(struct check *k, const struct node_feature *f)
{
    struct feature_row row = { .name = f->name, .needs = f->needs, .why = f->why };
    const char *example = f->example ? f->example : "";
    unsigned bad = f->blocked + f->reduced;

    row.state = f->off + f->other + f->blocked == k->asked ? FEATURE_OFF
                : bad + f->off + f->other > 0              ? FEATURE_PART
                                                           : FEATURE_ON;
    if (f->off == k->asked)
        row.why = "its feature gate is off";
    else if (f->other == k->asked)
        row.why = arena_printf(k->arena, "if a NodeSLO asks for it: %s", f->why);
    else if (bad)
        row.why =
            arena_printf(k->arena, "%u of %u nodes, as %s: %s", bad, k->asked, example, f->why);
    else if (f->off || f->other)
        row.why = arena_printf(k->arena, "on %u of %u nodes", f->on, k->asked);
    vec_push(&k->features, row);
}

void check_features(struct check *k)
{
    struct configuration conf = read_configuration(k);

    for (size_t i = 0; i < ARRAY_LEN(features); i++)
        add_feature(k, &conf, &features[i]);
    vec_foreach(&k->node_features, i)
        add_node_feature(k, &k->node_features.items[i]);
}
