/* reader.c - the audit log backwards, page by page, for GET /events. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/num.h"
#include "component/serve.h"
#include "koordlet/audit/audit_int.h"
#include "koordlet/kernel/text.h"
#include "loop/loop.h"
#include "net/httpd.h"
#include "net/url.h"
#include "sys/file.h"
#include "json/kj.h"

#define READER_TTL  (10 * 60 * NSEC_PER_SEC)
#define SWEEP_EVERY (60 * NSEC_PER_SEC)
enum { SIZE_DEFAULT = 256, CHUNK = 4096, TOKEN_LEN = 36 };

struct audit_reader {
    char token[TOKEN_LEN + 1];
    nsec_t used;
    int fd;                   /* of the file that is being read; -1: the next one */
    off_t end;                /* lines before it have not been read */
    struct audit_names files; /* older ones, newest first */
    size_t next;
    struct strbuf tail; /* what lies before `end`, back to a chunk's beginning */
};

/* ---- readers --------------------------------------------------------------------------------- */

static void reader_free(struct audit_reader *r)
{
    fd_close(r->fd);
    audit_names_fini(&r->files);
    strbuf_fini(&r->tail);
    free(r);
}

void audit_readers_free(struct audit *a)
{
    a->sweep = timer_cancel(a->sweep);
    vec_foreach(&a->readers, i)
        reader_free(a->readers.items[i]);
    vec_fini(&a->readers);
}

static void drop_reader(struct audit *a, size_t i)
{
    reader_free(a->readers.items[i]);
    vec_remove(&a->readers, i);
}

static void drop_expired(struct audit *a)
{
    while (a->readers.n && loop_mono(a->loop) - a->readers.items[0]->used > READER_TTL)
        drop_reader(a, 0);
}

/* A reader that nobody asks any more keeps a file, which may be deleted already, from going. */
static void on_sweep(struct loop *l, void *arg)
{
    struct audit *a = arg;

    drop_expired(a);
    a->sweep = a->readers.n ? loop_after(l, SWEEP_EVERY, on_sweep, a) : NULL;
}

static void reader_open(struct audit_reader *r, int dirfd, const char *name)
{
    struct stat st;

    r->fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (r->fd >= 0 && fstat(r->fd, &st) == 0)
        r->end = st.st_size;
    else
        r->fd = fd_close(r->fd);
}

static struct audit_reader *add_reader(struct audit *a)
{
    struct audit_reader *r = xnew0(struct audit_reader);
    uint64_t hi = loop_rand(a->loop), lo = loop_rand(a->loop);

    snprintf(r->token, sizeof r->token, "%08x-%04x-4%03x-%04x-%012llx", (unsigned)(hi >> 32),
             (unsigned)(hi >> 16 & 0xffff), (unsigned)(hi & 0xfff),
             (unsigned)(lo >> 48 & 0x3fff) | 0x8000, (unsigned long long)(lo & 0xffffffffffff));
    audit_rotated(a, &r->files);
    reader_open(r, a->dirfd, AUDIT_FILE);
    if (a->readers.n >= (size_t)a->o.max_readers)
        drop_reader(a, 0);
    vec_push(&a->readers, r);
    if (!a->sweep)
        a->sweep = loop_after(a->loop, SWEEP_EVERY, on_sweep, a);
    return r;
}

/* The reader goes to the end of the line: it is the last to be dropped. */
static struct audit_reader *find_reader(struct audit *a, const char *token)
{
    vec_foreach(&a->readers, i) {
        struct audit_reader *r = a->readers.items[i];
        if (!streq(r->token, token))
            continue;
        vec_remove(&a->readers, i);
        vec_push(&a->readers, r);
        return r;
    }
    return NULL;
}

/* ---- backwards ------------------------------------------------------------------------------- */

/* One more chunk in front of the tail. false: the file begins here, or cannot be read. */
static bool read_back(struct audit_reader *r)
{
    char chunk[CHUNK];
    off_t from = r->end > CHUNK ? r->end - CHUNK : 0;
    size_t n = (size_t)(r->end - from);

    if (n == 0 || RETRY_EINTR(pread(r->fd, chunk, n, from)) != (ssize_t)n)
        return false;
    size_t had = r->tail.len;
    strbuf_appendn(&r->tail, chunk, n); /* makes the room */
    memmove(r->tail.data + n, r->tail.data, had);
    memcpy(r->tail.data, chunk, n);
    r->end = from;
    return true;
}

/* The last line of the tail, without its newline, when its beginning is there too. */
static bool last_line(struct audit_reader *r, bool at_start, struct strbuf *out)
{
    size_t end = r->tail.len;

    while (end > 0 && r->tail.data[end - 1] == '\n')
        end--;
    size_t from = end;
    while (from > 0 && r->tail.data[from - 1] != '\n')
        from--;
    if (end == 0 || (from == 0 && !at_start))
        return false;
    strbuf_reset(out);
    strbuf_appendn(out, r->tail.data + from, end - from);
    strbuf_truncate(&r->tail, from);
    return true;
}

/* The next line, going back through the files; false: there are no more. */
static bool read_line(const struct audit *a, struct audit_reader *r, struct strbuf *out)
{
    for (;;) {
        while (r->fd >= 0 && !last_line(r, r->end == 0, out)) {
            if (r->tail.len <= AUDIT_LINE_MAX && read_back(r))
                continue;
            strbuf_reset(&r->tail);
            r->fd = fd_close(r->fd);
        }
        if (r->fd >= 0)
            return true;
        if (r->next >= r->files.n)
            return false;
        reader_open(r, a->dirfd, r->files.items[r->next++]);
    }
}

static bool at_end(const struct audit_reader *r)
{
    return r->next >= r->files.n && (r->fd < 0 || (r->end == 0 && r->tail.len == 0));
}

/* ---- answers --------------------------------------------------------------------------------- */

static bool is_event(const struct strbuf *line)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr err;

    return kj_parse(strbuf_str(line), line->len, 0, &doc, &err) == 0;
}

/* A page of lines, separated as asked; lines that are no events count and are left out. */
static void read_page(const struct audit *a, struct audit_reader *r, int64_t size, char separator,
                      struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf line = STRBUF_INIT;

    for (int64_t i = 0; i < size && read_line(a, r, &line); i++) {
        if (!is_event(&line))
            continue;
        if (out->len && separator == ',')
            strbuf_appendc(out, ',');
        strbuf_appendn(out, line.data, line.len);
        if (separator == '\n')
            strbuf_appendc(out, '\n');
    }
}

static void reply_json(struct httpd_req *q, const struct strbuf *events, const char *token)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;

    strbuf_appendf(&body, "{\"NextPageToken\":\"%s\",\"Events\":[%s]}\n", token,
                   strbuf_str(events));
    httpd_reply(q, 200, "application/json", body.data, body.len);
}

static void reply_text(struct httpd_req *q, const struct strbuf *events, const char *token)
{
    char length[24];
    snprintf(length, sizeof length, "%zu", events->len);
    const struct http_header headers[] = {
        { STR("content-type"), STR("text/plain; charset=utf-8") },
        { STR("content-length"), str_of(length) },
        { STR("next-page-token"), str_of(token) },
    };

    httpd_respond(q, 200, headers, *token ? 3 : 2, false);
    if (events->len)
        httpd_write(q, events->data, events->len);
    httpd_end(q);
}

void audit_serve(void *arg, struct httpd_req *q)
{
    struct audit *a = arg;
    CLEANUP(arena_free) struct arena *arena = arena_new();
    CLEANUP(strbuf_fini) struct strbuf events = STRBUF_INIT;
    const char *text = url_query_get(httpd_target(q), "size", arena);
    const char *token = url_query_get(httpd_target(q), "pageToken", arena);
    struct str accept = httpd_header(q, "accept");
    bool json = accept.n == 16 && memcmp(accept.p, "application/json", 16) == 0;
    struct audit_reader *r;
    int64_t size;

    if (!serve_allow(q, "GET, HEAD"))
        return;
    if (!text || i64_parse(text, strlen(text), &size) < 0 || size <= 0)
        size = SIZE_DEFAULT;
    if (size > a->o.max_events) {
        serve_text(q, 400, "size(%lld) exceeds the limit(%lld)", (long long)size,
                   (long long)a->o.max_events);
        return;
    }
    audit_flush(a);
    drop_expired(a);
    r = token && *token ? find_reader(a, token) : add_reader(a);
    if (!r) {
        serve_text(q, 409, "invalid pageToken %s", token);
        return;
    }
    r->used = loop_mono(a->loop);
    read_page(a, r, size, json ? ',' : '\n', &events);
    const char *next = at_end(r) ? "" : r->token;
    if (json)
        reply_json(q, &events, next);
    else
        reply_text(q, &events, next);
    if (!*next)
        drop_reader(a, a->readers.n - 1);
}
