/* migrate.c - koordctl migrate list | approve NAME | reject NAME | pod NS/NAME: jobs of the
 * descheduler, for people who decide about them. */
#include "ctl/migrate.h"

#include "api/pod.h"
#include "api/protocol/keys.h"
#include "base/arena.h"
#include "base/ktime.h"
#include "base/vec.h"
#include "client/kube.h"
#include "ctl/ctl.h"
#include "loop/loop.h"
#include "json/kj.h"

enum { PAGE = 500 };
/* When a job was held and let go: the descheduler counts its time from the release. */
#define ANNO_PAUSED_SINCE DOMAIN_DESCHEDULER "paused-since"
#define ANNO_RELEASED_AT  DOMAIN_DESCHEDULER "released-at"
#define REASON_REJECTED   "Rejected"

struct migrate_options {
    bool all, wait;
    const char *mode, *reason;
    nsec_t ttl, timeout;
};

static const char *const modes[] = { MIGRATION_MODE_RESERVATION_FIRST,
                                     MIGRATION_MODE_EVICT_DIRECTLY, NULL };
#define O(member) .off = offsetof(struct migrate_options, member)
static const struct flag migrate_flags[] = {
    { "all", FLAG_BOOL, O(all),
      .help = "list: jobs that are over too; approve and reject: every job that is paused" },
    { "mode", FLAG_STR, O(mode), .choices = modes,
      .help = "pod: `mode` of the job; without it the descheduler's default" },
    { "ttl", FLAG_DUR, O(ttl), .def = "5m", .min = NSEC_PER_SEC, .max = NSEC_MAX,
      .help = "pod: how long the job may take" },
    { "wait", FLAG_BOOL, O(wait), .help = "pod: tell the steps of the job until it is over" },
    { "timeout", FLAG_DUR, O(timeout), .def = "10m", .min = 0, .max = NSEC_MAX,
      .help = "pod: how long to --wait" },
    { "reason", FLAG_STR, O(reason), .help = "pod, reject: `text` that says why" },
};
#undef O

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct vec_of(struct kobj *) jobs;

static void jobs_fini_p(jobs *l)
{
    vec_foreach(l, i)
        kobj_unref(l->items[i]);
    vec_fini(l);
}

static int read_page(struct ctl *c, const char **token, struct arena *a, jobs *out,
                     struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    const struct kube_req r = {
        .verb = KUBE_LIST, .kind = &kind_podmigrationjob, .limit = PAGE, .continue_token = *token
    };
    const struct kj_val *item;

    if (ctl_call(c, &r, &body, err) < 0 || kj_parse(body.data, body.len, 0, &doc, err) < 0)
        return err->code;
    struct kj_iter it = kj_iter(kj_get(kj_root(doc), "items"));
    while (kj_next(&it, NULL, &item)) {
        struct kobj *o = NULL;
        struct kerr bad = { 0 };
        if (kobj_decode(&kind_podmigrationjob, item, kube_scratch(c->kube), &o, &bad) == 0)
            vec_push(out, o);
        else
            (void)ctl_fail(c, "left out PodMigrationJob %s: %s",
                           kj_str_or(kj_path(item, "metadata.name"), "without name"), bad.text);
    }
    const char *next = kj_str(kj_path(kj_root(doc), "metadata.continue"));
    *token = str_empty(next) ? NULL : arena_strdup(a, next);
    return 0;
}

static int read_all(struct ctl *c, jobs *out)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    const char *token = NULL;
    struct kerr err = { 0 };

    do
        if (read_page(c, &token, a, out, &err) < 0)
            return ctl_complain(c, &err);
    while (token);
    return CTL_OK;
}

static int read_one(struct ctl *c, const char *name, jobs *out)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    const struct kube_req r = { .verb = KUBE_GET, .kind = &kind_podmigrationjob, .name = name };
    struct kerr err = { 0 };
    struct kobj *o = NULL;

    if (ctl_call(c, &r, &body, &err) < 0)
        return ctl_complain(c, &err);
    if (kj_parse(body.data, body.len, 0, &doc, &err) < 0 ||
        kobj_decode(&kind_podmigrationjob, kj_root(doc), kube_scratch(c->kube), &o, &err) < 0)
        return ctl_fail(c, "the server's PodMigrationJob %s: %s", name, err.text);
    vec_push(out, o);
    return CTL_OK;
}

/* ---- list ------------------------------------------------------------------------------------ */

static int by_age(const void *a, const void *b)
{
    const struct podmigrationjob *x = *(const struct podmigrationjob *const *)a;
    const struct podmigrationjob *y = *(const struct podmigrationjob *const *)b;

    if (x->obj.meta.created != y->obj.meta.created)
        return x->obj.meta.created < y->obj.meta.created ? -1 : 1;
    return strcmp(x->obj.meta.name, y->obj.meta.name);
}

static int list(struct ctl *c, const struct migrate_options *o)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    CLEANUP(jobs_fini) jobs all = { 0 };
    struct vec_of(const struct podmigrationjob *) shown = { 0 };
    int code = read_all(c, &all);

    if (code != CTL_OK)
        return code;
    vec_foreach(&all, i) {
        const struct podmigrationjob *j = podmigrationjob_of(all.items[i]);
        if (o->all || j->status.phase < MIGRATION_SUCCEEDED)
            vec_push(&shown, j);
    }
    if (shown.n)
        qsort(shown.items, shown.n, sizeof *shown.items, by_age);
    if (!str_empty(c->o.output) && streq(c->o.output, "json")) {
        migrate_json(shown.items, shown.n, &text);
    } else {
        migrate_table(shown.items, shown.n, loop_wall(c->loop), &text);
        ctl_clean(&text);
        if (shown.n == 0)
            fprintf(c->err, "No %sPodMigrationJobs\n", o->all ? "" : "unfinished ");
    }
    vec_fini(&shown);
    return ctl_print(c, &text) ? CTL_OK : CTL_FAILED;
}

/* ---- approve and reject ---------------------------------------------------------------------- */

static void write_approval(const struct ctl *c, const struct podmigrationjob *j,
                           struct strbuf *body)
{
    struct kjw w = kjw_to(body);

    kjw_obj(&w, NULL);
    kjw_obj(&w, "metadata");
    kjw_str(&w, "resourceVersion", j->obj.meta.resource_version);
    kjw_obj(&w, "annotations");
    kjw_null(&w, ANNO_PAUSED_SINCE);
    kjw_time(&w, ANNO_RELEASED_AT, loop_wall(c->loop));
    if (j->status.phase != MIGRATION_RUNNING)
        kjw_null(&w, ANNO_PASSED_ARBITRATION);
    kjw_end(&w);
    kjw_end(&w);
    kjw_obj(&w, "spec");
    kjw_bool(&w, "paused", false);
    kjw_end(&w);
    kjw_end(&w);
}

static void write_rejection(const struct podmigrationjob *j, const char *reason,
                            struct strbuf *body)
{
    struct kjw w = kjw_to(body);

    kjw_obj(&w, NULL);
    kjw_obj(&w, "metadata");
    kjw_str(&w, "resourceVersion", j->obj.meta.resource_version);
    kjw_end(&w);
    kjw_obj(&w, "status");
    kjw_str(&w, "phase", migration_phase_names[MIGRATION_ABORTED]);
    kjw_str(&w, "reason", REASON_REJECTED);
    kjw_str(&w, "message", str_empty(reason) ? "a person has rejected it" : reason);
    kjw_end(&w);
    kjw_end(&w);
}

/* The patch names the version that was read: nobody decides about a job that has changed. */
static int decide(struct ctl *c, const struct podmigrationjob *j, bool approve,
                  const struct migrate_options *o)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT, answer = STRBUF_INIT, text = STRBUF_INIT;
    const char *name = j->obj.meta.name;
    struct kerr err = { 0 };

    if (j->status.phase >= MIGRATION_SUCCEEDED)
        return ctl_fail(c, "PodMigrationJob %s is over: %s", name, migrate_state(j));
    if (!j->spec.paused)
        return ctl_fail(c, "PodMigrationJob %s is not paused; %s", name,
                        approve ? "there is nothing to approve"
                                : "delete it to end it: koordctl delete pmj NAME");
    if (approve)
        write_approval(c, j, &body);
    else
        write_rejection(j, o->reason, &body);
    const struct kube_req r = { .verb = KUBE_PATCH,
                                .kind = &kind_podmigrationjob,
                                .name = name,
                                .subresource = approve ? NULL : "status",
                                .patch = KUBE_PATCH_MERGE,
                                .body = body.data,
                                .body_len = body.len };
    if (ctl_call(c, &r, &answer, &err) < 0)
        return ctl_complain(c, &err);
    strbuf_appendf(&text, "podmigrationjob/%s %s\n", name, approve ? "approved" : "rejected");
    return ctl_print(c, &text) ? CTL_OK : CTL_FAILED;
}

static int decide_all(struct ctl *c, bool approve, const struct migrate_options *o)
{
    CLEANUP(jobs_fini) jobs found = { 0 };
    size_t n = flags_nargs(c->flags);
    int code = CTL_OK;

    if ((n < 2) == !o->all)
        return ctl_usage(c, "migrate %s takes names of PodMigrationJobs, or --all",
                         flags_arg(c->flags, 0));
    if (o->all)
        code = read_all(c, &found);
    for (size_t i = 1; code == CTL_OK && i < n; i++)
        code = read_one(c, flags_arg(c->flags, i), &found);
    vec_foreach(&found, i) {
        const struct podmigrationjob *j = podmigrationjob_of(found.items[i]);
        if (o->all && (!j->spec.paused || j->status.phase >= MIGRATION_SUCCEEDED))
            continue;
        int one = decide(c, j, approve, o);
        code = code == CTL_OK ? one : code;
    }
    return code;
}

/* ---- a job by hand --------------------------------------------------------------------------- */

struct chosen {
    const char *ns, *name, *uid, *job;
};

static int choose(struct ctl *c, struct arena *a, struct chosen *x)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    const char *word = flags_arg(c->flags, 1), *slash = word ? strchr(word, '/') : NULL;
    struct kerr err = { 0 };
    char id[8] = "";

    if (flags_nargs(c->flags) != 2 || !*word)
        return ctl_usage(c, "migrate pod takes one pod: NAMESPACE/NAME, or NAME with -n");
    x->ns = slash ? arena_strndup(a, word, (size_t)(slash - word)) : ctl_namespace(c);
    x->name = slash ? slash + 1 : word;
    const struct kube_req r = { .verb = KUBE_GET, .kind = &kind_pod, .ns = x->ns, .name = x->name };
    if (ctl_call(c, &r, &body, &err) < 0)
        return ctl_complain(c, &err);
    if (kj_parse(body.data, body.len, 0, &doc, &err) < 0)
        return ctl_fail(c, "the server's pod: %s", err.text);
    x->uid = arena_strdup(a, kj_str_or(kj_path(kj_root(doc), "metadata.uid"), ""));
    for (size_t i = 0; i < 5; i++)
        id[i] = letters[loop_rand(c->loop) % (sizeof letters - 1)];
    x->job = arena_printf(a, "migrate-%.200s-%s", x->name, id);
    return CTL_OK;
}

static void write_job(const struct chosen *x, const struct migrate_options *o, struct strbuf *body)
{
    struct kjw w = kjw_to(body);
    char ttl[KTIME_TEXT_MAX];

    kdur_format(o->ttl, ttl);
    kjw_obj(&w, NULL);
    kjw_str(&w, "apiVersion", "scheduling.koordinator.sh/v1alpha1");
    kjw_str(&w, "kind", kind_podmigrationjob.kind);
    kjw_obj(&w, "metadata");
    kjw_str(&w, "name", x->job);
    kjw_obj(&w, "annotations");
    kjw_str(&w, ANNO_EVICT_TRIGGER, "koordctl");
    if (!str_empty(o->reason))
        kjw_str(&w, ANNO_EVICT_REASON, o->reason);
    kjw_end(&w);
    kjw_end(&w);
    kjw_obj(&w, "spec");
    if (!str_empty(o->mode))
        kjw_str(&w, "mode", o->mode);
    kjw_str(&w, "ttl", ttl);
    kjw_obj(&w, "podRef");
    kjw_str(&w, "namespace", x->ns);
    kjw_str(&w, "name", x->name);
    kjw_str(&w, "uid", x->uid);
    for (int i = 0; i < 3; i++)
        kjw_end(&w);
}

/* Each new message is a line, until the job is over or the time is. */
static int follow(struct ctl *c, const struct chosen *x, nsec_t timeout)
{
    CLEANUP(strbuf_fini) struct strbuf last = STRBUF_INIT, text = STRBUF_INIT;
    nsec_t end = loop_mono(c->loop) + timeout;

    for (;;) {
        CLEANUP(jobs_fini) jobs one = { 0 };
        int code = read_one(c, x->job, &one);
        if (code != CTL_OK)
            return code;
        const struct podmigrationjob *j = podmigrationjob_of(one.items[0]);
        strbuf_reset(&text);
        strbuf_appendf(&text, "%s: ", migrate_state(j));
        migrate_tell(j, &text);
        strbuf_appendc(&text, '\n');
        ctl_clean(&text);
        if (!streq(strbuf_str(&text), strbuf_str(&last)) && !ctl_print(c, &text))
            return CTL_FAILED;
        strbuf_reset(&last);
        strbuf_append(&last, strbuf_str(&text));
        if (j->status.phase >= MIGRATION_SUCCEEDED)
            return j->status.phase == MIGRATION_SUCCEEDED ? CTL_OK : CTL_FAILED;
        if (loop_mono(c->loop) >= end)
            return ctl_fail(c, "podmigrationjob/%s is not over yet; see koordctl migrate list",
                            x->job);
        ctl_wait(c, NSEC_PER_SEC);
    }
}

static int migrate_pod(struct ctl *c, const struct migrate_options *o)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT, answer = STRBUF_INIT, text = STRBUF_INIT;
    struct kerr err = { 0 };
    struct chosen x = { 0 };
    int code = choose(c, a, &x);

    if (code != CTL_OK)
        return code;
    write_job(&x, o, &body);
    const struct kube_req r = {
        .verb = KUBE_CREATE, .kind = &kind_podmigrationjob, .body = body.data, .body_len = body.len
    };
    if (ctl_call(c, &r, &answer, &err) < 0)
        return ctl_complain(c, &err);
    strbuf_appendf(&text, "podmigrationjob/%s created\n", x.job);
    if (!ctl_print(c, &text))
        return CTL_FAILED;
    return o->wait ? follow(c, &x, o->timeout) : CTL_OK;
}

static int run(struct ctl *c, const void *options)
{
    const char *verb = flags_arg(c->flags, 0);

    if (!verb)
        return ctl_usage(c, "migrate takes list, approve, reject or pod");
    int code = ctl_connect(c);
    if (code != CTL_OK)
        return code;
    if (streq(verb, "list"))
        return list(c, options);
    if (streq(verb, "approve") || streq(verb, "reject"))
        return decide_all(c, streq(verb, "approve"), options);
    if (streq(verb, "pod"))
        return migrate_pod(c, options);
    return ctl_usage(c, "migrate takes list, approve, reject or pod, not '%.40s'", verb);
}

const struct ctl_command ctl_command_migrate = {
    .name = "migrate",
    .args = "list | approve NAME... | reject NAME... | pod NS/NAME",
    .help = "Show and decide about the jobs that move pods, or move a pod",
    .about = "  list     PodMigrationJobs that are not over, and what each of them waits for\n"
             "  approve  lets paused jobs go: their time begins now (MigrationController's\n"
             "           approval: Manual makes jobs paused)\n"
             "  reject   ends paused jobs; their pods stay where they are for a day\n"
             "  pod      makes a job for one pod: a place elsewhere first, then the eviction\n",
    .flags = migrate_flags,
    .nflags = ARRAY_LEN(migrate_flags),
    .options_size = sizeof(struct migrate_options),
    .run = run,
};
