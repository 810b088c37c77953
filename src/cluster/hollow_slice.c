/* hollow_slice.c - ResourceSlices of hollow nodes: what a DRA driver on the node would publish.
 *
 * One pool per driver and node, named as the node, in one slice. The slice belongs to the Node and
 * goes with it. A node that is started with another shape publishes what it has now under the next
 * generation of the pool.
 */
#include <ctype.h>
#include <stdio.h>

#include "api/dra.h"
#include "base/num.h"
#include "cluster/hollow.h"

struct publication { /* in the arena of the batch */
    const struct hnode *n;
    const struct hollow_driver *driver;
    const struct kobj *node;
    const char *name;
};

/* "1.2.3": a version; 7: an int; true: a bool; else a string. */
static void write_attribute(struct kjw *w, const char *name, const char *text)
{
    int64_t i;
    int dots = 0;
    bool version = isdigit((unsigned char)*text);

    for (const char *p = text; *p; p++) {
        dots += *p == '.';
        version &= *p == '.' || isdigit((unsigned char)*p);
    }
    kjw_obj(w, name);
    if (i64_parse(text, strlen(text), &i) == 0)
        kjw_i64(w, "int", i);
    else if (streq(text, "true") || streq(text, "false"))
        kjw_bool(w, "bool", streq(text, "true"));
    else
        kjw_str(w, version && dots == 2 ? "version" : "string", text);
    kjw_end(w);
}

/* The same card may be in the node's Device: there it has the same UUID and address. */
static void write_device(struct kjw *w, const struct publication *p, unsigned i)
{
    char text[64];

    kjw_obj(w, NULL);
    (void)snprintf(text, sizeof text, "dev-%u", i);
    kjw_str(w, "name", text);
    kjw_obj(w, "attributes");
    for (size_t k = 0; k < p->driver->nattrs; k++)
        write_attribute(w, p->driver->attrs[k].key, p->driver->attrs[k].value);
    write_attribute(w, "index", (snprintf(text, sizeof text, "%u", i), text));
    if (i < p->n->shape->gpus) {
        hnode_gpu_uuid(p->n, i, text, sizeof text);
        write_attribute(w, "uuid", text);
        (void)snprintf(text, sizeof text, "0000:%02x:00.0", i);
        write_attribute(w, "pciBusID", text);
    }
    kjw_end(w);
    if (p->driver->ncapacity) {
        kjw_obj(w, "capacity");
        for (size_t k = 0; k < p->driver->ncapacity; k++) {
            kjw_obj(w, p->driver->capacity[k].key);
            kjw_str(w, "value", p->driver->capacity[k].value);
            kjw_end(w);
        }
        kjw_end(w);
    }
    kjw_end(w);
}

static void write_devices(struct kjw *w, const struct publication *p)
{
    kjw_arr(w, "devices");
    for (unsigned i = 0; i < p->driver->count; i++)
        write_device(w, p, i);
    kjw_end(w);
}

static void write_pool(struct kjw *w, const struct publication *p, int64_t generation)
{
    kjw_obj(w, "pool");
    kjw_str(w, "name", p->n->name);
    kjw_i64(w, "generation", generation);
    kjw_i64(w, "resourceSliceCount", 1);
    kjw_end(w);
}

static void write_slice(const struct publication *p, struct strbuf *out)
{
    struct kjw w = kjw_to(out);

    kjw_obj(&w, NULL);
    kjw_str(&w, "apiVersion", "resource.k8s.io/v1");
    kjw_str(&w, "kind", "ResourceSlice");
    kjw_obj(&w, "metadata");
    kjw_str(&w, "name", p->name);
    owner_write(&w, p->node, true);
    kjw_end(&w);
    kjw_obj(&w, "spec");
    kjw_str(&w, "driver", p->driver->name);
    kjw_str(&w, "nodeName", p->n->name);
    write_pool(&w, p, 1);
    write_devices(&w, p);
    kjw_end(&w);
    kjw_end(&w);
}

/* Does the server have these devices already? */
static bool is_published(const struct publication *p, const struct kj_val *devices)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kjw w = kjw_to(&text);

    kjw_obj(&w, NULL);
    write_devices(&w, p);
    kjw_end(&w);
    return kj_parse(text.data, text.len, 0, &doc, NULL) == 0 &&
           kj_equal(kj_get(kj_root(doc), "devices"), devices);
}

static bool on_old(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    const struct publication *p = arg;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;

    if (err || kj_parse(r->body, r->n, 0, &doc, NULL) < 0)
        return false;
    const struct kj_val *spec = kj_get(kj_root(doc), "spec");
    if (is_published(p, kj_get(spec, "devices")))
        return true;
    struct kjw w = kjw_to(&body);
    kjw_obj(&w, NULL);
    kjw_obj(&w, "spec");
    write_pool(&w, p, kj_i64_or(kj_path(spec, "pool.generation"), 0) + 1);
    write_devices(&w, p);
    kjw_end(&w);
    kjw_end(&w);
    batch_call(b,
               &(struct kube_req){ .verb = KUBE_PATCH,
                                   .kind = &kind_resource_slice,
                                   .name = p->name,
                                   .patch = KUBE_PATCH_MERGE,
                                   .body = body.data,
                                   .body_len = body.len },
               NULL, NULL);
    return true;
}

static bool on_slice(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    const struct publication *p = arg;

    (void)r;
    if (!err || err->reason != KR_ALREADY_EXISTS)
        return err && err->reason == KR_NOT_FOUND; /* a server without the kind */
    batch_call(
        b, &(struct kube_req){ .verb = KUBE_GET, .kind = &kind_resource_slice, .name = p->name },
        on_old, arg);
    return true;
}

void hnode_publish_slices(struct batch *b, const struct hnode *n, const struct kobj *node)
{
    struct arena *a = batch_arena(b);

    for (size_t i = 0; i < n->shape->ndrivers; i++) {
        CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
        struct publication *p = arena_new0(a, struct publication);
        *p = (struct publication){ .n = n,
                                   .driver = &n->shape->drivers[i],
                                   .node = batch_hold(b, node),
                                   .name = arena_printf(a, "%s-%s", n->name,
                                                        n->shape->drivers[i].name) };
        write_slice(p, &body);
        batch_create(b, &kind_resource_slice, NULL, &body, on_slice, p);
    }
}
