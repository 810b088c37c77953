/* table.c - printing tables. */
#include "ctl/table.h"

#include <ctype.h>

#include "json/kj.h"

enum { WIDTH_MIN = 6, GAP = 3, CELLS_MAX = 128 };

void ctl_table_init(struct table *t, const struct ctl_table_opts *o)
{
    *t = (struct table){ .o = *o };
}

void ctl_table_fini(struct table *t)
{
    vec_foreach(&t->names, i)
        free(t->names.items[i]);
    vec_fini(&t->names);
    vec_fini(&t->widths);
    vec_fini(&t->from);
}

/* Characters, not bytes: names are ASCII, but messages need not be. */
static size_t text_width(const char *s)
{
    size_t n = 0;
    for (; *s; s++)
        n += ((unsigned char)*s & 0xC0) != 0x80;
    return n;
}

static void add_column(struct table *t, const char *name, size_t from)
{
    char *upper = xstrdup(name);

    for (char *p = upper; *p; p++)
        *p = (char)toupper((unsigned char)*p);
    vec_push(&t->names, upper);
    vec_push(&t->from, from);
    vec_push(&t->widths, t->o.no_headers ? 0 : text_width(upper));
}

static void add_leading(struct table *t)
{
    if (t->o.with_event) {
        add_column(t, "EVENT", SIZE_MAX);
        t->widths.items[0] = strlen("MODIFIED"); /* the longest that may come */
    }
    if (t->o.with_ns)
        add_column(t, "NAMESPACE", SIZE_MAX);
}

int ctl_table_learn(struct table *t, const struct kj_val *answer, struct kerr *err)
{
    const struct kj_val *defs = kj_get(answer, "columnDefinitions"), *def;
    struct kj_iter it = kj_iter(defs);
    struct str key;

    if (t->names.n > 0)
        return 0;
    add_leading(t);
    if (!streq(kj_str_or(kj_get(answer, "kind"), ""), "Table")) {
        t->is_plain = true;
        add_column(t, "NAME", 0);
        add_column(t, "CREATED AT", 1);
        return 0;
    }
    if (kj_len(defs) > CELLS_MAX)
        return kerr_set(err, -EPROTO, "the server's table has %zu columns", kj_len(defs));
    for (size_t i = 0; kj_next(&it, &key, &def); i++)
        if (t->o.wide || kj_i64_or(kj_get(def, "priority"), 0) == 0)
            add_column(t, kj_str_or(kj_get(def, "name"), ""), i);
    return 0;
}

const struct kj_val *ctl_table_row_meta(const struct kj_val *row)
{
    const struct kj_val *object = kj_get(row, "object");
    return kj_get(object ? object : row, "metadata");
}

/* As kubectl does, a cell ends at its first line break, with dots to say so. */
static void put_cell(struct strbuf *out, const struct kj_val *v)
{
    char number[64];

    switch (kj_type(v)) {
    case KJ_STR: {
        const char *s = kj_str(v);
        size_t n = strcspn(s, "\f\n\r");
        size_t start = out->len;
        strbuf_appendn(out, s, n);
        if (s[n])
            strbuf_append(out, "...");
        for (size_t i = start; i < out->len; i++) /* no escape sequences on people's terminals */
            if (iscntrl((unsigned char)out->data[i]))
                out->data[i] = '?';
        break;
    }
    case KJ_NUM:
        number[MIN(kj_num_text(v, number, sizeof number), sizeof number - 1)] = '\0';
        strbuf_append(out, number);
        break;
    case KJ_BOOL: strbuf_append(out, kj_bool(v, false) ? "true" : "false"); break;
    case KJ_OBJ:
    case KJ_ARR: kj_write(v, 0, out); break;
    default: break;
    }
}

static void put_source(struct table *t, size_t column, const struct kj_val *row, const char *event,
                       struct strbuf *out)
{
    const struct kj_val *meta = ctl_table_row_meta(row);
    size_t from = t->from.items[column];

    if (from == SIZE_MAX && t->o.with_event && column == 0)
        strbuf_append(out, str_or(event, ""));
    else if (from == SIZE_MAX)
        put_cell(out, kj_get(meta, "namespace"));
    else if (t->is_plain)
        put_cell(out, kj_get(meta, from == 0 ? "name" : "creationTimestamp"));
    else
        put_cell(out, kj_at(kj_get(row, "cells"), from));
}

struct ctl_table_row *ctl_table_row(struct table *t, const struct kj_val *row, const char *event)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    size_t n = t->names.n;

    for (size_t i = 0; i < n; i++) {
        put_source(t, i, row, event, &text);
        strbuf_appendn(&text, "", 1);
    }
    struct ctl_table_row *r = xmalloc(sizeof *r + n * sizeof r->cells[0] + text.len + 1);
    char *p = (char *)&r->cells[n];
    if (text.len)
        memcpy(p, text.data, text.len);
    r->n = n;
    for (size_t i = 0; i < n; i++) {
        r->cells[i] = p;
        t->widths.items[i] = MAX(t->widths.items[i], text_width(p));
        p += strlen(p) + 1;
    }
    return r;
}

static void put_cells(const struct table *t, const char *const *cells, struct strbuf *out)
{
    for (size_t i = 0; i < t->names.n; i++) {
        strbuf_append(out, cells[i]);
        if (i + 1 == t->names.n)
            break;
        size_t width = MAX(t->widths.items[i] + GAP, (size_t)WIDTH_MIN);
        size_t used = text_width(cells[i]);
        size_t pad = width > used ? width - used : GAP;
        memset(strbuf_reserve(out, pad + 1), ' ', pad);
        out->len += pad;
        out->data[out->len] = '\0';
    }
    strbuf_appendc(out, '\n');
}

void ctl_table_put(struct table *t, const struct ctl_table_row *row, struct strbuf *out)
{
    if (!t->headed && !t->o.no_headers)
        put_cells(t, (const char *const *)t->names.items, out);
    t->headed = true;
    put_cells(t, row->cells, out);
}
