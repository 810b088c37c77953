/* devices.c - koordctl devices [NODE]: what DRA drivers offer, and which claims hold it.
 *
 * From objects alone, so it works on any API server; kinds that it does not have count as empty.
 * What -o json shows: pools: driver, name, node (or "", when its devices are for several nodes),
 * generation, slices (of sliceCount), devices: name, attributes, taints (those of a DeviceTaintRule
 * with rule), holders: claim, pods, adminAccess; deviceShare: pods and Reservations that have the
 * card by DeviceShare
 */
#include "api/dra.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "client/kube.h"
#include "ctl/ctl.h"
#include "ctl/devices_cards.h"
#include "ctl/explain.h"
#include "ctl/installation.h"
#include "json/kj.h"

enum { PAGE = 500 };

struct holder { /* a claim that has a device; more of the same device follow */
    const struct holder *next;
    const char *claim;
    const struct kj_val *pods; /* status.reservedFor */
    bool admin;
};
struct slice {
    const struct kj_val *spec;
    int64_t generation;
};
struct pool {
    const char *driver, *name;
    int64_t newest; /* generation */
    struct vec_of(struct slice) slices;
};
struct devices {
    struct arena *a;
    const char *node; /* NULL: of all */
    struct map holders, pools;
    struct vec_of(struct pool *) list;
    struct vec_of(struct kj_doc *) kept;        /* what the others point into */
    struct vec_of(const struct kj_val *) rules; /* DeviceTaintRules */
    struct card_holders *cards;
};

static const char *text_of(const struct kj_val *v, const char *member)
{
    return kj_str_or(kj_get(v, member), "");
}

/* Items die with their page: what is looked at later is kept as a document of its own. */
static const struct kj_val *keep(struct devices *d, const struct kj_val *item)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct kj_doc *doc = NULL;

    kj_write(item, 0, &text);
    if (kj_parse(text.data, text.len, 0, &doc, NULL) < 0)
        return NULL;
    vec_push(&d->kept, doc);
    return kj_root(doc);
}

/* ---- reading --------------------------------------------------------------------------------- */

static const char *device_key(struct devices *d, const char *driver, const char *pool,
                              const char *device)
{
    return arena_printf(d->a, "%s/%s/%s", driver, pool, device);
}

static bool on_claim(void *arg, const struct kj_val *item)
{
    struct devices *d = arg;
    const struct kj_val *results = kj_path(item, "status.allocation.devices.results"), *r;

    if (kj_len(results) == 0)
        return true;
    item = keep(d, item);
    struct kj_iter it = kj_iter(kj_path(item, "status.allocation.devices.results"));
    const struct kj_val *meta = kj_get(item, "metadata");
    const char *name =
        arena_printf(d->a, "%s/%s", text_of(meta, "namespace"), text_of(meta, "name"));
    while (kj_next(&it, NULL, &r)) {
        const char *key =
            device_key(d, text_of(r, "driver"), text_of(r, "pool"), text_of(r, "device"));
        struct holder *h = arena_new0(d->a, struct holder);
        *h = (struct holder){ .next = map_getz(&d->holders, key),
                              .claim = name,
                              .pods = kj_path(item, "status.reservedFor"),
                              .admin = kj_bool(kj_get(r, "adminAccess"), false) };
        (void)map_putz(&d->holders, key, h);
    }
    return true;
}

static bool on_slice(void *arg, const struct kj_val *item)
{
    struct devices *d = arg;
    const struct kj_val *spec = kj_get(item, "spec");
    const char *driver = text_of(spec, "driver"), *name = text_of(kj_get(spec, "pool"), "name");

    if (d->node && !streq(text_of(spec, "nodeName"), d->node))
        return true;
    const char *key = arena_printf(d->a, "%s/%s", driver, name);
    struct pool *p = map_getz(&d->pools, key);
    item = keep(d, item);
    spec = kj_get(item, "spec");
    if (!p) {
        p = arena_new0(d->a, struct pool);
        p->driver = text_of(spec, "driver");
        p->name = text_of(kj_get(spec, "pool"), "name");
        (void)map_putz(&d->pools, key, p);
        vec_push(&d->list, p);
    }
    struct slice s = { spec, kj_i64_or(kj_path(spec, "pool.generation"), 0) };
    p->newest = MAX(p->newest, s.generation);
    vec_push(&p->slices, s);
    return true;
}

static bool on_rule(void *arg, const struct kj_val *item)
{
    struct devices *d = arg;

    vec_push(&d->rules, keep(d, item));
    return true;
}

static int read_all(struct ctl *c, struct devices *d, struct kerr *err)
{
    const struct kube_req rules = { .verb = KUBE_LIST,
                                    .kind = &kind_device_taint_rule,
                                    .limit = PAGE };
    const struct kube_req slices = { .verb = KUBE_LIST,
                                     .kind = &kind_resource_slice,
                                     .limit = PAGE };
    const struct kube_req claims = { .verb = KUBE_LIST,
                                     .kind = &kind_resource_claim,
                                     .limit = PAGE };
    int r = ctl_each(c, &slices, on_slice, d, err);

    if (r == 0)
        r = ctl_each(c, &claims, on_claim, d, err);
    if (r == 0)
        r = card_holders_read(c, d->node, &d->cards, err);
    if (r < 0)
        return r;
    struct kerr none = { 0 }; /* most servers do not have them, or do not show them */
    (void)ctl_each(c, &rules, on_rule, d, &none);
    return 0;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static int by_name(const void *a, const void *b)
{
    const struct pool *x = *(struct pool *const *)a, *y = *(struct pool *const *)b;
    int r = strcmp(x->driver, y->driver);
    return r ? r : strcmp(x->name, y->name);
}

static void write_holders(struct kjw *w, const struct holder *h)
{
    kjw_arr(w, "holders");
    for (; h; h = h->next) {
        struct kj_iter it = kj_iter(h->pods);
        const struct kj_val *pod;
        kjw_obj(w, NULL);
        kjw_str(w, "claim", h->claim);
        if (h->admin)
            kjw_bool(w, "adminAccess", true);
        kjw_arr(w, "pods");
        while (kj_next(&it, NULL, &pod))
            kjw_str(w, NULL, text_of(pod, "name"));
        kjw_end(w);
        kjw_end(w);
    }
    kjw_end(w);
}

static void write_raw(struct kjw *w, const char *key, const struct kj_val *v)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    if (kj_len(v) == 0)
        return;
    kj_write(v, KJ_SORTED, &text);
    kjw_raw(w, key, text.data, text.len);
}

static bool is_any(const struct kj_val *selector, const char *member, const char *is)
{
    const char *wanted = kj_str(kj_get(selector, member));
    return !wanted || streq(wanted, is);
}

static bool rule_taints(const struct kj_val *rule, const struct pool *p, const char *device)
{
    const struct kj_val *s = kj_path(rule, "spec.deviceSelector");

    return is_any(s, "driver", p->driver) && is_any(s, "pool", p->name) &&
           is_any(s, "device", device);
}

static void write_taint(struct kjw *w, const struct kj_val *taint, const char *rule)
{
    kjw_obj(w, NULL);
    kjw_str(w, "key", text_of(taint, "key"));
    if (*text_of(taint, "value"))
        kjw_str(w, "value", text_of(taint, "value"));
    kjw_str(w, "effect", text_of(taint, "effect"));
    if (rule)
        kjw_str(w, "rule", rule);
    kjw_end(w);
}

static void write_taints(const struct devices *d, struct kjw *w, const struct pool *p,
                         const struct kj_val *device)
{
    const struct kj_val *own = kj_get(device, "taints"), *rule;

    kjw_arr(w, "taints");
    for (size_t i = 0; i < kj_len(own); i++)
        write_taint(w, kj_at(own, i), NULL);
    vec_foreach(&d->rules, i) {
        rule = d->rules.items[i];
        if (rule_taints(rule, p, text_of(device, "name")))
            write_taint(w, kj_path(rule, "spec.taint"), text_of(kj_get(rule, "metadata"), "name"));
    }
    kjw_end(w);
}

static void write_cards(struct kjw *w, const struct card_holder *h)
{
    if (!h)
        return;
    kjw_arr(w, "deviceShare");
    for (; h; h = h->next)
        kjw_str(w, NULL, h->name);
    kjw_end(w);
}

static void write_device(struct devices *d, struct kjw *w, const struct pool *p, const char *node,
                         const struct kj_val *device)
{
    const char *name = text_of(device, "name");

    kjw_obj(w, NULL);
    kjw_str(w, "name", name);
    write_raw(w, "attributes", kj_get(device, "attributes"));
    write_taints(d, w, p, device);
    write_holders(w, map_getz(&d->holders, device_key(d, p->driver, p->name, name)));
    if (*node || *text_of(device, "nodeName"))
        write_cards(
            w, card_holders_find(d->cards, *node ? node : text_of(device, "nodeName"), device));
    kjw_end(w);
}

static void write_pool(struct devices *d, struct kjw *w, const struct pool *p)
{
    int64_t current = 0, wanted = 0;
    const char *node = "";

    vec_foreach(&p->slices, i) {
        const struct slice *s = &p->slices.items[i];
        if (s->generation != p->newest)
            continue;
        current++;
        wanted = kj_i64_or(kj_path(s->spec, "pool.resourceSliceCount"), 1);
        node = text_of(s->spec, "nodeName");
    }
    kjw_obj(w, NULL);
    kjw_str(w, "driver", p->driver);
    kjw_str(w, "name", p->name);
    kjw_str(w, "node", node);
    kjw_i64(w, "generation", p->newest);
    kjw_i64(w, "slices", current);
    kjw_i64(w, "sliceCount", wanted);
    kjw_arr(w, "devices");
    vec_foreach(&p->slices, i) {
        struct kj_iter it = kj_iter(kj_get(p->slices.items[i].spec, "devices"));
        const struct kj_val *device;
        while (p->slices.items[i].generation == p->newest && kj_next(&it, NULL, &device))
            write_device(d, w, p, text_of(p->slices.items[i].spec, "nodeName"), device);
    }
    kjw_end(w);
    kjw_end(w);
}

static void write_answer(struct devices *d, struct strbuf *out)
{
    struct kjw w = kjw_to(out);

    if (d->list.n)
        qsort(d->list.items, d->list.n, sizeof *d->list.items, by_name);
    kjw_obj(&w, NULL);
    kjw_arr(&w, "pools");
    vec_foreach(&d->list, i)
        write_pool(d, &w, d->list.items[i]);
    kjw_end(&w);
    kjw_end(&w);
}

/* ---- for people ------------------------------------------------------------------------------ */

static void put_attributes(const struct kj_val *attributes, struct strbuf *out)
{
    struct kj_iter it = kj_iter(attributes), values;
    const struct kj_val *attribute, *v;
    struct str name;

    while (kj_next(&it, &name, &attribute)) {
        values = kj_iter(attribute);
        strbuf_appendf(out, "  %.*s=", (int)name.n, name.p);
        while (kj_next(&values, NULL, &v)) {
            if (kj_str(v))
                strbuf_append(out, kj_str(v));
            else
                kj_write(v, 0, out);
        }
    }
}

static void put_taints(const struct kj_val *taints, struct strbuf *out)
{
    struct kj_iter it = kj_iter(taints);
    const struct kj_val *t;

    while (kj_next(&it, NULL, &t)) {
        const char *value = text_of(t, "value");
        strbuf_appendf(out, "  taint %s%s%s:%s", text_of(t, "key"), *value ? "=" : "", value,
                       text_of(t, "effect"));
        if (*text_of(t, "rule"))
            strbuf_appendf(out, " (rule %s)", text_of(t, "rule"));
    }
}

/* Returns whether somebody has it for himself. */
static bool put_holders(const struct kj_val *device, struct strbuf *out)
{
    struct kj_iter it = kj_iter(kj_get(device, "holders"));
    const struct kj_val *cards = kj_get(device, "deviceShare");
    const struct kj_val *h;
    bool held = false;

    for (size_t i = 0; kj_next(&it, NULL, &h); i++) {
        const struct kj_val *pods = kj_get(h, "pods");
        bool admin = kj_bool(kj_get(h, "adminAccess"), false);
        strbuf_appendf(out, "%s%s%s", i ? ", " : "  ", text_of(h, "claim"),
                       admin ? " (admin access)" : "");
        for (size_t k = 0; k < kj_len(pods); k++)
            strbuf_appendf(out, "%s%s", k ? ", " : " for ", kj_str_or(kj_at(pods, k), ""));
        held |= !admin;
    }
    for (size_t i = 0; i < kj_len(cards); i++, held = true)
        strbuf_appendf(out, "%s%s",
                       i ? ", " : "  by DeviceShare: ", kj_str_or(kj_at(cards, i), ""));
    if (!held)
        strbuf_append(out, "  free");
    return held;
}

static void put_pool(const struct kj_val *p, struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf lines = STRBUF_INIT;
    struct kj_iter it = kj_iter(kj_get(p, "devices"));
    const char *node = text_of(p, "node");
    int64_t slices = kj_i64_or(kj_get(p, "slices"), 0),
            wanted = kj_i64_or(kj_get(p, "sliceCount"), 0);
    const struct kj_val *d;
    size_t held = 0, n = 0;

    for (; kj_next(&it, NULL, &d); n++) {
        strbuf_appendf(&lines, "    %s", text_of(d, "name"));
        held += put_holders(d, &lines);
        put_taints(kj_get(d, "taints"), &lines);
        put_attributes(kj_get(d, "attributes"), &lines);
        strbuf_appendc(&lines, '\n');
    }
    strbuf_appendf(out, "%s, pool %s", text_of(p, "driver"), text_of(p, "name"));
    if (*node && !streq(node, text_of(p, "name")))
        strbuf_appendf(out, " on node %s", node);
    else if (!*node)
        strbuf_append(out, " for several nodes");
    strbuf_appendf(out, ": %zu of %zu devices held", held, n);
    if (slices < wanted)
        strbuf_appendf(out, "; incomplete: %lld of %lld slices, nothing of it is given away",
                       (long long)slices, (long long)wanted);
    strbuf_appendc(out, '\n');
    strbuf_append(out, strbuf_str(&lines));
}

static void devices_text(const struct kj_val *answer, struct strbuf *out)
{
    struct kj_iter it = kj_iter(kj_get(answer, "pools"));
    const struct kj_val *p;

    if (kj_len(kj_get(answer, "pools")) == 0)
        strbuf_append(out, "No driver has published devices there.\n");
    while (kj_next(&it, NULL, &p))
        put_pool(p, out);
}

/* ---- the command ----------------------------------------------------------------------------- */

static void devices_fini(struct devices *d)
{
    vec_foreach(&d->list, i)
        vec_fini(&d->list.items[i]->slices);
    vec_foreach(&d->kept, i)
        kj_doc_free(d->kept.items[i]);
    vec_fini(&d->list);
    vec_fini(&d->kept);
    vec_fini(&d->rules);
    card_holders_free(d->cards);
    map_fini(&d->holders);
    map_fini(&d->pools);
    arena_free(d->a);
}

static int devices_run(struct ctl *c, const void *options)
{
    struct devices d = { .a = NULL };
    struct kerr err = { 0 };
    CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT;

    (void)options;
    if (flags_nargs(c->flags) > 1)
        return ctl_usage(c, "devices takes the name of one node, or none");
    if (streq(c->o.output, "wide") || streq(c->o.output, "name"))
        return ctl_usage(c, "devices knows -o table, json and yaml");
    int code = ctl_connect(c);
    if (code != CTL_OK)
        return code;
    d.a = arena_new();
    d.node = flags_arg(c->flags, 0);
    if (read_all(c, &d, &err) < 0) {
        code = ctl_complain(c, &err);
    } else {
        write_answer(&d, &json);
        code = explain_show(c, &json, devices_text);
    }
    devices_fini(&d);
    return code;
}

const struct ctl_command ctl_command_devices = {
    .name = "devices",
    .args = "[NODE]",
    .help = "List what drivers offer in ResourceSlices, with taints, and which claims hold it",
    .about =
        "For each pool its devices: who holds them (claim and pods; or a pod that has the card "
        "by\nDeviceShare, which the scheduler gives to no claim), taints, attributes. A pool "
        "whose slices are\nnot all there yet is marked: the scheduler gives nothing of it "
        "away.\n",
    .run = devices_run,
};
