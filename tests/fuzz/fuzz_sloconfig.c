/* fuzz_sloconfig.c - texts of the ConfigMap slo-controller-config. The first byte picks the key,
 * the rest is its text.
 *
 * Whatever comes, every key has a strategy for a node; a text that is refused changes nothing; the
 * same text once more is no change; the webhook either accepts the ConfigMap or says why not.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "manager/sloconfig/sloconfig.h"
#include "manager/sloconfig/validate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
    if (!ok)
        abort();
}

static bool node_at(void *arg, size_t i, struct slo_node *ret)
{
    *ret = (struct slo_node){ "n", arg };
    return i == 0;
}

static void validate(const kstrmap *map, const kstrmap *labels, struct arena *a)
{
    const struct slo_change c = {
        .ns = SLO_CONFIG_NAMESPACE,
        .name = SLO_CONFIG_NAME,
        .data = map,
        .names_required = true,
        .node_at = node_at,
        .node_arg = (void *)(uintptr_t)labels,
    };
    const char *refusal = sloconfig_validate(&c, a);

    check(!refusal || *refusal);
    refusal = sloconfig_validate_node(map, &(struct slo_node){ "n", labels }, a);
    check(!refusal || *refusal);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct kstrpair label = { "a", "b" };
    static const kstrmap labels = { &label, 1 };

    if (size == 0)
        return 0;
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(sloconfig_free) struct sloconfig *c = sloconfig_new();
    enum slo_key key = data[0] % SLO_KEYS;
    struct kstrpair pair = { slo_keys[key].key,
                             arena_strndup(a, (const char *)data + 1, size - 1) };
    const kstrmap map = { &pair, 1 };
    struct slo_sync first, again;

    sloconfig_sync(c, &map, &first);
    sloconfig_sync(c, &map, &again);
    check(first.bad[key].code >= 0 || !(first.changed >> key & 1));
    check(again.changed == 0 && again.bad[key].code == first.bad[key].code);
    for (enum slo_key k = 0; k < SLO_KEYS; k++)
        check(slo_section_of(sloconfig_get(c, k), &labels) != NULL);
    validate(&map, &labels, a);
    return 0;
}
