/* slice.c - resource.k8s.io: ResourceSlice, the devices that a driver offers. */
#include "api/names.h"
#include "apiserver/kinds/device_check.h"

enum {
    DEVICES_MAX = 128,
    DEVICES_MAX_TAINTED = 64, /* as soon as one has taints or consumes counters */
    PROPERTIES_MAX = 32,      /* attributes and capacities of a device together */
    PROPERTY_NAME_MAX = 96,   /* a domain, a slash, an identifier: what a path shows of it */
    VALUE_MAX = 64,
    TAINTS_MAX = 16,
    COUNTER_SETS_MAX = 8,
    COUNTERS_MAX = 32,
    CONSUMED_SETS_MAX = 2,
    VALID_VALUES_MAX = 10,
};

/* A key of a map as a path shows it: the middle of a long one is left out. */
static const char *key_path(struct check *c, const char *path, struct str key, size_t max)
{
    static const char dots[] = "...";
    size_t room = max - (sizeof dots - 1), head = (room + 1) / 2, tail = room / 2;

    if (key.n <= max)
        return at(c, "%s[%s]", path, arena_strndup(c->a, key.p, key.n));
    return at(c, "%s[%s%s%s]", path, arena_strndup(c->a, key.p, head), dots,
              arena_strndup(c->a, key.p + key.n - tail, tail));
}

/* ---- attributes ------------------------------------------------------------------------------ */

/* [0-9]+ without leading zeros. */
static bool semver_number(const char **p)
{
    size_t n = strspn(*p, "0123456789");

    if (n == 0 || (n > 1 && **p == '0'))
        return false;
    *p += n;
    return true;
}

/* Dot-separated identifiers; numbers of a pre-release have no leading zeros. */
static bool semver_tail(const char **p, bool pre_release)
{
    static const char word[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-";

    for (;; (*p)++) {
        size_t n = strspn(*p, word), digits = strspn(*p, "0123456789");
        if (n == 0 || (pre_release && n == digits && n > 1 && **p == '0'))
            return false;
        *p += n;
        if (**p != '.')
            return true;
    }
}

static bool is_semver(const char *p)
{
    for (int i = 0; i < 3; i++) {
        if (!semver_number(&p) || (i < 2 && *p++ != '.'))
            return false;
    }
    if (*p == '-' && (p++, !semver_tail(&p, true)))
        return false;
    if (*p == '+' && (p++, !semver_tail(&p, false)))
        return false;
    return !*p;
}

static void check_attribute(struct check *c, const char *path, const struct kj_val *v)
{
    static const char *const kinds[] = { "bool", "int", "string", "version" };
    const char *text = v_str(v, "string"), *version = v_str(v, "version");
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        n += v_has(v, kinds[i]);
    check_length(c, at(c, "%s.string", path), strlen(text), VALUE_MAX);
    if (v_has(v, "version") && !is_semver(version))
        err_invalid(c, at(c, "%s.version", path), version,
                    "must be a string compatible with semver.org spec 2.0.0");
    check_length(c, at(c, "%s.version", path), strlen(version), VALUE_MAX);
    if (n != 1)
        field_error(c->errors, FIELD_INVALID, path, n == 0 ? "\"\"" : as_json(c, v),
                    "exactly one value must be specified");
}

/* ---- capacities ------------------------------------------------------------------------------ */

static const char *qty_text(struct check *c, struct qty q)
{
    return qty_format(q, c->a);
}

static void check_valid_values(struct check *c, const char *path, const struct kj_val *list,
                               struct qty value, struct qty fallback)
{
    CLEANUP(map_fini) struct map seen = { 0 };
    struct kj_iter it = kj_iter(list);
    const struct kj_val *v;
    struct qty q, last = { 0 };
    bool found = false;

    if (!check_at_most(c, path, list, VALID_VALUES_MAX))
        return;
    for (size_t i = 0; kj_next(&it, NULL, &v); i++, last = q) {
        const char *p = at(c, "%s[%zu]", path, i), *text = kj_str_or(v, "");
        if (qty_parse(text, strlen(text), &q, NULL) < 0)
            return; /* the table has said so */
        if (i > 0 && qty_cmp(last, q) > 0)
            err_invalid(c, p, qty_text(c, q), "values must be sorted in ascending order");
        if (qty_cmp(q, value) > 0)
            err_invalid(c, p, qty_text(c, q),
                        at(c, "option is larger than capacity value: %s", qty_text(c, value)));
        found |= qty_cmp(q, fallback) == 0;
        const char *key = at(c, "%lld", (long long)qty_value(q));
        if (!names_add(&seen, key))
            err_duplicate(c, p, key);
    }
    if (!found)
        err_invalid(c, path, qty_text(c, fallback),
                    "default value is not valid according to the requestPolicy");
}

/* Whole steps from min to value? */
static void check_steps(struct check *c, const char *path, struct qty value, struct qty min,
                        struct qty step)
{
    int64_t by = qty_value(step);

    if (by == 0 || (qty_value(value) - qty_value(min)) % by != 0)
        err_invalid(c, path, qty_text(c, value),
                    at(c, "value is not a multiple of a given step (%s) from (%s)",
                       qty_text(c, step), qty_text(c, min)));
}

static void check_valid_range(struct check *c, const char *path, const struct kj_val *range,
                              struct qty value, struct qty fallback)
{
    struct qty min, max, step;
    const char *p = at(c, "%s.min", path);
    bool has_max = v_qty(range, "max", &max);

    if (!v_qty(range, "min", &min)) {
        err_required(c, p, "required when validRange is defined");
        return;
    }
    if (qty_cmp(min, value) > 0)
        err_invalid(c, p, qty_text(c, min),
                    at(c, "min is larger than capacity value: %s", qty_text(c, value)));
    if (qty_cmp(fallback, min) < 0)
        err_invalid(c, p, qty_text(c, fallback),
                    at(c, "default is less than min: %s", qty_text(c, min)));
    p = at(c, "%s.max", path);
    if (has_max && qty_cmp(min, max) > 0)
        err_invalid(c, p, qty_text(c, min), at(c, "min is larger than max: %s", qty_text(c, max)));
    if (has_max && qty_cmp(max, value) > 0)
        err_invalid(c, p, qty_text(c, max),
                    at(c, "max is larger than capacity value: %s", qty_text(c, value)));
    if (has_max && qty_cmp(fallback, max) > 0)
        err_invalid(c, p, qty_text(c, fallback),
                    at(c, "default is more than max: %s", qty_text(c, max)));
    if (!v_qty(range, "step", &step))
        return;
    p = at(c, "%s.step", path);
    struct qty first = qty_add(min, step);
    if (qty_cmp(first, value) > 0)
        err_invalid(c, p, qty_text(c, step),
                    at(c, "one step %s is larger than capacity value: %s", qty_text(c, first),
                       qty_text(c, value)));
    check_steps(c, p, fallback, min, step);
    if (has_max)
        check_steps(c, p, max, min, step);
}

static void check_capacity(struct check *c, const char *path, const struct kj_val *v, bool shared)
{
    const struct kj_val *policy = kj_get(v, "requestPolicy"),
                        *values = kj_get(policy, "validValues"),
                        *range = kj_get(policy, "validRange");
    const char *p = at(c, "%s.requestPolicy", path);
    struct qty value, fallback;
    bool by_values = kj_len(values) > 0, by_range = v_has(policy, "validRange");

    if (!v_has(v, "requestPolicy") || !v_qty(v, "value", &value))
        return;
    if (!shared)
        err_forbidden(c, p, "allowMultipleAllocations must be true");
    else if (by_values && by_range)
        err_forbidden(c, p,
                      "exactly one policy can be specified, cannot specify \"validValues\" and "
                      "\"validRange\" at the same time");
    else if ((by_values || by_range) && !v_qty(policy, "default", &fallback))
        err_required(c, at(c, "%s.default", p),
                     by_values ? "required when validValues is defined"
                               : "required when validRange is defined");
    else if (by_values)
        check_valid_values(c, at(c, "%s.validValues", p), values, value, fallback);
    else if (by_range)
        check_valid_range(c, at(c, "%s.validRange", p), range, value, fallback);
}

static void check_properties(struct check *c, const char *path, const struct kj_val *device)
{
    const struct kj_val *attrs = kj_get(device, "attributes"),
                        *capacity = kj_get(device, "capacity"), *v;
    size_t n = kj_len(attrs) + kj_len(capacity);
    bool shared = kj_bool(kj_get(device, "allowMultipleAllocations"), false);
    struct kj_iter it = kj_iter(attrs);
    struct str key;

    if (n > PROPERTIES_MAX)
        err_invalid_i64(c, path, (int64_t)n,
                        "the total number of attributes and capacities must not exceed 32");
    while (kj_next(&it, &key, &v)) {
        const char *p = key_path(c, at(c, "%s.attributes", path), key, PROPERTY_NAME_MAX);
        check_device_name(c, p, arena_strndup(c->a, key.p, key.n));
        check_attribute(c, p, v);
    }
    it = kj_iter(capacity);
    while (kj_next(&it, &key, &v)) {
        const char *p = key_path(c, at(c, "%s.capacity", path), key, PROPERTY_NAME_MAX);
        check_device_name(c, p, arena_strndup(c->a, key.p, key.n));
        check_capacity(c, p, v, shared);
    }
}

/* ---- taints, counters, nodes ----------------------------------------------------------------- */

static void check_device_taints(struct check *c, const char *path, const struct kj_val *list)
{
    struct kj_iter it = kj_iter(list);
    const struct kj_val *t;

    if (!check_at_most(c, path, list, TAINTS_MAX))
        return;
    for (size_t i = 0; kj_next(&it, NULL, &t); i++) {
        const char *p = at(c, "%s[%zu]", path, i), *effect = v_str(t, "effect");
        check_qualified(c, at(c, "%s.key", p), v_str(t, "key"));
        if (*v_str(t, "value"))
            check_label_value(c, at(c, "%s.value", p), v_str(t, "value"));
        if (!*effect)
            err_required(c, at(c, "%s.effect", p), "");
        else
            check_enum(c, at(c, "%s.effect", p), effect, device_taint_effects, false);
    }
}

/* {name, counters} of a pool, {counterSet, counters} of a device: at most `max`, each once. */
static void check_counters(struct check *c, const char *path, const struct kj_val *list,
                           const char *name_field, size_t max)
{
    CLEANUP(map_fini) struct map names = { 0 };
    struct kj_iter it = kj_iter(list), counters;
    const struct kj_val *set, *v;
    struct str key;

    if (!check_at_most(c, path, list, max))
        return;
    for (size_t i = 0; kj_next(&it, NULL, &set); i++) {
        const char *p = at(c, "%s[%zu]", path, i), *name = v_str(set, name_field),
                   *in = at(c, "%s.counters", p);
        if (!*name)
            err_required(c, at(c, "%s.%s", p, name_field), "");
        else
            check_dns_label(c, at(c, "%s.%s", p, name_field), name);
        if (!names_add(&names, name))
            err_duplicate(c, p, name);
        if (kj_len(kj_get(set, "counters")) == 0)
            err_required(c, in, "");
        else if (!check_at_most(c, in, kj_get(set, "counters"), COUNTERS_MAX))
            continue;
        counters = kj_iter(kj_get(set, "counters"));
        while (kj_next(&counters, &key, &v))
            check_dns_label(c, key_path(c, in, key, 63), arena_strndup(c->a, key.p, key.n));
    }
}

static void check_all_nodes(struct check *c, const char *path, const struct kj_val *v)
{
    if (!kj_bool(v, false))
        field_error(c->errors, FIELD_INVALID, path, "false", "must be either unset or set to true");
}

/* Which nodes a slice, or a device of it, is for: exactly one of its fields. */
static void check_nodes(struct check *c, const char *path, const struct kj_val *spec, bool of_slice)
{
    const char *node = v_str(spec, "nodeName");
    const char *why = of_slice ? "exactly one of `nodeName`, `nodeSelector`, `allNodes`, "
                                 "`perDeviceNodeSelection` is required"
                               : "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is "
                                 "required when `perDeviceNodeSelection` is set to true in the "
                                 "ResourceSlice spec";
    CLEANUP(strbuf_fini) struct strbuf set = STRBUF_INIT;
    size_t n = 0;
    struct {
        const char *name;
        bool set;
    } fields[] = {
        { "nodeName", *node },
        { "nodeSelector", v_has(spec, "nodeSelector") },
        { "allNodes", kj_bool(kj_get(spec, "allNodes"), false) },
        { "perDeviceNodeSelection",
          of_slice && kj_bool(kj_get(spec, "perDeviceNodeSelection"), false) },
    };

    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        if (fields[i].set)
            strbuf_appendf(&set, "%s`%s`", n++ ? ", " : "", fields[i].name);
    if (*node)
        check_dns_subdomain(c, at(c, "%s.nodeName", path), node);
    else if (v_has(spec, "nodeName"))
        err_invalid(c, at(c, "%s.nodeName", path), node,
                    of_slice ? "must be either unset or set to a non-empty string"
                             : "must not be empty");
    if (v_has(spec, "nodeSelector"))
        check_node_selector(c, at(c, "%s.nodeSelector", path), kj_get(spec, "nodeSelector"));
    if (v_has(spec, "allNodes"))
        check_all_nodes(c, at(c, "%s.allNodes", path), kj_get(spec, "allNodes"));
    if (of_slice && v_has(spec, "perDeviceNodeSelection"))
        check_all_nodes(c, at(c, "%s.perDeviceNodeSelection", path),
                        kj_get(spec, "perDeviceNodeSelection"));
    if (n == 0)
        err_required(c, path, why);
    else if (n > 1)
        err_invalid(c, path, at(c, "{%s}", strbuf_str(&set)),
                    of_slice ? at(c, "%s, but multiple fields are set", why) : why);
}

/* ---- slices ---------------------------------------------------------------------------------- */

static void check_device(struct check *c, const char *path, const struct kj_val *device,
                         bool own_nodes)
{
    check_dns_label(c, at(c, "%s.name", path), v_str(device, "name"));
    check_properties(c, path, device);
    check_device_taints(c, at(c, "%s.taints", path), kj_get(device, "taints"));
    check_counters(c, at(c, "%s.consumesCounters", path), kj_get(device, "consumesCounters"),
                   "counterSet", CONSUMED_SETS_MAX);
    if (own_nodes)
        check_nodes(c, path, device, false);
    else if (v_has(device, "nodeName") || v_has(device, "nodeSelector") ||
             v_has(device, "allNodes"))
        field_error(c->errors, FIELD_INVALID, path, "null",
                    "`nodeName`, `nodeSelector` and `allNodes` can only be set if "
                    "`perDeviceNodeSelection` is set to true in the ResourceSlice spec");
    check_binding_conditions(c, path, device);
}

static size_t devices_max(const struct kj_val *devices)
{
    struct kj_iter it = kj_iter(devices);
    const struct kj_val *d;

    while (kj_next(&it, NULL, &d))
        if (kj_len(kj_get(d, "taints")) > 0 || kj_len(kj_get(d, "consumesCounters")) > 0)
            return DEVICES_MAX_TAINTED;
    return DEVICES_MAX;
}

static void check_devices(struct check *c, const struct kj_val *spec)
{
    CLEANUP(map_fini) struct map names = { 0 };
    const struct kj_val *devices = kj_get(spec, "devices"), *d;
    struct kj_iter it = kj_iter(devices);
    bool own_nodes = kj_bool(kj_get(spec, "perDeviceNodeSelection"), false);

    if (!check_at_most(c, "spec.devices", devices, devices_max(devices)))
        return;
    for (size_t i = 0; kj_next(&it, NULL, &d); i++) {
        const char *p = at(c, "spec.devices[%zu]", i);
        check_device(c, p, d, own_nodes);
        if (!names_add(&names, v_str(d, "name")))
            err_duplicate(c, p, v_str(d, "name"));
    }
}

static void check_resource_pool(struct check *c, const struct kj_val *pool)
{
    int64_t slices = kj_i64_or(kj_get(pool, "resourceSliceCount"), 0),
            generation = kj_i64_or(kj_get(pool, "generation"), 0);

    check_pool(c, "spec.pool.name", v_str(pool, "name"));
    if (slices <= 0)
        err_invalid_i64(c, "spec.pool.resourceSliceCount", slices, "must be greater than zero");
    if (generation < 0)
        err_invalid_i64(c, "spec.pool.generation", generation,
                        "must be greater than or equal to zero");
}

static void slice_validate(enum res_verb verb, const struct kj_val *obj, const struct kj_val *old,
                           struct field_errors *errors)
{
    static const char *const fixed[] = { "spec.pool.name", "spec.driver", "spec.nodeName" };
    CLEANUP(check_end) struct check c = check_begin(errors);
    const struct kj_val *spec = kj_get(obj, "spec"),
                        *terms = kj_path(spec, "nodeSelector.nodeSelectorTerms");

    check_driver(&c, "spec.driver", v_str(spec, "driver"));
    check_resource_pool(&c, kj_get(spec, "pool"));
    for (size_t i = 0; verb == RES_UPDATE && i < ARRAY_LEN(fixed); i++)
        check_immutable(&c, fixed[i], kj_path(obj, fixed[i]), kj_path(old, fixed[i]));
    check_nodes(&c, "spec", spec, true);
    if (v_has(spec, "nodeSelector") && kj_len(terms) != 1)
        field_error(errors, FIELD_INVALID, "spec.nodeSelector.nodeSelectorTerms",
                    as_json(&c, terms), "must have exactly one node selector term");
    if (v_has(spec, "sharedCounters") && v_has(spec, "devices"))
        err_invalid(&c, "spec", "", "only one of `sharedCounters` or `devices` is allowed");
    check_devices(&c, spec);
    check_counters(&c, "spec.sharedCounters", kj_get(spec, "sharedCounters"), "name",
                   COUNTER_SETS_MAX);
}

static void slice_prepare(enum res_verb verb, struct kj_mdoc *d, struct kj_mval *obj,
                          const struct kj_val *old, nsec_t now)
{
    struct kj_miter devices = kj_miter(m_path(obj, "spec.devices")), taints;
    struct kj_mval *device, *taint;

    (void)verb, (void)old;
    while (kj_mnext(&devices, NULL, &device)) {
        taints = kj_miter(kj_mget(device, "taints"));
        while (kj_mnext(&taints, NULL, &taint))
            device_taint_default(d, taint, now);
    }
}

static const char *slice_field(const struct kj_val *obj, const char *path, struct arena *a)
{
    if (streq(path, "spec.nodeName") || streq(path, "spec.driver"))
        return v_text(obj, path, a);
    return NULL;
}

const struct res_strategy slice_strategy = { .prepare = slice_prepare,
                                             .validate = slice_validate,
                                             .field = slice_field };

TEXT_CELL(cell_node, "spec.nodeName", "")
TEXT_CELL(cell_driver, "spec.driver", "")
TEXT_CELL(cell_pool, "spec.pool.name", "")
static const struct res_column slice_columns_list[] = {
    NAME_COLUMN,
    { .name = "Node", .type = "string", .cell = cell_node },
    { .name = "Driver", .type = "string", .cell = cell_driver },
    { .name = "Pool", .type = "string", .cell = cell_pool },
    AGE_COLUMN,
};
COLUMNS(slice_columns);
