/* manifest.c - reading objects from files, directories and standard input. */
#include "ctl/manifest.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "ctl/ctl.h"
#include "ctl/resource.h"
#include "sys/file.h"

enum { MANIFEST_MAX = 64 << 20, OBJECTS_MAX = 100000 };

struct reading {
    struct manifests *m;
    const char *file; /* "stdin" for - */
    const char *dir;  /* while a directory is walked */
};

/* ---- objects --------------------------------------------------------------------------------- */

static int bad(const struct reading *r, int line, const char *what, struct kerr *err)
{
    return kerr_set(err, -EINVAL, "%s line %d: %s", r->file, line, what);
}

static int take_object(struct reading *r, const struct kj_val *v, int line, struct kerr *err)
{
    struct manifest m = {
        .root = v,
        .api_version = kj_str(kj_get(v, "apiVersion")),
        .kind = kj_str(kj_get(v, "kind")),
        .name = kj_str_or(kj_path(v, "metadata.name"), ""),
        .where = arena_printf(r->m->arena, "%s line %d", r->file, line),
    };

    if (kj_type(v) != KJ_OBJ)
        return bad(r, line, "not an object: write \"key: value\" lines", err);
    if (str_empty(m.api_version) || str_empty(m.kind))
        return bad(r, line, "an object needs apiVersion and kind", err);
    if (r->m->all.n >= OBJECTS_MAX)
        return bad(r, line, "too many objects", err);
    if (!kj_get(v, "items") || !str_ends(m.kind, "List")) {
        if (!*m.name)
            return bad(r, line, "an object needs metadata.name", err);
        vec_push(&r->m->all, m);
        return 0;
    }
    struct kj_iter it = kj_iter(kj_get(v, "items"));
    const struct kj_val *item;
    int e = 0;
    while (e == 0 && kj_next(&it, NULL, &item))
        e = take_object(r, item, line, err);
    return e;
}

static int take_document(void *arg, struct kj_doc *doc, int line, struct kerr *err)
{
    struct reading *r = arg;

    vec_push(&r->m->docs, doc);
    return take_object(r, kj_root(doc), line, err);
}

/* ---- files ----------------------------------------------------------------------------------- */

static int take_text(struct reading *r, const struct strbuf *text, struct kerr *err)
{
    size_t before = r->m->all.n;
    int e = kj_parse_yaml_all(strbuf_str(text), text->len, 0, take_document, r, err);

    if (e < 0) /* a message of ours names the file already */
        return str_starts(err->text, r->file) ? e : kerr_wrap(err, "%s", r->file);
    if (r->m->all.n == before && !r->dir)
        return kerr_set(err, -ENODATA, "%s: no objects in it", r->file);
    return 0;
}

static int read_stdin(struct reading *r, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    r->file = "stdin";
    int e = fd_read_all(STDIN_FILENO, "stdin", MANIFEST_MAX, &text, err);
    return e < 0 ? e : take_text(r, &text, err);
}

static int read_file(struct reading *r, const char *path, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    r->file = arena_strdup(r->m->arena, path);
    int e = file_read_all(AT_FDCWD, path, MANIFEST_MAX, &text, err);
    if (e < 0)
        return str_starts(err->text, path) ? e : kerr_wrap(err, "%s", path);
    return take_text(r, &text, err);
}

static int on_entry(int dirfd, const char *name, unsigned char type, void *arg, struct kerr *err)
{
    struct reading *r = arg;

    (void)dirfd;
    if (type == DT_DIR ||
        !(str_ends(name, ".yaml") || str_ends(name, ".yml") || str_ends(name, ".json")))
        return 0;
    CLEANUP(mem_free) char *path = xasprintf("%s/%s", r->dir, name);
    return read_file(r, path, err);
}

static int read_one(struct manifests *m, const char *path, struct kerr *err)
{
    struct reading r = { .m = m };
    struct stat st;

    if (streq(path, "-"))
        return read_stdin(&r, err);
    if (stat(path, &st) < 0)
        return kerr_set(err, -errno, "%s: %s", path, strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return read_file(&r, path, err);
    size_t before = m->all.n;
    r.dir = path;
    int e = dir_each(AT_FDCWD, path, on_entry, &r, err);
    if (e == 0 && m->all.n == before)
        return kerr_set(err, -ENODATA, "%s: no objects in its *.yaml, *.yml and *.json", path);
    return e;
}

int manifests_read(struct ctl *c, const struct flag_list *files, struct manifests *ret)
{
    struct kerr err = { 0 };

    *ret = (struct manifests){ .arena = arena_new() };
    for (size_t i = 0; i < files->n; i++)
        if (read_one(ret, files->items[i], &err) < 0)
            return ctl_fail(c, "%s; nothing was done", err.text);
    return CTL_OK;
}

void manifests_fini(struct manifests *m)
{
    vec_foreach(&m->docs, i)
        kj_doc_free(m->docs.items[i]);
    vec_fini(&m->docs);
    vec_fini(&m->all);
    m->arena = arena_free(m->arena);
}

/* ---- where it belongs ------------------------------------------------------------------------ */

int manifest_place(struct ctl *c, const struct manifest *m, const struct kind **ret_kind,
                   const char **ret_ns)
{
    const char *ns = kj_str(kj_path(m->root, "metadata.namespace"));

    int code = resource_of(c, m->api_version, m->kind, m->where, ret_kind);
    if (code != CTL_OK)
        return code;
    *ret_ns = NULL;
    if (!(*ret_kind)->namespaced)
        return CTL_OK;
    if (!str_empty(ns) && !str_empty(c->o.ns) && !streq(ns, c->o.ns))
        return ctl_fail(c,
                        "%s: the namespace from the provided object \"%.63s\" does not match the "
                        "namespace \"%.63s\"; leave --namespace out, or change one of them",
                        m->where, ns, c->o.ns);
    *ret_ns = str_empty(ns) ? ctl_namespace(c) : ns;
    return CTL_OK;
}
