/* tokenfile.c - comma-separated values, as Go's encoding/csv reads them, into a table by token. */
#include "apiserver/authn/tokenfile.h"

#include <fcntl.h>

#include "apiserver/authn/user.h"
#include "base/klog.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "sys/file.h"

struct tokenfile {
    struct arena *arena;
    struct map users; /* token -> struct api_user */
};

enum { COLUMNS = 4 }; /* that mean something */

struct reader {
    const char *name, *p, *end;
    int line;
    struct arena *arena;
};

static int bad(const struct reader *r, struct kerr *err, const char *why)
{
    return kerr_set(err, -EINVAL, "token file %.120s: line %d: %s", r->name, r->line, why);
}

/* One field, and what ends it: ',' or '\n' (also at the end of the text). */
static int read_field(struct reader *r, struct strbuf *out, char *ret_end, struct kerr *err)
{
    bool quoted = r->p < r->end && *r->p == '"';

    r->p += quoted;
    for (; r->p < r->end; r->p++) {
        char ch = *r->p;
        if (!ch)
            return bad(r, err, "a NUL byte");
        if (quoted && ch == '"' && r->p + 1 < r->end && r->p[1] == '"') {
            r->p++;
        } else if (quoted && ch == '"') {
            quoted = false;
            r->p++;
            r->p += r->p + 1 < r->end && *r->p == '\r' && r->p[1] == '\n';
            if (r->p < r->end && *r->p != ',' && *r->p != '\n')
                return bad(r, err, "extraneous or missing \" in quoted-field");
            break;
        } else if (!quoted && ch == '"') {
            return bad(r, err, "bare \" in non-quoted-field");
        } else if (!quoted && (ch == ',' || ch == '\n')) {
            break;
        }
        if (ch == '\r' && (r->p + 1 == r->end || r->p[1] == '\n'))
            continue;
        r->line += ch == '\n';
        strbuf_appendc(out, ch);
    }
    if (quoted)
        return bad(r, err, "extraneous or missing \" in quoted-field");
    *ret_end = r->p < r->end ? *r->p++ : '\n';
    return 0;
}

/* The columns of a line, those beyond the fourth left out. Returns how many there are. */
static int read_line(struct reader *r, const char *columns[COLUMNS], struct kerr *err)
{
    int n = 0;

    for (char end = ','; end == ',';) {
        CLEANUP(strbuf_fini) struct strbuf field = STRBUF_INIT;
        int e = read_field(r, &field, &end, err);
        if (e < 0)
            return e;
        if (n < COLUMNS)
            columns[n] = arena_strdup(r->arena, strbuf_str(&field));
        n++;
    }
    return n;
}

static void add_groups(struct api_user *u, const char *list, struct arena *a)
{
    size_t n = 1;

    for (const char *p = list; p && *p; p++)
        n += *p == ',';
    const char **groups = arena_newn0(a, n + 1, const char *);
    for (const char *p = list; p;) {
        size_t k = strcspn(p, ",");
        groups[u->ngroups++] = arena_strndup(a, p, k);
        p = p[k] ? p + k + 1 : NULL;
    }
    u->groups = groups;
    if (!user_in_group(u, GROUP_AUTHENTICATED))
        groups[u->ngroups++] = GROUP_AUTHENTICATED;
}

static int add_user(struct tokenfile *t, const struct reader *r, const char *const columns[COLUMNS],
                    int n, struct kerr *err)
{
    if (n < 3)
        return kerr_set(err, -EINVAL,
                        "token file '%.120s' must have at least 3 columns (token, user name, user "
                        "uid), found %d",
                        r->name, n);
    if (!*columns[0]) {
        KLOG_W("Empty token in token file, line ignored", KV_S("file", r->name),
               KV_I("line", r->line));
        return 0;
    }
    if (strlen(columns[0]) > TOKEN_MAX)
        return bad(r, err, "the token is too long");
    struct api_user *u = arena_new0(t->arena, struct api_user);
    u->name = columns[1];
    u->uid = columns[2];
    add_groups(u, n > 3 ? columns[3] : NULL, t->arena);
    if (map_putz(&t->users, columns[0], u))
        KLOG_W("Duplicate token in token file, the last counts", KV_S("file", r->name),
               KV_I("line", r->line));
    return 0;
}

int tokenfile_parse(const char *name, const char *text, size_t n, struct tokenfile **ret,
                    struct kerr *err)
{
    CLEANUP(tokenfile_free) struct tokenfile *t = xnew0(struct tokenfile);
    struct reader r = { .name = name, .p = text, .end = text + n };

    t->arena = r.arena = arena_new();
    while (r.p < r.end) {
        const char *columns[COLUMNS];
        r.line++;
        if (*r.p == '\n' || (*r.p == '\r' && r.p + 1 < r.end && r.p[1] == '\n')) {
            r.p += *r.p == '\r' ? 2 : 1;
            continue;
        }
        int k = read_line(&r, columns, err);
        if (k < 0 || add_user(t, &r, columns, k, err) < 0)
            return err->code;
    }
    *ret = take(t);
    return 0;
}

int tokenfile_load(const char *path, struct tokenfile **ret, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    int e = file_read_all(AT_FDCWD, path, TOKENFILE_MAX, &text, err);

    if (e < 0)
        return kerr_wrap(err, "read token file");
    return tokenfile_parse(path, strbuf_str(&text), text.len, ret, err);
}

struct tokenfile *tokenfile_free(struct tokenfile *t)
{
    if (!t)
        return NULL;
    map_fini(&t->users);
    arena_free(t->arena);
    free(t);
    return NULL;
}

const struct api_user *tokenfile_find(const struct tokenfile *t, struct str token)
{
    return t && token.n && token.n <= TOKEN_MAX ? map_get(&t->users, token.p, token.n) : NULL;
}
