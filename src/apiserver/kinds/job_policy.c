/* job_policy.c - what a job does about failed pods and finished indexes. */
#include "apiserver/kinds/internal.h"

enum {
    INDEXES_MANY = 100000,
    FAILED_FEW = 10000,
    RULES_MAX = 20,
    MANAGER_MAX = 63,
    INDEXES_TEXT_MAX = 64 << 10
};

/* ---- failures -----------------------------------------------------------------------------------
 */

static bool has_container(const struct kj_val *pod, const char *name)
{
    static const char *const lists[] = { "containers", "initContainers" };

    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        struct kj_iter it = kj_iter(kj_get(pod, lists[i]));
        const struct kj_val *v;
        while (kj_next(&it, NULL, &v))
            if (streq(v_str(v, "name"), name))
                return true;
    }
    return false;
}

static void check_codes(struct check *c, const char *path, const struct kj_val *values, bool in)
{
    struct kj_iter it = kj_iter(values);
    const struct kj_val *v;
    int64_t last = INT64_MIN;
    bool ordered = true;

    if (kj_len(values) == 0)
        field_error(c->errors, FIELD_INVALID, path, as_json(c, values),
                    "at least one value is required");
    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        int64_t code = kj_i64_or(v, 0);
        const char *p = at(c, "%s[%zu]", path, i);
        if (in && code == 0)
            err_invalid_i64(c, p, code, "must not be 0 for the In operator");
        if (i && code == last)
            field_error(c->errors, FIELD_DUPLICATE, p, as_json(c, v), NULL);
        ordered &= code >= last;
        last = code;
    }
    if (!ordered)
        field_error(c->errors, FIELD_INVALID, path, as_json(c, values), "must be ordered");
}

static void check_exit_codes(struct check *c, const char *path, const struct kj_val *v,
                             const struct kj_val *pod)
{
    static const char *const operators[] = { "In", "NotIn", NULL };
    const char *op = v_str(v, "operator"), *container = v_str(v, "containerName");

    if (!*op)
        err_required(c, at(c, "%s.operator", path), "valid values: [\"In\" \"NotIn\"]");
    else
        check_enum(c, at(c, "%s.operator", path), op, operators, false);
    if (*container && !has_container(pod, container))
        err_invalid(c, at(c, "%s.containerName", path), container,
                    "must be one of the container or initContainer names in the pod template");
    check_codes(c, at(c, "%s.values", path), kj_get(v, "values"), streq(op, "In"));
}

static void check_conditions(struct check *c, const char *path, const struct kj_val *list)
{
    static const char *const statuses[] = { "False", "True", "Unknown", NULL };
    struct kj_iter it = kj_iter(list);
    const struct kj_val *v;

    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        check_qualified(c, at(c, "%s[%zu].type", path, i), v_str(v, "type"));
        check_enum(c, at(c, "%s[%zu].status", path, i), v_str(v, "status"), statuses, true);
    }
}

static void check_rule(struct check *c, const char *path, const struct kj_val *rule,
                       const struct kj_val *spec)
{
    static const char *const actions[] = { "Count", "FailIndex", "FailJob", "Ignore", NULL };
    const char *action = v_str(rule, "action");
    bool codes = v_has(rule, "onExitCodes"),
         conditions = kj_len(kj_get(rule, "onPodConditions")) > 0;

    if (!*action)
        err_required(c, at(c, "%s.action", path),
                     "valid values: [\"Count\" \"FailIndex\" \"FailJob\" \"Ignore\"]");
    else if (check_enum(c, at(c, "%s.action", path), action, actions, false) &&
             streq(action, "FailIndex") && !v_has(spec, "backoffLimitPerIndex"))
        err_invalid(c, at(c, "%s.action", path), action,
                    "requires the backoffLimitPerIndex to be set");
    if (codes)
        check_exit_codes(c, at(c, "%s.onExitCodes", path), kj_get(rule, "onExitCodes"),
                         kj_path(spec, "template.spec"));
    if (conditions)
        check_conditions(c, at(c, "%s.onPodConditions", path), kj_get(rule, "onPodConditions"));
    if (codes == conditions)
        field_error(c->errors, FIELD_INVALID, path, NULL, "specifying %s",
                    codes ? "both OnExitCodes and OnPodConditions is not supported"
                          : "one of OnExitCodes and OnPodConditions is required");
}

static void check_failure_policy(struct check *c, const char *path, const struct kj_val *spec)
{
    const struct kj_val *rules = kj_path(spec, "podFailurePolicy.rules"), *v;
    const char *restart = kj_str_or(kj_path(spec, "template.spec.restartPolicy"), "");
    const char *replace = v_str(spec, "podReplacementPolicy");
    static const char *const only_failed[] = { "Failed", NULL };
    struct kj_iter it = kj_iter(rules);

    if (streq(restart, "OnFailure"))
        err_invalid(c, at(c, "%s.template.spec.restartPolicy", path), restart,
                    "only \"Never\" is supported when podFailurePolicy is specified");
    if (streq(replace, "TerminatingOrFailed"))
        err_unsupported(c, at(c, "%s.podReplacementPolicy", path), replace, only_failed);
    if (kj_len(rules) > RULES_MAX)
        field_error(c->errors, FIELD_TOO_MANY, at(c, "%s.podFailurePolicy.rules", path), NULL,
                    "%zu: must have at most %d items", kj_len(rules), RULES_MAX);
    for (size_t i = 0; kj_next(&it, NULL, &v); i++)
        check_rule(c, at(c, "%s.podFailurePolicy.rules[%zu]", path, i), v, spec);
}

/* ---- success ------------------------------------------------------------------------------------
 */

/* "12" within the completions; false: said so in why. */
static bool parse_index(struct check *c, struct str s, int64_t completions, int64_t *ret,
                        const char **why)
{
    const char *text = arena_strndup(c->a, s.p, s.n);
    char *end;

    errno = 0;
    *ret = strtoll(text, &end, 10);
    if (!s.n || *end || end == text || strchr(" \t\n\v\f\r", *text)) {
        *why =
            arena_printf(c->a, "cannot convert string to integer for index: %s", quoted(c, text));
        return false;
    }
    if (errno || *ret >= completions) {
        *why = arena_printf(c->a, "too large index: %s", quoted(c, text));
        return false;
    }
    return true;
}

static bool parse_interval(struct check *c, struct str s, int64_t completions, int64_t ret[2],
                           const char **why)
{
    const char *dash = memchr(s.p, '-', s.n);
    struct str from = { s.p, dash ? (size_t)(dash - s.p) : s.n };
    struct str to = dash ? (struct str){ dash + 1, s.n - from.n - 1 } : from;

    if (dash && memchr(to.p, '-', to.n)) {
        *why = arena_printf(
            c->a,
            "the fragment %s violates the requirement that an index interval can have at "
            "most two parts separated by '-'",
            quoted(c, arena_strndup(c->a, s.p, s.n)));
        return false;
    }
    if (!parse_index(c, from, completions, &ret[0], why) ||
        !parse_index(c, to, completions, &ret[1], why))
        return false;
    if (dash && ret[0] >= ret[1]) {
        *why = at(c, "non-increasing order, previous: %lld, current: %lld", (long long)ret[0],
                  (long long)ret[1]);
        return false;
    }
    return true;
}

/* "1,3-5,7": how many these are; -1: said so in why. */
static int64_t count_indexes(struct check *c, const char *text, int64_t completions,
                             const char **why)
{
    int64_t total = 0, last = -1, x[2];

    if (!*text)
        return 0;
    for (const char *p = text; p;) {
        const char *comma = strchr(p, ',');
        struct str s = { p, comma ? (size_t)(comma - p) : strlen(p) };
        if (!parse_interval(c, s, completions, x, why))
            return -1;
        if (last >= x[0] && p != text) {
            *why = at(c, "non-increasing order, previous: %lld, current: %lld", (long long)last,
                      (long long)x[0]);
            return -1;
        }
        total += x[1] - x[0] + 1;
        last = x[1];
        p = comma ? comma + 1 : NULL;
    }
    return total;
}

static void check_count(struct check *c, const char *path, const struct kj_val *v, int64_t most,
                        const char *what)
{
    int64_t count;

    if (kj_i64(v, &count) == 0 && count > most)
        err_invalid_i64(
            c, path, count,
            at(c, "must be less than or equal to %lld (the number of %s)", (long long)most, what));
}

static void check_success_rule(struct check *c, const char *p, const struct kj_val *v,
                               int64_t completions)
{
    const struct kj_val *count = kj_get(v, "succeededCount");
    const char *indexes = v_str(v, "succeededIndexes"), *why = NULL;
    const char *at_indexes = at(c, "%s.succeededIndexes", p);
    int64_t n = 0;

    if (!v_has(v, "succeededCount") && !v_has(v, "succeededIndexes"))
        err_required(c, p, "at least one of succeededCount or succeededIndexes must be specified");
    if (v_has(v, "succeededIndexes")) {
        if (strlen(indexes) > INDEXES_TEXT_MAX)
            field_error(c->errors, FIELD_TOO_LONG, at_indexes, NULL,
                        "may not be more than %d bytes", INDEXES_TEXT_MAX);
        n = count_indexes(c, indexes, completions, &why);
        if (n < 0)
            err_invalid(c, at_indexes, indexes,
                        arena_printf(c->a, "error parsing succeededIndexes: %s", why));
    }
    check_not_negative(c, at(c, "%s.succeededCount", p), count);
    check_count(c, at(c, "%s.succeededCount", p), count, completions, "specified completions");
    if (v_has(v, "succeededIndexes"))
        check_count(c, at(c, "%s.succeededCount", p), count, MAX(n, (int64_t)0),
                    "indexes in the specified succeededIndexes field");
}

static void check_success_policy(struct check *c, const char *path, const struct kj_val *spec)
{
    const struct kj_val *rules = kj_path(spec, "successPolicy.rules"), *v;
    int64_t completions = kj_i64_or(kj_get(spec, "completions"), 0);
    struct kj_iter it = kj_iter(rules);

    if (!streq(v_str(spec, "completionMode"), "Indexed")) {
        field_error(c->errors, FIELD_INVALID, at(c, "%s.successPolicy", path),
                    as_json(c, kj_get(spec, "successPolicy")), "requires indexed completion mode");
        return;
    }
    if (kj_len(rules) == 0)
        err_required(c, at(c, "%s.successPolicy.rules", path),
                     "at least one rules must be specified when the successPolicy is specified");
    if (kj_len(rules) > RULES_MAX)
        field_error(c->errors, FIELD_TOO_MANY, at(c, "%s.successPolicy.rules", path), NULL,
                    "%zu: must have at most %d items", kj_len(rules), RULES_MAX);
    for (size_t i = 0; kj_next(&it, NULL, &v); i++)
        check_success_rule(c, at(c, "%s.successPolicy.rules[%zu]", path, i), v, completions);
}

/* ---- indexes ------------------------------------------------------------------------------------
 */

static void check_limit(struct check *c, const char *path, const struct kj_val *v, int64_t most,
                        const char *when)
{
    if (kj_i64_or(v, 0) > most)
        err_invalid_i64(c, path, kj_i64_or(v, 0),
                        at(c, "must be less than or equal to %lld%s", (long long)most, when));
}

/* An index that fails by itself is kept by number. */
static void check_many_indexes(struct check *c, const char *path, const struct kj_val *spec)
{
    static const char when[] =
        " when completions are above 100000 and used with backoff limit per index";

    if (!v_has(spec, "maxFailedIndexes"))
        err_required(c, at(c, "%s.maxFailedIndexes", path),
                     "must be specified when completions is above 100000");
    check_limit(c, at(c, "%s.parallelism", path), kj_get(spec, "parallelism"), FAILED_FEW, when);
    check_limit(c, at(c, "%s.maxFailedIndexes", path), kj_get(spec, "maxFailedIndexes"), FAILED_FEW,
                when);
}

static void check_indexes(struct check *c, const char *path, const struct kj_val *spec)
{
    static const char *const need_index[] = { "backoffLimitPerIndex", "maxFailedIndexes" };
    const char *mode = v_str(spec, "completionMode");
    const char *failed = at(c, "%s.maxFailedIndexes", path);
    int64_t completions, n;

    if (v_has(spec, "maxFailedIndexes") && !v_has(spec, "backoffLimitPerIndex"))
        err_required(c, at(c, "%s.backoffLimitPerIndex", path),
                     "when maxFailedIndexes is specified");
    for (size_t i = 0; (!*mode || streq(mode, "NonIndexed")) && i < ARRAY_LEN(need_index); i++)
        if (kj_i64(kj_get(spec, need_index[i]), &n) == 0)
            err_invalid_i64(c, at(c, "%s.%s", path, need_index[i]), n,
                            "requires indexed completion mode");
    if (!streq(mode, "Indexed"))
        return;
    bool counted = kj_i64(kj_get(spec, "completions"), &completions) == 0;
    check_limit(c, at(c, "%s.parallelism", path), kj_get(spec, "parallelism"), INDEXES_MANY,
                " when completion mode is Indexed");
    if (counted && kj_i64(kj_get(spec, "maxFailedIndexes"), &n) == 0 && n > completions)
        err_invalid_i64(c, failed, n, "must be less than or equal to completions");
    check_limit(c, failed, kj_get(spec, "maxFailedIndexes"), INDEXES_MANY, "");
    if (counted && completions > INDEXES_MANY && v_has(spec, "backoffLimitPerIndex"))
        check_many_indexes(c, path, spec);
}

static void check_manager(struct check *c, const char *path, const char *manager)
{
    const char *slash = strchr(manager, '/');

    if (!*manager)
        err_required(c, path, "");
    else if (!slash || slash == manager || !slash[1])
        err_invalid(c, path, manager, "must be a domain-prefixed path (such as \"acme.io/foo\")");
    if (strlen(manager) > MANAGER_MAX)
        field_error(c->errors, FIELD_TOO_LONG, path, NULL, "may not be more than %d bytes",
                    MANAGER_MAX);
}

void check_job_policy(struct check *c, const char *path, const struct kj_val *spec)
{
    check_indexes(c, path, spec);
    if (v_has(spec, "podFailurePolicy"))
        check_failure_policy(c, path, spec);
    if (v_has(spec, "successPolicy"))
        check_success_policy(c, path, spec);
    if (v_has(spec, "managedBy"))
        check_manager(c, at(c, "%s.managedBy", path), v_str(spec, "managedBy"));
}
