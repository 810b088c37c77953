/* replay.c - were these bindings allowed? Reads what happened, one JSON object a line, and tries
 * every binding on the cluster as it was then, by the scheduler's own rules.
 *
 *     {"put": OBJECT}                    an object of any kind, new or changed (a pod: without
 * node)
 *     {"drop": OBJECT}                   it is gone
 *     {"bind": POD, "node": NAME}        the pod got this node
 *
 * Prints a line for every binding that was not allowed, then "replay: N bindings, M not allowed".
 */
#include <stdio.h>

#include "api/kobj.h"
#include "api/pod.h"
#include "base/arena.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "scheduler/observe/explain/whatif.h"
#include "json/kj.h"

struct replay {
    struct intern *strings;
    struct kj_scratch *scratch;
    struct arena *arena;
    struct map objects; /* "kind namespace/name" -> struct kobj */
    struct whatif *w;   /* NULL: something is gone, to be made anew */
    unsigned binds, bad;
};

static struct kobj *decode(struct replay *r, const struct kj_val *v)
{
    const char *api = kj_str_or(kj_get(v, "apiVersion"), ""), *slash = strchr(api, '/');
    const char *group = slash ? arena_strndup(r->arena, api, (size_t)(slash - api)) : "";
    const struct kind *k =
        kind_find_gvk(group, slash ? slash + 1 : api, kj_str_or(kj_get(v, "kind"), ""));
    struct kobj *o = NULL;
    struct kerr err = { 0 };

    if (!k || kobj_decode(k, v, r->scratch, &o, &err) < 0) {
        fprintf(stderr, "replay: %s\n", k ? err.text : "an object of an unknown kind");
        exit(2);
    }
    return o;
}

static char *key_of(struct replay *r, const struct kobj *o)
{
    char key[KOBJ_KEY_MAX];
    kobj_key(o, key, sizeof key);
    return arena_printf(r->arena, "%s %s", o->kind->kind, key);
}

static void add(struct replay *r, struct kobj *o)
{
    struct kerr err = { 0 };
    if (whatif_add(r->w, o, &err) < 0) {
        fprintf(stderr, "replay: %s\n", err.text);
        exit(2);
    }
}

static void make_objects(struct replay *r)
{
    struct profile_config c = profile_config_default(ks_registry, "replay", r->arena);
    struct kerr err = { 0 };

    if (r->w)
        return;
    r->w = whatif_new(&c, ks_registry, &err);
    if (!r->w) {
        fprintf(stderr, "replay: %s\n", err.text);
        exit(2);
    }
    map_foreach(&r->objects, e)
        add(r, e->value);
}

static void put(struct replay *r, struct kobj *o)
{
    struct kobj *old = map_putz(&r->objects, key_of(r, o), kobj_ref(o));

    kobj_unref(old);
    if (old)
        r->w = whatif_free(r->w);
    else if (r->w)
        add(r, o);
}

static void drop(struct replay *r, const struct kobj *o)
{
    kobj_unref(map_removez(&r->objects, key_of(r, o)));
    r->w = whatif_free(r->w);
}

/* The pod is put with its node afterwards. */
static void bind(struct replay *r, const struct kj_val *pod, const char *node)
{
    CLEANUP(kobj_unref) struct kobj *o = decode(r, pod);
    struct whatif_result res;
    struct kerr err = { 0 };
    const char *why = "there is no such node";

    r->binds++;
    make_objects(r);
    if (whatif_explain(r->w, o, 0, &res, &err) < 0) {
        why = err.text;
    } else {
        for (uint32_t i = 0; i < res.nnodes; i++)
            if (streq(res.nodes[i].name, node))
                why = res.nodes[i].code == KS_SUCCESS ? NULL
                      : res.nodes[i].nreasons         ? res.nodes[i].reasons[0]
                                                      : "left out";
    }
    if (!why)
        return;
    r->bad++;
    printf("%s/%s on %s: %s\n", o->meta.ns, o->meta.name, node, why);
}

static void line(struct replay *r, char *text, size_t n)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr err = { 0 };

    if (kj_parse(text, n, 0, &doc, &err) < 0) {
        fprintf(stderr, "replay: %s\n", err.text);
        exit(2);
    }
    const struct kj_val *v = kj_root(doc);
    if (kj_get(v, "bind")) {
        bind(r, kj_get(v, "bind"), kj_str_or(kj_get(v, "node"), ""));
        return;
    }
    bool gone = kj_get(v, "drop");
    CLEANUP(kobj_unref) struct kobj *o = decode(r, kj_get(v, gone ? "drop" : "put"));
    if (gone)
        drop(r, o);
    else
        put(r, o);
}

int main(void)
{
    struct replay r = { .strings = intern_new(), .arena = arena_new() };
    CLEANUP(mem_free) char *text = NULL;
    size_t cap = 0;
    ssize_t n;

    r.scratch = kj_scratch_new(r.strings);
    while ((n = getline(&text, &cap, stdin)) > 0)
        line(&r, text, (size_t)n);
    printf("replay: %u bindings, %u not allowed\n", r.binds, r.bad);
    whatif_free(r.w);
    map_foreach(&r.objects, e)
        kobj_unref(e->value);
    map_fini(&r.objects);
    kj_scratch_free(r.scratch);
    intern_free(r.strings);
    arena_free(r.arena);
    return r.bad != 0;
}
