/* h1relay_msg.c - where requests and answers end, by llhttp; heads that are changed. */
#include <strings.h>

#include "net/relay/h1relay_int.h"

enum { TEXT_MAX = 256 /* of names and values that we read: "expect" is not longer */ };

/* ---- callbacks of the parser ----------------------------------------------------------------- */

static int on_url(llhttp_t *p, const char *at, size_t n)
{
    struct h1msg *m = p->data;

    m->target = (struct str){ at, n }; /* one piece: the head is fed as a whole */
    return HPE_OK;
}

static int on_name(llhttp_t *p, const char *at, size_t n)
{
    struct h1msg *m = p->data;

    if (!m->has_head && m->name.len + n < TEXT_MAX)
        strbuf_appendn(&m->name, at, n);
    return HPE_OK;
}

static int on_value(llhttp_t *p, const char *at, size_t n)
{
    struct h1msg *m = p->data;

    if (!m->has_head && m->value.len + n < TEXT_MAX &&
        strcasecmp(strbuf_str(&m->name), "expect") == 0)
        strbuf_appendn(&m->value, at, n);
    return HPE_OK;
}

static int on_value_end(llhttp_t *p)
{
    struct h1msg *m = p->data;

    m->expects |= strcasecmp(strbuf_str(&m->value), "100-continue") == 0;
    strbuf_reset(&m->name);
    strbuf_reset(&m->value);
    return HPE_OK;
}

static int on_head(llhttp_t *p)
{
    struct h1msg *m = p->data;

    m->has_head = true;
    m->has_body = (p->flags & (F_CHUNKED | F_CONTENT_LENGTH)) != 0;
    if (p->type == HTTP_RESPONSE && p->status_code == 101)
        return 2; /* no body, another protocol follows */
    return m->skips_body;
}

static int on_body(llhttp_t *p, const char *at, size_t n)
{
    struct h1msg *m = p->data;

    if (!m->body)
        return HPE_OK;
    m->is_large |= m->body->len + n > H1RELAY_HELD_MAX;
    if (!m->is_large)
        strbuf_appendn(m->body, at, n);
    return HPE_OK;
}

static int on_done(llhttp_t *p)
{
    ((struct h1msg *)p->data)->done = true;
    return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
    .on_url = on_url,
    .on_header_field = on_name,
    .on_header_value = on_value,
    .on_header_value_complete = on_value_end,
    .on_headers_complete = on_head,
    .on_body = on_body,
    .on_message_complete = on_done,
};

/* ---- messages -------------------------------------------------------------------------------- */

void h1msg_fini(struct h1msg *m)
{
    strbuf_fini(&m->name);
    strbuf_fini(&m->value);
}

void h1msg_start(struct h1msg *m, bool is_answer)
{
    h1msg_fini(m);
    *m = (struct h1msg){ 0 };
    llhttp_init(&m->parser, is_answer ? HTTP_RESPONSE : HTTP_REQUEST, &settings);
    m->parser.data = m;
}

ssize_t h1msg_feed(struct h1msg *m, const char *p, size_t n)
{
    llhttp_errno_t e = llhttp_execute(&m->parser, p, n);
    bool is_answer = m->parser.type == HTTP_RESPONSE;

    if (e != HPE_OK && e != HPE_PAUSED && e != HPE_PAUSED_UPGRADE)
        return -1;
    if (is_answer && m->has_head && !m->skips_body)
        m->is_pipe = h1msg_status(m) == 101 || (!m->done && llhttp_message_needs_eof(&m->parser));
    return e == HPE_OK ? (ssize_t)n : llhttp_get_error_pos(&m->parser) - p;
}

bool h1msg_ends(struct h1msg *m)
{
    (void)llhttp_finish(&m->parser);
    return m->done;
}

/* ---- heads ----------------------------------------------------------------------------------- */

size_t h1_head_length(const char *p, size_t n, size_t scanned)
{
    size_t from = scanned > 3 ? scanned - 3 : 0;
    const char *at = n > from ? memmem(p + from, n - from, "\r\n\r\n", 4) : NULL;

    return at ? (size_t)(at - p) + 4 : 0;
}

static bool is_header(struct str line, const char *name)
{
    size_t n = strlen(name);

    return line.n > n && line.p[n] == ':' && strncasecmp(line.p, name, n) == 0;
}

void h1_head_with_length(struct str head, size_t body, struct strbuf *out)
{
    for (size_t at = 0; at < head.n;) {
        const char *end = memmem(head.p + at, head.n - at, "\r\n", 2);
        size_t n = end ? (size_t)(end - head.p) + 2 - at : head.n - at;
        struct str line = { head.p + at, n };

        at += n;
        if (n == 2 && at == head.n)
            break;
        if (!is_header(line, "content-length") && !is_header(line, "transfer-encoding") &&
            !is_header(line, "trailer") && !is_header(line, "expect"))
            strbuf_appendn(out, line.p, line.n);
    }
    strbuf_appendf(out, "Content-Length: %zu\r\n\r\n", body);
}

static const char *reason(int status)
{
    switch (status) {
    case 400: return "Bad Request";
    case 413: return "Request Entity Too Large";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 502: return "Bad Gateway";
    default: return "Error";
    }
}

void h1_answer(int status, const char *type, struct str body, bool closes, struct strbuf *out)
{
    strbuf_appendf(out, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\n%sContent-Length: %zu\r\n\r\n",
                   status, reason(status), type, closes ? "Connection: close\r\n" : "", body.n);
    strbuf_appendn(out, body.p, body.n);
}
