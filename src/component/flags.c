/* flags.c - parsing flags by table. */
#include "component/flags.h"

#include <ctype.h>
#include <stdio.h>

#include "base/ktime.h"
#include "base/num.h"
#include "base/strbuf.h"
#include "component/flags_int.h"

enum { SHOWN_VALUE = 80 }; /* of a value in a message */

struct flags *flags_new(void)
{
    struct flags *f = xnew0(struct flags);
    f->arena = arena_new();
    return f;
}

struct flags *flags_free(struct flags *f)
{
    if (!f)
        return NULL;
    vec_fini(&f->entries);
    vec_fini(&f->titles);
    vec_fini(&f->args);
    vec_fini(&f->warnings);
    vec_fini(&f->later);
    arena_free(f->arena);
    free(f);
    return NULL;
}

/* ---- values ---------------------------------------------------------------------------------- */

int flag_bool_parse(const char *s, size_t n, bool *ret)
{
    static const char *const words[2][6] = { { "0", "f", "F", "FALSE", "false", "False" },
                                             { "1", "t", "T", "TRUE", "true", "True" } };

    for (size_t i = 0; i < ARRAY_LEN(words[0]); i++) {
        for (int b = 0; b < 2; b++) {
            if (strlen(words[b][i]) != n || memcmp(words[b][i], s, n) != 0)
                continue;
            *ret = b;
            return 0;
        }
    }
    return -EINVAL;
}

static int check_range(const struct flag *d, int64_t v, struct kerr *err)
{
    char from[KTIME_TEXT_MAX], to[KTIME_TEXT_MAX];

    if ((d->min == 0 && d->max == 0) || (v >= d->min && v <= d->max))
        return 0;
    if (d->type == FLAG_DUR) {
        kdur_format(d->min, from);
        kdur_format(d->max, to);
    } else {
        (void)snprintf(from, sizeof from, "%lld", (long long)d->min);
        (void)snprintf(to, sizeof to, "%lld", (long long)d->max);
    }
    return kerr_set(err, -EINVAL, "must be between %s and %s", from, to);
}

static int parse_int(const struct flag *d, const char *text, int64_t *ret, struct kerr *err)
{
    int r = i64_parse(text, strlen(text), ret);
    if (r == 0 && d->type == FLAG_INT && (*ret < INT32_MIN || *ret > INT32_MAX))
        r = -ERANGE;
    if (r == -ERANGE)
        return kerr_set(err, -EINVAL, "the number is too large");
    if (r < 0)
        return kerr_set(err, -EINVAL, "not a whole number");
    return check_range(d, *ret, err);
}

static int check_choice(const struct flag *d, const char *text, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf list = STRBUF_INIT;

    if (!d->choices)
        return 0;
    for (size_t i = 0; d->choices[i]; i++) {
        if (streq(d->choices[i], text))
            return 0;
        strbuf_appendf(&list, "%s%s", i ? ", " : "", d->choices[i]);
    }
    return kerr_set(err, -EINVAL, "must be one of %s", strbuf_str(&list));
}

static void list_add(struct flags *f, struct flag_list *l, struct str item)
{
    const char **items = arena_newn0(f->arena, l->n + 1, const char *);

    if (l->n)
        memcpy(items, l->items, l->n * sizeof *items);
    items[l->n] = arena_strndup(f->arena, item.p, item.n);
    l->items = items;
    l->n++;
}

static void map_set(struct flags *f, struct flag_map *m, struct str key, struct str value)
{
    size_t at = 0;
    const char *k = arena_strndup(f->arena, key.p, key.n);
    const char *v = arena_strndup(f->arena, value.p, value.n);

    while (at < m->n && strcmp(m->items[at].key, k) < 0)
        at++;
    if (at < m->n && streq(m->items[at].key, k)) {
        m->items[at].value = v;
        return;
    }
    struct flag_pair *items = arena_newn0(f->arena, m->n + 1, struct flag_pair);
    for (size_t i = 0; i < m->n; i++)
        items[i + (i >= at)] = m->items[i];
    items[at] = (struct flag_pair){ k, v };
    m->items = items;
    m->n++;
}

static struct str trimmed(const char *p, size_t n)
{
    while (n > 0 && isspace((unsigned char)*p))
        p++, n--;
    while (n > 0 && isspace((unsigned char)p[n - 1]))
        n--;
    return (struct str){ p, n };
}

/* "a,b" or "a=1,b=2" piece by piece; an empty text has none. */
static int set_pieces(struct flags *f, const struct flag *d, const char *text, void *to,
                      struct kerr *err)
{
    for (const char *p = text; *text && p;) {
        size_t n = strcspn(p, ",");
        struct str piece = trimmed(p, n);
        p = p[n] ? p + n + 1 : NULL;
        if (d->type == FLAG_LIST) {
            list_add(f, to, piece);
            continue;
        }
        const char *eq = memchr(piece.p, '=', piece.n);
        if (!eq)
            return kerr_set(err, -EINVAL, "'%.*s' is not of the form name=value",
                            (int)MIN(piece.n, (size_t)SHOWN_VALUE), piece.p);
        size_t key_n = (size_t)(eq - piece.p);
        map_set(f, to, trimmed(piece.p, key_n), trimmed(eq + 1, piece.n - key_n - 1));
    }
    return 0;
}

/* target NULL: only checks. */
static int set_value(struct flags *f, const struct flag *d, const char *text, void *target,
                     struct kerr *err)
{
    union {
        bool b;
        int64_t i;
        double d;
        const char *s;
        struct flag_list list;
        struct flag_map map;
    } v = { 0 };
    int i, r;

    switch ((enum flag_type)d->type) {
    case FLAG_BOOL:
        if (flag_bool_parse(text, strlen(text), &v.b) < 0)
            return kerr_set(err, -EINVAL, "not a boolean (true or false)");
        if (target)
            memcpy(target, &v.b, sizeof v.b);
        return 0;
    case FLAG_INT:
        r = parse_int(d, text, &v.i, err);
        i = (int)v.i;
        if (r == 0 && target)
            memcpy(target, &i, sizeof i);
        return r;
    case FLAG_I64:
        r = parse_int(d, text, &v.i, err);
        if (r == 0 && target)
            memcpy(target, &v.i, sizeof v.i);
        return r;
    case FLAG_F64:
        if (f64_parse(text, strlen(text), &v.d) < 0)
            return kerr_set(err, -EINVAL, "not a number");
        if (target)
            memcpy(target, &v.d, sizeof v.d);
        return 0;
    case FLAG_DUR:
        r = kdur_parse(text, strlen(text), &v.i, NULL);
        if (r < 0)
            return kerr_set(err, -EINVAL, "not a duration (such as 300ms, 15s or 1h30m)");
        r = check_range(d, v.i, err);
        if (r == 0 && target)
            memcpy(target, &v.i, sizeof v.i);
        return r;
    case FLAG_STR:
        r = check_choice(d, text, err);
        v.s = r == 0 && target ? arena_strdup(f->arena, text) : NULL;
        if (v.s)
            memcpy(target, &v.s, sizeof v.s);
        return r;
    case FLAG_LIST: return set_pieces(f, d, text, target ? target : &v.list, err);
    case FLAG_MAP: return set_pieces(f, d, text, target ? target : &v.map, err);
    case FLAG_CUSTOM: return target ? d->set(target, text, err) : 0;
    }
    return kerr_set(err, -EINVAL, "flag of an unknown type");
}

static size_t value_size(enum flag_type t)
{
    static const size_t sizes[] = {
        [FLAG_BOOL] = sizeof(bool),
        [FLAG_INT] = sizeof(int),
        [FLAG_I64] = sizeof(int64_t),
        [FLAG_F64] = sizeof(double),
        [FLAG_DUR] = sizeof(nsec_t),
        [FLAG_STR] = sizeof(const char *),
        [FLAG_LIST] = sizeof(struct flag_list),
        [FLAG_MAP] = sizeof(struct flag_map),
        [FLAG_CUSTOM] = 0, /* its owner has made it ready */
    };
    return sizes[t];
}

/* ---- tables ---------------------------------------------------------------------------------- */

static struct flag_entry *find(const struct flags *f, const char *name, size_t n)
{
    char dashed[128];

    for (size_t i = 0; i < n && i < sizeof dashed; i++)
        dashed[i] = name[i] == '_' ? '-' : name[i];
    vec_foreach(&f->entries, i) {
        const char *have = f->entries.items[i].flag->name;
        if (n <= sizeof dashed && strlen(have) == n && memcmp(have, dashed, n) == 0)
            return &f->entries.items[i];
    }
    return NULL;
}

static struct flag_entry *find_letter(const struct flags *f, char letter)
{
    vec_foreach(&f->entries, i)
        if (f->entries.items[i].flag->letter == letter)
            return &f->entries.items[i];
    return find(f, &letter, 1); /* klog's "v" is a name, and people write -v4 */
}

static void apply_default(struct flags *f, struct flag_entry *e)
{
    struct kerr err = { 0 };
    const struct flag *d = e->flag;
    const char *text = e->def;

    if (flag_is_dropped(d))
        return;
    memset(e->target, 0, value_size(d->type));
    if (!text && d->type != FLAG_STR)
        return;
    struct flag plain = *d;
    plain.choices = NULL; /* a default may be "not chosen" */
    plain.min = plain.max = 0;
    if (set_value(f, &plain, str_or(text, ""), e->target, &err) == 0)
        return;
    fprintf(stderr, "default of --%s: %s\n", d->name, err.text);
    abort();
}

void flags_add(struct flags *f, const char *title, const struct flag *table, size_t n,
               void *options)
{
    vec_push(&f->titles, title);
    for (size_t i = 0; i < n; i++) {
        const struct flag *d = &table[i];
        struct flag_entry e = { .flag = d,
                                .target = (char *)options + d->off,
                                .def = d->def,
                                .group = (uint32_t)(f->titles.n - 1) };
        assert(!find(f, d->name, strlen(d->name)));
        apply_default(f, &e);
        vec_push(&f->entries, e);
    }
}

void flags_default(struct flags *f, const char *name, const char *def)
{
    struct flag_entry *e = find(f, name, strlen(name));
    assert(e);
    e->def = def;
    apply_default(f, e);
}

/* ---- the command line ------------------------------------------------------------------------ */

static int set_flag(struct flags *f, struct flag_entry *e, const char *value, struct kerr *err)
{
    const struct flag *d = e->flag;
    void *target = flag_is_dropped(d) ? NULL : e->target;
    char quoted[SHOWN_VALUE];

    if (d->type == FLAG_LIST && target && !e->given)
        memset(target, 0, sizeof(struct flag_list));
    if (set_value(f, d, value, target, err) < 0) {
        text_quote(quoted, sizeof quoted, value, strlen(value));
        kerr_wrap(err, "invalid value %s for flag --%s", quoted, d->name);
        return err->code = -EINVAL;
    }
    if (d->deprecated && !e->given)
        vec_push(&f->warnings,
                 arena_printf(f->arena, "flag --%s is deprecated: %s", d->name, d->deprecated));
    if (d->flags & FLAG_LATER && !e->given)
        vec_push(&f->later, d->name);
    e->given = true;
    return 0;
}

static int unknown(struct flags *f, const char *word, size_t dashes, struct kerr *err)
{
    struct vec_of(const char *) names = { 0 };
    size_t n = strcspn(word + dashes, "=");
    const char *name = arena_strndup(f->arena, word + dashes, n);

    vec_foreach(&f->entries, i)
        if (flag_is_shown(f->entries.items[i].flag))
            vec_push(&names, f->entries.items[i].flag->name);
    const char *near = word_nearest(name, names.items, names.n);
    vec_fini(&names);
    if (near)
        return kerr_set(err, -EINVAL, "unknown flag %.*s%.80s (did you mean --%s?)", (int)dashes,
                        word, name, near);
    return kerr_set(err, -EINVAL, "unknown flag %.*s%.80s", (int)dashes, word, name);
}

struct args {
    char *const *argv;
    int argc, at;
};

static int needs_value(const struct flag *d, struct kerr *err)
{
    return kerr_set(err, -EINVAL, "flag --%s needs a value", d->name);
}

/* A flag by its whole name; value is what stood behind "=", NULL when nothing did. */
static int take_long(struct flags *f, struct flag_entry *e, const char *value, struct args *a,
                     struct kerr *err)
{
    if (!value && e->flag->type == FLAG_BOOL)
        value = "true";
    if (!value) {
        if (a->at + 1 >= a->argc)
            return needs_value(e->flag, err);
        value = a->argv[++a->at];
    }
    return set_flag(f, e, value, err);
}

/* -abc, -n value, -nvalue, -n=value */
static int take_letters(struct flags *f, const char *word, struct args *a, struct kerr *err)
{
    for (const char *p = word + 1; *p; p++) {
        struct flag_entry *e = find_letter(f, *p);
        if (!e)
            return *p == 'h' ? FLAGS_HELP : unknown(f, word, 1, err);
        if (p[1] == '=')
            return set_flag(f, e, p + 2, err);
        if (e->flag->type == FLAG_BOOL) {
            int r = set_flag(f, e, "true", err);
            if (r < 0)
                return r;
            continue;
        }
        return p[1] ? set_flag(f, e, p + 1, err) : take_long(f, e, NULL, a, err);
    }
    return FLAGS_OK;
}

static int take_flag(struct flags *f, struct args *a, struct kerr *err)
{
    const char *word = a->argv[a->at];
    size_t dashes = word[1] == '-' ? 2 : 1;
    const char *name = word + dashes;
    size_t n = strcspn(name, "=");
    struct flag_entry *e = n ? find(f, name, n) : NULL;

    if (e)
        return take_long(f, e, name[n] ? name + n + 1 : NULL, a, err);
    if (n == 4 && memcmp(name, "help", 4) == 0)
        return FLAGS_HELP;
    if (n == 7 && memcmp(name, "version", 7) == 0)
        return FLAGS_VERSION;
    if (n == 3 && memcmp(name, "man", 3) == 0)
        return FLAGS_MAN;
    if (dashes == 1 && n > 0)
        return take_letters(f, word, a, err);
    return unknown(f, word, dashes, err);
}

int flags_parse(struct flags *f, int argc, char *const *argv, unsigned mode, struct kerr *err)
{
    struct args a = { argv, argc, 0 };
    bool ended = false;

    vec_clear(&f->args);
    for (; a.at < argc; a.at++) {
        const char *word = argv[a.at];
        bool is_flag = !ended && word[0] == '-' && word[1];
        if (is_flag && streq(word, "--")) {
            ended = true;
            continue;
        }
        if (is_flag) {
            int r = take_flag(f, &a, err);
            if (r != FLAGS_OK)
                return r;
            continue;
        }
        if (mode & FLAGS_STOP_AT_ARG)
            break;
        vec_push(&f->args, word);
    }
    f->stopped_at = a.at;
    return FLAGS_OK;
}

/* ---- afterwards ------------------------------------------------------------------------------ */

size_t flags_nargs(const struct flags *f)
{
    return f->args.n;
}

const char *flags_arg(const struct flags *f, size_t i)
{
    return i < f->args.n ? f->args.items[i] : NULL;
}

int flags_stopped_at(const struct flags *f)
{
    return f->stopped_at;
}

bool flags_given(const struct flags *f, const char *name)
{
    const struct flag_entry *e = find(f, name, strlen(name));
    assert(e);
    return e->given;
}

const char *flags_warning(const struct flags *f, size_t i)
{
    return i < f->warnings.n ? f->warnings.items[i] : NULL;
}

const char *flags_later(const struct flags *f, size_t i)
{
    return i < f->later.n ? f->later.items[i] : NULL;
}
