/* crds.c - koordctl crds: the manifests that teach a cluster Koordinator's kinds. */
#include "api/koord/crds.h"
#include "ctl/get.h"

struct crds_options {
    bool priority_classes;
};

/* A CRD's name is "plural.group", so a kind of that name is what the word may stand for. */
static bool is_meant(const struct kind_crd *crd, const char *word)
{
    CLEANUP(strbuf_fini) struct strbuf full = STRBUF_INIT;
    char name[160];
    const struct kind *k = kind_find(word);

    crd_name(crd, name, sizeof name);
    if (k)
        strbuf_appendf(&full, "%s.%s", k->plural, k->group);
    return streq(word, name) || streq(strbuf_str(&full), name);
}

static bool is_wanted(const struct ctl *c, const struct kind_crd *crd)
{
    if (flags_nargs(c->flags) == 0)
        return true;
    for (size_t i = 0; i < flags_nargs(c->flags); i++)
        if (is_meant(crd, flags_arg(c->flags, i)))
            return true;
    return false;
}

static int check_words(struct ctl *c)
{
    for (size_t i = 0; i < flags_nargs(c->flags); i++) {
        const char *word = flags_arg(c->flags, i);
        bool found = false;
        for (size_t k = 0; crd_at(k) && !found; k++)
            found = is_meant(crd_at(k), word);
        if (!found)
            return ctl_fail(c, "'%.80s' is none of Koordinator's kinds; %s crds -o name lists them",
                            word, c->program);
    }
    return CTL_OK;
}

static void push_json(struct kj_mdoc *d, struct kj_mval *items, const struct kind_crd *crd)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr err = { 0 };

    crd_manifest_json(crd, &text);
    int r = kj_parse(text.data, text.len, 0, &doc, &err);
    assert(r == 0); /* we wrote it ourselves */
    kj_mpush(items, kj_mcopy(d, kj_root(doc)));
}

static int print_json(struct ctl *c)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct kj_mval *list = kj_mobj(d), *items = kj_marr(d);

    for (size_t i = 0; crd_at(i); i++)
        if (is_wanted(c, crd_at(i)))
            push_json(d, items, crd_at(i));
    kj_mset(d, list, "apiVersion", kj_mstr(d, "v1"));
    kj_mset(d, list, "kind", kj_mstr(d, "List"));
    kj_mset(d, list, "items", items);
    tree_put("json", list, &out);
    return ctl_print(c, &out) ? CTL_OK : CTL_FAILED;
}

static int run(struct ctl *c, const void *options)
{
    const struct crds_options *o = options;
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    char name[160];

    int code = check_words(c);
    if (code != CTL_OK)
        return code;
    if (streq(c->o.output, "json"))
        return print_json(c);
    for (size_t i = 0; crd_at(i); i++) {
        if (!is_wanted(c, crd_at(i)))
            continue;
        crd_name(crd_at(i), name, sizeof name);
        if (streq(c->o.output, "name"))
            strbuf_appendf(&out, "customresourcedefinition.apiextensions.k8s.io/%s\n", name);
        else
            crd_manifest(crd_at(i), &out);
    }
    if (o->priority_classes && !streq(c->o.output, "name"))
        priority_class_manifests(&out);
    return ctl_print(c, &out) ? CTL_OK : CTL_FAILED;
}

static const struct flag flags[] = {
    { "priority-classes", FLAG_BOOL, .off = offsetof(struct crds_options, priority_classes),
      .help = "also the PriorityClass objects koord-prod, -mid, -batch and -free (YAML only)" },
};

const struct ctl_command ctl_command_crds = {
    .name = "crds",
    .args = "[KIND...]",
    .help = "Print the CustomResourceDefinitions of Koordinator",
    .about = "To install them: koordctl crds | kubectl apply --server-side -f -\n",
    .flags = flags,
    .nflags = ARRAY_LEN(flags),
    .options_size = sizeof(struct crds_options),
    .run = run,
};
