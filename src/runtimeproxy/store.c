/* store.c - entries in a map, and their file. */
#include "runtimeproxy/store.h"

#include <malloc.h>

#include "base/klog.h"
#include "base/map.h"
#include "base/vec.h"
#include "base/wire_codec.h"
#include "loop/loop.h"
#include "sys/file.h"

#define WRITE_AFTER NSEC_PER_SEC

enum { ENTRIES_MAX = 16384, FILE_MAX = WIRE_MESSAGE_MAX };

struct entry {
    struct str id, message; /* in the same block */
    char bytes[];
};
struct podstore {
    struct loop *loop;
    char *path;
    struct map of[STORE_KINDS];
    struct timer *timer;
    bool broken; /* the file could not be written; told once */
};

/* ---- the file -------------------------------------------------------------------------------- */

struct saved {
    struct str id, message, unknown;
};
static const struct wire_member saved_members[] = {
    WIRE_MEMBER(struct saved, id, 1, WK_STR),
    WIRE_MEMBER(struct saved, message, 2, WK_STR),
};
static const struct wire_table saved_table =
    WIRE_TABLE("checkpoint entry", struct saved, saved_members);
struct saved_all {
    WIRE_LIST(struct saved) of[STORE_KINDS];
    struct str format, unknown;
};
#define FORMAT "koord-runtime-proxy/1"
static const struct wire_member all_members[] = {
    WIRE_MEMBER(struct saved_all, of[STORE_POD], 1, WK_MSGS, .sub = &saved_table),
    WIRE_MEMBER(struct saved_all, of[STORE_CONTAINER], 2, WK_MSGS, .sub = &saved_table),
    WIRE_MEMBER(struct saved_all, format, 15, WK_STR),
};
static const struct wire_table all_table = WIRE_TABLE("checkpoint", struct saved_all, all_members);

int podstore_flush(struct podstore *s, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct saved_all all = { .format = STR(FORMAT) };

    s->timer = timer_cancel(s->timer);
    if (!s->path)
        return 0;
    for (int k = 0; k < STORE_KINDS; k++) {
        all.of[k].items = arena_newn0(a, s->of[k].n + 1, struct saved);
        map_foreach(&s->of[k], e) {
            const struct entry *one = e->value;
            all.of[k].items[all.of[k].n++] = (struct saved){ one->id, one->message, { NULL, 0 } };
        }
    }
    wire_encode(&all_table, &all, &out);
    return file_write_atomic(AT_FDCWD, s->path, out.data, out.len, 0600, err);
}

static void on_timer(struct loop *l, void *arg)
{
    struct podstore *s = arg;
    struct kerr err = { 0 };

    (void)l;
    s->timer = NULL;
    int r = podstore_flush(s, &err);
    if (r < 0 && !s->broken)
        KLOG_E(&err, "Failed to keep pods and containers on disk, going on without");
    s->broken = r < 0;
    (void)malloc_trim(0); /* the text of the file was as large as all entries */
}

static void changed(struct podstore *s)
{
    if (s->path && !s->timer)
        s->timer = loop_after(s->loop, WRITE_AFTER, on_timer, s);
}

int podstore_load(struct podstore *s, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct saved_all all;

    int r = s->path ? file_read_all(AT_FDCWD, s->path, FILE_MAX, &text, err) : 0;
    if (r == -ENOENT || (r == 0 && text.len == 0))
        return 0;
    if (r < 0)
        return r;
    if (wire_decode(&all_table, (struct str){ text.data, text.len }, a, &all, err) < 0)
        return kerr_wrap(err, "%s", s->path);
    if (!str_eqz(all.format, FORMAT))
        return kerr_set(err, -EBADMSG, "%s is no checkpoint of this program", s->path);
    for (int k = 0; k < STORE_KINDS; k++)
        for (uint32_t i = 0; i < all.of[k].n; i++)
            podstore_put(s, (enum podstore_kind)k, all.of[k].items[i].id,
                         all.of[k].items[i].message);
    s->timer = timer_cancel(s->timer);
    return 0;
}

/* ---- entries --------------------------------------------------------------------------------- */

struct str podstore_get(const struct podstore *s, enum podstore_kind k, struct str id)
{
    const struct entry *e = id.n > 0 ? map_get(&s->of[k], id.p, id.n) : NULL;

    return e ? e->message : (struct str){ NULL, 0 };
}

void podstore_put(struct podstore *s, enum podstore_kind k, struct str id, struct str message)
{
    struct entry *e;

    if (id.n == 0 || (s->of[k].n >= ENTRIES_MAX && !map_get(&s->of[k], id.p, id.n)))
        return;
    e = xmalloc(sizeof *e + id.n + message.n);
    memcpy(e->bytes, id.p, id.n);
    if (message.n > 0)
        memcpy(e->bytes + id.n, message.p, message.n);
    e->id = (struct str){ e->bytes, id.n };
    e->message = (struct str){ e->bytes + id.n, message.n };
    free(map_put(&s->of[k], e->id.p, e->id.n, e));
    changed(s);
}

void podstore_remove(struct podstore *s, enum podstore_kind k, struct str id)
{
    struct entry *e = id.n > 0 ? map_remove(&s->of[k], id.p, id.n) : NULL;

    if (!e)
        return;
    free(e);
    changed(s);
}

size_t podstore_count(const struct podstore *s, enum podstore_kind k)
{
    return s->of[k].n;
}

void podstore_keep_only(struct podstore *s, enum podstore_kind k, const struct str *ids, size_t n)
{
    CLEANUP(map_fini) struct map kept = { 0 };
    struct vec_of(struct entry *) gone = { 0 };

    for (size_t i = 0; i < n; i++)
        if (ids[i].n > 0)
            map_put(&kept, ids[i].p, ids[i].n, s);
    map_foreach(&s->of[k], e)
        if (!map_get(&kept, e->key, e->len))
            vec_push(&gone, e->value);
    vec_foreach(&gone, i)
        podstore_remove(s, k, gone.items[i]->id);
    vec_fini(&gone);
}

/* ---- life ------------------------------------------------------------------------------------ */

struct podstore *podstore_new(struct loop *l, const char *path)
{
    struct podstore *s = xnew0(struct podstore);

    s->loop = l;
    s->path = path ? xstrdup(path) : NULL;
    return s;
}

struct podstore *podstore_free(struct podstore *s)
{
    if (!s)
        return NULL;
    timer_cancel(s->timer);
    for (int k = 0; k < STORE_KINDS; k++) {
        map_foreach(&s->of[k], e)
            free(e->value);
        map_fini(&s->of[k]);
    }
    free(s->path);
    free(s);
    return NULL;
}
