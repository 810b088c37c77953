/* validate_overlap.c - node entries that would match the same node (manager 8.4 (d) and (e)).
 *
 * Whether two selectors can match one node is tried out on label sets made from the selectors
 * themselves: all of matchLabels, and of each expression with values one value after the other.
 */
#include "base/vec.h"
#include "manager/sloconfig/validate_int.h"
#include "json/kj.h"

/* Different sets of one selector: expressions with 7, 8 and 9 values have 504. */
enum { SETS_MAX = 4096 };

static size_t gcd(size_t a, size_t b)
{
    while (b) {
        size_t t = a % b;
        a = b;
        b = t;
    }
    return a;
}

/* After this many sets the values repeat. */
static size_t set_count(const struct label_selector *s)
{
    size_t n = 1;

    for (uint32_t i = 0; i < s->match_expressions.n && n < SETS_MAX; i++) {
        size_t values = s->match_expressions.items[i].values.n;
        if (values > 0)
            n = n / gcd(n, values) * values;
    }
    return MIN(n, (size_t)SETS_MAX);
}

static int pair_cmp(const void *a, const void *b)
{
    return strcmp(((const struct kstrpair *)a)->key, ((const struct kstrpair *)b)->key);
}

/* The i-th set of labels; a key that comes twice has the last of its values. */
static kstrmap set_at(const struct label_selector *s, size_t at, struct kstrpair *pairs)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < s->match_labels.n; i++)
        pairs[n++] = s->match_labels.items[i];
    for (uint32_t i = 0; i < s->match_expressions.n; i++) {
        const struct selreq *r = &s->match_expressions.items[i];
        uint32_t k = 0;
        if (r->values.n == 0)
            continue;
        while (k < n && !streq(pairs[k].key, r->key))
            k++;
        pairs[k] = (struct kstrpair){ r->key, r->values.items[at % r->values.n] };
        n = MAX(n, k + 1);
    }
    qsort(pairs, n, sizeof *pairs, pair_cmp);
    return (kstrmap){ pairs, n };
}

static bool entry_matches(const struct slo_node_entry *e, const kstrmap *labels)
{
    return e->labels && labelsel_matches(e->labels, labels);
}

static uint32_t count_matches(const struct slo_section *s, const kstrmap *labels)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < s->nodes.n && n < 2; i++)
        n += entry_matches(&s->nodes.items[i], labels);
    return n;
}

static const char *conflict(const char *reason, enum slo_key key, const struct slo_section *s,
                            const kstrmap *labels, const char *node, struct arena *a)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct kjw w = kjw_to(&out);

    strbuf_appendf(&out, "___{\"reason\":\"%s\",\"message\":", reason);
    kjw_obj(&w, NULL);
    kjw_str(&w, "config", slo_keys[key].key);
    kjw_arr(&w, "strategies");
    for (uint32_t i = 0; i < s->nodes.n; i++)
        if (entry_matches(&s->nodes.items[i], labels))
            kjw_str(&w, NULL, s->nodes.items[i].name);
    kjw_end(&w);
    if (node) {
        kjw_arr(&w, "exampleNodes");
        kjw_str(&w, NULL, node);
        kjw_end(&w);
    }
    kjw_end(&w);
    strbuf_append(&out, "}___");
    return arena_strndup(a, out.data, out.len);
}

const char *slo_check_overlap(enum slo_key key, const struct slo_section *s, struct arena *a)
{
    struct vec_of(struct kstrpair) pairs = { 0 };
    const char *bad = NULL;

    for (uint32_t i = 0; !bad && i < s->nodes.n; i++) {
        const struct label_selector *sel = s->nodes.items[i].selector;
        if (!sel)
            continue;
        vec_reserve(&pairs, sel->match_labels.n + sel->match_expressions.n + 1);
        for (size_t at = 0, n = set_count(sel); !bad && at < n; at++) {
            kstrmap labels = set_at(sel, at, pairs.items);
            if (count_matches(s, &labels) > 1)
                bad = conflict("NodeStrategiesOverlap", key, s, &labels, NULL, a);
        }
    }
    vec_fini(&pairs);
    return bad;
}

const char *slo_check_node(enum slo_key key, const struct slo_section *s,
                           const struct slo_node *node, struct arena *a)
{
    if (count_matches(s, node->labels) < 2)
        return NULL;
    return conflict("ExistNodeConfict", key, s, node->labels, node->name, a);
}
