/* config.c - reading component configuration files, and reading them again. */
#include "component/config.h"

#include "base/klog.h"
#include "base/strbuf.h"
#include "component/metrics.h"
#include "loop/filewatch.h"
#include "loop/loop.h"
#include "sys/file.h"
#include "json/kj.h"
#include "json/schema.h"

#define BUSY_AGAIN (5 * NSEC_PER_SEC)
enum { CONFIG_MAX = 3 << 20 }; /* as large as an object of the API may be */

/* ---- one file -------------------------------------------------------------------------------- */

static bool has_field(const struct kschema *s, const char *json)
{
    for (uint32_t i = 0; i < s->nfields; i++)
        if (streq(s->fields[i].json, json))
            return true;
    return false;
}

static int check_field(const struct kj_val *root, const char *field, const char *want,
                       struct kerr *err)
{
    const struct kj_val *v = kj_get(root, field);
    const char *have = kj_str(v);

    if (!have)
        return kerr_set(err, -EINVAL, "%s: %s; this file must say '%s: %s'", field,
                        v ? "is not a text" : "is missing", field, want);
    if (!streq(have, want))
        return kerr_set(err, -EINVAL, "%s: expected %s, found '%.60s'", field, want, have);
    return 0;
}

/* The type fields are checked here; a table that does not list them must not trip over them. */
static struct kj_doc *without_type(const struct kschema *s, const struct kj_val *root)
{
    static const char *const fields[] = { "apiVersion", "kind" };
    CLEANUP(kj_mdoc_free) struct kj_mdoc *copy = kj_mdoc_new();
    struct kj_mval *obj = kj_mcopy(copy, root);

    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        if (!has_field(s, fields[i]))
            kj_mdel(obj, fields[i], strlen(fields[i]));
    return kj_freeze(obj);
}

static int decode(struct config *c, const char *text, size_t n, void *value, struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL, *bare = NULL;
    const struct config_spec *spec = c->spec;

    int r = kj_parse_yaml(text, n, 0, &doc, err);
    if (r < 0)
        return r;
    const struct kj_val *root = kj_root(doc);
    if (kj_type(root) == KJ_NULL)
        return kerr_set(err, -EINVAL, "the file is empty");
    if (kj_type(root) != KJ_OBJ)
        return kerr_set(err, -EINVAL, "not a configuration: expected fields and values");
    r = check_field(root, "apiVersion", spec->api_version, err);
    if (r == 0)
        r = check_field(root, "kind", spec->kind, err);
    if (r < 0)
        return r;
    bare = without_type(spec->schema, root);
    return kj_decode(spec->schema, kj_root(bare), KJ_STRICT, c->arena, value, err);
}

int config_parse(const struct config_spec *spec, const char *text, size_t n, const char *path,
                 struct config **ret, struct kerr *err)
{
    CLEANUP(config_unref) struct config *c = xnew0(struct config);
    struct kj_doc *nothing = NULL;
    int r;

    *c = (struct config){ .spec = spec, .arena = arena_new(), .refs = 1 };
    c->path = arena_strdup(c->arena, path);
    void *value = arena_zalloc(c->arena, spec->schema->size);
    c->value = value;
    if (text) {
        r = decode(c, text, n, value, err);
    } else { /* through the decoder too: it makes absent strings "" */
        r = kj_parse("{}", 2, 0, &nothing, err);
        if (r == 0)
            r = kj_decode(spec->schema, kj_root(nothing), 0, c->arena, value, err);
        kj_doc_free(nothing);
    }
    if (r == 0) {
        kj_default(spec->schema, c->arena, value);
        r = kj_validate(spec->schema, value, err);
    }
    if (r == 0 && spec->finish)
        r = spec->finish(value, c->arena, spec->arg, err);
    if (r < 0)
        return kerr_wrap(err, "%s", path);
    *ret = take(c);
    return 0;
}

int config_load(const struct config_spec *spec, const char *path, struct config **ret,
                struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    if (file_read_all(AT_FDCWD, path, CONFIG_MAX, &text, err) < 0)
        return kerr_wrap(err, "configuration");
    if (config_parse(spec, strbuf_str(&text), text.len, path, ret, err) < 0)
        return err->code;
    (*ret)->is_file = true;
    return 0;
}

int config_write(const char *path, const char *json, size_t n, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf yaml = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    if (kj_parse(json, n, 0, &doc, err) < 0)
        return err->code;
    kj_write_yaml(kj_root(doc), &yaml);
    /* It may hold a private key. */
    return file_write_atomic(AT_FDCWD, path, yaml.data, yaml.len, 0600, err);
}

struct config *config_ref(struct config *c)
{
    c->refs++;
    return c;
}

struct config *config_unref(struct config *c)
{
    if (!c || --c->refs > 0)
        return NULL;
    arena_free(c->arena);
    free(c);
    return NULL;
}

/* ---- reloading ------------------------------------------------------------------------------- */

struct config_watch {
    struct loop *loop;
    struct config *current;
    struct filewatch *files;
    struct timer *again; /* the program was busy */
    struct config_handler on;
    void *arg;
    struct counter *loaded, *refused; /* NULL: not counted */
};

static void on_again(struct loop *l, void *arg)
{
    struct config_watch *w = arg;

    (void)l;
    w->again = NULL;
    config_watch_check(w);
}

static void refuse(struct config_watch *w, const struct kerr *err)
{
    if (err->code == -EBUSY) {
        if (!w->again)
            w->again = loop_after(w->loop, BUSY_AGAIN, on_again, w);
        return;
    }
    if (w->refused)
        counter_inc(w->refused);
    if (w->on.on_refused)
        w->on.on_refused(w->arg, err);
    else
        KLOG_E(err, "Refused the changed configuration; the old one stays in force");
}

void config_watch_check(struct config_watch *w)
{
    CLEANUP(config_unref) struct config *next = NULL;
    const struct config_spec *spec = w->current->spec;
    struct kerr err = { 0 };

    if (!w->current->is_file)
        return;
    if (config_load(spec, w->current->path, &next, &err) < 0) {
        refuse(w, &err);
        return;
    }
    if (kj_struct_equal(spec->schema, w->current->value, next->value))
        return;
    if (w->on.on_change(w->arg, next, &err) < 0) {
        refuse(w, &err);
        return;
    }
    if (w->loaded)
        counter_inc(w->loaded);
    KLOG_I(0, "Loaded the changed configuration", KV_S("file", next->path));
    config_unref(w->current);
    w->current = take(next);
}

static void on_files(void *arg)
{
    config_watch_check(arg);
}

struct config_watch *config_watch_new(struct loop *l, struct config *current,
                                      const struct config_handler *h, void *arg)
{
    struct config_watch *w = xnew0(struct config_watch);
    const char *path = current->path;

    *w = (struct config_watch){ .loop = l, .current = config_ref(current), .on = *h, .arg = arg };
    if (h->reloads) {
        w->loaded = metric_counter(h->reloads, METRIC_VALUES("loaded"));
        w->refused = metric_counter(h->reloads, METRIC_VALUES("refused"));
    }
    if (current->is_file)
        w->files = filewatch_new(l, &path, 1, on_files, w);
    return w;
}

struct config_watch *config_watch_free(struct config_watch *w)
{
    if (!w)
        return NULL;
    filewatch_free(w->files);
    timer_cancel(w->again);
    config_unref(w->current);
    free(w);
    return NULL;
}

struct config *config_watch_current(const struct config_watch *w)
{
    return w->current;
}
