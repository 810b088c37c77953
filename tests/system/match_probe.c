/* match_probe.c - the matchConditions that koord-manager would write for the cases of a vector
 * file.
 *
 * usage: match_probe mutate|validate < FILE.jsonl
 *
 * Prints one line per case: {"name": ..., "condition": ...}; the condition is empty when there is
 * none. tests/system/test_koord_manager has a real API server evaluate them.
 */
#include <stdio.h>

#include "base/intern.h"
#include "manager/profile/profiles.h"
#include "manager/registration/matchcond.h"
#include "manager/webhook/webhook.h"
#include "json/kj.h"

static unsigned gates_of(const struct kj_val *in)
{
    unsigned gates = webhook_gates_default();

    for (unsigned i = 0; i < WEBHOOK_GATES; i++) {
        const struct kj_val *v = kj_get(kj_get(in, "featureGates"), webhook_gate_names[i]);
        if (v)
            gates = kj_bool(v, false) ? gates | 1u << i : gates & ~(1u << i);
    }
    return gates;
}

static struct profile_set *profiles_of(const struct kj_val *list, struct kj_scratch *scratch)
{
    struct profile_set *set = profile_set_new();

    for (size_t i = 0; i < kj_len(list); i++) {
        CLEANUP(kobj_unref) struct kobj *o = NULL;
        struct kerr err = { 0 };
        if (kobj_decode(&kind_colocation_profile, kj_at(list, i), scratch, &o, &err) < 0)
            fprintf(stderr, "match_probe: %s\n", err.text);
        else
            profile_set_put(set, o);
    }
    return set;
}

static void answer(const struct kj_val *root, bool mutates, struct kj_scratch *scratch)
{
    CLEANUP(strbuf_fini) struct strbuf condition = STRBUF_INIT, line = STRBUF_INIT;
    const struct kj_val *in = kj_get(root, "in");
    struct kjw w = kjw_to(&line);

    if (mutates) {
        struct profile_set *set = profiles_of(kj_get(in, "profiles"), scratch);
        matchcond_mutate_pod(set, gates_of(in), &condition);
        profile_set_free(set);
    } else {
        matchcond_validate_pod(gates_of(in), &condition);
    }
    kjw_obj(&w, NULL);
    kjw_str(&w, "name", kj_str_or(kj_get(root, "name"), ""));
    kjw_str(&w, "condition", strbuf_str(&condition));
    kjw_end(&w);
    puts(line.data);
}

int main(int argc, char **argv)
{
    if (argc != 2 || (!streq(argv[1], "mutate") && !streq(argv[1], "validate"))) {
        fputs("usage: match_probe mutate|validate < FILE.jsonl\n", stderr);
        return 2;
    }
    struct intern *strings = intern_new();
    struct kj_scratch *scratch = kj_scratch_new(strings);
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    int code = 0;

    while ((n = getline(&line, &room, stdin)) > 0) {
        CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
        struct kerr err = { 0 };
        if (kj_parse(line, (size_t)n, 0, &doc, &err) < 0) {
            fprintf(stderr, "match_probe: %s\n", err.text);
            code = 1;
        } else {
            answer(kj_root(doc), streq(argv[1], "mutate"), scratch);
        }
    }
    free(line);
    kj_scratch_free(scratch);
    intern_free(strings);
    return code;
}
