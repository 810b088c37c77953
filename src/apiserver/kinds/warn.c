/* warn.c - what warnings of several kinds have in common. Their texts are kube-apiserver's.
 *
 * Almost every object has nothing to be warned of: nothing is written out, no quantity parsed and
 * no path made before it is known that there is something to say.
 */
#include "apiserver/kinds/internal.h"
#include "apiserver/registry/registry.h"

const char *warn_path(struct api_call *call, const char *fmt, va_list ap)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    strbuf_vappendf(&b, fmt, ap);
    return arena_strndup(call->arena, strbuf_str(&b), b.len);
}

void v_pick(const struct kj_val *obj, const struct str *names, size_t n, const struct kj_val **ret)
{
    struct kj_iter it = kj_iter(obj);
    const struct kj_val *v;
    uint64_t lengths = 0;
    struct str key;

    for (size_t i = 0; i < n; i++) {
        lengths |= UINT64_C(1) << names[i].n % 64;
        ret[i] = NULL;
    }
    while (kj_next(&it, &key, &v))
        for (size_t i = 0; lengths >> key.n % 64 & 1 && i < n; i++)
            if (str_eq(names[i], key))
                ret[i] = v;
}

bool spec_changed(const struct kj_val *obj, const struct kj_val *old)
{
    return !old || kj_i64_or(kj_path(obj, "metadata.generation"), 0) !=
                       kj_i64_or(kj_path(old, "metadata.generation"), 0);
}

/* ---- labels of nodes ------------------------------------------------------------------------- */

const char *deprecated_node_label(const char *key)
{
    static const struct {
        const char *key, *advice;
    } labels[] = {
        { "beta.kubernetes.io/arch", "deprecated since v1.14; use \"kubernetes.io/arch\" instead" },
        { "beta.kubernetes.io/os", "deprecated since v1.14; use \"kubernetes.io/os\" instead" },
        { "failure-domain.beta.kubernetes.io/region",
          "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead" },
        { "failure-domain.beta.kubernetes.io/zone",
          "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead" },
        { "beta.kubernetes.io/instance-type",
          "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead" },
        { "app.kubernetes.io/created-by", "deprecated since v1.9" },
        { "scheduler.alpha.kubernetes.io/preferAvoidPods",
          "deprecated since v1.22; use Taints and Tolerations instead" },
        { "node-role.kubernetes.io/master",
          "use \"node-role.kubernetes.io/control-plane\" instead" },
    };

    for (size_t i = 0; i < ARRAY_LEN(labels); i++)
        if (streq(labels[i].key, key))
            return labels[i].advice;
    return NULL;
}

void warn_of_node_terms(struct api_call *call, const struct kj_val *expressions, const char *fmt,
                        ...)
{
    struct kj_iter it = kj_iter(expressions);
    const struct kj_val *v;

    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        const char *key = v_str(v, "key"), *advice = deprecated_node_label(key);
        va_list ap;
        if (!advice)
            continue;
        va_start(ap, fmt);
        const char *path = warn_path(call, fmt, ap);
        va_end(ap);
        api_warn(call, "%s.matchExpressions[%zu].key: %s is %s", path, i, key, advice);
    }
}

/* ---- names and addresses --------------------------------------------------------------------- */

void warn_of_name(struct api_call *call, const struct kj_val *obj, const char *used_in)
{
    enum { LABEL_MAX = 63 };
    const char *name = kj_str_or(kj_path(obj, "metadata.name"), "");
    bool is_long = strlen(name) > LABEL_MAX, dots = strchr(name, '.') != NULL;

    if (is_long || dots)
        api_warn(call,
                 "metadata.name: this is used in %s, which can result in surprising behavior; a "
                 "DNS label is recommended: [%s%s%s]",
                 used_in, is_long ? "must be no more than 63 characters" : "",
                 is_long && dots ? " " : "", dots ? "must not contain dots" : "");
}

void warn_of_balancers(struct api_call *call, const struct kj_val *obj)
{
    struct kj_iter it = kj_iter(kj_path(obj, "status.loadBalancer.ingress"));
    const struct kj_val *v;

    for (size_t i = 0; kj_next(&it, NULL, &v); i++)
        if (*v_str(v, "ip"))
            warn_of_ip(call, v_str(v, "ip"), "status.loadBalancer.ingress[%zu]", i);
}

/* ---- quantities ------------------------------------------------------------------------------ */

const char *fraction_of_byte(const struct kj_val *list, const char *name)
{
    const char *s = kj_str(kj_get(list, name));
    struct qty q;

    /* Suffixes of thousands and of 1024 mean whole numbers, unless a fraction stands before. */
    if (!s || !strpbrk(s, FRACTION_SIGNS) || qty_parse(s, strlen(s), &q, NULL) < 0)
        return NULL;
    return qty_fits_i64(q, -3) && qty_milli(q) % 1000 ? s : NULL;
}

void warn_of_claim_spec(struct api_call *call, const struct kj_val *spec, const char *fmt, ...)
{
    static const char *const lists[] = { "requests", "limits" };
    const struct kj_val *resources = kj_get(spec, "resources");

    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        const char *s = fraction_of_byte(kj_get(resources, lists[i]), "storage");
        va_list ap;
        if (!s)
            continue;
        va_start(ap, fmt);
        const char *path = warn_path(call, fmt, ap);
        va_end(ap);
        api_warn(call, "%s.resources.%s[storage]: " FRACTION_WORDS, path, lists[i],
                 text_quoted(call->arena, s));
    }
}

/* ---- sets of names --------------------------------------------------------------------------- */

/* Lists are short, and a map would cost more than all the rest. */
static bool few_has(const struct few *f, const char *name)
{
    for (size_t i = 0; i < f->n; i++)
        if (streq(f->first[i], name))
            return true;
    return f->rest.n && map_getz(&f->rest, name);
}

bool few_add(struct few *f, const char *name)
{
    if (few_has(f, name))
        return false;
    if (f->n < ARRAY_LEN(f->first))
        f->first[f->n++] = name;
    else
        (void)map_putz(&f->rest, name, f);
    return true;
}
