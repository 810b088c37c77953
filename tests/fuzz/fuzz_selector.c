/* fuzz_selector.c - selectors: text of labels and of fields.
 *
 * What we print we read back, printed again it is the same, and both forms match the same labels.
 * A refusal always says why.
 */
#include "api/selector/selector.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Some labels, made of the input itself so that selectors can hit them. */
static void make_labels(const char *text, size_t n, struct arena *a, kstrmap *ret)
{
    struct kstrpair *p = arena_newn0(a, 3, struct kstrpair);
    size_t eq = 0, end;

    while (eq < n && text[eq] != '=' && text[eq] != ' ' && text[eq] != ',')
        eq++;
    end = MIN(eq + 1, n);
    while (end < n && text[end] != ',' && text[end] != ')')
        end++;
    p[0] = (struct kstrpair){ "app", "web" };
    p[1] = (struct kstrpair){ "n", "5" };
    p[2].key = arena_strndup(a, text, eq);
    p[2].value = eq + 1 < end ? arena_strndup(a, text + eq + 1, end - eq - 1) : "";
    ret->items = strcmp(p[2].key, "n") > 0 ? p : p + 2; /* keep the order of keys */
    ret->n = strcmp(p[2].key, "n") > 0 ? 3 : 1;
}

static void check_labels(const char *text, size_t n, struct arena *a)
{
    CLEANUP(strbuf_fini) struct strbuf first = STRBUF_INIT, second = STRBUF_INIT;
    struct labelsel *s, *again;
    struct kerr err = { 0 };
    kstrmap labels, none = { 0 };

    if (labelsel_parse(text, n, a, &s, &err) < 0) {
        assert(err.code < 0 && err.text[0] != '\0');
        return;
    }
    labelsel_format(s, &first);
    assert(labelsel_parse(strbuf_str(&first), first.len, a, &again, &err) == 0);
    labelsel_format(again, &second);
    assert(streq(strbuf_str(&first), strbuf_str(&second)));
    make_labels(text, n, a, &labels);
    assert(labelsel_matches(s, &labels) == labelsel_matches(again, &labels));
    assert(labelsel_matches(s, &none) == labelsel_matches(again, &none));
    assert(labelsel_is_everything(s) == (first.len == 0));
    if (labelsel_is_everything(s))
        assert(labelsel_matches(s, &labels));
    /* One more requirement never matches more. */
    if (!labelsel_matches(s, &labels))
        assert(!labelsel_matches(labelsel_and(s, "app", "web", a), &labels));
}

static const char *field_of(const void *obj, const char *field)
{
    (void)obj;
    return streq(field, "spec.nodeName") ? "n1" : NULL;
}

static void check_fields(const char *text, size_t n, struct arena *a)
{
    CLEANUP(strbuf_fini) struct strbuf first = STRBUF_INIT, second = STRBUF_INIT;
    struct fieldsel *s, *again;
    struct kerr err = { 0 };

    if (fieldsel_parse(text, n, a, &s, &err) < 0) {
        assert(err.code < 0 && err.text[0] != '\0');
        return;
    }
    fieldsel_format(s, &first);
    assert(fieldsel_parse(strbuf_str(&first), first.len, a, &again, &err) == 0);
    fieldsel_format(again, &second);
    assert(first.len == second.len); /* only the order of equal fields may change */
    assert(fieldsel_matches(s, field_of, NULL) == fieldsel_matches(again, field_of, NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(arena_free) struct arena *a = arena_new();

    if (size > 4096)
        return 0;
    check_labels((const char *)data, size, a);
    check_fields((const char *)data, size, a);
    return 0;
}
