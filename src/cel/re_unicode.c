/* re_unicode.c - sets of code points. */
#include "cel/re_unicode.h"

#include <ctype.h>

void re_set_add(struct re_set *s, uint32_t lo, uint32_t hi)
{
    struct re_range r = { lo, hi };

    if (s->n && lo <= s->items[s->n - 1].hi + 1 && lo >= s->items[s->n - 1].lo) {
        s->items[s->n - 1].hi = MAX(s->items[s->n - 1].hi, hi);
        return;
    }
    vec_push(s, r);
}

uint32_t re_fold_next(uint32_t c)
{
    size_t lo = 0, hi = re_n_folds;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        const struct re_fold *f = &re_folds[mid];
        if (c < f->lo)
            hi = mid;
        else if (c > f->hi)
            lo = mid + 1;
        else if (f->delta == 0)
            return (c - f->lo) % 2 ? c - 1 : c + 1;
        else
            return (uint32_t)((int32_t)c + f->delta);
    }
    return c;
}

void re_set_add_folded(struct re_set *s, uint32_t lo, uint32_t hi)
{
    re_set_add(s, lo, hi);
    for (size_t i = 0; i < re_n_folds; i++) {
        const struct re_fold *f = &re_folds[i];
        for (uint32_t c = MAX(lo, f->lo), end = MIN(hi, f->hi); c <= end; c++) {
            for (uint32_t o = re_fold_next(c); o != c; o = re_fold_next(o))
                re_set_add(s, o, o);
        }
    }
}

static int range_cmp(const void *a, const void *b)
{
    const struct re_range *x = a, *y = b;
    return x->lo < y->lo ? -1 : x->lo > y->lo;
}

void re_set_clean(struct re_set *s)
{
    size_t out = 0;

    if (s->n > 1)
        qsort(s->items, s->n, sizeof *s->items, range_cmp);
    for (size_t i = 0; i < s->n; i++) {
        struct re_range r = s->items[i];
        if (out && r.lo <= s->items[out - 1].hi + 1)
            s->items[out - 1].hi = MAX(s->items[out - 1].hi, r.hi);
        else
            s->items[out++] = r;
    }
    s->n = out;
}

void re_set_negate(struct re_set *s)
{
    struct re_set out = { 0 };
    uint32_t next = 0;

    for (size_t i = 0; i < s->n; i++) {
        if (s->items[i].lo > next)
            re_set_add(&out, next, s->items[i].lo - 1);
        next = s->items[i].hi + 1;
    }
    if (next <= RE_RUNE_MAX)
        re_set_add(&out, next, RE_RUNE_MAX);
    vec_fini(s);
    *s = out;
}

/* ---- names ----------------------------------------------------------------------------------- */

static bool loose_eq(const char *name, size_t n, const char *known)
{
    size_t i = 0;

    for (;; known++) {
        while (i < n && strchr(" _-", name[i]))
            i++;
        while (*known == '_')
            known++;
        if (!*known || i == n)
            return !*known && i == n;
        if (tolower((unsigned char)name[i++]) != tolower((unsigned char)*known))
            return false;
    }
}

/* The long names of categories. "Lu" and "L" need none; groups stand for all that begins so. */
static const struct {
    const char *name, *category;
} aliases[] = {
    { "Other", "C" },
    { "Control", "Cc" },
    { "cntrl", "Cc" },
    { "Format", "Cf" },
    { "Unassigned", "Cn" },
    { "Private_Use", "Co" },
    { "Surrogate", "Cs" },
    { "Letter", "L" },
    { "Cased_Letter", "LC" },
    { "Lowercase_Letter", "Ll" },
    { "Modifier_Letter", "Lm" },
    { "Other_Letter", "Lo" },
    { "Titlecase_Letter", "Lt" },
    { "Uppercase_Letter", "Lu" },
    { "Mark", "M" },
    { "Combining_Mark", "M" },
    { "Spacing_Mark", "Mc" },
    { "Enclosing_Mark", "Me" },
    { "Nonspacing_Mark", "Mn" },
    { "Number", "N" },
    { "Decimal_Number", "Nd" },
    { "digit", "Nd" },
    { "Letter_Number", "Nl" },
    { "Other_Number", "No" },
    { "Punctuation", "P" },
    { "punct", "P" },
    { "Connector_Punctuation", "Pc" },
    { "Dash_Punctuation", "Pd" },
    { "Close_Punctuation", "Pe" },
    { "Final_Punctuation", "Pf" },
    { "Initial_Punctuation", "Pi" },
    { "Other_Punctuation", "Po" },
    { "Open_Punctuation", "Ps" },
    { "Symbol", "S" },
    { "Currency_Symbol", "Sc" },
    { "Modifier_Symbol", "Sk" },
    { "Math_Symbol", "Sm" },
    { "Other_Symbol", "So" },
    { "Separator", "Z" },
    { "Line_Separator", "Zl" },
    { "Paragraph_Separator", "Zp" },
    { "Space_Separator", "Zs" },
};

static void add_runs(struct re_set *s, const uint32_t *runs, size_t n, const bool *wanted)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t end = i + 1 < n ? runs[i + 1] >> 8 : RE_RUNE_MAX + 1;
        if (wanted[runs[i] & 0xff])
            re_set_add(s, runs[i] >> 8, end - 1);
    }
}

static bool category_wanted(const char *category, const char *asked, size_t n)
{
    if (n == 2 && loose_eq(asked, n, "LC"))
        return streq(category, "Ll") || streq(category, "Lt") || streq(category, "Lu");
    if (n == 1) /* code points without a category are of group C as well */
        return tolower((unsigned char)asked[0]) ==
               tolower((unsigned char)(*category ? *category : 'C'));
    return loose_eq(asked, n, *category ? category : "Cn");
}

bool re_set_add_named(struct re_set *s, const char *name, size_t n)
{
    bool wanted[256] = { false }, found = false;
    const char *asked = name;
    size_t asked_n = n;

    if (loose_eq(name, n, "Any") || loose_eq(name, n, "ASCII")) {
        re_set_add(s, 0, loose_eq(name, n, "Any") ? RE_RUNE_MAX : 0x7f);
        return true;
    }
    if (loose_eq(name, n, "Assigned")) {
        for (size_t i = 1; i < re_category_n_names; i++)
            wanted[i] = true;
        add_runs(s, re_category_runs, re_category_n_runs, wanted);
        return true;
    }
    for (size_t i = 0; i < ARRAY_LEN(aliases); i++) {
        if (loose_eq(name, n, aliases[i].name)) {
            asked = aliases[i].category;
            asked_n = strlen(asked);
        }
    }
    for (size_t i = 0; i < re_category_n_names; i++)
        found |= wanted[i] = category_wanted(re_category_names[i], asked, asked_n);
    if (found) {
        add_runs(s, re_category_runs, re_category_n_runs, wanted);
        return true;
    }
    for (size_t i = 1; i < re_script_n_names; i++)
        found |= wanted[i] = loose_eq(name, n, re_script_names[i]);
    if (found)
        add_runs(s, re_script_runs, re_script_n_runs, wanted);
    return found;
}

/* ---- UTF-8 ----------------------------------------------------------------------------------- */

uint32_t re_rune(const char *s, size_t n, unsigned *ret_len)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    unsigned char c = (unsigned char)*s;
    unsigned len = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;

    *ret_len = 1;
    if (len == 1)
        return c;
    if (len == 0 || len > n)
        return RE_RUNE_BAD;
    uint32_t r = c & (0x7fU >> len);
    for (unsigned i = 1; i < len; i++) {
        unsigned char next = (unsigned char)s[i];
        if ((next & 0xc0) != 0x80)
            return RE_RUNE_BAD;
        r = r << 6 | (next & 0x3f);
    }
    if (r < least[len] || r > RE_RUNE_MAX || (r >= 0xd800 && r < 0xe000))
        return RE_RUNE_BAD;
    *ret_len = len;
    return r;
}
