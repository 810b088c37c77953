/* objects.c - whole objects on stdout: json, yaml, name. */
#include "ctl/get.h"
#include "ctl/resource.h"

/* kubectl indents JSON by four: our writer does two, and no string contains a raw line break. */
static void widen_indent(const struct strbuf *in, struct strbuf *out)
{
    for (const char *p = strbuf_str(in); *p;) {
        size_t indent = strspn(p, " "), rest = strcspn(p + indent, "\n");
        for (int twice = 0; twice < 2; twice++)
            strbuf_appendn(out, p, indent);
        strbuf_appendn(out, p + indent, rest);
        strbuf_appendc(out, '\n');
        p += indent + rest;
        p += *p == '\n';
    }
}

void tree_put(const char *form, const struct kj_mval *tree, struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    if (streq(form, "yaml")) {
        CLEANUP(kj_doc_free) struct kj_doc *frozen = kj_freeze(tree);
        kj_write_yaml(kj_root(frozen), out);
        return;
    }
    kj_mwrite(tree, KJ_PRETTY | KJ_SORTED, &text);
    widen_indent(&text, out);
}

struct kj_mval *object_complete(const struct get *g, struct kj_mdoc *d, const struct kj_val *obj)
{
    struct kj_mval *copy = kj_mcopy(d, obj);
    struct kj_mval *meta = kj_mget(copy, "metadata");
    char api_version[256];

    kind_api_version(g->kind, api_version, sizeof api_version);
    if (!kj_mget(copy, "apiVersion"))
        kj_mset(d, copy, "apiVersion", kj_mstr(d, api_version));
    if (!kj_mget(copy, "kind"))
        kj_mset(d, copy, "kind", kj_mstr(d, g->kind->kind));
    if (meta)
        kj_mdel(meta, "managedFields", strlen("managedFields"));
    return copy;
}

/* "node/n1", "deployment.apps/web" */
static void put_name(const struct get *g, const struct kj_val *obj, struct strbuf *out)
{
    resource_word(g->kind, out);
    strbuf_appendf(out, "/%s\n", kj_str_or(kj_path(obj, "metadata.name"), ""));
}

void object_put(struct get *g, const struct kj_val *obj, struct strbuf *out)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = NULL;

    if (streq(g->form, "name")) {
        put_name(g, obj, out);
        return;
    }
    if (g->printed && streq(g->form, "yaml"))
        strbuf_append(out, "---\n");
    g->printed = true;
    d = kj_mdoc_new();
    tree_put(g->form, object_complete(g, d, obj), out);
}
