/* val_print.c - values as text for people. */
#include "cel/lib.h"

static void print_list(struct cel_run *r, const struct cel_list *l, struct strbuf *out)
{
    strbuf_appendc(out, '[');
    for (uint32_t i = 0; i < l->n && !r->cancelled; i++) {
        strbuf_append(out, i ? ", " : "");
        cel_print(r, cel_at(r, l, i), out);
    }
    strbuf_appendc(out, ']');
}

static void print_map(struct cel_run *r, const struct cel_map *m, struct strbuf *out)
{
    const struct cel_entry *e = cel_map_sorted(r->a, m);

    strbuf_appendc(out, '{');
    for (uint32_t i = 0; i < m->n && !r->cancelled; i++) {
        strbuf_append(out, i ? ", " : "");
        cel_print(r, e[i].key, out);
        strbuf_append(out, ": ");
        cel_print(r, e[i].val, out);
    }
    strbuf_appendc(out, '}');
}

/* Values that only functions make: duration('1s'). */
static void print_made(struct cel_run *r, struct cel_val v, struct strbuf *out)
{
    static const char *const makers[] = {
        [CK_TIMESTAMP] = "timestamp", [CK_DURATION] = "duration",
        [CK_QUANTITY] = "quantity",   [CK_IP] = "ip",
        [CK_CIDR] = "cidr",           [CK_URL] = "url",
        [CK_SEMVER] = "semver",
    };

    if (v.kind < ARRAY_LEN(makers) && makers[v.kind]) {
        strbuf_appendf(out, "%s('", makers[v.kind]);
        (void)cel_to_string(r, v, out);
        strbuf_append(out, "')");
    } else if (!cel_to_string(r, v, out)) {
        strbuf_append(out, cel_type_name(v));
    }
}

static void print_inside(struct cel_run *r, struct cel_val v, struct strbuf *out)
{
    uint32_t n = v.kind == CK_LIST ? v.list->n : v.kind == CK_MAP ? v.map->n : 0;

    if (!cel_enter(r, n))
        return;
    if (v.kind == CK_LIST) {
        print_list(r, v.list, out);
    } else if (v.kind == CK_MAP) {
        print_map(r, v.map, out);
    } else {
        strbuf_append(out, "optional.of(");
        cel_print(r, *v.opt, out);
        strbuf_appendc(out, ')');
    }
    cel_leave(r);
}

/* The buffer grows in steps of its own size, and its text is copied. */
bool cel_printing(struct cel_run *r, const struct strbuf *out)
{
    return cel_work(r, 1) && cel_room(r, (uint64_t)out->len * 3);
}

void cel_print(struct cel_run *r, struct cel_val v, struct strbuf *out)
{
    if (!cel_printing(r, out))
        return;
    switch (v.kind) {
    case CK_LIST:
    case CK_MAP: print_inside(r, v, out); break;
    case CK_STRING:
    case CK_BYTES:
        (void)cel_work(r, v.n / 64);
        strbuf_append(out, v.kind == CK_BYTES ? "b" : "");
        strbuf_append_quoted(out, v.s, v.n);
        break;
    case CK_OPTIONAL:
        if (v.opt)
            print_inside(r, v, out);
        else
            strbuf_append(out, "optional.none()");
        break;
    case CK_ERROR: strbuf_appendn(out, v.s, v.n); break;
    default: print_made(r, v, out); break;
    }
}

void cel_val_print(struct arena *a, struct cel_val v, struct strbuf *out)
{
    struct cel_run r = { .a = a, .limit = UINT64_MAX };
    struct cel_watch watch;

    cel_run_begin(&r, &watch);
    cel_print(&r, v, out);
    if (r.cancelled)
        strbuf_append(out, "...");
    cel_run_end(&r, &watch);
}
