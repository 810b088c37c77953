/* reserve.c - koordctl reserve: from the command line to Reservations with nodes, or to none. */
#include "ctl/reserve.h"

#include <signal.h>

#include "api/koord/reservation.h"
#include "base/arena.h"
#include "client/kube.h"
#include "loop/loop.h"
#include "json/kj.h"

enum { REPLICAS_MAX = 5000, TRIES = 3 };

#define O(member) .off = offsetof(struct reserve_options, member)
static const struct flag reserve_flags[] = {
    { "replicas", FLAG_INT, O(replicas), .min = 0, .max = REPLICAS_MAX,
      .help = "so many `pods` are to come" },
    { "ttl", FLAG_DUR, O(ttl), .def = "30m", .min = NSEC_PER_SEC, .max = NSEC_MAX,
      .help = "how long the room is kept for them" },
    { "timeout", FLAG_DUR, O(timeout), .def = "1m", .min = 0, .max = NSEC_MAX,
      .help = "how long to wait for nodes; 0: not at all" },
    { "all-or-nothing", FLAG_BOOL, O(all_or_nothing),
      .help = "when not all get a node in time, none is kept" },
    { "dry-run", FLAG_BOOL, O(dry_run), .help = "only show which nodes they would get" },
    { "config", FLAG_STR, O(config), .help = "KubeSchedulerConfiguration `file` for --dry-run" },
};
#undef O

/* ---- the workload ---------------------------------------------------------------------------- */

/* "deployment/web" or "deployment web". */
static int read_name(struct reserve *x)
{
    const char *first = flags_arg(x->c->flags, 0), *word = flags_arg(x->c->flags, 1);
    const char *slash = first ? strchr(first, '/') : NULL;

    if (!first || !slash == !word || flags_nargs(x->c->flags) > 2)
        return ctl_usage(x->c, "reserve takes a workload: deployment/NAME");
    const char *kind =
        arena_strndup(x->arena, first, slash ? (size_t)(slash - first) : strlen(first));
    x->kind = reserve_kind(kind);
    x->name = slash ? slash + 1 : word;
    if (!x->kind)
        return ctl_usage(
            x->c, "reserve knows deployments, statefulsets, replicasets and jobs, not '%.60s'",
            kind);
    if (!*x->name || strchr(x->name, '/'))
        return ctl_usage(x->c, "'%.120s' is not the name of a workload", x->name);
    if (x->o->replicas == 0)
        return ctl_usage(x->c, "--replicas says how many pods are to come");
    if (x->o->all_or_nothing && x->o->timeout == 0)
        return ctl_usage(x->c, "--all-or-nothing has to wait: give it a --timeout");
    return CTL_OK;
}

static int read_workload(struct reserve *x)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kube_req r = { .verb = KUBE_GET, .kind = x->kind, .name = x->name };
    struct kerr err = { 0 };

    r.ns = x->ns = ctl_namespace(x->c);
    if (ctl_call(x->c, &r, &body, &err) < 0)
        return ctl_complain(x->c, &err);
    if (kj_parse(strbuf_str(&body), body.len, 0, &x->workload, &err) < 0)
        return ctl_fail(x->c, "the server's %s: %s", x->kind->kind, err.text);
    if (!reserve_template(x))
        return ctl_fail(x->c, "%s %s has no spec.template", x->kind->kind, x->name);
    return CTL_OK;
}

/* Reservations have no namespace, so their names carry the workload's. */
static void name_all(struct reserve *x)
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    char run[8] = "";

    for (size_t i = 0; i < 5; i++)
        run[i] = letters[loop_rand(x->c->loop) % (sizeof letters - 1)];
    x->run = arena_strdup(x->arena, run);
    for (int i = 0; i < x->o->replicas; i++) {
        struct reserved one = { .node = "", .message = "" };
        one.name = arena_printf(x->arena, "%.63s-%.150s-%s-%d", x->ns, x->name, x->run, i);
        vec_push(&x->all, one);
    }
}

/* ---- writing --------------------------------------------------------------------------------- */

/* An answer that was lost is asked for again: the name is ours alone. */
static int create(struct reserve *x, size_t i, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    CLEANUP(strbuf_fini) struct strbuf answer = STRBUF_INIT;
    int r = 0;

    reserve_write(x, i, &body);
    struct kube_req q = {
        .verb = KUBE_CREATE, .kind = &kind_reservation, .body = body.data, .body_len = body.len
    };
    x->all.items[i].sent = true;
    for (int left = TRIES; left > 0 && !x->interrupted; left--) {
        r = ctl_call(x->c, &q, &answer, err);
        if (r == 0 || (err->reason == KR_ALREADY_EXISTS && left < TRIES))
            return 0;
        if (err->reason != KR_NONE && err->reason != KR_TIMEOUT && err->reason != KR_UNAVAILABLE)
            return r;
    }
    return r;
}

static int create_all(struct reserve *x, struct kerr *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < x->all.n && !x->interrupted; i++)
        r = create(x, i, err);
    return r;
}

/* Those that are not placed, or all. Returns how many could not be deleted. */
static size_t remove_them(struct reserve *x, bool all)
{
    CLEANUP(strbuf_fini) struct strbuf answer = STRBUF_INIT;
    size_t left = 0;

    vec_foreach(&x->all, i) {
        struct reserved *one = &x->all.items[i];
        struct kube_req q = { .verb = KUBE_DELETE, .kind = &kind_reservation, .name = one->name };
        struct kerr err = { 0 };
        int tries = 0;
        if (!one->sent || (!all && one->outcome == RESERVE_PLACED))
            continue;
        while (ctl_call(x->c, &q, &answer, &err) < 0 && err.reason != KR_NOT_FOUND &&
               ++tries < TRIES)
            err = (struct kerr){ 0 };
        if (tries == TRIES) {
            left++;
            (void)ctl_complain(x->c, &err);
        } else {
            one->outcome = RESERVE_REMOVED;
            one->node = "";
        }
    }
    return left;
}

static int clean_up(struct reserve *x, bool all)
{
    size_t left = remove_them(x, all);

    if (left)
        return ctl_fail(x->c,
                        "%zu Reservations are left: koordctl get reservations has %s-%s in "
                        "their names",
                        left, x->name, x->run);
    return CTL_FAILED;
}

/* ---- the run --------------------------------------------------------------------------------- */

static void on_signal(struct loop *l, int signum, void *arg)
{
    struct reserve *x = arg;

    (void)signum;
    x->interrupted = true;
    if (x->waiting) /* otherwise an answer is on its way, and is waited for */
        loop_stop(l);
}

static void catch_signals(struct reserve *x, signal_fn fn)
{
    struct kerr unread = { 0 };

    /* On a virtual loop nobody interrupts. */
    (void)loop_on_signal(x->c->loop, SIGINT, fn, x, &unread);
    (void)loop_on_signal(x->c->loop, SIGTERM, fn, x, &unread);
}

/* What is kept, and how it ends. Whoever did not wait keeps all. */
static int settle(struct reserve *x)
{
    bool complete = reserve_count(x, RESERVE_PLACED) == x->all.n, waited = x->o->timeout > 0;
    int code = CTL_OK;

    if (x->interrupted)
        code = ctl_fail(x->c, "interrupted; %s",
                        x->o->all_or_nothing ? "nothing is kept"
                                             : "what was reserved so far is kept for its ttl");
    if (x->interrupted ? x->o->all_or_nothing : waited && !complete)
        code = clean_up(x, x->o->all_or_nothing);
    return reserve_show(x) ? code : CTL_FAILED;
}

static int run_real(struct reserve *x)
{
    struct kerr err = { 0 };
    int r, code;

    catch_signals(x, on_signal);
    r = create_all(x, &err);
    if (r == 0 && !x->interrupted && x->o->timeout > 0)
        r = reserve_wait(x, &err);
    if (r < 0) {
        (void)ctl_complain(x->c, &err);
        code = clean_up(x, true);
    } else {
        code = settle(x);
    }
    catch_signals(x, NULL);
    return code;
}

static int run_steps(struct reserve *x)
{
    int code = read_name(x);

    if (code == CTL_OK)
        code = ctl_connect(x->c);
    if (code == CTL_OK)
        code = read_workload(x);
    if (code != CTL_OK)
        return code;
    name_all(x);
    return x->o->dry_run ? reserve_try(x) : run_real(x);
}

static int run(struct ctl *c, const void *options)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct reserve x = { .c = c, .o = options, .arena = a };

    if (streq(c->o.output, "name"))
        return ctl_usage(c, "reserve knows -o table, json and yaml");
    int code = run_steps(&x);
    kj_doc_free(x.workload);
    vec_fini(&x.all);
    return code;
}

const struct ctl_command ctl_command_reserve = {
    .name = "reserve",
    .args = "KIND/NAME --replicas N",
    .help = "Keep room for pods of a workload that are still to come",
    .about =
        "Makes a Reservation for each pod that is to come, from the template of the deployment,\n"
        "statefulset, replicaset or job, waits until they have nodes, and shows these. Pods of "
        "the\nworkload that are created within --ttl take the room; nobody else gets it. Running "
        "pods are\nnot preempted for it.\n\n"
        "What has no node after --timeout is deleted again; with --all-or-nothing also the "
        "others, and\nalso after Ctrl-C. With --timeout 0 all stay, and wait for room until "
        "their ttl is over.\n--dry-run writes nothing: a scheduler of its own tries the pods one "
        "after the other on the\ncluster as it is.\n",
    .flags = reserve_flags,
    .nflags = ARRAY_LEN(reserve_flags),
    .options_size = sizeof(struct reserve_options),
    .run = run,
};
