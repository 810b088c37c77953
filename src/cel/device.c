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

/* A map with room for what is put into it, one entry after the other. */
struct roomy {
    struct cel_map map; /* first: values point to it */
    struct cel_entry entries[];
};

static struct roomy *roomy_new(struct arena *a, size_t room)
{
    struct roomy *m = arena_alloc(a, sizeof *m + room * sizeof m->entries[0], 16);
    m->map = (struct cel_map){ .entries = m->entries };
    return m;
}

static struct cel_val roomy_value(const struct roomy *m)
{
    return (struct cel_val){ .kind = CK_MAP, .map = &m->map };
}

static void roomy_put(struct roomy *m, struct str key, struct cel_val v)
{
    m->entries[m->map.n++] = (struct cel_entry){ cel_v_str(key.p, key.n), v };
}

/* A map of maps that is made: device.attributes[domain][name] */
struct by_domain {
    struct arena *a;
    struct str driver;
    size_t names; /* in all domains together */
    struct roomy *domains;
    struct roomy *own; /* of the driver, for names without a domain; NULL: none yet */
};

static void by_domain_init(struct by_domain *to, struct arena *a, struct str driver, size_t names)
{
    *to = (struct by_domain){
        .a = a, .driver = driver, .names = names, .domains = roomy_new(a, names)
    };
    to->domains->map.open = true;
}

static struct roomy *domain_of(struct by_domain *to, struct str name)
{
    struct roomy *of = to->domains;

    for (uint32_t i = 0; i < of->map.n; i++) {
        if (str_eq(cel_str(of->entries[i].key), name))
            return (struct roomy *)(uintptr_t)of->entries[i].val.map;
    }
    struct roomy *one = roomy_new(to->a, to->names);
    roomy_put(of, name, roomy_value(one));
    return one;
}

static void put(struct by_domain *to, struct str name, struct cel_val v)
{
    const char *slash = memchr(name.p, '/', name.n);

    if (slash) {
        struct str of = { name.p, (size_t)(slash - name.p) };
        roomy_put(domain_of(to, of), (struct str){ slash + 1, name.n - of.n - 1 }, v);
        return;
    }
    if (!to->own)
        to->own = domain_of(to, to->driver);
    roomy_put(to->own, name, v);
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
    struct roomy *top = roomy_new(a, ARRAY_LEN(fields));
    struct by_domain by_attr, by_amount;

    by_domain_init(&by_attr, a, d->driver, d->n_attrs);
    by_domain_init(&by_amount, a, d->driver, d->n_capacity);
    for (size_t i = 0; i < d->n_attrs; i++) {
        struct cel_val v = attr_value(a, &d->attrs[i]);
        if (cel_is_err(v))
            return cel_v_error(a, "attribute %.*s: parse semantic version: %.*s",
                               (int)d->attrs[i].name.n, d->attrs[i].name.p, (int)v.n, v.s);
        put(&by_attr, d->attrs[i].name, v);
    }
    for (size_t i = 0; i < d->n_capacity; i++)
        put(&by_amount, d->capacity[i].name,
            (struct cel_val){ .kind = CK_QUANTITY, .qty = &d->capacity[i].value });
    top->map.type = &device_type_consumable;
    roomy_put(top, STR("allowMultipleAllocations"), cel_v_bool(d->allow_multiple));
    roomy_put(top, STR("driver"), cel_v_str(d->driver.p, d->driver.n));
    roomy_put(top, STR("capacity"), roomy_value(by_amount.domains));
    roomy_put(top, STR("attributes"), roomy_value(by_attr.domains));
    return roomy_value(top);
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
