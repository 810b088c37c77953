/* check_rights.c - who may do what: the person by a SelfSubjectRulesReview, koord's accounts by
 * SubjectAccessReviews. */
#include "ctl/check.h"

#define REVIEWS   "/apis/authorization.k8s.io/v1/"
#define GROUP     "authorization.k8s.io/v1"
#define ADMISSION "admissionregistration.k8s.io"
#define RBAC      "rbac.authorization.k8s.io"

struct right {
    const char *verb, *group, *resource;
};

/* ---- the person ------------------------------------------------------------------------------ */

/* What an installation makes; the same rights take it away again. */
static const struct right installs[] = {
    { "create", "apiextensions.k8s.io", "customresourcedefinitions" },
    { "create", "", "namespaces" },
    { "create", RBAC, "clusterroles" },
    { "create", RBAC, "clusterrolebindings" },
    { "create", ADMISSION, "mutatingwebhookconfigurations" },
    { "create", ADMISSION, "validatingwebhookconfigurations" },
    { "create", "scheduling.k8s.io", "priorityclasses" },
    { "create", "apps", "deployments" },
    { "create", "apps", "daemonsets" },
    { "create", "", "serviceaccounts" },
    { "create", "", "configmaps" },
    { "create", "", "secrets" },
};

static bool has(const struct kj_val *list, const char *word)
{
    struct kj_iter it = kj_iter(list);
    const struct kj_val *v;

    while (kj_next(&it, NULL, &v)) {
        const char *s = kj_str_or(v, "");
        if (streq(s, "*") || streq(s, word))
            return true;
    }
    return false;
}

static bool allows(const struct kj_val *rules, const struct right *r)
{
    struct kj_iter it = kj_iter(rules);
    const struct kj_val *rule;

    while (kj_next(&it, NULL, &rule))
        if (!kj_len(kj_get(rule, "resourceNames")) && has(kj_get(rule, "verbs"), r->verb) &&
            has(kj_get(rule, "apiGroups"), r->group) && has(kj_get(rule, "resources"), r->resource))
            return true;
    return false;
}

static void judge_person(struct check *k, const struct kj_val *status)
{
    CLEANUP(strbuf_fini) struct strbuf missing = STRBUF_INIT;
    bool incomplete = kj_bool(kj_get(status, "incomplete"), false);

    for (size_t i = 0; i < ARRAY_LEN(installs); i++)
        if (!allows(kj_get(status, "resourceRules"), &installs[i]))
            strbuf_appendf(&missing, "%s%s %s", missing.len ? ", " : "", installs[i].verb,
                           installs[i].resource);
    if (!missing.len)
        check_add(k, "Rights", FINDING_OK, "you may install and remove koord");
    else if (incomplete)
        check_add(k, "Rights", FINDING_NOTE, "the server does not know all rules; not found: %s",
                  strbuf_str(&missing));
    else
        check_add(k, "Rights", k->installed ? FINDING_NOTE : FINDING_FAIL, "you may not %s%s",
                  strbuf_str(&missing),
                  k->installed ? ": only who may can upgrade koord"
                               : "; ask for a role that allows it");
}

static void check_person(struct check *k)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);
    struct kerr err = { 0 };

    kjw_obj(&w, NULL);
    kjw_str(&w, "apiVersion", GROUP);
    kjw_str(&w, "kind", "SelfSubjectRulesReview");
    kjw_obj(&w, "spec");
    kjw_str(&w, "namespace", k->ns);
    kjw_end(&w);
    kjw_end(&w);
    if (ctl_post(k->c, REVIEWS "selfsubjectrulesreviews", &body, &doc, &err) < 0)
        check_add(k, "Rights", FINDING_NOTE, "yours cannot be asked for: %s", check_cause(k, &err));
    else
        judge_person(k, kj_get(kj_root(doc), "status"));
}

/* ---- the programs ---------------------------------------------------------------------------- */

/* Without these a program waits for ever or does nothing; the roles of the chart have more. */
#define SLO        "slo.koordinator.sh"
#define SCHEDULING "scheduling.koordinator.sh"
static const struct right manager_rights[] = { { "list", "", "nodes" },
                                               { "patch", "", "nodes/status" },
                                               { "list", "", "pods" },
                                               { "list", "", "configmaps" },
                                               { "create", SLO, "nodeslos" },
                                               { "create", SLO, "nodemetrics" },
                                               { "patch", ADMISSION,
                                                 "mutatingwebhookconfigurations" } };
static const struct right scheduler_rights[] = { { "list", "", "nodes" },
                                                 { "list", "", "pods" },
                                                 { "create", "", "pods/binding" },
                                                 { "list", SCHEDULING, "reservations" },
                                                 { "list", SCHEDULING, "devices" } };
static const struct right descheduler_rights[] = { { "list", "", "pods" },
                                                   { "create", "", "pods/eviction" },
                                                   { "create", SCHEDULING, "podmigrationjobs" } };
static const struct right koordlet_rights[] = { { "list", "", "nodes" },
                                                { "list", SLO, "nodeslos" },
                                                { "patch", SLO, "nodemetrics/status" },
                                                { "create", "topology.node.k8s.io",
                                                  "noderesourcetopologies" } };
static const struct {
    const struct right *rights;
    size_t n;
} program_rights[PARTS] = {
    [PART_MANAGER] = { manager_rights, ARRAY_LEN(manager_rights) },
    [PART_SCHEDULER] = { scheduler_rights, ARRAY_LEN(scheduler_rights) },
    [PART_DESCHEDULER] = { descheduler_rights, ARRAY_LEN(descheduler_rights) },
    [PART_KOORDLET] = { koordlet_rights, ARRAY_LEN(koordlet_rights) },
};

static void write_review(const struct check *k, const char *account, const struct right *r,
                         struct strbuf *body)
{
    const char *slash = strchr(r->resource, '/');
    struct kjw w = kjw_to(body);

    kjw_obj(&w, NULL);
    kjw_str(&w, "apiVersion", GROUP);
    kjw_str(&w, "kind", "SubjectAccessReview");
    kjw_obj(&w, "spec");
    kjw_str(&w, "user", arena_printf(k->arena, "system:serviceaccount:%s:%s", k->ns, account));
    kjw_arr(&w, "groups");
    kjw_str(&w, NULL, "system:serviceaccounts");
    kjw_str(&w, NULL, arena_printf(k->arena, "system:serviceaccounts:%s", k->ns));
    kjw_str(&w, NULL, "system:authenticated");
    kjw_end(&w);
    kjw_obj(&w, "resourceAttributes");
    kjw_str(&w, "verb", r->verb);
    kjw_str(&w, "group", r->group);
    kjw_strn(&w, "resource", r->resource,
             slash ? (size_t)(slash - r->resource) : strlen(r->resource));
    if (slash)
        kjw_str(&w, "subresource", slash + 1);
    kjw_end(&w);
    kjw_end(&w);
    kjw_end(&w);
}

/* 1: it may, 0: it may not, negative: nobody says. */
static int may(struct check *k, const char *account, const struct right *r, struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;

    write_review(k, account, r, &body);
    if (ctl_post(k->c, REVIEWS "subjectaccessreviews", &body, &doc, err) < 0)
        return err->code;
    return kj_bool(kj_path(kj_root(doc), "status.allowed"), false);
}

/* false: others would get no answer either. */
static bool check_program(struct check *k, enum part_id id)
{
    CLEANUP(strbuf_fini) struct strbuf missing = STRBUF_INIT;
    const char *program = koord_parts[id].program;
    struct kerr err = { 0 };

    for (size_t i = 0; i < program_rights[id].n; i++) {
        const struct right *r = &program_rights[id].rights[i];
        int answer = may(k, program, r, &err);
        if (answer < 0) {
            check_add(k, "Rights", FINDING_NOTE,
                      "those of koord's accounts cannot be asked for: %s", check_cause(k, &err));
            return false;
        }
        if (!answer)
            strbuf_appendf(&missing, "%s%s %s%s%s", missing.len ? ", " : "", r->verb, r->resource,
                           *r->group ? "." : "", r->group);
    }
    if (missing.len)
        check_add(k, "Rights", FINDING_FAIL, "%s may not %s: install its role (packaging/rbac)",
                  program, strbuf_str(&missing));
    else
        check_add(k, "Rights", FINDING_OK, "%s may do what it must", program);
    return true;
}

void check_rights(struct check *k)
{
    bool answered = true;

    check_person(k);
    for (enum part_id id = 0; id < PARTS && answered; id++)
        if (k->parts[id].there && program_rights[id].n)
            answered = check_program(k, id);
}
