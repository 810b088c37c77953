/* up_dir.c - the data directory of koordctl up: token, kubeconfig, note of what runs. */
#include <stdio.h>
#include <unistd.h>

#include "ctl/up.h"
#include "sys/file.h"
#include "sys/secret.h"
#include "json/kj.h"

#define NOTE_FILE  "up.json"
#define TOKEN_FILE "token"
enum { TOKEN_LEN = 48 };

int up_dir_open(const char *data, const struct client_env *env, bool make, struct up_dir *ret,
                struct kerr *err)
{
    CLEANUP(mem_free) char *path = NULL;

    if (!str_empty(data))
        path = xstrdup(data);
    else if (!str_empty(env->data_home))
        path = xasprintf("%s/koord", env->data_home);
    else if (!str_empty(env->home))
        path = xasprintf("%s/.local/share/koord", env->home);
    else
        return kerr_set(err, -ENOENT, "no home directory: give --data");
    if (make && dir_make(AT_FDCWD, path, 0700, err) < 0)
        return kerr_wrap(err, "data directory");
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return kerr_set(err, -errno, "data directory %s: %s", path, strerror(errno));
    *ret = (struct up_dir){ take(path), fd };
    return 0;
}

void up_dir_fini(struct up_dir *d)
{
    free(d->path);
    if (d->path)
        fd_close(d->fd);
    *d = (struct up_dir){ NULL, -1 };
}

static int make_token(const struct up_dir *d, struct strbuf *ret, struct kerr *err)
{
    char token[TOKEN_LEN + 1];

    if (secret_make(token, TOKEN_LEN, err) < 0)
        return err->code;
    strbuf_append(ret, token);
    return file_write_atomic(d->fd, TOKEN_FILE, ret->data, ret->len, 0600, err);
}

int up_token(const struct up_dir *d, struct strbuf *ret, struct kerr *err)
{
    int r = file_read_all(d->fd, TOKEN_FILE, 4096, ret, err);
    if (r == -ENOENT)
        r = make_token(d, ret, err);
    if (r < 0)
        return kerr_wrap(err, "token of %s", d->path);
    strbuf_truncate(ret, strcspn(strbuf_str(ret), " \r\n"));
    if (ret->len < 16)
        return kerr_set(err, -EINVAL,
                        "the token in %s/" TOKEN_FILE " is shorter than 16 characters", d->path);
    return 0;
}

int up_note_write(const struct up_dir *d, const struct up_note *n, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct kjw w = kjw_to(&text);

    kjw_obj(&w, NULL);
    kjw_i64(&w, "pid", n->pid);
    kjw_str(&w, "url", n->url);
    kjw_str(&w, "kubeconfig", n->kubeconfig);
    kjw_end(&w);
    return file_write_atomic(d->fd, NOTE_FILE, text.data, text.len, 0600, err);
}

/* A process number says little: it may be somebody else's by now. */
static bool is_koordctl(int64_t pid)
{
    CLEANUP(strbuf_fini) struct strbuf cmd = STRBUF_INIT;
    char path[64];

    (void)snprintf(path, sizeof path, "/proc/%lld/cmdline", (long long)pid);
    if (pid <= 0 || file_read_all(AT_FDCWD, path, 64 * 1024, &cmd, NULL) < 0)
        return false;
    const char *slash = strrchr(strbuf_str(&cmd), '/');
    const char *name = slash ? slash + 1 : strbuf_str(&cmd);
    return streq(name, "koordctl") || streq(name, "kubectl-koord");
}

int up_note_read(const struct up_dir *d, struct up_note *ret, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct up_note n = { 0 };

    int r = file_read_all(d->fd, NOTE_FILE, 64 * 1024, &text, err);
    if (r == -ENOENT)
        return kerr_set(err, -ENOENT, "nothing runs on %s", d->path);
    if (r < 0 || kj_parse(strbuf_str(&text), text.len, 0, &doc, err) < 0)
        return kerr_wrap(err, "%s/" NOTE_FILE, d->path);
    n.pid = kj_i64_or(kj_get(kj_root(doc), "pid"), 0);
    (void)snprintf(n.url, sizeof n.url, "%s", kj_str_or(kj_get(kj_root(doc), "url"), ""));
    (void)snprintf(n.kubeconfig, sizeof n.kubeconfig, "%s",
                   kj_str_or(kj_get(kj_root(doc), "kubeconfig"), ""));
    if (!is_koordctl(n.pid))
        return kerr_set(err, -ENOENT, "nothing runs on %s (process %lld is gone)", d->path,
                        (long long)n.pid);
    *ret = n;
    return 0;
}

void up_note_remove(const struct up_dir *d)
{
    (void)unlinkat(d->fd, NOTE_FILE, 0);
}
