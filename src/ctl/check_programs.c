/* check_programs.c - koord's programs: are they ready, who leads, do their webhooks answer. */
#include "api/lease.h"
#include "api/pod.h"
#include "base/ktime.h"
#include "client/kube.h"
#include "ctl/check.h"
#include "loop/loop.h"

/* ---- why a pod is not ready ------------------------------------------------------------------ */

/* One line of a text that may have many; the last says most, since logs may come before it. */
static const char *last_line(struct check *k, const char *text)
{
    size_t n = strlen(text);

    while (n > 0 && text[n - 1] == '\n')
        n--;
    size_t begin = n;
    while (begin > 0 && text[begin - 1] != '\n')
        begin--;
    return arena_strndup(k->arena, text + begin, n - begin);
}

/* "CrashLoopBackOff: koordlet: failed to new daemon: NODE_NAME env is empty" */
static const char *state_of(struct check *k, const struct kj_val *status)
{
    const struct kj_val *waiting = kj_path(status, "state.waiting");
    const struct kj_val *ended = kj_path(status, "state.terminated");
    const char *words;

    if (!ended)
        ended = kj_path(status, "lastState.terminated");
    words = kj_str_or(kj_get(ended, "message"), "");
    if (!*words)
        words = kj_str_or(kj_get(waiting, "message"), "");
    if (!*words)
        words = kj_str_or(kj_get(ended, "reason"), "");
    const char *reason = kj_str_or(kj_get(waiting, "reason"), "");
    if (!waiting && !kj_path(status, "state.terminated"))
        return NULL; /* it runs */
    return arena_printf(k->arena, "%s%s%s", reason, *reason && *words ? ": " : "",
                        last_line(k, words));
}

/* A program that runs says itself what it waits for. */
static const char *ask_readiness(struct check *k, const struct part *p, const struct kj_val *pod)
{
    int64_t port = container_port(pod_main(kj_get(pod, "spec")), str_or(p->port, ""));
    const char *pod_name = kj_str_or(kj_path(pod, "metadata.name"), "");

    for (const char *at = p->checks; port && *at; at += strspn(at, ",")) {
        CLEANUP(strbuf_fini) struct strbuf answer = STRBUF_INIT;
        struct kerr err = { 0 };
        size_t n = strcspn(at, ",");
        const char *path =
            arena_printf(k->arena, "/api/v1/namespaces/%s/pods/%s:%lld/proxy/readyz/%.*s", k->ns,
                         pod_name, (long long)port, (int)n, at);
        const struct kube_req r = { .verb = KUBE_GET, .raw_path = path, .no_retry = true };
        if (ctl_call(k->c, &r, &answer, &err) < 0) {
            const char *why = strstr(err.text, "internal server error: ");
            return arena_strdup(k->arena, why ? why + strlen("internal server error: ") : err.text);
        }
        at += n;
    }
    return "it runs, and does not say why";
}

static const char *why_unready(struct check *k, const struct part *p)
{
    struct kj_iter it = kj_iter(kj_get(kj_root(k->pods), "items"));
    const struct kj_val *pod;

    while (kj_next(&it, NULL, &pod)) {
        const char *why = NULL;
        if (!streq(pod_app(pod), p->program) || condition_is(pod, "Ready", "True"))
            continue;
        if (condition_is(pod, "PodScheduled", "False"))
            why = kj_str_or(kj_get(object_condition(pod, "PodScheduled"), "message"),
                            "it has no node");
        if (!why)
            why = state_of(k, kj_at(kj_path(pod, "status.containerStatuses"), 0));
        return why ? why : ask_readiness(k, p, pod);
    }
    return "it has no pods: kubectl describe its workload";
}

/* ---- programs -------------------------------------------------------------------------------- */

static const char *image_tag(const char *image)
{
    const char *colon = strrchr(image, ':'), *slash = strrchr(image, '/');
    return colon && (!slash || colon > slash) ? colon + 1 : "latest";
}

static void judge_program(struct check *k, enum part_id id, const struct kj_val *w)
{
    const struct part *p = &koord_parts[id];
    struct check_part *state = &k->parts[id];
    bool on_nodes = streq(p->kind->plural, "daemonsets");
    const char *image =
        kj_str_or(kj_get(pod_main(kj_path(w, "spec.template.spec")), "image"), "without image");

    const char *release =
        kj_str(kj_get(kj_path(w, "metadata.annotations"), "meta.helm.sh/release-name"));

    state->there = k->installed = true;
    if (release && !k->release)
        k->release = arena_strdup(k->arena, release);
    state->want = on_nodes ? kj_i64_or(kj_path(w, "status.desiredNumberScheduled"), 0)
                           : kj_i64_or(kj_path(w, "spec.replicas"), 1);
    state->have =
        kj_i64_or(kj_path(w, on_nodes ? "status.numberReady" : "status.readyReplicas"), 0);
    state->ready = state->have > 0;
    if (!on_nodes && state->want == 0)
        check_add(k, "Programs", FINDING_WARN, "%s is scaled to 0: it does nothing", p->program);
    else if (state->have < state->want)
        check_add(k, "Programs", FINDING_FAIL, "%s %s: %lld of %lld ready: %s", p->program,
                  image_tag(image), (long long)state->have, (long long)state->want,
                  why_unready(k, p));
    else if (!streq(image_tag(image), "v" KOORD_VERSION))
        check_add(k, "Programs", FINDING_NOTE, "%s %s: %lld ready; this koordctl is v%s",
                  p->program, image_tag(image), (long long)state->have, KOORD_VERSION);
    else
        check_add(k, "Programs", FINDING_OK, "%s %s: %lld ready", p->program, image_tag(image),
                  (long long)state->have);
}

void check_programs(struct check *k)
{
    struct kerr err = { 0 };

    if (ctl_ask(k->c, &(struct kube_req){ .verb = KUBE_LIST, .kind = &kind_pod, .ns = k->ns },
                &k->pods, &err) < 0)
        check_add(k, "Programs", FINDING_NOTE, "pods of %s cannot be read: %s", k->ns,
                  check_cause(k, &err));
    for (enum part_id id = 0; id < PARTS; id++) {
        CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
        const struct kube_req r = { .verb = KUBE_GET,
                                    .kind = koord_parts[id].kind,
                                    .ns = k->ns,
                                    .name = koord_parts[id].program };
        if (ctl_ask(k->c, &r, &doc, &err) == 0)
            judge_program(k, id, kj_root(doc));
        else if (err.reason != KR_NOT_FOUND)
            check_add(k, "Programs", FINDING_NOTE, "%s: %s", koord_parts[id].program,
                      check_cause(k, &err));
    }
    if (!k->installed)
        check_add(k, "Programs", FINDING_NOTE,
                  "koord is not installed in %s: this is what an installation would meet", k->ns);
}

/* ---- leases ---------------------------------------------------------------------------------- */

/* "koord-scheduler-5d4-x_uuid" is of that pod; with the host's network, of a pod on that node. */
static const char *holder_pod(struct check *k, const struct part *p, const char *holder)
{
    struct kj_iter it = kj_iter(kj_get(kj_root(k->pods), "items"));
    size_t n = strcspn(holder, "_");
    const struct kj_val *pod;

    while (kj_next(&it, NULL, &pod)) {
        const char *name = kj_str_or(kj_path(pod, "metadata.name"), "");
        const char *node = kj_str_or(kj_path(pod, "spec.nodeName"), "");
        bool host = kj_bool(kj_path(pod, "spec.hostNetwork"), false);
        const char *machine = host ? node : name;
        if (streq(pod_app(pod), p->program) && strlen(machine) == n &&
            memcmp(machine, holder, n) == 0)
            return name;
    }
    return NULL;
}

static void judge_lease(struct check *k, enum part_id id, const struct kj_val *spec)
{
    const struct part *p = &koord_parts[id];
    const char *holder = kj_str_or(kj_get(spec, "holderIdentity"), "");
    const char *renewed = kj_str_or(kj_get(spec, "renewTime"), "");
    int64_t seconds = kj_i64_or(kj_get(spec, "leaseDurationSeconds"), 15);
    nsec_t at = 0;

    (void)ktime_parse(renewed, strlen(renewed), &at, NULL);
    int64_t age = (loop_wall(k->c->loop) - at) / NSEC_PER_SEC;
    const char *pod = *holder ? holder_pod(k, p, holder) : NULL;
    if (!*holder || age > seconds) {
        check_add(k, "Leases", k->parts[id].there ? FINDING_WARN : FINDING_NOTE,
                  "%s: nobody holds it%s%s", p->lease, *holder ? "; last: " : "", holder);
        return;
    }
    if (pod)
        check_add(k, "Leases", FINDING_OK, "%s: held by pod %s, renewed %lld s ago", p->lease, pod,
                  (long long)MAX(age, INT64_C(0)));
    else
        check_add(k, "Leases", k->parts[id].there && k->pods ? FINDING_FAIL : FINDING_WARN,
                  "%s: held by %s, which is no pod of %s in %s: while it renews the lease, %s only "
                  "stands by",
                  p->lease, holder, p->program, k->ns, p->program);
}

void check_leases(struct check *k)
{
    for (enum part_id id = 0; id < PARTS; id++) {
        CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
        const char *lease = koord_parts[id].lease;
        const struct kube_req r = {
            .verb = KUBE_GET, .kind = &kind_lease, .ns = k->ns, .name = str_or(lease, "")
        };
        struct kerr err = { 0 };
        if (!lease)
            continue;
        if (ctl_ask(k->c, &r, &doc, &err) == 0)
            judge_lease(k, id, kj_get(kj_root(doc), "spec"));
        else if (err.reason != KR_NOT_FOUND)
            check_add(k, "Leases", FINDING_NOTE, "%s: %s", lease, check_cause(k, &err));
        else if (k->parts[id].there)
            check_add(k, "Leases", FINDING_WARN, "%s: there is none yet: nobody leads", lease);
    }
}

/* ---- webhooks -------------------------------------------------------------------------------- */

static bool count_endpoints(void *arg, const struct kj_val *slice)
{
    struct kj_iter it = kj_iter(kj_get(slice, "endpoints"));
    const struct kj_val *e;

    while (kj_next(&it, NULL, &e))
        *(unsigned *)arg += kj_bool(kj_path(e, "conditions.ready"), true);
    return true;
}

/* The API server's own way to the pods. Any answer of theirs is one; its own complaint is not. */
static void check_reachable(struct check *k)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    const char *path = arena_printf(
        k->arena, "/api/v1/namespaces/%s/services/https:" WEBHOOK_SERVICE ":443/proxy/mutate-pod",
        k->ns);
    const struct kube_req slices = { .kind = &kind_endpoint_slice,
                                     .ns = k->ns,
                                     .label_selector =
                                         "kubernetes.io/service-name=" WEBHOOK_SERVICE };
    const struct kube_req ask = { .verb = KUBE_GET, .raw_path = path, .no_retry = true };
    struct kerr err = { 0 };
    unsigned ready = 0;

    if (ctl_each(k->c, &slices, count_endpoints, &ready, &err) == 0 && ready == 0) {
        check_add(k, "Webhooks", FINDING_FAIL,
                  WEBHOOK_SERVICE " has no endpoint that is ready: is koord-manager?");
        return;
    }
    int r = ctl_call(k->c, &ask, &body, &err);
    if (r < 0 && (err.reason == KR_FORBIDDEN))
        check_add(k, "Webhooks", FINDING_NOTE,
                  "%u endpoints; whether they answer cannot be asked: %s", ready,
                  check_cause(k, &err));
    else if (r < 0 && (err.reason == KR_UNAVAILABLE || err.reason == KR_INTERNAL ||
                       err.reason == KR_TIMEOUT || err.reason == KR_NONE))
        check_add(k, "Webhooks", FINDING_FAIL,
                  "the API server cannot reach " WEBHOOK_SERVICE ": %s", check_cause(k, &err));
    else
        check_add(k, "Webhooks", FINDING_OK,
                  "the API server reaches " WEBHOOK_SERVICE ", %u endpoints", ready);
}

static void judge_webhooks(struct check *k, const char *name, const struct kj_val *config)
{
    struct kj_iter it = kj_iter(kj_get(config, "webhooks"));
    const struct kj_val *hook;
    unsigned n = 0, fail = 0, bare = 0;

    while (kj_next(&it, NULL, &hook)) {
        const struct kj_val *client = kj_get(hook, "clientConfig");
        n++;
        fail += streq(kj_str_or(kj_get(hook, "failurePolicy"), "Fail"), "Fail");
        bare += str_empty(kj_str(kj_get(client, "caBundle")));
        k->webhooks |= streq(kj_str_or(kj_get(hook, "name"), ""), "mpod-create.koordinator.sh");
    }
    if (!k->parts[PART_MANAGER].there && n)
        check_add(k, "Webhooks", fail ? FINDING_FAIL : FINDING_WARN,
                  "%s is left behind: no koord-manager answers%s; kubectl delete it", name,
                  fail ? ", and pods cannot be created" : "");
    else if (bare)
        check_add(k, "Webhooks", FINDING_WARN,
                  "%s: %u of %u have no CA yet: koord-manager fills it in", name, bare, n);
    else
        check_add(k, "Webhooks", FINDING_OK, "%s: %u, %u of them with failurePolicy Fail", name, n,
                  fail);
}

void check_webhooks(struct check *k)
{
    static const struct {
        const struct kind *kind;
        const char *name;
    } configs[] = { { &kind_mutating_webhooks, MUTATING_WEBHOOKS },
                    { &kind_validating_webhooks, VALIDATING_WEBHOOKS } };
    bool any = false;

    for (size_t i = 0; i < ARRAY_LEN(configs); i++) {
        CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
        const struct kube_req r = { .verb = KUBE_GET,
                                    .kind = configs[i].kind,
                                    .name = configs[i].name };
        struct kerr err = { 0 };
        if (ctl_ask(k->c, &r, &doc, &err) == 0) {
            any = true;
            judge_webhooks(k, configs[i].name, kj_root(doc));
        } else if (err.reason != KR_NOT_FOUND) {
            check_add(k, "Webhooks", FINDING_NOTE, "%s: %s", configs[i].name, check_cause(k, &err));
        } else if (k->parts[PART_MANAGER].there) {
            check_add(k, "Webhooks", FINDING_NOTE, "there is no %s", configs[i].name);
        }
    }
    if (any && k->parts[PART_MANAGER].there)
        check_reachable(k);
}
