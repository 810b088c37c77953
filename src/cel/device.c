/* device.c - expressions that select devices. */
#include "cel/device.h"

#include "cel/lib.h"

static const struct cel_type any = { .kind = CT_DYN,
                                     .name = "google.protobuf.Any",
                                     .size_max = 64 },
                             id = { .kind = CT_STRING, .name = "string", .size_max = 32 },
                             domain = { .kind = CT_STRING, .name = "string", .size_max = 63 },
                             capacity_value = { .kind = CT_OBJECT,
                                                .name = "kubernetes.Quantity",
                                                .size_max = CEL_SIZE_UNKNOWN },
                             allow = { .kind = CT_BOOL, .name = "bool", .size_max = 1 };
#define MAP(key_, elem_)                                                              \
    {                                                                                 \
        .kind = CT_MAP, .name = "map", .key = (key_), .elem = (elem_), .size_max = 32 \
    }
static const struct cel_type attrs = MAP(&id, &any), attr_domains = MAP(&domain, &attrs),
                             amounts = MAP(&id, &capacity_value),
                             amount_domains = MAP(&domain, &amounts);
static const struct cel_field fields[] = {
    { { "allowMultipleAllocations", 24 }, { "", 0 }, &allow },
    { { "attributes", 10 }, { "", 0 }, &attr_domains },
    { { "capacity", 8 }, { "", 0 }, &amount_domains },
    { { "driver", 6 }, { "", 0 }, &domain },
};
static const struct cel_type device_type = { .kind = CT_OBJECT,
                                             .name = "kubernetes.DRADevice",
                                             .fields = fields + 1,
                                             .n_fields = 3,
                                             .size_max = CEL_SIZE_UNKNOWN },
                             device_type_consumable = { .kind = CT_OBJECT,
                                                        .name = "kubernetes.DRADevice",
                                                        .fields = fields,
                                                        .n_fields = 4,
                                                        .size_max = CEL_SIZE_UNKNOWN };

enum cel_failure cel_device_compile(const struct cel_device_env *with, const char *text, size_t n,
                                    struct cel_expr **ret, struct strbuf *why)
{
    struct cel_var var = { "device", with->consumable ? &device_type_consumable : &device_type };
    struct cel_env env = {
        .vars = &var, .n_vars = 1, .bind = true, .zone = with->zone, .trace = with->trace
    };
    CLEANUP(strbuf_fini) struct strbuf text_why = STRBUF_INIT;
    enum cel_failure f = cel_compile(&env, text, n, ret, &text_why);

    if (!*ret) {
        strbuf_appendf(why, "compilation failed: %s", strbuf_str(&text_why));
        return f;
    }
    const struct cel_type *type = cel_expr_type(*ret);
    if (type->kind == CT_BOOL || cel_type_is_any(type)) {
        strbuf_append(why, strbuf_str(&text_why)); /* of a constant part that fails */
        return f;
    }
    strbuf_append(why, "must evaluate to bool or the unknown type, not ");
    cel_type_print(cel_expr_type(*ret), false, why);
    *ret = cel_expr_free(*ret);
    return CEL_CHECK;
}

/* One entry of a map of maps: device.attributes[domain][name] */
static void put(struct arena *a, struct cel_entry *domains, uint32_t *n, size_t cap,
                struct str name, struct str driver, struct cel_val v)
{
    const char *slash = memchr(name.p, '/', name.n);
    struct str of = slash ? (struct str){ name.p, (size_t)(slash - name.p) } : driver;
    struct str local = slash ? (struct str){ slash + 1, name.n - of.n - 1 } : name;
    uint32_t i = 0;

    while (i < *n && !(domains[i].key.s == of.p && domains[i].key.n == of.n) &&
           !str_eq(cel_str(domains[i].key), of))
        i++;
    if (i == *n) {
        struct cel_entry *inner = arena_alloc(a, cap * sizeof *inner, 16);
        domains[(*n)++] = (struct cel_entry){ cel_v_str(of.p, of.n), cel_v_map(a, inner, 0) };
    }
    struct cel_map *m = (struct cel_map *)(uintptr_t)domains[i].val.map;
    ((struct cel_entry *)(uintptr_t)m->entries)[m->n++] =
        (struct cel_entry){ cel_v_str(local.p, local.n), v };
}

static struct cel_val domain_map(struct arena *a, struct cel_entry *domains, uint32_t n)
{
    struct cel_val v = cel_v_map(a, domains, n);
    ((struct cel_map *)(uintptr_t)v.map)->open = true;
    return v;
}

static struct cel_val attr_value(struct arena *a, const struct cel_device_attr *attr)
{
    switch (attr->kind) {
    case CEL_ATTR_INT: return cel_v_int(attr->i);
    case CEL_ATTR_BOOL: return cel_v_bool(attr->b);
    case CEL_ATTR_VERSION: return cel_v_semver(a, attr->s);
    case CEL_ATTR_STRING: break;
    }
    return cel_v_str(attr->s.p, attr->s.n);
}

/* An attribute that cannot be read fails every expression, whatever it looks at. */
struct cel_val cel_device_value(struct arena *a, const struct cel_device *d)
{
    struct cel_entry *top = arena_alloc(a, 4 * sizeof *top, 16);
    struct cel_entry *by_attr = arena_alloc(a, (d->n_attrs + 1) * sizeof *by_attr, 16);
    struct cel_entry *by_amount = arena_alloc(a, (d->n_capacity + 1) * sizeof *by_amount, 16);
    uint32_t n_attr = 0, n_amount = 0;

    for (size_t i = 0; i < d->n_attrs; i++) {
        struct cel_val v = attr_value(a, &d->attrs[i]);
        if (cel_is_err(v))
            return cel_v_error(a, "attribute %.*s: parse semantic version: %.*s",
                               (int)d->attrs[i].name.n, d->attrs[i].name.p, (int)v.n, v.s);
        put(a, by_attr, &n_attr, d->n_attrs, d->attrs[i].name, d->driver, v);
    }
    for (size_t i = 0; i < d->n_capacity; i++)
        put(a, by_amount, &n_amount, d->n_capacity, d->capacity[i].name, d->driver,
            (struct cel_val){ .kind = CK_QUANTITY, .qty = &d->capacity[i].value });
    top[0] = (struct cel_entry){ cel_v_str("driver", 6), cel_v_str(d->driver.p, d->driver.n) };
    top[1] = (struct cel_entry){ cel_v_str("attributes", 10), domain_map(a, by_attr, n_attr) };
    top[2] = (struct cel_entry){ cel_v_str("capacity", 8), domain_map(a, by_amount, n_amount) };
    top[3] = (struct cel_entry){ cel_v_str("allowMultipleAllocations", 24),
                                 cel_v_bool(d->allow_multiple) };
    struct cel_val v = cel_v_map(a, top, 4);
    ((struct cel_map *)(uintptr_t)v.map)->type = &device_type_consumable;
    return v;
}

enum cel_failure cel_device_match(const struct cel_expr *e, struct cel_val device, uint64_t limit,
                                  const struct cel_interrupt *stop, struct arena *a,
                                  struct cel_val *ret, uint64_t *ret_cost)
{
    if (cel_is_err(device)) {
        *ret = device;
        if (ret_cost)
            *ret_cost = 0;
        return CEL_RUNTIME;
    }
    enum cel_failure f = cel_eval_until(e, &device, limit, stop, a, ret, ret_cost);
    if (f != CEL_OK || ret->kind == CK_BOOL)
        return f;
    /* Upstream's words for text are others than for numbers. */
    const char *type = cel_type_name(*ret);
    *ret = ret->kind == CK_STRING
               ? cel_v_error(a,
                             "CEL result of type %s could not be converted to bool: unsupported "
                             "native conversion from %s to 'bool'",
                             type, type)
               : cel_v_error(a,
                             "CEL result of type %s could not be converted to bool: unsupported "
                             "type conversion from '%s' to bool",
                             type, type);
    return CEL_RUNTIME;
}

enum cel_failure cel_device_eval(const struct cel_expr *e, const struct cel_device *device,
                                 uint64_t limit, struct arena *a, struct cel_val *ret,
                                 uint64_t *ret_cost)
{
    return cel_device_match(e, cel_device_value(a, device), limit, NULL, a, ret, ret_cost);
}
