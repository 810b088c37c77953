/* sloconfig.c - the live configuration: one section per key, each replaced on its own. */
#include "manager/sloconfig/sloconfig.h"

struct live_key {
    struct arena *arena; /* of the section; NULL: it is the default */
    struct slo_section section;
    bool available, in_error;
};
struct sloconfig {
    struct live_key keys[SLO_KEYS];
};

struct sloconfig *sloconfig_new(void)
{
    struct sloconfig *c = xnew0(struct sloconfig);

    for (enum slo_key k = 0; k < SLO_KEYS; k++) {
        slo_section_default(k, &c->keys[k].section);
        c->keys[k].available = k != SLO_COLOCATION;
    }
    return c;
}

struct sloconfig *sloconfig_free(struct sloconfig *c)
{
    if (!c)
        return NULL;
    for (enum slo_key k = 0; k < SLO_KEYS; k++)
        arena_free(c->keys[k].arena);
    free(c);
    return NULL;
}

const struct slo_section *sloconfig_get(const struct sloconfig *c, enum slo_key key)
{
    return &c->keys[key].section;
}

bool sloconfig_available(const struct sloconfig *c)
{
    return c->keys[SLO_COLOCATION].available;
}

bool sloconfig_in_error(const struct sloconfig *c, enum slo_key key)
{
    return c->keys[key].in_error;
}

/* ---- taking over ----------------------------------------------------------------------------- */

static bool same_selector(const struct slo_node_entry *a, const struct slo_node_entry *b)
{
    return streq(str_or(a->selector_json, ""), str_or(b->selector_json, ""));
}

/* Do both mean the same for every node? Names of entries do not matter. */
static bool same_section(enum slo_key key, const struct slo_section *a, const struct slo_section *b)
{
    const struct kschema *s = slo_keys[key].strategy;

    if (a->nodes.n != b->nodes.n || !kj_struct_equal(s, a->merged, b->merged))
        return false;
    for (uint32_t i = 0; i < a->nodes.n; i++)
        if (!same_selector(&a->nodes.items[i], &b->nodes.items[i]) ||
            !kj_struct_equal(s, a->nodes.items[i].merged, b->nodes.items[i].merged))
            return false;
    return true;
}

/* The arena belongs to the section; NULL with the default. */
static bool replace(struct live_key *live, enum slo_key key, struct arena *arena,
                    const struct slo_section *section)
{
    bool same = live->available && same_section(key, &live->section, section);

    arena_free(live->arena);
    *live = (struct live_key){ .arena = arena, .section = *section, .available = true };
    return !same;
}

static int sync_key(struct live_key *live, enum slo_key key, const char *text, bool *ret_changed,
                    struct kerr *err)
{
    struct slo_section section;

    if (!text || (!*text && slo_keys[key].empty_is_absent)) {
        slo_section_default(key, &section);
        *ret_changed = replace(live, key, NULL, &section);
        return 0;
    }
    CLEANUP(arena_free) struct arena *a = arena_new();
    int r = slo_section_decode(key, text, a, &section, err);
    if (r == 0)
        r = slo_section_check(key, &section, a, err);
    if (r < 0) {
        live->in_error = true;
        return r;
    }
    *ret_changed = replace(live, key, take(a), &section);
    return 0;
}

void sloconfig_sync(struct sloconfig *c, const kstrmap *data, struct slo_sync *ret)
{
    *ret = (struct slo_sync){ 0 };
    for (enum slo_key k = 0; k < SLO_KEYS; k++) {
        const char *text = data ? kstrmap_get(data, slo_keys[k].key) : NULL;
        bool changed = false;
        sync_key(&c->keys[k], k, text, &changed, &ret->bad[k]);
        ret->changed |= (unsigned)changed << k;
    }
    if (!data)
        c->keys[SLO_COLOCATION].in_error = true;
}
