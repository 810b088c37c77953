/* sim_cable.c - bytes between two ends, read along so that frames can be put in between. */
#include "sim_cable.h"

#include "loop/loop.h"

enum { FRAME_HEAD = 9, PREFACE = 24 };
enum { FRAME_HEADERS = 1, FRAME_RST_STREAM = 3, FRAME_GOAWAY = 7, FRAME_CONTINUATION = 9 };
enum { FLAG_END_HEADERS = 4 };

struct reader { /* of one direction */
    unsigned char head[FRAME_HEAD];
    size_t have;     /* of the head */
    size_t left;     /* of the payload, or of the preface */
    bool in_headers; /* a CONTINUATION has to follow */
};
struct side {
    struct cable *cable;
    struct side *other;
    struct stream *end;
    struct reader in;
};
struct cable {
    struct side client, server;
    cable_gone_fn gone;
    void *arg;
    uint32_t youngest; /* stream of the call that began last; 0: none */
    bool loses;
    unsigned char extra[64]; /* frames that the server is made to send */
    size_t nextra;
};

static void cable_free(struct cable *c)
{
    c->gone(c->arg, c);
    stream_close(c->client.end);
    stream_close(c->server.end);
    free(c);
}

void cable_break(struct cable *c)
{
    stream_mem_break(c->client.end, -ECONNRESET, "connection reset");
    stream_mem_break(c->server.end, -ECONNRESET, "connection reset");
    cable_free(c);
}

/* ---- frames ---------------------------------------------------------------------------------- */

static uint32_t stream_of(const unsigned char *head)
{
    return ((uint32_t)head[5] << 24 | (uint32_t)head[6] << 16 | (uint32_t)head[7] << 8 | head[8]) &
           INT32_MAX;
}

static void frame_begins(struct side *s)
{
    const unsigned char *h = s->in.head;

    s->in.left = (size_t)h[0] << 16 | (size_t)h[1] << 8 | h[2];
    if (h[3] == FRAME_HEADERS || h[3] == FRAME_CONTINUATION)
        s->in.in_headers = !(h[4] & FLAG_END_HEADERS);
    if (h[3] == FRAME_HEADERS && s == &s->cable->client)
        s->cable->youngest = stream_of(h);
}

/* The bytes up to the next place between two frames. */
static size_t to_boundary(struct side *s, const char *p, size_t n)
{
    struct reader *r = &s->in;
    size_t at = 0;

    while (at < n) {
        if (r->left > 0) {
            size_t some = MIN(r->left, n - at);
            r->left -= some;
            at += some;
        } else {
            r->head[r->have++] = (unsigned char)p[at++];
            if (r->have < FRAME_HEAD)
                continue;
            r->have = 0;
            frame_begins(s);
        }
        if (r->left == 0 && r->have == 0 && !r->in_headers)
            break;
    }
    return at;
}

static bool is_between(const struct reader *r)
{
    return r->left == 0 && r->have == 0 && !r->in_headers;
}

static void send_extra(struct cable *c)
{
    if (c->nextra == 0 || !is_between(&c->server.in))
        return;
    stream_write(c->client.end, c->extra, c->nextra);
    c->nextra = 0;
}

static void put_frame(struct cable *c, unsigned char type, uint32_t stream, const uint32_t *words,
                      size_t n)
{
    unsigned char *p = c->extra + c->nextra;

    if (c->nextra + FRAME_HEAD + 4 * n > sizeof c->extra)
        return;
    *p++ = 0, *p++ = 0, *p++ = (unsigned char)(4 * n);
    *p++ = type, *p++ = 0;
    for (size_t i = 0; i <= n; i++) {
        uint32_t v = i == 0 ? stream : words[i - 1];
        *p++ = (unsigned char)(v >> 24), *p++ = (unsigned char)(v >> 16);
        *p++ = (unsigned char)(v >> 8), *p++ = (unsigned char)v;
    }
    c->nextra = (size_t)(p - c->extra);
}

void cable_goaway(struct cable *c)
{
    put_frame(c, FRAME_GOAWAY, 0, (const uint32_t[]){ INT32_MAX, 0 }, 2);
}

void cable_reset_call(struct cable *c, uint32_t code)
{
    if (c->youngest > 0)
        put_frame(c, FRAME_RST_STREAM, c->youngest, &code, 1);
}

void cable_lose_answer(struct cable *c)
{
    c->loses = true;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static void on_data(void *arg, const char *p, size_t n)
{
    struct side *s = arg;
    struct cable *c = s->cable;

    if (s == &c->server && c->loses) {
        cable_break(c);
        return;
    }
    while (n > 0) {
        if (s == &c->server)
            send_extra(c);
        size_t some = to_boundary(s, p, n);
        stream_write(s->other->end, p, some);
        p += some;
        n -= some;
    }
}

/* One side closed: so does the other, with what was sent before. */
static void on_close(void *arg, const struct kerr *err)
{
    struct side *s = arg;

    (void)err;
    cable_free(s->cable);
}

struct cable *cable_new(struct loop *l, const struct mem_opts *o, cable_gone_fn gone, void *arg,
                        struct stream **ret_client, struct stream **ret_server)
{
    static const struct stream_events events = { on_data, NULL, on_close };
    struct cable *c = xnew0(struct cable);
    struct stream *near[2], *far[2];

    stream_mem_pair(l, o, near);
    stream_mem_pair(l, &(struct mem_opts){ .chunk = o->chunk }, far);
    *c = (struct cable){ .gone = gone, .arg = arg };
    c->client = (struct side){ c, &c->server, near[1], { .left = PREFACE } };
    c->server = (struct side){ c, &c->client, far[0], { .left = 0 } };
    stream_listen(near[1], &events, &c->client);
    stream_listen(far[0], &events, &c->server);
    *ret_client = near[0];
    *ret_server = far[1];
    return c;
}
