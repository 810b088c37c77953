/* flags_usage.c - what --help prints, and what an unknown name may have meant. */
#include "component/flags.h"

#include <ctype.h>

#include "base/strbuf.h"
#include "component/flags_int.h"

enum {
    USAGE_WIDTH = 100,
    HELP_COLUMN_MAX = 44, /* a longer flag gets its help on the next line */
    WORD_MAX = 64,
};

/* ---- the nearest name ------------------------------------------------------------------------ */

/* Edits from one word to the other: a letter put in, left out, changed, or two swapped. Three rows
 * of the usual matrix are alive at a time. */
static size_t distance(const char *a, const char *b)
{
    size_t rows[3][WORD_MAX + 1], n = strlen(b), m = strlen(a);

    if (n > WORD_MAX)
        return SIZE_MAX;
    for (size_t j = 0; j <= n; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= m; i++) {
        size_t *now = rows[i % 3], *before = rows[(i + 2) % 3], *older = rows[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= n; j++) {
            bool same = tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]);
            now[j] = MIN(before[j - 1] + !same, MIN(now[j - 1], before[j]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = MIN(now[j], older[j - 2] + 1);
        }
    }
    return rows[m % 3][n];
}

const char *word_nearest(const char *word, const char *const *candidates, size_t n)
{
    size_t best = strlen(word) / 3 + 1; /* a third of it may be wrong */
    const char *nearest = NULL;

    for (size_t i = 0; i < n; i++) {
        size_t d = distance(word, candidates[i]);
        if (d >= best)
            continue;
        best = d;
        nearest = candidates[i];
    }
    return nearest;
}

/* ---- usage ----------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    const struct flag_entry *const *x = a, *const *y = b;
    return strcmp((*x)->flag->name, (*y)->flag->name);
}

struct str flag_value_name(const struct flag *d)
{
    static const char *const types[] = {
        [FLAG_BOOL] = "",        [FLAG_INT] = "int",       [FLAG_I64] = "int",
        [FLAG_F64] = "float",    [FLAG_DUR] = "duration",  [FLAG_STR] = "string",
        [FLAG_LIST] = "strings", [FLAG_MAP] = "key=value", [FLAG_CUSTOM] = "value",
    };
    const char *open = d->help ? strchr(d->help, '`') : NULL;
    const char *close = open ? strchr(open + 1, '`') : NULL;

    if (close)
        return (struct str){ open + 1, (size_t)(close - open - 1) };
    return str_of(types[d->type]);
}

static void put_head(const struct flag *d, struct strbuf *out)
{
    struct str value = flag_value_name(d);

    if (d->letter)
        strbuf_appendf(out, "  -%c, --%s", d->letter, d->name);
    else
        strbuf_appendf(out, "      --%s", d->name);
    if (value.n)
        strbuf_appendf(out, " %.*s", (int)value.n, value.p);
}

/* As pflag does, a default of nothing is not worth a word. */
static bool default_is_shown(const struct flag_entry *e)
{
    const char *def = e->def;
    return !str_empty(def) && !streq(def, "false") && !streq(def, "0") && !streq(def, "0s");
}

void flag_text(const struct flag_entry *e, struct strbuf *out)
{
    const struct flag *d = e->flag;

    if (d->flags & FLAG_LATER)
        strbuf_append(out, "accepted; not served yet: ");
    for (const char *p = str_or(d->help, ""); *p; p++)
        if (*p != '`')
            strbuf_appendc(out, *p);
    if (!default_is_shown(e))
        return;
    strbuf_append(out, " (default ");
    if (d->type == FLAG_STR)
        strbuf_append_quoted(out, e->def, strlen(e->def));
    else
        strbuf_appendf(out, d->type == FLAG_LIST || d->type == FLAG_MAP ? "[%s]" : "%s", e->def);
    strbuf_appendc(out, ')');
}

static void put_blanks(struct strbuf *out, size_t n)
{
    memset(strbuf_reserve(out, n + 1), ' ', n);
    out->len += n;
    out->data[out->len] = '\0';
}

/* Words of text into lines that start at the column; the cursor stands there already. */
static void put_wrapped(const char *text, size_t column, struct strbuf *out)
{
    size_t at = column;

    for (const char *p = text; *p;) {
        size_t n = strcspn(p, " ");
        if (at > column && at + 1 + n > USAGE_WIDTH) {
            strbuf_appendc(out, '\n');
            put_blanks(out, column);
            at = column;
        } else if (at > column) {
            strbuf_appendc(out, ' ');
            at++;
        }
        strbuf_appendn(out, p, n);
        at += n;
        p += n + (p[n] == ' ');
    }
    strbuf_appendc(out, '\n');
}

/* Lines as they are, from the column on. */
static void put_lines(const char *text, size_t column, struct strbuf *out)
{
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, "\n");
        put_blanks(out, column);
        strbuf_appendn(out, p, n);
        strbuf_appendc(out, '\n');
        p += n + (p[n] == '\n');
    }
}

void flags_shown(const struct flags *f, size_t group, struct shown_flags *list)
{
    vec_foreach(&f->entries, i) {
        const struct flag_entry *e = &f->entries.items[i];
        if (e->group == group && flag_is_shown(e->flag))
            vec_push(list, e);
    }
    if (list->n > 0)
        qsort(list->items, list->n, sizeof *list->items, by_name);
}

static size_t help_column(const struct shown_flags *list)
{
    CLEANUP(strbuf_fini) struct strbuf head = STRBUF_INIT;
    size_t column = 0;

    vec_foreach(list, i) {
        strbuf_reset(&head);
        put_head(list->items[i]->flag, &head);
        column = MAX(column, head.len + 3);
    }
    return MIN(column, (size_t)HELP_COLUMN_MAX);
}

static void put_flag(const struct flag_entry *e, size_t column, struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    size_t start = out->len;

    put_head(e->flag, out);
    size_t used = out->len - start;
    if (used + 2 > column) {
        strbuf_appendc(out, '\n');
        used = 0;
    }
    put_blanks(out, column - used);
    flag_text(e, &text);
    put_wrapped(strbuf_str(&text), column, out);
    if (e->flag->lines) {
        strbuf_reset(&text);
        e->flag->lines(e->target, &text);
        put_lines(strbuf_str(&text), column, out);
    }
}

static void put_group(const struct flags *f, size_t group, struct strbuf *out)
{
    struct shown_flags list = { 0 };

    flags_shown(f, group, &list);
    if (list.n > 0) {
        size_t column = help_column(&list);
        strbuf_appendf(out, "%s%s:\n", out->len ? "\n" : "", f->titles.items[group]);
        vec_foreach(&list, i)
            put_flag(list.items[i], column, out);
    }
    vec_fini(&list);
}

void flags_usage(const struct flags *f, struct strbuf *out)
{
    vec_foreach(&f->titles, group)
        put_group(f, group, out);
}

void flags_usage_of(const struct flags *f, const char *title, struct strbuf *out)
{
    vec_foreach(&f->titles, group)
        if (streq(f->titles.items[group], title))
            put_group(f, group, out);
}
