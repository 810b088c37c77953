/* pod_cell.c - what `kubectl get pods` shows: the story of a pod in one word. */
#include <stdio.h>

#include "apiserver/kinds/internal.h"
#include "base/ktime.h"

struct view {
    int64_t ready, total, restarts;
    nsec_t last_restart; /* 0: never */
    char reason[96];
};

static void set_reason(struct view *v, const char *prefix, const char *reason)
{
    snprintf(v->reason, sizeof v->reason, "%s%s", prefix, reason);
}

/* How a container ended: its reason, else the signal, else the exit code. */
static void set_terminated(struct view *v, const char *prefix, const struct kj_val *terminated)
{
    int64_t signal = kj_i64_or(kj_get(terminated, "signal"), 0);

    if (*v_str(terminated, "reason"))
        set_reason(v, prefix, v_str(terminated, "reason"));
    else if (signal != 0)
        snprintf(v->reason, sizeof v->reason, "%sSignal:%lld", prefix, (long long)signal);
    else
        snprintf(v->reason, sizeof v->reason, "%sExitCode:%lld", prefix,
                 (long long)kj_i64_or(kj_get(terminated, "exitCode"), 0));
}

static void count_restarts(struct view *v, const struct kj_val *status)
{
    const char *when = kj_str(kj_path(status, "lastState.terminated.finishedAt"));
    nsec_t t;

    v->restarts += kj_i64_or(kj_get(status, "restartCount"), 0);
    if (when && ktime_parse(when, strlen(when), &t, NULL) == 0 && t > v->last_restart)
        v->last_restart = t;
}

static bool condition_is(const struct kj_val *pod, const char *type, const char *status)
{
    struct kj_iter it = kj_iter(kj_path(pod, "status.conditions"));
    const struct kj_val *c;

    while (kj_next(&it, NULL, &c))
        if (streq(v_str(c, "type"), type))
            return streq(v_str(c, "status"), status);
    return false;
}

/* An init container that keeps running beside the others. */
static bool is_sidecar(const struct kj_val *pod, const char *name)
{
    struct kj_iter it = kj_iter(kj_path(pod, "spec.initContainers"));
    const struct kj_val *c;

    while (kj_next(&it, NULL, &c))
        if (streq(v_str(c, "name"), name))
            return streq(v_str(c, "restartPolicy"), "Always");
    return false;
}

/* true: initialisation is under way or failed, and v->reason says how. sidecars: what the init
 * containers add once the pod runs. */
static bool look_at_init(const struct kj_val *pod, struct view *v, struct view *sidecars)
{
    struct kj_iter it = kj_iter(kj_path(pod, "status.initContainerStatuses"));
    const struct kj_val *s;

    for (size_t i = 0; kj_next(&it, NULL, &s); i++) {
        const struct kj_val *terminated = kj_path(s, "state.terminated");
        const char *waiting = kj_str_or(kj_path(s, "state.waiting.reason"), "");
        bool sidecar = is_sidecar(pod, v_str(s, "name"));
        count_restarts(v, s);
        if (sidecar)
            count_restarts(sidecars, s);
        if (kj_type(terminated) == KJ_OBJ && kj_i64_or(kj_get(terminated, "exitCode"), 0) == 0)
            continue;
        if (sidecar && kj_bool(kj_get(s, "started"), false)) {
            v->ready += kj_bool(kj_get(s, "ready"), false);
            continue;
        }
        if (kj_type(terminated) == KJ_OBJ)
            set_terminated(v, "Init:", terminated);
        else if (*waiting && !streq(waiting, "PodInitializing"))
            set_reason(v, "Init:", waiting);
        else
            snprintf(v->reason, sizeof v->reason, "Init:%zu/%zu", i,
                     kj_len(kj_path(pod, "spec.initContainers")));
        return true;
    }
    return false;
}

static void look_at_containers(const struct kj_val *pod, struct view *v)
{
    const struct kj_val *list = kj_path(pod, "status.containerStatuses");
    char error[sizeof v->reason] = "";
    bool running = false;

    /* The first container's word counts most, so it comes last. */
    for (size_t i = kj_type(list) == KJ_ARR ? kj_len(list) : 0; i-- > 0;) {
        const struct kj_val *s = kj_at(list, i), *terminated = kj_path(s, "state.terminated");
        const char *waiting = kj_str_or(kj_path(s, "state.waiting.reason"), "");
        count_restarts(v, s);
        if (*waiting) {
            set_reason(v, "", waiting);
        } else if (kj_type(terminated) == KJ_OBJ) {
            set_terminated(v, "", terminated);
            if (kj_i64_or(kj_get(terminated, "exitCode"), 0) != 0)
                memcpy(error, v->reason, sizeof error);
        } else if (kj_bool(kj_get(s, "ready"), false) && kj_path(s, "state.running")) {
            running = true;
            v->ready++;
        }
    }
    if (!streq(v->reason, "Completed"))
        return;
    if (running && condition_is(pod, "Ready", "True"))
        set_reason(v, "", "Running");
    else if (*error)
        set_reason(v, "", error);
    else if (running)
        set_reason(v, "", "NotReady");
}

static struct view look(const struct kj_val *pod)
{
    const struct kj_val *status = kj_get(pod, "status"), *c;
    struct view v = { .total = (int64_t)kj_len(kj_path(pod, "spec.containers")) }, sidecars = { 0 };
    const char *phase = v_str(status, "phase"), *why = v_str(status, "reason");

    set_reason(&v, "", *why ? why : phase);
    for (struct kj_iter it = kj_iter(kj_get(status, "conditions")); kj_next(&it, NULL, &c);)
        if (streq(v_str(c, "type"), "PodScheduled") && streq(v_str(c, "reason"), "SchedulingGated"))
            set_reason(&v, "", "SchedulingGated");
    for (struct kj_iter it = kj_iter(kj_path(pod, "spec.initContainers")); kj_next(&it, NULL, &c);)
        v.total += streq(v_str(c, "restartPolicy"), "Always");
    if (!look_at_init(pod, &v, &sidecars) || condition_is(pod, "Initialized", "True")) {
        v.restarts = sidecars.restarts;
        v.last_restart = sidecars.last_restart;
        look_at_containers(pod, &v);
    }
    if (v_has(kj_get(pod, "metadata"), "deletionTimestamp")) {
        if (streq(why, "NodeLost"))
            set_reason(&v, "", "Unknown");
        else if (!pod_is_ended(pod))
            set_reason(&v, "", "Terminating");
    }
    return v;
}

static void cell_ready(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    struct view v = look(obj);
    (void)now;
    strbuf_appendf(out, "\"%lld/%lld\"", (long long)v.ready, (long long)v.total);
}

static void cell_status(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    struct view v = look(obj);
    (void)now;
    cell_text(out, v.reason);
}

static void cell_restarts(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    struct view v = look(obj);

    strbuf_appendf(out, "\"%lld", (long long)v.restarts);
    if (v.restarts != 0 && v.last_restart != 0) {
        strbuf_append(out, " (");
        duration_text(now - v.last_restart, out);
        strbuf_append(out, " ago)");
    }
    strbuf_appendc(out, '"');
}

static void text_or_none(struct strbuf *out, const char *text)
{
    cell_text(out, *text ? text : "<none>");
}

static void cell_ip(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    (void)now;
    text_or_none(out, v_str(kj_at(kj_path(obj, "status.podIPs"), 0), "ip"));
}

static void cell_node(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    (void)now;
    text_or_none(out, kj_str_or(kj_path(obj, "spec.nodeName"), ""));
}

static void cell_nominated(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    (void)now;
    text_or_none(out, kj_str_or(kj_path(obj, "status.nominatedNodeName"), ""));
}

static void cell_gates(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    const struct kj_val *gates = kj_path(obj, "spec.readinessGates"), *g;
    struct kj_iter it = kj_iter(gates);
    size_t met = 0;

    (void)now;
    if (kj_len(gates) == 0) {
        cell_text(out, "<none>");
        return;
    }
    while (kj_next(&it, NULL, &g))
        met += condition_is(obj, v_str(g, "conditionType"), "True");
    strbuf_appendf(out, "\"%zu/%zu\"", met, kj_len(gates));
}

static const struct res_column pod_columns_list[] = {
    NAME_COLUMN,
    { .name = "Ready",
      .type = "string",
      .cell = cell_ready,
      .description = "Containers that are ready, of all that should be." },
    { .name = "Status",
      .type = "string",
      .cell = cell_status,
      .description = "Where the pod is in its life, or what keeps it from going on." },
    { .name = "Restarts",
      .type = "string",
      .cell = cell_restarts,
      .description = "How often containers were started again, and when last." },
    AGE_COLUMN,
    { .name = "IP", .type = "string", .priority = 1, .cell = cell_ip },
    { .name = "Node", .type = "string", .priority = 1, .cell = cell_node },
    { .name = "Nominated Node", .type = "string", .priority = 1, .cell = cell_nominated },
    { .name = "Readiness Gates", .type = "string", .priority = 1, .cell = cell_gates },
};
COLUMNS(pod_columns);
