/* probe.c - probes and lifecycle hooks: exactly one handler, sensible numbers. */
#include "apiserver/kinds/internal.h"

static void check_exec(struct check *c, const char *path, const struct kj_val *v)
{
    if (kj_len(kj_get(v, "command")) == 0)
        err_required(c, at(c, "%s.command", path), "");
}

static void check_http(struct check *c, const char *path, const struct kj_val *v)
{
    static const char *const schemes[] = { "HTTP", "HTTPS", NULL };
    struct kj_iter it = kj_iter(kj_get(v, "httpHeaders"));
    const struct kj_val *h;

    if (!*v_str(v, "path"))
        err_required(c, at(c, "%s.path", path), "");
    check_port_or_name(c, at(c, "%s.port", path), kj_get(v, "port"));
    check_enum(c, at(c, "%s.scheme", path), v_str(v, "scheme"), schemes, false);
    while (kj_next(&it, NULL, &h)) {
        const char *name = v_str(h, "name");
        size_t n = strlen(name), good = strspn(name, "-0123456789abcdefghijklmnopqrstuvwxyz"
                                                     "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
        if (n == 0 || n != good)
            err_invalid(c, at(c, "%s.httpHeaders", path), name,
                        "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. "
                        "'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')");
    }
}

static void check_tcp(struct check *c, const char *path, const struct kj_val *v)
{
    check_port_or_name(c, at(c, "%s.port", path), kj_get(v, "port"));
}

static void check_grpc(struct check *c, const char *path, const struct kj_val *v)
{
    check_port(c, at(c, "%s.port", path), kj_i64_or(kj_get(v, "port"), 0));
}

static void check_sleep(struct check *c, const char *path, const struct kj_val *v)
{
    check_not_negative(c, at(c, "%s.seconds", path), kj_get(v, "seconds"));
}

static void check_handler(struct check *c, const char *path, const struct kj_val *v)
{
    static const struct {
        const char *name;
        void (*check)(struct check *c, const char *path, const struct kj_val *v);
    } handlers[] = { { "exec", check_exec },
                     { "httpGet", check_http },
                     { "tcpSocket", check_tcp },
                     { "grpc", check_grpc },
                     { "sleep", check_sleep } };
    bool any = false;

    for (size_t i = 0; i < ARRAY_LEN(handlers); i++) {
        const char *p = at(c, "%s.%s", path, handlers[i].name);
        if (!v_has(v, handlers[i].name))
            continue;
        if (any)
            err_forbidden(c, p, "may not specify more than 1 handler type");
        else
            handlers[i].check(c, p, kj_get(v, handlers[i].name));
        any = true;
    }
    if (!any)
        err_required(c, path, "must specify a handler type");
}

void check_probe(struct check *c, const char *path, const struct kj_val *probe, const char *which)
{
    static const char *const numbers[] = { "initialDelaySeconds", "timeoutSeconds", "periodSeconds",
                                           "successThreshold", "failureThreshold" };
    int64_t success = kj_i64_or(kj_get(probe, "successThreshold"), 1);
    const struct kj_val *grace = kj_get(probe, "terminationGracePeriodSeconds");
    const char *p = at(c, "%s.%s", path, which);

    if (kj_type(probe) != KJ_OBJ)
        return;
    check_handler(c, p, probe);
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        check_not_negative(c, at(c, "%s.%s", p, numbers[i]), kj_get(probe, numbers[i]));
    int64_t seconds = kj_i64_or(grace, 1);
    if (grace && streq(which, "readinessProbe"))
        err_invalid_i64(c, at(c, "%s.terminationGracePeriodSeconds", p), seconds,
                        "must not be set for readinessProbes");
    else if (seconds <= 0)
        err_invalid_i64(c, at(c, "%s.terminationGracePeriodSeconds", p), seconds,
                        "must be greater than 0");
    if (success != 1 && !streq(which, "readinessProbe"))
        err_invalid_i64(c, at(c, "%s.successThreshold", p), success, "must be 1");
}

void check_lifecycle(struct check *c, const char *path, const struct kj_val *lifecycle)
{
    static const char *const hooks[] = { "postStart", "preStop" };

    for (size_t i = 0; i < ARRAY_LEN(hooks); i++)
        if (v_has(lifecycle, hooks[i]))
            check_handler(c, at(c, "%s.%s", path, hooks[i]), kj_get(lifecycle, hooks[i]));
}
