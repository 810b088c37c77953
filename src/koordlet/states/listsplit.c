/* listsplit.c - the items of a list, one by one. */
#include "koordlet/states/listsplit.h"

#include "json/kj.h"

/* Depths: 1 in the list object, 2 in its "items", 3 and more in an item. */
enum { IN_LIST = 1, IN_ITEMS = 2, IN_ITEM = 3 };

void listsplit_fini(struct listsplit *c)
{
    strbuf_fini(&c->item);
}

static int no_list(struct kerr *err)
{
    return kerr_set(err, -EINVAL, "the answer is not a list of objects");
}

static bool in_item(const struct listsplit *c)
{
    return c->in_items && c->depth >= IN_ITEM;
}

/* How many bytes from p are inside the string that began before: all up to the quote. */
static size_t string_run(struct listsplit *c, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (c->escaped) {
            c->escaped = false;
        } else if (p[i] == '\\') {
            c->escaped = true;
        } else if (p[i] == '"') {
            c->in_string = false;
            return i + 1;
        }
    }
    return n;
}

static void note_key(struct listsplit *c, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != '"' && c->key_len < sizeof c->key)
            c->key[c->key_len++] = p[i];
}

static int open_bracket(struct listsplit *c, char b, struct kerr *err)
{
    if (c->ended || (c->depth == 0 && b != '{') || (c->depth == IN_LIST && !c->is_value))
        return no_list(err);
    if (c->depth == IN_LIST && c->key_len == 5 && memcmp(c->key, "items", 5) == 0) {
        if (b != '[' || c->items > 0)
            return no_list(err);
        c->in_items = true;
    }
    if (c->in_items && c->depth == IN_ITEMS && b != '{')
        return no_list(err);
    c->depth++;
    return 0;
}

static int item_done(struct listsplit *c, listsplit_fn fn, void *arg, struct kerr *err)
{
    size_t n = c->item.len;

    c->items++;
    memset(strbuf_reserve(&c->item, KJ_PADDING), 0, KJ_PADDING);
    int r = fn(arg, c->item.data, n, err);
    strbuf_reset(&c->item);
    return r;
}

static int close_bracket(struct listsplit *c, char b, struct kerr *err)
{
    bool of_items = c->in_items && c->depth == IN_ITEMS;

    if (c->depth == 0 || (of_items && b != ']') || (c->depth == IN_LIST && b != '}'))
        return no_list(err);
    c->depth--;
    if (of_items)
        c->in_items = false;
    c->ended = c->depth == 0;
    return 0;
}

/* A byte outside of strings. */
static int structure(struct listsplit *c, char b, struct kerr *err)
{
    switch (b) {
    case '"':
        c->in_string = true;
        if (c->depth == IN_LIST && !c->is_value)
            c->key_len = 0;
        return c->depth == 0 || (c->in_items && c->depth == IN_ITEMS) ? no_list(err) : 0;
    case '{':
    case '[': return open_bracket(c, b, err);
    case '}':
    case ']': return close_bracket(c, b, err);
    case ':':
        if (c->depth == IN_LIST)
            c->is_value = true;
        return 0;
    case ',':
        if (c->depth == IN_LIST)
            c->is_value = false;
        return 0;
    case ' ':
    case '\t':
    case '\r':
    case '\n': return 0;
    default: /* numbers, true, false, null: nothing that an item could be */
        return c->depth == 0 || (c->in_items && c->depth == IN_ITEMS) ? no_list(err) : 0;
    }
}

int listsplit_feed(struct listsplit *c, const char *p, size_t n, listsplit_fn fn, void *arg,
                   struct kerr *err)
{
    size_t from = 0; /* where the part of the current item begins in p */

    for (size_t i = 0; i < n;) {
        if (c->in_string) {
            size_t run = string_run(c, p + i, n - i);
            if (c->depth == IN_LIST && !c->is_value)
                note_key(c, p + i, run);
            i += run;
            continue;
        }
        bool was_in = in_item(c);
        int r = structure(c, p[i], err);
        if (r < 0)
            return r;
        if (!was_in && in_item(c))
            from = i;
        i++;
        if (was_in && !in_item(c)) {
            strbuf_appendn(&c->item, p + from, i - from);
            r = item_done(c, fn, arg, err);
            if (r < 0)
                return r;
        }
    }
    if (in_item(c))
        strbuf_appendn(&c->item, p + from, n - from);
    if (c->item.len > LISTSPLIT_ITEM_MAX)
        return kerr_set(err, -E2BIG, "an item is larger than %d bytes", LISTSPLIT_ITEM_MAX);
    return 0;
}

int listsplit_end(const struct listsplit *c, struct kerr *err)
{
    return c->ended ? 0 : kerr_set(err, -EINVAL, "the answer ends too early");
}
