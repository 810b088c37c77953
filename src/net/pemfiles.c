/* pemfiles.c - reading certificates, and reading them again. */
#include "net/pemfiles.h"

#include "base/klog.h"
#include "base/strbuf.h"
#include "loop/filewatch.h"
#include "sys/file.h"

enum { PEM_MAX = 1 << 20 };
static_assert((int)PEM_FILES <= (int)FILEWATCH_MAX, "a watch for all files");

struct pemfiles {
    struct pemfiles_opts o;
    char *files[PEM_FILES]; /* NULL: there is none */
    struct filewatch *watch;
};

static int load(const struct pemfiles *p, struct kerr *err)
{
    struct strbuf text[PEM_FILES] = { 0 };
    struct str pem[PEM_FILES] = { 0 };
    int r = 0;

    for (size_t i = 0; i < PEM_FILES && r == 0; i++) {
        if (p->files[i])
            r = file_read_all(AT_FDCWD, p->files[i], PEM_MAX, &text[i], err);
        pem[i] = (struct str){ text[i].data, text[i].len };
    }
    if (r == 0) {
        r = p->o.use(p->o.arg, pem, err);
        if (r < 0 && p->files[PEM_CERT])
            kerr_wrap(err, "%s", p->files[PEM_CERT]);
    }
    for (size_t i = 0; i < PEM_FILES; i++)
        strbuf_fini(&text[i]);
    return r < 0 ? kerr_wrap(err, "%s", p->o.what) : 0;
}

/* The one that is named in messages: the certificate, else a CA. */
static const char *first_file(const struct pemfiles *p)
{
    for (size_t i = 0; i < PEM_FILES; i++)
        if (p->files[i])
            return p->files[i];
    return NULL;
}

static void on_change(void *arg)
{
    struct pemfiles *p = arg;
    struct kerr err = { 0 };

    if (load(p, &err) < 0)
        KLOG_E(&err, "Failed to load a changed certificate; the old one stays in use",
               KV_S("what", p->o.what), KV_S("file", first_file(p)));
    else
        KLOG_I(0, "Loaded a changed certificate", KV_S("what", p->o.what),
               KV_S("file", first_file(p)));
}

int pemfiles_new(struct loop *l, const struct pemfiles_opts *o, struct pemfiles **ret,
                 struct kerr *err)
{
    CLEANUP(pemfiles_free) struct pemfiles *p = xnew0(struct pemfiles);
    const char *paths[PEM_FILES];
    size_t n = 0;

    p->o = *o;
    for (size_t i = 0; i < PEM_FILES; i++) {
        if (str_empty(o->files[i]))
            continue;
        p->files[i] = xstrdup(o->files[i]);
        paths[n++] = p->files[i];
    }
    if (n) /* before they are read, so that no change falls between */
        p->watch = filewatch_new(l, paths, n, on_change, p);
    if (!o->known && load(p, err) < 0)
        return err->code;
    *ret = take(p);
    return 0;
}

struct pemfiles *pemfiles_free(struct pemfiles *p)
{
    if (!p)
        return NULL;
    filewatch_free(p->watch);
    for (size_t i = 0; i < PEM_FILES; i++)
        free(p->files[i]);
    free(p);
    return NULL;
}
