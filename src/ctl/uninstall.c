/* uninstall.c - koordctl uninstall: koord goes, and the cluster is as if it had never been there.
 *
 * Webhooks first, since nobody will answer them; then the programs that write, then what they have
 * written. The chart runs the same before it deletes its own objects (--prepare).
 */
#include "ctl/uninstall.h"

#include "api/core.h"
#include "api/koord/crds.h"
#include "api/lease.h"
#include "api/pod.h"
#include "api/policy.h"
#include "api/workload.h"
#include "client/kube.h"
#include "loop/loop.h"

#define LOOK_EVERY (500 * NSEC_PER_MSEC)

/* ---- for the steps --------------------------------------------------------------------------- */

void removal_say(struct removal *x, const char *done, const char *would, const char *fmt, ...)
{
    CLEANUP(strbuf_fini) struct strbuf line = STRBUF_INIT;
    va_list ap;

    strbuf_appendf(&line, "%s ", x->o->dry_run ? would : done);
    va_start(ap, fmt);
    strbuf_vappendf(&line, fmt, ap);
    va_end(ap);
    strbuf_appendc(&line, '\n');
    ctl_clean(&line);
    (void)ctl_print(x->c, &line);
}

void removal_fail(struct removal *x, const struct kerr *err, const char *fmt, ...)
{
    CLEANUP(strbuf_fini) struct strbuf line = STRBUF_INIT;
    va_list ap;

    va_start(ap, fmt);
    strbuf_vappendf(&line, fmt, ap);
    va_end(ap);
    if (err)
        strbuf_appendf(&line, ": %s", ctl_cause(err));
    (void)ctl_fail(x->c, "%s", strbuf_str(&line));
    x->failed = true;
}

void removal_delete(struct removal *x, const struct kind *k, const char *ns, const char *name)
{
    static const char background[] = "{\"propagationPolicy\":\"Background\"}";
    CLEANUP(strbuf_fini) struct strbuf answer = STRBUF_INIT;
    struct kube_req r = { .verb = KUBE_GET, .kind = k, .ns = ns, .name = name };
    struct kerr err = { 0 };

    if (!x->o->dry_run) {
        r.verb = KUBE_DELETE;
        r.body = background;
        r.body_len = sizeof background - 1;
    }
    if (ctl_call(x->c, &r, &answer, &err) == 0)
        removal_say(x, "deleted", "would delete", "%s %s", k->kind, name);
    else if (err.reason != KR_NOT_FOUND)
        removal_fail(x, &err, "%s %s", k->kind, name);
}

int removal_patch(struct removal *x, const struct kube_req *where, const struct strbuf *patch,
                  struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf answer = STRBUF_INIT;
    struct kube_req r = *where;

    r.patch = KUBE_PATCH_MERGE;
    r.body = strbuf_str(patch);
    r.body_len = patch->len;
    return x->o->dry_run ? 0 : ctl_call(x->c, &r, &answer, err);
}

bool removal_wait(struct removal *x)
{
    if (loop_mono(x->c->loop) >= x->deadline)
        return false;
    ctl_wait(x->c, LOOK_EVERY);
    return true;
}

/* ---- what there is --------------------------------------------------------------------------- */

struct thing {
    const struct kind *kind;
    const char *name;
    int part;      /* whose it is */
    bool of_users; /* stays unless --objects asks for it */
};

/* The programs that write; koord-scheduler only places, and does so until the end. */
static const enum part_id writers[] = { PART_MANAGER, PART_DESCHEDULER, PART_KOORDLET,
                                        PART_DEVICES };

/* Of the chart, beyond workloads and webhooks. */
static const struct thing things[] = {
    { &kind_pdb, "koord-manager", PART_MANAGER, false },
    { &kind_service, WEBHOOK_SERVICE, PART_MANAGER, false },
    { &kind_secret, "koordinator-webhook-certs", PART_MANAGER, false },
    { &kind_configmap, CONFIGMAP_SLO, PART_MANAGER, true },
    { &kind_role_binding, "koord-leader-election-rolebinding", PART_MANAGER, false },
    { &kind_role, "koord-leader-election-role", PART_MANAGER, false },
    { &kind_cluster_role_binding, "koord-manager-rolebinding", PART_MANAGER, false },
    { &kind_cluster_role, "koord-manager-role", PART_MANAGER, false },
    { &kind_service_account, "koord-manager", PART_MANAGER, false },
    { &kind_lease, "koordinator-manager", PART_MANAGER, false },
    { &kind_pdb, "koord-scheduler", PART_SCHEDULER, false },
    { &kind_configmap, "koord-scheduler-config", PART_SCHEDULER, false },
    { &kind_configmap, "gpu-shared-resource-templates", PART_SCHEDULER, true },
    { &kind_cluster_role_binding, "koord-scheduler-rolebinding-custom", PART_SCHEDULER, false },
    { &kind_cluster_role_binding, "koord-scheduler-rolebinding", PART_SCHEDULER, false },
    { &kind_cluster_role_binding, "koord-scheduler-rolebinding-volume", PART_SCHEDULER, false },
    { &kind_cluster_role, "koord-scheduler-role", PART_SCHEDULER, false },
    { &kind_service_account, "koord-scheduler", PART_SCHEDULER, false },
    { &kind_lease, "koord-scheduler", PART_SCHEDULER, false },
    { &kind_pdb, "koord-descheduler", PART_DESCHEDULER, false },
    { &kind_configmap, "koord-descheduler-config", PART_DESCHEDULER, false },
    { &kind_role_binding, "koord-descheduler-rolebinding", PART_DESCHEDULER, false },
    { &kind_role, "koord-descheduler-role", PART_DESCHEDULER, false },
    { &kind_cluster_role_binding, "koord-descheduler-rolebinding", PART_DESCHEDULER, false },
    { &kind_cluster_role, "koord-descheduler-role", PART_DESCHEDULER, false },
    { &kind_service_account, "koord-descheduler", PART_DESCHEDULER, false },
    { &kind_lease, "koord-descheduler", PART_DESCHEDULER, false },
    { &kind_service, "koordlet-service", PART_KOORDLET, false },
    { &kind_cluster_role_binding, "koordlet-rolebinding", PART_KOORDLET, false },
    { &kind_cluster_role, "koordlet-role", PART_KOORDLET, false },
    { &kind_service_account, "koordlet", PART_KOORDLET, false },
};

static void delete_things(struct removal *x)
{
    for (size_t i = 0; i < ARRAY_LEN(things); i++) {
        const struct thing *t = &things[i];
        if (x->parts[t->part] && (!t->of_users || x->o->objects))
            removal_delete(x, t->kind, t->kind->namespaced ? x->ns : NULL, t->name);
    }
}

/* ---- programs -------------------------------------------------------------------------------- */

static void delete_program(struct removal *x, enum part_id id)
{
    if (x->parts[id])
        removal_delete(x, koord_parts[id].kind, x->ns, koord_parts[id].program);
}

struct still_there {
    const struct removal *x;
    unsigned n;
};

static bool count_writer(void *arg, const struct kj_val *pod)
{
    struct still_there *s = arg;

    for (size_t i = 0; i < ARRAY_LEN(writers); i++)
        s->n += s->x->parts[writers[i]] && streq(pod_app(pod), koord_parts[writers[i]].program);
    return true;
}

/* What they have written is taken back when none is left that could write it again. */
static bool wait_for_writers(struct removal *x)
{
    struct still_there s = { .x = x };
    struct kerr err = { 0 };

    if (x->o->dry_run)
        return true;
    do {
        s.n = 0;
        if (ctl_each(x->c, &(struct kube_req){ .kind = &kind_pod, .ns = x->ns }, count_writer, &s,
                     &err) < 0) {
            removal_fail(x, &err, "pods of %s", x->ns);
            return false;
        }
        ctl_progress(x->c, "%u pods of koord are still there", s.n);
    } while (s.n && removal_wait(x));
    ctl_progress_end(x->c);
    if (s.n)
        removal_fail(x, NULL,
                     "%u pods of koord are still there after --timeout; run the command again",
                     s.n);
    return s.n == 0;
}

/* ---- objects --------------------------------------------------------------------------------- */

static bool delete_object(void *arg, const struct kj_val *item)
{
    struct removal *x = ((void **)arg)[0];
    const struct kind *k = ((void **)arg)[1];

    removal_delete(x, k, kj_str(kj_path(item, "metadata.namespace")),
                   kj_str_or(kj_path(item, "metadata.name"), ""));
    return true;
}

static void delete_objects(struct removal *x, const struct kind *k)
{
    void *arg[] = { x, (void *)(uintptr_t)k };
    struct kerr err = { 0 };

    if (ctl_each(x->c, &(struct kube_req){ .kind = k }, delete_object, arg, &err) < 0 &&
        err.reason != KR_NOT_FOUND)
        removal_fail(x, &err, "%s", k->plural);
}

static void delete_crds(struct removal *x)
{
    char name[160];

    for (size_t i = 0; crd_at(i); i++) {
        crd_name(crd_at(i), name, sizeof name);
        const struct kind *k = kind_find(name);
        if (x->o->objects && k)
            delete_objects(x, k);
        if (x->o->crds)
            removal_delete(x, &kind_crd_object, NULL, name);
    }
}

/* ---- the command ----------------------------------------------------------------------------- */

/* Helm would find its objects gone; its own way does the same through the chart's hook. */
static int check_helm(struct removal *x)
{
    if (x->o->prepare || x->o->force)
        return CTL_OK;
    for (enum part_id id = 0; id < PARTS; id++) {
        CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
        const struct kube_req r = { .verb = KUBE_GET,
                                    .kind = koord_parts[id].kind,
                                    .ns = x->ns,
                                    .name = koord_parts[id].program };
        struct kerr err = { 0 };
        if (ctl_ask(x->c, &r, &doc, &err) < 0) {
            if (err.reason != KR_NOT_FOUND)
                return ctl_complain(x->c, &err);
            continue;
        }
        const struct kj_val *notes = kj_path(kj_root(doc), "metadata.annotations");
        const char *release = kj_str(kj_get(notes, "meta.helm.sh/release-name"));
        if (release)
            return ctl_fail(x->c,
                            "koord was installed by Helm: use helm uninstall %s --namespace %s, "
                            "which does the same; --force: go on all the same",
                            release,
                            kj_str_or(kj_get(notes, "meta.helm.sh/release-namespace"), "default"));
    }
    return CTL_OK;
}

static void remove_koord(struct removal *x)
{
    bool restores = x->parts[PART_KOORDLET] && !x->o->keep_cgroups;

    if (x->parts[PART_MANAGER]) {
        removal_delete(x, &kind_mutating_webhooks, NULL, MUTATING_WEBHOOKS);
        removal_delete(x, &kind_validating_webhooks, NULL, VALIDATING_WEBHOOKS);
    }
    if (restores)
        restore_remember(x);
    for (size_t i = 0; i < ARRAY_LEN(writers); i++)
        delete_program(x, writers[i]);
    if (!wait_for_writers(x))
        return;
    if (restores)
        restore_run(x);
    if (x->parts[PART_MANAGER])
        removal_clean_nodes(x);
    if (!x->o->prepare) {
        delete_program(x, PART_SCHEDULER);
        delete_things(x);
    }
    if (x->o->objects || x->o->crds)
        delete_crds(x);
}

static int choose_parts(struct removal *x)
{
    for (size_t i = 0; i < x->o->components.n; i++) {
        const char *word = x->o->components.items[i];
        bool found = false;
        for (enum part_id id = 0; id < PARTS; id++)
            if (streq(word, koord_parts[id].value) || streq(word, koord_parts[id].program))
                found = x->parts[id] = true;
        if (!found)
            return ctl_usage(x->c,
                             "'%.40s' is no component: manager, scheduler, descheduler, "
                             "koordlet, deviceDaemon",
                             word);
    }
    return CTL_OK;
}

static int run(struct ctl *c, const void *options)
{
    CLEANUP(arena_free) struct arena *arena = arena_new();
    const struct uninstall_options *o = options;
    struct removal x = { .c = c, .o = o, .ns = installation_ns(c), .arena = arena };

    if (flags_nargs(c->flags))
        return ctl_usage(c, "uninstall takes no arguments");
    int code = choose_parts(&x);
    if (code == CTL_OK)
        code = ctl_connect(c);
    if (code == CTL_OK)
        code = check_helm(&x);
    if (code != CTL_OK)
        return code;
    x.deadline = loop_mono(c->loop) + o->timeout;
    remove_koord(&x);
    return x.failed || c->out_broken ? CTL_FAILED : CTL_OK;
}

#define O(member) .off = offsetof(struct uninstall_options, member)
static const struct flag flags[] = {
    { "dry-run", FLAG_BOOL, O(dry_run), .help = "only say what would be done" },
    { "prepare", FLAG_BOOL, O(prepare),
      .help = "leave the chart's own objects to Helm: what its hook does before it deletes them" },
    { "components", FLAG_LIST, O(components),
      .def = "manager,scheduler,descheduler,koordlet,deviceDaemon", .help = "`which` to remove" },
    { "objects", FLAG_BOOL, O(objects),
      .help = "also objects of Koordinator's kinds, and the configuration in ConfigMaps" },
    { "crds", FLAG_BOOL, O(crds),
      .help = "also the CRDs, and with them all objects of their kinds" },
    { "keep-cgroups", FLAG_BOOL, O(keep_cgroups),
      .help = "leave what koordlet has written to cgroups of pods" },
    { "image", FLAG_STR, O(image),
      .help = "`image` for koordlet --restore, where the installed one is Koordinator's own" },
    { "force", FLAG_BOOL, O(force), .help = "also when Helm has installed it" },
    { "timeout", FLAG_DUR, O(timeout), .def = "4m", .min = NSEC_PER_SEC, .max = NSEC_MAX,
      .help = "for all of it" },
};
#undef O

const struct ctl_command ctl_command_uninstall = {
    .name = "uninstall",
    .help = "Remove koord from a cluster, and what it has changed there",
    .about =
        "Takes away webhooks first, then the programs, then what they have changed: cgroups of\n"
        "pods (koordlet --restore on every node), batch and mid resources, labels and\n"
        "annotations of nodes. Running pods are not touched. CRDs and objects stay unless they\n"
        "are asked for. Can be repeated. The namespace is koordinator-system unless -n names\n"
        "another; it stays.\n",
    .flags = flags,
    .nflags = ARRAY_LEN(flags),
    .options_size = sizeof(struct uninstall_options),
    .run = run,
};
