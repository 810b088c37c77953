/* delete.c - koordctl delete: objects by file, by name or by selector; waits until they are gone.
 */
#include "base/arena.h"
#include "client/kube.h"
#include "ctl/ctl.h"
#include "ctl/manifest.h"
#include "ctl/resource.h"
#include "loop/loop.h"

#define LOOK_FIRST (100 * NSEC_PER_MSEC)
#define LOOK_MAX   (2 * NSEC_PER_SEC)
enum { PAGE = 500 };

struct delete_options {
    struct flag_list files;
    const char *selector, *cascade;
    bool all, ignore_not_found, wait, now;
    int64_t grace;
    nsec_t timeout;
};

struct target {
    const struct kind *kind;
    const char *ns, *name, *uid; /* ns NULL: none; uid of what was deleted, "" until then */
    bool going;
};
struct deletion {
    struct ctl *c;
    const struct delete_options *o;
    struct arena *arena;
    struct vec_of(struct target) all;
    struct manifests files;
    int code;
};

static void add_target(struct deletion *x, const struct kind *k, const char *ns, const char *name)
{
    vec_push(&x->all, ((struct target){ .kind = k,
                                        .ns = ns ? arena_strdup(x->arena, ns) : NULL,
                                        .name = arena_strdup(x->arena, name),
                                        .uid = "" }));
}

/* ---- which ----------------------------------------------------------------------------------- */

static int find_in_files(struct deletion *x)
{
    int code = manifests_read(x->c, &x->o->files, &x->files);

    if (code != CTL_OK)
        return code;
    code = ctl_connect(x->c);
    for (size_t i = 0; code == CTL_OK && i < x->files.all.n; i++) {
        const struct manifest *m = &x->files.all.items[i];
        const struct kind *k;
        const char *ns;
        int one = manifest_place(x->c, m, &k, &ns);
        if (one == CTL_OK)
            add_target(x, k, ns, m->name);
        else
            x->code = one;
    }
    return code;
}

static int add_page(struct deletion *x, const struct kind *k, const char *ns, char **token,
                    struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    const struct kube_req r = { .verb = KUBE_LIST,
                                .kind = k,
                                .ns = ns,
                                .label_selector = x->o->selector,
                                .limit = PAGE,
                                .continue_token = *token };

    if (ctl_call(x->c, &r, &body, err) < 0 || kj_parse(body.data, body.len, 0, &doc, err) < 0)
        return err->code;
    struct kj_iter it = kj_iter(kj_get(kj_root(doc), "items"));
    const struct kj_val *item;
    while (kj_next(&it, NULL, &item))
        add_target(x, k, ns, kj_str_or(kj_path(item, "metadata.name"), ""));
    free(*token);
    const char *next = kj_str(kj_path(kj_root(doc), "metadata.continue"));
    *token = str_empty(next) ? NULL : xstrdup(next);
    return 0;
}

static int find_by_list(struct deletion *x, const struct kind *k, const char *ns)
{
    struct kerr err = { 0 };
    char *token = NULL;
    int r;

    do
        r = add_page(x, k, ns, &token, &err);
    while (r == 0 && token);
    free(token);
    if (r < 0)
        return ctl_complain(x->c, &err);
    if (x->all.n == 0)
        fprintf(x->c->err, "No resources found\n");
    return CTL_OK;
}

static int check_names(struct deletion *x, const char *slash)
{
    size_t n = flags_nargs(x->c->flags);
    bool chosen = !str_empty(x->o->selector) || x->o->all;

    if (slash && n > 1)
        return ctl_usage(x->c, "write KIND NAME... or KIND/NAME, not both");
    if ((n > 1 || slash) && chosen)
        return ctl_usage(x->c, "a name cannot be given together with --selector or --all");
    if (n == 1 && !slash && !chosen)
        return ctl_usage(x->c, "delete: which %.40s? Give names, -l SELECTOR or --all",
                         flags_arg(x->c->flags, 0));
    for (size_t i = 1; i < n; i++) {
        const char *name = flags_arg(x->c->flags, i);
        if (!*name || strpbrk(name, "/%") || *name == '.')
            return ctl_usage(x->c, "'%.80s' cannot be the name of an object", name);
    }
    return CTL_OK;
}

static int find_by_words(struct deletion *x)
{
    struct flags *f = x->c->flags;
    const char *word = flags_arg(f, 0), *slash = word ? strchr(word, '/') : NULL;
    const struct kind *k;

    if (!word)
        return ctl_usage(x->c, "delete: what? For instance: %s delete pod web-1, or -f FILE",
                         x->c->program);
    int code = check_names(x, slash);
    if (code == CTL_OK)
        code = ctl_connect(x->c);
    if (code == CTL_OK)
        code = resource_find(
            x->c, arena_strndup(x->arena, word, slash ? (size_t)(slash - word) : strlen(word)), &k);
    if (code != CTL_OK)
        return code;
    const char *ns = k->namespaced ? ctl_namespace(x->c) : NULL;
    if (slash)
        add_target(x, k, ns, slash + 1);
    for (size_t i = 1; i < flags_nargs(f); i++)
        add_target(x, k, ns, flags_arg(f, i));
    return x->all.n ? CTL_OK : find_by_list(x, k, ns);
}

/* ---- deleting -------------------------------------------------------------------------------- */

static void write_options(const struct delete_options *o, struct strbuf *out)
{
    struct kjw w = kjw_to(out);

    kjw_obj(&w, NULL);
    kjw_str(&w, "kind", "DeleteOptions");
    kjw_str(&w, "apiVersion", "v1");
    kjw_str(&w, "propagationPolicy",
            streq(o->cascade, "orphan")       ? "Orphan"
            : streq(o->cascade, "foreground") ? "Foreground"
                                              : "Background");
    if (o->now || o->grace >= 0)
        kjw_i64(&w, "gracePeriodSeconds", o->now ? 1 : o->grace);
    kjw_end(&w);
}

/* The object itself, or a Status with its UID in the details. */
static const char *uid_in(const struct strbuf *answer, struct arena *a)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    if (kj_parse(strbuf_str(answer), answer->len, 0, &doc, NULL) < 0)
        return "";
    const char *uid = kj_str(kj_path(kj_root(doc), "metadata.uid"));
    return arena_strdup(a, uid ? uid : kj_str_or(kj_path(kj_root(doc), "details.uid"), ""));
}

static int delete_one(struct deletion *x, struct target *t)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT, answer = STRBUF_INIT, out = STRBUF_INIT;
    struct kerr err = { 0 };

    write_options(x->o, &body);
    const struct kube_req r = { .verb = KUBE_DELETE,
                                .kind = t->kind,
                                .ns = t->ns,
                                .name = t->name,
                                .body = body.data,
                                .body_len = body.len };
    if (ctl_call(x->c, &r, &answer, &err) < 0)
        return x->o->ignore_not_found && err.reason == KR_NOT_FOUND ? CTL_OK
                                                                    : ctl_complain(x->c, &err);
    t->uid = uid_in(&answer, x->arena);
    t->going = true;
    resource_word(t->kind, &out);
    if (streq(x->c->o.output, "name"))
        strbuf_appendf(&out, "/%s\n", t->name);
    else if (t->ns)
        strbuf_appendf(&out, " \"%s\" deleted from %s namespace\n", t->name, t->ns);
    else
        strbuf_appendf(&out, " \"%s\" deleted\n", t->name);
    return ctl_print(x->c, &out) ? CTL_OK : CTL_FAILED;
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* Gone, or another object of this name is there. */
static int look(struct deletion *x, struct target *t, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf answer = STRBUF_INIT;
    const struct kube_req r = { .verb = KUBE_GET, .kind = t->kind, .ns = t->ns, .name = t->name };

    if (ctl_call(x->c, &r, &answer, err) < 0) {
        if (err->reason != KR_NOT_FOUND)
            return err->code;
        t->going = false;
        return 0;
    }
    const char *now = uid_in(&answer, x->arena);
    t->going = !*t->uid || streq(now, t->uid);
    return 0;
}

static int look_at_all(struct deletion *x, size_t *ret_left, struct kerr *err)
{
    *ret_left = 0;
    vec_foreach(&x->all, i) {
        struct target *t = &x->all.items[i];
        if (t->going && look(x, t, err) < 0)
            return err->code;
        *ret_left += t->going;
    }
    return 0;
}

static int wait_until_gone(struct deletion *x)
{
    nsec_t until = x->o->timeout > 0 ? loop_mono(x->c->loop) + x->o->timeout : NSEC_MAX;
    nsec_t pause = LOOK_FIRST;
    struct kerr err = { 0 };
    size_t left;

    for (;;) {
        if (look_at_all(x, &left, &err) < 0) {
            ctl_progress_end(x->c);
            return ctl_complain(x->c, &err);
        }
        if (left == 0)
            break;
        if (loop_mono(x->c->loop) >= until) {
            ctl_progress_end(x->c);
            return ctl_fail(
                x->c,
                "timed out waiting: %zu of the objects still have finalizers or a grace "
                "period; they go on without us, --wait=false does not wait",
                left);
        }
        ctl_progress(x->c, "waiting for %zu object%s to go", left, left == 1 ? "" : "s");
        ctl_wait(x->c, pause);
        pause = MIN(pause * 2, LOOK_MAX);
    }
    ctl_progress_end(x->c);
    return CTL_OK;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int run_in(struct deletion *x)
{
    bool words = flags_nargs(x->c->flags) > 0;

    if (x->o->files.n && words)
        return ctl_usage(x->c, "give files with -f, or a kind and names, not both");
    x->code = CTL_OK;
    int code = x->o->files.n ? find_in_files(x) : find_by_words(x);
    if (code != CTL_OK)
        return code;
    for (size_t i = 0; i < x->all.n && !x->c->out_broken; i++)
        x->code = MAX(x->code, delete_one(x, &x->all.items[i]));
    return x->o->wait ? MAX(x->code, wait_until_gone(x)) : x->code;
}

static int run(struct ctl *c, const void *options)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct deletion x = { .c = c, .o = options, .arena = a };

    int code = run_in(&x);
    manifests_fini(&x.files);
    vec_fini(&x.all);
    return code;
}

static const char *const cascades[] = { "background", "foreground", "orphan", NULL };
#define O(member) .off = offsetof(struct delete_options, member)
static const struct flag flags[] = {
    MANIFEST_FLAG(O(files)),
    { "selector", FLAG_STR, O(selector), .letter = 'l', .help = "label `selector`, as kubectl's" },
    { "all", FLAG_BOOL, O(all), .help = "all objects of the kind, in the namespace" },
    { "cascade", FLAG_STR, O(cascade), .def = "background", .choices = cascades,
      .help = "`how` the objects that belong to it go: background, foreground or orphan" },
    { "grace-period", FLAG_I64, O(grace), .def = "-1", .min = -1, .max = INT32_MAX,
      .help = "`seconds` to end in; -1: what the object says" },
    { "now", FLAG_BOOL, O(now), .help = "as --grace-period 1" },
    { "ignore-not-found", FLAG_BOOL, O(ignore_not_found),
      .help = "an object that does not exist is no failure" },
    { "wait", FLAG_BOOL, O(wait), .def = "true", .help = "until the objects are gone" },
    { "timeout", FLAG_DUR, O(timeout), .min = 0, .max = NSEC_MAX,
      .help = "time limit of the waiting; 0: none" },
};
#undef O

const struct ctl_command ctl_command_delete = {
    .name = "delete",
    .args = "-f FILE... | KIND NAME... | KIND -l SELECTOR",
    .help = "Delete objects, and wait until they are gone",
    .flags = flags,
    .nflags = ARRAY_LEN(flags),
    .options_size = sizeof(struct delete_options),
    .run = run,
};
