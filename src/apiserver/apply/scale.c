/* scale.c - owners of an object's replicas, seen through its Scale. */
#include "apiserver/apply/managed.h"

static const struct fields *replicas_of_scale(struct arena *a)
{
    struct fields *s = fields_new(a);
    struct field_at spec = { .element = str_of("f:spec") };

    fields_insert(a, s, &(struct field_at){ .up = &spec, .element = str_of("f:replicas") });
    return s;
}

static bool owns(struct arena *a, const struct manager *who, const struct fields *field)
{
    return !fields_empty(fields_both(a, who->fields, field));
}

void managed_to_scale(const struct managed *m, const struct fields *replicas, struct managed *ret)
{
    const struct fields *field = replicas_of_scale(m->arena);

    *ret = (struct managed){ .arena = m->arena };
    vec_foreach(&m->list, i) {
        struct manager who = m->list.items[i];
        if (!owns(m->arena, &who, replicas))
            continue;
        who.api_version = MANAGED_SCALE_VERSION;
        who.fields = field;
        vec_push(&ret->list, who);
    }
}

/* One that updates is known by its version too, and those of object and Scale differ. */
static const struct manager *find_applier(const struct managed *m, const struct manager *who)
{
    vec_foreach(&m->list, i) {
        const struct manager *other = &m->list.items[i];
        if (who->applied && other->applied && streq(who->name, other->name) &&
            streq(who->subresource, other->subresource))
            return other;
    }
    return NULL;
}

void managed_from_scale(struct managed *m, const struct fields *replicas, const char *api_version,
                        const struct managed *scale)
{
    struct arena *a = m->arena;
    const struct fields *field = replicas_of_scale(a);

    vec_foreach(&m->list, i) {
        struct manager *who = &m->list.items[i];
        if (owns(a, who, replicas) && !find_applier(scale, who))
            who->fields = fields_minus(a, who->fields, replicas);
    }
    vec_foreach(&scale->list, i) {
        struct manager who = scale->list.items[i];
        const struct manager *there = find_applier(m, &who);
        if (!owns(a, &who, field) || (there && owns(a, there, replicas)))
            continue;
        who.api_version = api_version;
        who.time = "";
        who.fields = replicas;
        vec_push(&m->list, who);
    }
}
