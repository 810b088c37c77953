/* apply.c - koordctl apply: brings objects to what files say, as kubectl apply does on the client's
 * side, with the same annotation: the two can take turns on an object.
 */
#include "base/arena.h"
#include "client/kube.h"
#include "ctl/ctl.h"
#include "ctl/get.h"
#include "ctl/manifest.h"
#include "ctl/resource.h"
#include "json/patch.h"

#define LAST_APPLIED "kubectl.kubernetes.io/last-applied-configuration"
/* kubectl's own: it hands the fields of this manager over when a person goes on server-side. */
#define FIELD_MANAGER "kubectl-client-side-apply"
enum { TRIES = 5 };

struct apply_options {
    struct flag_list files;
    const char *dry_run;
};

struct apply { /* one object */
    struct ctl *c;
    const struct manifest *m;
    const struct kind *kind;
    const char *ns;
    bool dry_run;
    struct kj_mdoc *d;
    struct kj_mval *wanted;  /* with the annotation */
    struct kj_doc *modified; /* the same, parsed */
    struct strbuf answer;    /* what the server has after all */
    const char *done;        /* "created" */
};

/* ---- what is wanted -------------------------------------------------------------------------- */

static struct kj_mval *member(struct kj_mdoc *d, struct kj_mval *obj, const char *key)
{
    struct kj_mval *v = kj_mget(obj, key);

    if (kj_mtype(v) == KJ_OBJ)
        return v;
    kj_mset(d, obj, key, kj_mobj(d));
    return kj_mget(obj, key);
}

/* The annotation has the object as it was in the file, with its namespace, and without itself. */
static void make_wanted(struct apply *a)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    a->wanted = kj_mcopy(a->d, a->m->root);
    struct kj_mval *meta = member(a->d, a->wanted, "metadata");
    if (a->ns)
        kj_mset(a->d, meta, "namespace", kj_mstr(a->d, a->ns));
    struct kj_mval *notes = member(a->d, meta, "annotations");
    kj_mdel(notes, LAST_APPLIED, strlen(LAST_APPLIED));
    kj_mwrite(a->wanted, KJ_SORTED, &text);
    strbuf_appendc(&text, '\n');
    kj_mset(a->d, notes, LAST_APPLIED, kj_mstrn(a->d, text.data, text.len));
    a->modified = kj_freeze(a->wanted);
}

/* ---- talking --------------------------------------------------------------------------------- */

static struct kube_req request(const struct apply *a, enum kube_verb verb)
{
    return (struct kube_req){ .verb = verb,
                              .kind = a->kind,
                              .ns = a->ns,
                              .name = verb == KUBE_CREATE ? NULL : a->m->name,
                              .dry_run = verb != KUBE_GET && a->dry_run,
                              .field_manager = verb == KUBE_GET ? NULL : FIELD_MANAGER,
                              /* as kubectl's default: a misspelt field is an error, not lost */
                              .field_validation = verb == KUBE_GET ? NULL : "Strict" };
}

static int create(struct apply *a, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kube_req r = request(a, KUBE_CREATE);

    kj_mwrite(a->wanted, 0, &body);
    r.body = body.data;
    r.body_len = body.len;
    a->done = "created";
    return ctl_call(a->c, &r, &a->answer, err);
}

/* NULL: nobody applied it before, or what stands there is not JSON. */
static struct kj_doc *last_applied(struct apply *a, const struct kj_val *current)
{
    const struct kj_val *notes = kj_path(current, "metadata.annotations");
    const char *text = kj_str(kj_get(notes, LAST_APPLIED));
    struct kj_doc *doc = NULL;

    if (text && kj_parse(text, strlen(text), 0, &doc, NULL) == 0)
        return doc;
    fprintf(a->c->err,
            "Warning: %s/%s was not applied before: what is not in the file stays as it is\n",
            a->kind->plural, a->m->name);
    return NULL;
}

static int patch(struct apply *a, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL, *original = NULL;
    const struct ctl_parts *parts = a->c->parts;
    const struct kmerge *merge = parts && parts->merge_of ? parts->merge_of(a->kind) : NULL;
    struct kube_req r = request(a, KUBE_PATCH);

    if (kj_parse(a->answer.data, a->answer.len, 0, &doc, err) < 0)
        return kerr_wrap(err, "the server's object");
    original = last_applied(a, kj_root(doc));
    struct kj_mval *change =
        kj_diff_apply(a->d, kj_root(original), kj_root(a->modified), kj_root(doc), merge);
    a->done = kj_mlen(change) ? "configured" : "unchanged";
    if (kj_mlen(change) == 0)
        return 0;
    kj_mwrite(change, 0, &body);
    r.patch = merge ? KUBE_PATCH_STRATEGIC : KUBE_PATCH_MERGE;
    r.body = body.data;
    r.body_len = body.len;
    return ctl_call(a->c, &r, &a->answer, err);
}

/* Somebody may delete or create the object between two calls, or change it. */
static int bring(struct apply *a, struct kerr *err)
{
    int r = 0;

    for (int i = 0; i < TRIES; i++) {
        const struct kube_req get = request(a, KUBE_GET);
        r = ctl_call(a->c, &get, &a->answer, err);
        if (r < 0 && err->reason != KR_NOT_FOUND)
            return r;
        r = r < 0 ? create(a, err) : patch(a, err);
        bool raced = r < 0 && (err->reason == KR_ALREADY_EXISTS || err->reason == KR_CONFLICT ||
                               err->reason == KR_NOT_FOUND);
        if (!raced)
            return r;
    }
    return r;
}

/* ---- telling --------------------------------------------------------------------------------- */

static int tell(struct apply *a)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    const char *form = a->c->o.output;

    if (streq(form, "json") || streq(form, "yaml")) {
        CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
        struct kerr err = { 0 };
        if (kj_parse(strbuf_str(&a->answer), a->answer.len, 0, &doc, &err) < 0)
            return ctl_fail(a->c, "the server's object: %s", err.text);
        if (streq(form, "yaml"))
            strbuf_append(&out, "---\n");
        tree_put(form, kj_mcopy(a->d, kj_root(doc)), &out);
    } else {
        resource_word(a->kind, &out);
        strbuf_appendf(&out, "/%s", a->m->name);
        if (!streq(form, "name"))
            strbuf_appendf(&out, " %s%s", a->done, a->dry_run ? " (server dry run)" : "");
        strbuf_appendc(&out, '\n');
    }
    return ctl_print(a->c, &out) ? CTL_OK : CTL_FAILED;
}

static int complain(struct apply *a, struct kerr *err)
{
    if (err->reason == KR_NONE)
        return ctl_complain(a->c, err);
    kerr_wrap(err, "%s: %s \"%s\"", a->m->where, a->kind->plural, a->m->name);
    return ctl_complain(a->c, err);
}

static int apply_one(struct ctl *c, const struct apply_options *o, const struct manifest *m)
{
    struct apply a = { .c = c, .m = m, .dry_run = streq(o->dry_run, "server") };
    struct kerr err = { 0 };

    int code = manifest_place(c, m, &a.kind, &a.ns);
    if (code != CTL_OK)
        return code;
    a.d = kj_mdoc_new();
    make_wanted(&a);
    code = bring(&a, &err) < 0 ? complain(&a, &err) : tell(&a);
    kj_doc_free(a.modified);
    kj_mdoc_free(a.d);
    strbuf_fini(&a.answer);
    return code;
}

static int run(struct ctl *c, const void *options)
{
    CLEANUP(manifests_fini) struct manifests all = { 0 };
    const struct apply_options *o = options;

    if (flags_nargs(c->flags) > 0 || o->files.n == 0)
        return ctl_usage(c, "apply: which file? For instance: %s apply -f web.yaml", c->program);
    int code = manifests_read(c, &o->files, &all);
    if (code == CTL_OK)
        code = ctl_connect(c);
    if (code != CTL_OK)
        return code;
    /* One that is refused does not hold up the others. */
    for (size_t i = 0; i < all.all.n && !c->out_broken; i++)
        code = MAX(code, apply_one(c, o, &all.all.items[i]));
    return code;
}

static const char *const dry_runs[] = { "none", "server", NULL };
#define O(member) .off = offsetof(struct apply_options, member)
static const struct flag flags[] = {
    MANIFEST_FLAG(O(files)),
    { "dry-run", FLAG_STR, O(dry_run), .def = "none", .choices = dry_runs,
      .help = "`how`: none, or server: all checks, and nothing is stored" },
};
#undef O

const struct ctl_command ctl_command_apply = {
    .name = "apply",
    .args = "-f FILE...",
    .help = "Bring objects to what files say",
    .about =
        "Creates what is missing and changes what differs; what was in the file last time and\n"
        "is not any more goes; what others set stays. The record of the last time is kubectl's\n"
        "own annotation, so kubectl apply and this command can take turns.\n",
    .flags = flags,
    .nflags = ARRAY_LEN(flags),
    .options_size = sizeof(struct apply_options),
    .run = run,
};
