/* args.c - tables and checks of what args have in common. */
#include "descheduler/plugins/common/args.h"

#include "api/pod.h"
#include "api/selector/selector.h"

#define STYPE struct args_namespaces
static const struct kfield namespaces_fields[] = {
    KF_LIST_OF(STYPE, include, "include", KF_STR, .flags = KF_OMITEMPTY),
    KF_LIST_OF(STYPE, exclude, "exclude", KF_STR, .flags = KF_OMITEMPTY),
};
const struct kschema args_namespaces_schema = KSCHEMA("Namespaces", STYPE, namespaces_fields);
#undef STYPE

#define STYPE struct args_pod_selector
static const struct kfield pod_selector_fields[] = {
    KF(STYPE, name, "name", KF_STR, .flags = KF_OMITEMPTY),
    KF(STYPE, selector, "selector", KF_OBJ, .sub = &label_selector_schema,
       .flags = KF_PTR | KF_OMITEMPTY),
};
const struct kschema args_pod_selector_schema = KSCHEMA("PodSelector", STYPE, pod_selector_fields);
#undef STYPE

bool args_has(const kstrlist *l, const char *text)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (streq(l->items[i], text))
            return true;
    return false;
}

int args_namespaces_check(const struct args_namespaces *n, const char *path, struct kerr *err)
{
    if (n && n->include.n && n->exclude.n)
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "%s: Invalid value: only one of Include/Exclude namespaces can be set",
                        path);
    return 0;
}

bool args_namespaces_match(const struct args_namespaces *n, const char *ns)
{
    if (!n)
        return true;
    if (n->include.n)
        return args_has(&n->include, ns);
    return !args_has(&n->exclude, ns);
}

int args_selector_compile(const struct label_selector *s, const char *path, struct arena *a,
                          struct labelsel **ret, struct kerr *err)
{
    if (s && labelsel_from(s, a, ret, err) < 0)
        return kerr_wrap(err, "%s", path);
    return 0;
}

bool args_selector_match(const struct labelsel *s, const kstrmap *labels)
{
    return !s || labelsel_matches(s, labels);
}

int args_pod_selectors_compile(args_pod_selectors *l, const char *path, struct arena *a,
                               struct kerr *err)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (labelsel_from(l->items[i].selector, a, &l->items[i].compiled, err) < 0)
            return kerr_wrap(err, "%s[%u].selector", path, i);
    return 0;
}

bool args_pod_selectors_match(const args_pod_selectors *l, const struct pod *p)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (labelsel_matches(l->items[i].compiled, &p->obj.meta.labels))
            return true;
    return l->n == 0;
}
