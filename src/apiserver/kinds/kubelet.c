/* kubelet.c - what a real server asks the kubelet for: log, exec, attach, portforward, proxy.
 *
 * There are no containers behind the nodes of this server. A log is one line that says so, for
 * programs that collect logs go on when they get one; whatever needs a process gets an error. The
 * mistakes of a request are told as a real server tells them.
 */
#include "apiserver/kinds/internal.h"
#include "apiserver/registry/registry.h"
#include "net/url.h"

static void not_supported(struct api_call *c, const char *what)
{
    struct kerr err;
    kerr_api(&err, -EOPNOTSUPP, KR_BAD_REQUEST,
             "%s is not supported here: the pods of this server have no containers behind them",
             what);
    api_fail(c, &err);
}

static void bad_request(struct api_call *c, const char *text)
{
    struct kerr err;
    kerr_api(&err, -EINVAL, KR_BAD_REQUEST, "%s", text);
    api_fail(c, &err);
}

/* ---- which container --------------------------------------------------------------------------- */

static bool has(const struct kj_val *list, const char *name)
{
    struct kj_iter it = kj_iter(list);
    const struct kj_val *v;

    while (kj_next(&it, NULL, &v))
        if (streq(v_str(v, "name"), name))
            return true;
    return false;
}

/* "[a b]" */
static const char *names_of(struct arena *a, const struct kj_val *list)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct kj_iter it = kj_iter(list);
    const struct kj_val *v;

    while (kj_next(&it, NULL, &v))
        strbuf_appendf(&b, "%s%s", b.len ? " " : "[", v_str(v, "name"));
    strbuf_append(&b, "]");
    return arena_strdup(a, b.data);
}

/* NULL: the call was answered, for there is no such container or too many to choose from. */
static const char *container_of_call(struct api_call *c, const struct kj_val *pod)
{
    static const char *const lists[] = { "containers", "initContainers", "ephemeralContainers" };
    const struct kj_val *spec = kj_get(pod, "spec"), *all = kj_get(spec, "containers");
    const char *name = url_query_get(c->target, "container", c->arena);

    if (str_empty(name)) {
        if (kj_len(all) == 1)
            return v_str(kj_at(all, 0), "name");
        name = kj_str(kj_getn(kj_path(pod, "metadata.annotations"),
                              "kubectl.kubernetes.io/default-container",
                              strlen("kubectl.kubernetes.io/default-container")));
        if (name && has(all, name))
            return name;
        bad_request(c, arena_printf(c->arena,
                                    "a container name must be specified for pod %s, choose one "
                                    "of: %s",
                                    c->name, names_of(c->arena, all)));
        return NULL;
    }
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        if (has(kj_get(spec, lists[i]), name))
            return name;
    bad_request(c, arena_printf(c->arena, "container %s is not valid for pod %s", name, c->name));
    return NULL;
}

/* ---- logs -------------------------------------------------------------------------------------- */

/* false: the call was answered. */
static bool log_options(struct api_call *c)
{
    static const struct {
        const char *key;
        int64_t least;
        const char *why;
    } rules[] = { { "tailLines", 0, "must be greater than or equal to 0" },
                  { "sinceSeconds", 1, "must be greater than 0" },
                  { "limitBytes", 1, "must be greater than 0" } };
    CLEANUP(field_errors_free) struct field_errors *errors = field_errors_new();

    for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
        const char *text = url_query_get(c->target, rules[i].key, c->arena);
        char *end;
        if (str_empty(text))
            continue;
        long long n = strtoll(text, &end, 10);
        if (*end) {
            bad_request(c, arena_printf(c->arena,
                                        "strconv.ParseInt: parsing \"%s\": invalid syntax", text));
            return false;
        }
        if (n < rules[i].least)
            field_error(errors, FIELD_INVALID, rules[i].key, text, "%s", rules[i].why);
    }
    if (field_errors_count(errors) > 0)
        api_fail_invalid_kind(c, "PodLogOptions", c->name, errors);
    return field_errors_count(errors) == 0;
}

static void pod_log(struct api_call *c, const struct kj_val *pod)
{
    const char *node = kj_str_or(kj_path(pod, "spec.nodeName"), ""), *name;

    if (!log_options(c))
        return;
    name = container_of_call(c, pod);
    if (!name)
        return;
    c->reply_type = "text/plain";
    if (!*node) {
        api_reply(c, 204, "", 0);
        return;
    }
    const char *text = arena_printf(c->arena,
                                    "There is no log: container %s of pod %s does not run as a "
                                    "process, node %s is simulated by koord.\n",
                                    name, c->name, node);
    api_reply(c, 200, text, strlen(text));
}

/* ---- the rest ----------------------------------------------------------------------------------- */

bool pod_is_kubelets(const char *sub)
{
    static const char *const subs[] = { "log", "exec", "attach", "portforward", "proxy" };

    for (size_t i = 0; i < ARRAY_LEN(subs); i++)
        if (streq(sub, subs[i]))
            return true;
    return false;
}

void pod_ask_kubelet(struct apiserver *s, struct api_call *c)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    bool stream = !streq(c->sub, "log") && !streq(c->sub, "proxy");
    struct kerr err = { 0 };

    (void)s;
    if (api_read(c, c->res, c->ns, c->name, &doc, NULL, &err) < 0) {
        api_fail(c, &err);
    } else if (streq(c->sub, "log") && c->verb != API_GET) {
        api_err_method(&err);
        api_fail(c, &err);
    } else if (streq(c->sub, "log")) {
        pod_log(c, kj_root(doc));
    } else if (stream && !*kj_str_or(kj_path(kj_root(doc), "spec.nodeName"), "")) {
        bad_request(c, arena_printf(c->arena, "pod %s does not have a host assigned", c->name));
    } else {
        not_supported(c, c->sub);
    }
}

/* nodes/proxy, services/proxy. */
void object_proxy(struct apiserver *s, struct api_call *c)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr err = { 0 };

    (void)s;
    if (!streq(c->sub, "proxy")) {
        api_err_method(&err);
        api_fail(c, &err);
    } else if (api_read(c, c->res, c->ns, c->name, &doc, NULL, &err) < 0) {
        api_fail(c, &err);
    } else {
        not_supported(c, "proxy");
    }
}
