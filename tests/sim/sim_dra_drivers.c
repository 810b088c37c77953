/* sim_dra_drivers.c - what drivers and administrators say of devices: slices, taints, conditions.
 *
 * What a device is like for a gate depends on its number alone and not on the generation: a claim
 * may keep it for many generations, and what claims have is counted at every moment.
 */
#include "sim_dra.h"

#include <stdio.h>

/* ---- what devices are like -------------------------------------------------------------------- */

int name_number(const char *name)
{
    return atoi(strrchr(name, '-') + 1);
}

int64_t pool_units(int pool)
{
    return pool < NODES ? 4 : 2;
}

int64_t device_units(int pool, int device)
{
    static const int64_t units[GPUS] = { 1, 1, 2, 3 };
    return pool < NODES ? units[device] : 1;
}

bool device_is_shared(int pool, int device)
{
    return pool >= NODES || device < GPUS - 1;
}

const char *capacity_name(int pool)
{
    return pool < NODES ? "memory" : "rate";
}

int64_t device_capacity(int pool)
{
    return pool < NODES ? 8 : pool == NODES ? 4 : INT64_MAX;
}

/* The same in words of the API: append_capacity(). */
int64_t device_amount(int pool, int device, int64_t asked)
{
    if (pool > NODES) /* it has no capacity that could be asked for */
        return asked < 0 ? 0 : -1;
    if (asked > device_capacity(pool))
        return -1;
    if (pool == NODES)
        return asked < 0 ? 1 : asked;
    switch (device) {
    case 0: return asked < 0 ? 3 : asked > 7 ? -1 : asked | 1;
    case 1: return asked < 0 || (asked > 2 && asked <= 4) ? 4 : asked <= 2 ? 2 : 8;
    default: return asked < 0 ? device_capacity(pool) : asked;
    }
}

bool device_binds(int pool, int device)
{
    return pool < NODES ? device >= GPUS / 2 : device == 0;
}

/* ---- slices ----------------------------------------------------------------------------------- */

static void append_capacity(struct strbuf *b, int pool, int device)
{
    static const char *const memory[GPUS] = {
        (",\"requestPolicy\":{\"default\":\"3\",\"validRange\":{\"min\":\"1\",\"max\":\"7\","
         "\"step\":\"2\"}}"),
        ",\"requestPolicy\":{\"default\":\"4\",\"validValues\":[\"2\",\"4\",\"8\"]}",
        "",
        "",
    };

    if (device_is_shared(pool, device))
        strbuf_append(b, ",\"allowMultipleAllocations\":true");
    if (pool <= NODES)
        strbuf_appendf(b, ",\"capacity\":{\"%s\":{\"value\":\"%lld\"%s}}", capacity_name(pool),
                       (long long)device_capacity(pool),
                       pool < NODES ? memory[device] : ",\"requestPolicy\":{\"default\":\"1\"}");
}

static void append_units(struct strbuf *b, int pool, int device)
{
    strbuf_appendf(b,
                   ",\"consumesCounters\":[{\"counterSet\":\"set\",\"counters\":{\"units\":{"
                   "\"value\":\"%lld\"}}}]",
                   (long long)device_units(pool, device));
    if (pool == POOLS - 1) /* each of its devices says where it is */
        strbuf_append(b, device == 0   ? ",\"nodeName\":\"n0\""
                         : device == 1 ? "," IN_ZONE_A
                                       : ",\"allNodes\":true");
}

static const struct sim_taint {
    const char *key, *value, *effect;
    enum device_taint_effect effect_number;
} sim_taints[TAINT_KINDS] = {
    { NULL, NULL, NULL, DEVICE_TAINT_NONE },
    { "sim/worn", "", "NoSchedule", DEVICE_TAINT_NO_SCHEDULE },
    { "sim/broken", "yes", "NoExecute", DEVICE_TAINT_NO_EXECUTE },
    { "sim/old", "", "None", DEVICE_TAINT_NONE },
};

static void append_taint(struct strbuf *b, unsigned kind)
{
    const struct sim_taint *t = &sim_taints[kind];

    strbuf_appendf(b, "{\"key\":\"%s\",\"value\":\"%s\",\"effect\":\"%s\"}", t->key, t->value,
                   t->effect);
}

static void append_gated(struct strbuf *b, const struct dra_sim *d, int pool, int device)
{
    unsigned taint = d->pools[pool].taints[device].kind;

    if (taint) {
        strbuf_append(b, ",\"taints\":[");
        append_taint(b, taint);
        strbuf_append(b, "]");
    }
    if (d->gate == PARTITIONS)
        append_units(b, pool, device);
    if (d->gate == CAPACITY)
        append_capacity(b, pool, device);
    if (d->gate == CONDITIONS && device_binds(pool, device))
        strbuf_appendf(b,
                       ",\"bindingConditions\":[\"" ATTACHED "\"],\"bindingFailureConditions\":["
                       "\"" BROKEN "\"]%s",
                       pool < NODES ? "" : ",\"bindsToNode\":true");
}

static void append_devices(struct strbuf *b, const struct dra_sim *d, int pool, int part)
{
    const struct pool *p = &d->pools[pool];
    unsigned n = 0;

    strbuf_append(b, "\"devices\":[");
    for (unsigned i = 0; i < p->devices; i++) {
        if (i % p->slices != (unsigned)part)
            continue;
        strbuf_appendf(b, "%s{\"name\":\"dev-%u\"", n++ ? "," : "", i);
        if (pool < NODES)
            strbuf_appendf(b,
                           ",\"attributes\":{\"model\":{\"string\":\"%s\"},\"numa\":{\"int\":%u}}",
                           (i + (unsigned)p->generation / 3) % 3 ? "a" : "b", i / 2);
        append_gated(b, d, pool, (int)i);
        strbuf_append(b, "}");
    }
    strbuf_append(b, "]");
}

static void append_where(struct strbuf *b, const struct dra_sim *d, int pool, bool counters)
{
    if (pool < NODES)
        strbuf_appendf(b, "\"nodeName\":\"n%d\",", pool);
    else if (pool == NODES)
        strbuf_append(b, "\"allNodes\":true,");
    else if (d->gate == PARTITIONS && !counters)
        strbuf_append(b, "\"perDeviceNodeSelection\":true,");
    else
        strbuf_append(b, IN_ZONE_A ",");
}

/* One more than those with devices, where these share counters. */
static unsigned all_slices(const struct dra_sim *d, const struct pool *p)
{
    return p->slices + (d->gate == PARTITIONS);
}

static void slice_name(char out[64], int pool, int part, int64_t generation)
{
    (void)snprintf(out, 64, "s%d-%d-%lld", pool, part, (long long)generation % 2);
}

static void delete_slice(struct dra_sim *d, int pool, int part, int64_t generation)
{
    char name[64];

    slice_name(name, pool, part, generation);
    (void)sim_delete(&d->s, &kind_resource_slice, NULL, name, NULL);
}

/* Half of the devices, when there are two slices. */
static void put_slice(struct dra_sim *d, int pool, int part)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    const struct pool *p = &d->pools[pool];
    bool counters = part == (int)p->slices;
    char name[64];

    slice_name(name, pool, part, p->generation);
    strbuf_appendf(&b,
                   "{\"apiVersion\":\"resource.k8s.io/v1\",\"kind\":\"ResourceSlice\",\"metadata\":"
                   "{\"name\":\"%s\"},\"spec\":{\"driver\":\"%s\",",
                   name, pool < NODES ? GPU_DRIVER : NET_DRIVER);
    append_where(&b, d, pool, counters);
    strbuf_appendf(&b,
                   "\"pool\":{\"name\":\"pool-%d\",\"generation\":%lld,\"resourceSliceCount\":%u},",
                   pool, (long long)p->generation, all_slices(d, p));
    if (counters)
        strbuf_appendf(&b,
                       "\"sharedCounters\":[{\"name\":\"set\",\"counters\":{\"units\":{\"value\":"
                       "\"%lld\"}}}]",
                       (long long)pool_units(pool));
    else
        append_devices(&b, d, pool, part);
    strbuf_append(&b, "}}");
    (void)sim_delete(&d->s, &kind_resource_slice, NULL, name, NULL);
    if (sim_create(&d->s, strbuf_str(&b)) != 201)
        dra_die(d, "slice: %s", strbuf_str(&b));
}

/* ---- pools ------------------------------------------------------------------------------------ */

static void draw_taints(struct dra_sim *d, int pool)
{
    for (unsigned i = 0; d->gate == TAINTS && i < GPUS; i++) {
        struct device_taint_now *t = &d->pools[pool].taints[i];
        unsigned kind = chance(d, 40) ? 1 + below(d, TAINT_KINDS - 1) : 0;
        if (kind == t->kind)
            continue;
        *t = (struct device_taint_now){ kind, loop_mono(d->s.loop) };
        d->n.taints += kind != 0;
    }
}

/* A new generation: its slices come one by one, with time between them, and the old ones go. */
void change_pool(struct dra_sim *d, int pool)
{
    struct pool *p = &d->pools[pool];
    struct pool old = *p;
    unsigned max = pool < NODES ? GPUS : NETS;

    p->generation++;
    p->slices = 1 + below(d, 2);
    p->devices = p->slices + below(d, max - p->slices + 1);
    /* What a device that is not listed takes of the counters nobody can know. */
    if (d->gate == PARTITIONS)
        p->devices = max;
    draw_taints(d, pool);
    bool first = chance(d, 30); /* the old ones go first */
    for (unsigned i = 0; first && i < all_slices(d, &old); i++)
        delete_slice(d, pool, (int)i, old.generation);
    for (unsigned i = 0; i < all_slices(d, p); i++) {
        put_slice(d, pool, (int)i);
        if (chance(d, 50))
            sim_run(&d->s, (nsec_t)below(d, 2000) * NSEC_PER_MSEC);
    }
    for (unsigned i = 0; !first && i < all_slices(d, &old); i++)
        delete_slice(d, pool, (int)i, old.generation);
}

void lose_slice(struct dra_sim *d, int pool)
{
    const struct pool *p = &d->pools[pool];

    delete_slice(d, pool, (int)below(d, all_slices(d, p)), p->generation);
}

void mend_pool(struct dra_sim *d, int pool)
{
    for (unsigned i = 0; i < all_slices(d, &d->pools[pool]); i++)
        put_slice(d, pool, (int)i);
}

void new_pools(struct dra_sim *d)
{
    for (int i = 0; i < POOLS; i++) {
        d->pools[i] = (struct pool){ .generation = 1,
                                     .slices = 1 + below(d, 2),
                                     .devices = i < NODES ? GPUS : NETS };
        draw_taints(d, i);
        mend_pool(d, i);
    }
}

/* ---- taints ----------------------------------------------------------------------------------- */

static bool is_tolerated(const struct sim_taint *t, const device_tolerationlist *by)
{
    for (uint32_t i = 0; i < by->n; i++) {
        const struct device_toleration *one = &by->items[i];
        bool exists = one->op == DEVICE_TOL_EXISTS;
        bool key = streq(one->key, t->key) || (exists && *one->key == '\0');
        bool effect = one->effect == DEVICE_TAINT_UNKNOWN || one->effect == t->effect_number;
        if (key && effect && (exists || streq(one->value, t->value)))
            return true;
    }
    return false;
}

static nsec_t keeps_off(const struct device_taint_now *t, const device_tolerationlist *by)
{
    const struct sim_taint *is = &sim_taints[t->kind];

    return is->effect_number == DEVICE_TAINT_NONE || is_tolerated(is, by) ? NEVER : t->since;
}

static bool rule_is_for(const struct sim_rule *r, int pool, int device)
{
    return (r->pool < 0 || r->pool == pool) && (r->device < 0 || r->device == device) &&
           (!r->network || pool >= NODES);
}

nsec_t tainted_since(const struct dra_sim *d, int pool, int device, const struct device_ask *k)
{
    nsec_t since = keeps_off(&d->pools[pool].taints[device], &k->tolerations);

    for (unsigned i = 0; i < RULES; i++)
        if (rule_is_for(&d->rules[i], pool, device))
            since = MIN(since, keeps_off(&d->rules[i].taint, &k->tolerations));
    return since;
}

static void put_rule(struct dra_sim *d, const char *name, const struct sim_rule *r)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    strbuf_appendf(&b,
                   "{\"apiVersion\":\"resource.k8s.io/v1alpha3\",\"kind\":\"DeviceTaintRule\","
                   "\"metadata\":{\"name\":\"%s\"},\"spec\":{\"deviceSelector\":{",
                   name);
    if (r->network)
        strbuf_append(&b, "\"driver\":\"" NET_DRIVER "\"");
    if (r->pool >= 0)
        strbuf_appendf(&b, "\"pool\":\"pool-%d\"", r->pool);
    if (r->device >= 0)
        strbuf_appendf(&b, "%s\"device\":\"dev-%d\"", r->pool >= 0 || r->network ? "," : "",
                       r->device);
    strbuf_append(&b, "},\"taint\":");
    append_taint(&b, r->taint.kind);
    strbuf_append(&b, "}}");
    const struct kube_req q = { .verb = KUBE_CREATE,
                                .kind = &kind_device_taint_rule,
                                .body = strbuf_str(&b),
                                .body_len = b.len };
    if (sim_do(&d->s, &q, NULL) != 201)
        dra_die(d, "rule: %s", strbuf_str(&b));
    d->n.rules++;
}

/* A rule goes, and often another comes in its place. */
static void change_rule(struct dra_sim *d)
{
    unsigned number = below(d, RULES);
    struct sim_rule *r = &d->rules[number];
    char name[16];

    (void)snprintf(name, sizeof name, "rule-%u", number);
    *r = (struct sim_rule){ 0 }; /* from here on: the scheduler may hear of it before we do */
    (void)sim_delete(&d->s, &kind_device_taint_rule, NULL, name, NULL);
    if (chance(d, 30))
        return;
    r->taint = (struct device_taint_now){ 1 + below(d, TAINT_KINDS - 1), loop_mono(d->s.loop) };
    r->device = chance(d, 50) ? (int)below(d, GPUS) : -1;
    r->pool = chance(d, 50) ? (int)below(d, POOLS) : -1;
    r->network = r->pool < 0 && (r->device < 0 || chance(d, 50));
    put_rule(d, name, r);
}

void change_taints(struct dra_sim *d)
{
    if (d->gate == TAINT_RULES && chance(d, 20)) {
        change_rule(d);
    } else if (d->gate == TAINTS && chance(d, 10)) {
        int pool = (int)below(d, POOLS);
        draw_taints(d, pool);
        mend_pool(d, pool);
    }
}

/* ---- binding conditions ----------------------------------------------------------------------- */

/* Each time stands for one allocation: what was said of an older one does not count. */
static void say_of_devices(struct dra_sim *d, const struct resource_claim *c, const char *type)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    const struct claim_allocation *got = c->status.allocation;
    unsigned n = 0;

    strbuf_appendf(&b, "{\"metadata\":{\"resourceVersion\":\"%s\"},\"status\":{\"devices\":[",
                   c->obj.meta.resource_version);
    for (uint32_t i = 0; i < got->devices.results.n; i++) {
        const struct device_result *r = &got->devices.results.items[i];
        if (!device_binds(name_number(r->pool), name_number(r->device)))
            continue;
        strbuf_appendf(&b,
                       "%s{\"driver\":\"%s\",\"pool\":\"%s\",\"device\":\"%s\",\"conditions\":[{"
                       "\"type\":\"%s\",\"status\":\"True\",\"lastTransitionTime\":"
                       "\"2025-11-15T00:00:00Z\",\"reason\":\"Sim\",\"message\":\"%lld\"}]}",
                       n++ ? "," : "", r->driver, r->pool, r->device, type,
                       (long long)got->allocation_timestamp);
    }
    strbuf_append(&b, "]}}");
    int status = sim_patch(&d->s, &kind_resource_claim, "default", c->obj.meta.name, "status",
                           strbuf_str(&b));
    if (status != 200 && status != 404 && status != 409)
        dra_die(d, "status %d: %s", status, strbuf_str(&b));
    d->n.failures += status == 200 && streq(type, BROKEN);
}

static bool waits_for_driver(const struct resource_claim *c)
{
    const struct claim_allocation *got = c->status.allocation;

    for (uint32_t i = 0; got && c->status.devices.n == 0 && i < got->devices.results.n; i++)
        if (device_binds(name_number(got->devices.results.items[i].pool),
                         name_number(got->devices.results.items[i].device)))
            return true;
    return false;
}

void drivers_report(struct dra_sim *d, bool all_well)
{
    struct vec_of(struct kobj *) waiting = { 0 };
    struct kobj *o;

    for (size_t it = 0; d->gate == CONDITIONS && (o = informer_next(d->claims, &it));)
        if (waits_for_driver(resource_claim_of(o)))
            vec_push(&waiting, kobj_ref(o));
    vec_foreach(&waiting, i) {
        unsigned dice = all_well ? 0 : below(d, 100);
        if (dice < 50)
            say_of_devices(d, resource_claim_of(waiting.items[i]), dice < 40 ? ATTACHED : BROKEN);
        kobj_unref(waiting.items[i]);
    }
    vec_fini(&waiting);
}
