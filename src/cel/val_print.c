/* val_print.c - values as text for people. */
#include "cel/lib.h"

static void print_list(struct arena *a, const struct cel_list *l, struct strbuf *out)
{
    strbuf_appendc(out, '[');
    for (uint32_t i = 0; i < l->n; i++) {
        strbuf_append(out, i ? ", " : "");
        cel_val_print(a, cel_list_at(a, l, i), out);
    }
    strbuf_appendc(out, ']');
}

static void print_map(struct arena *a, const struct cel_map *m, struct strbuf *out)
{
    const struct cel_entry *e = cel_map_sorted(a, m);

    strbuf_appendc(out, '{');
    for (uint32_t i = 0; i < m->n; i++) {
        strbuf_append(out, i ? ", " : "");
        cel_val_print(a, e[i].key, out);
        strbuf_append(out, ": ");
        cel_val_print(a, e[i].val, out);
    }
    strbuf_appendc(out, '}');
}

/* Values that only functions make: duration('1s'). */
static void print_made(struct arena *a, struct cel_val v, struct strbuf *out)
{
    static const char *const makers[] = {
        [CK_TIMESTAMP] = "timestamp", [CK_DURATION] = "duration",
        [CK_QUANTITY] = "quantity",   [CK_IP] = "ip",
        [CK_CIDR] = "cidr",           [CK_URL] = "url",
        [CK_SEMVER] = "semver",
    };
    struct cel_run r = { .a = a, .limit = UINT64_MAX };

    if (v.kind < ARRAY_LEN(makers) && makers[v.kind]) {
        strbuf_appendf(out, "%s('", makers[v.kind]);
        (void)cel_to_string(&r, v, out);
        strbuf_append(out, "')");
    } else if (!cel_to_string(&r, v, out)) {
        strbuf_append(out, cel_type_name(v));
    }
}

void cel_val_print(struct arena *a, struct cel_val v, struct strbuf *out)
{
    switch (v.kind) {
    case CK_LIST: print_list(a, v.list, out); break;
    case CK_MAP: print_map(a, v.map, out); break;
    case CK_STRING:
    case CK_BYTES:
        strbuf_append(out, v.kind == CK_BYTES ? "b" : "");
        strbuf_append_quoted(out, v.s, v.n);
        break;
    case CK_OPTIONAL:
        strbuf_append(out, v.opt ? "optional.of(" : "optional.none()");
        if (v.opt) {
            cel_val_print(a, *v.opt, out);
            strbuf_appendc(out, ')');
        }
        break;
    case CK_ERROR: strbuf_appendn(out, v.s, v.n); break;
    default: print_made(a, v, out); break;
    }
}
