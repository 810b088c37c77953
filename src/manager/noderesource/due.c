/* due.c - is the difference between node and plan worth a write? And the patches that make it
 * (manager 4.3). */
#include <math.h>

#include "manager/noderesource/plugin.h"
#include "json/kj.h"

/* ---- when ------------------------------------------------------------------------------------ */

bool nr_differs(const struct qty *old, const struct qty *new, double threshold)
{
    if (!old || !new)
        return old != new;
    double was = (double)qty_milli(*old), is = (double)qty_milli(*new);
    return fabs(is - was) > was * threshold;
}

static bool resource_differs(const struct nr_input *in, const struct nr_plan *p,
                             enum nr_resource name, double threshold)
{
    const struct nr_want *w = &p->resources[name];
    const struct qty *old = reslist_find(&in->node->status.allocatable, nr_resource_names[name]);

    if (w->act == NR_LEAVE)
        return false;
    return nr_differs(old, w->act == NR_SET ? &w->value : NULL, threshold);
}

static bool find_difference(const struct nr_input *in, const struct nr_result *r,
                            const struct nr_plan *p, enum nr_resource *ret)
{
    double threshold =
        r->strategy->resource_diff_threshold.set ? r->strategy->resource_diff_threshold.v : 0.1;

    for (size_t i = 0; i < NR_PLUGINS; i++)
        for (enum nr_resource name = 0; in->plugins >> i & 1 && name < NR_RESOURCES; name++)
            if (nr_plugins[i]->watched >> name & 1 && resource_differs(in, p, name, threshold)) {
                *ret = name;
                return true;
            }
    return false;
}

bool nr_meta_due(const struct nr_input *in, const struct nr_plan *p)
{
    bool due = false;

    for (size_t i = 0; i < NR_PLUGINS; i++)
        if (in->plugins >> i & 1 && nr_plugins[i]->meta_differs)
            due |= nr_plugins[i]->meta_differs(in, p);
    return due;
}

struct nr_due_result nr_due(const struct nr_input *in, const struct nr_result *r,
                            const struct nr_plan *p, nsec_t last_sync)
{
    nsec_t patience =
        i64_mul_sat(nr_percent(r->strategy->update_time_threshold_seconds, 300), NSEC_PER_SEC);
    struct nr_due_result out = { 0 };

    if (in->node->status.allocatable.n == 0 || in->node->status.capacity.n == 0)
        return out;
    if (last_sync == 0)
        out.status = NR_DUE_FIRST;
    else if (in->now - last_sync > patience)
        out.status = NR_DUE_TIME;
    else if (find_difference(in, r, p, &out.resource))
        out.status = NR_DUE_DIFF;
    out.meta = nr_meta_due(in, p);
    return out;
}

/* ---- what ------------------------------------------------------------------------------------ */

/* Does the list lack what is wanted? Equal numbers are equal, however they are written. */
static bool resource_is_off(const reslist *l, enum nr_resource name, const struct nr_want *w)
{
    const struct qty *have = reslist_find(l, nr_resource_names[name]);

    if (w->act == NR_LEAVE)
        return false;
    return w->act == NR_REMOVE ? have != NULL : !have || qty_cmp(*have, w->value) != 0;
}

static void open_once(struct kjw *w, const char *key, bool *open)
{
    if (!*open)
        kjw_obj(w, key);
    *open = true;
}

static void close_if(struct kjw *w, bool open)
{
    if (open)
        kjw_end(w);
}

static void patch_list(struct kjw *w, const char *field, const reslist *l, const struct nr_plan *p,
                       bool *outer)
{
    bool open = false;

    for (enum nr_resource i = 0; i < NR_RESOURCES; i++) {
        const struct nr_want *want = &p->resources[i];
        char text[QTY_TEXT_MAX];
        if (!resource_is_off(l, i, want))
            continue;
        open_once(w, "status", outer);
        open_once(w, field, &open);
        if (want->act == NR_REMOVE) {
            kjw_null(w, nr_resource_names[i]);
        } else {
            size_t n = qty_print(want->value, text);
            kjw_strn(w, nr_resource_names[i], text, n);
        }
    }
    close_if(w, open);
}

static void patch_annotations(struct kjw *w, const struct node *n, const struct nr_plan *p,
                              bool *outer)
{
    bool open = false;

    for (size_t i = 0; i < NR_ANNOTATIONS; i++) {
        const struct nr_want *want = &p->annotations[i];
        const char *have = kstrmap_get(&n->obj.meta.annotations, nr_annotation_keys[i]);
        bool off = want->act == NR_SET ? !have || !streq(have, want->text)
                                       : want->act == NR_REMOVE && have;
        if (!off)
            continue;
        open_once(w, "metadata", outer);
        open_once(w, "annotations", &open);
        kjw_str(w, nr_annotation_keys[i], want->act == NR_SET ? want->text : NULL);
    }
    close_if(w, open);
}

static void patch_labels(struct kjw *w, const struct node *n, const struct nr_plan *p, bool *outer)
{
    bool open = false;

    for (size_t i = 0; i < NR_LABELS; i++) {
        const char *have = kstrmap_get(&n->obj.meta.labels, nr_label_keys[i]);
        if (!p->labels[i] || (have && streq(have, p->labels[i])))
            continue;
        open_once(w, "metadata", outer);
        open_once(w, "labels", &open);
        kjw_str(w, nr_label_keys[i], p->labels[i]);
    }
    close_if(w, open);
}

static void patch(const struct node *n, const struct nr_plan *p, bool with_status,
                  struct strbuf *out)
{
    struct kjw w = kjw_to(out);
    bool meta = false, status = false;
    size_t start = out->len;

    kjw_obj(&w, NULL);
    patch_annotations(&w, n, p, &meta);
    patch_labels(&w, n, p, &meta);
    close_if(&w, meta);
    if (with_status) {
        patch_list(&w, "allocatable", &n->status.allocatable, p, &status);
        patch_list(&w, "capacity", &n->status.capacity, p, &status);
        close_if(&w, status);
    }
    kjw_end(&w);
    if (!meta && !status)
        strbuf_truncate(out, start);
}

void nr_patch_status(const struct node *n, const struct nr_plan *p, struct strbuf *out)
{
    patch(n, p, true, out);
}

void nr_patch_meta(const struct node *n, const struct nr_plan *p, struct strbuf *out)
{
    patch(n, p, false, out);
}
