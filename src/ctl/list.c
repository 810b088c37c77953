/* list.c - lists of any length, page by page. */
#include "ctl/get.h"

struct kj_iter get_items(const struct kj_val *root)
{
    const struct kj_val *rows = kj_get(root, "rows");
    return kj_iter(rows ? rows : kj_get(root, "items"));
}

static void set_version(struct get *g, const struct kj_val *root)
{
    const char *rv = kj_str(kj_path(root, "metadata.resourceVersion"));

    if (!rv)
        return;
    free(g->version);
    g->version = xstrdup(rv);
}

/* One page; *token is the way to the next, NULL at the end. */
static int one_page(struct get *g, char **token, page_fn fn, void *arg, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    const struct kube_req r = {
        .verb = KUBE_LIST,
        .kind = g->kind,
        .ns = g->ns,
        .label_selector = g->o->selector,
        .field_selector = g->field_selector,
        .continue_token = *token,
        .limit = g->o->chunk,
        .as_table = g->is_table,
    };

    int e = ctl_call(g->c, &r, &body, err);
    if (e < 0)
        return e;
    e = kj_parse(body.data, body.len, 0, &doc, err);
    if (e < 0)
        return kerr_wrap(err, "the server's list");
    free(*token);
    *token = NULL;
    const char *next = kj_str(kj_path(kj_root(doc), "metadata.continue"));
    if (!str_empty(next))
        *token = xstrdup(next);
    set_version(g, kj_root(doc));
    return fn(g, kj_root(doc), arg, err);
}

int get_pages(struct get *g, page_fn fn, void *arg, struct kerr *err)
{
    char *token = NULL;
    int r;

    do
        r = one_page(g, &token, fn, arg, err);
    while (r == 0 && token);
    free(token);
    return r;
}
