/* checkpoint.c - models as text, and whose turn it is to be saved. */
#include "base/ktime.h"
#include "base/num.h"
#include "koordlet/predict/models_int.h"
#include "json/kj.h"

/* 0: never, or by a clock that has been set back since. */
static nsec_t saved_at(const struct model *model, nsec_t now)
{
    return model->checkpointed > now ? 0 : model->checkpointed;
}

const char *models_next_checkpoint(struct models *m, nsec_t now)
{
    struct model *oldest = NULL;
    nsec_t since = 0;

    map_foreach(&m->by_uid, e) {
        struct model *model = e->value;
        nsec_t at = saved_at(model, now);
        if (!oldest || at < since || (at == since && strcmp(model->uid, oldest->uid) < 0)) {
            oldest = model;
            since = at;
        }
    }
    if (!oldest || (since != 0 && i64_sub_sat(now, since) < m->o.checkpoint_interval))
        return NULL;
    oldest->checkpointed = now;
    return oldest->uid;
}

int models_encode(const struct models *m, const char *uid, nsec_t now, struct strbuf *out,
                  struct kerr *err)
{
    const struct model *model = map_getz(&m->by_uid, uid);
    struct kjw w = kjw_to(out);
    char when[KTIME_TEXT_MAX];

    if (!model)
        return kerr_set(err, -ENOENT, "UID %s not found in predict server", uid);
    ktime_format(now, when);
    kjw_obj(&w, NULL);
    kjw_str(&w, "UID", uid);
    histogram_encode(model->cpu, &w, "CPU");
    histogram_encode(model->memory, &w, "Memory");
    kjw_str(&w, "LastUpdated", when);
    kjw_end(&w);
    strbuf_appendc(out, '\n');
    return 0;
}

int models_decode(struct models *m, const char *uid, const char *text, size_t n, struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    CLEANUP(model_free) struct model *model = model_new(m, uid);

    int r = kj_parse(text, n, 0, &doc, err);
    if (r < 0)
        return kerr_wrap(err, "checkpoint %s", uid);
    const struct kj_val *root = kj_root(doc);
    const char *when = kj_str(kj_get(root, "LastUpdated"));
    if (!when || ktime_parse(when, strlen(when), &model->updated, NULL) < 0)
        return kerr_set(err, -EINVAL, "checkpoint %s: LastUpdated is not a time", uid);
    if (histogram_decode(model->cpu, kj_get(root, "CPU"), NULL) == 0)
        (void)histogram_decode(model->memory, kj_get(root, "Memory"), NULL);
    struct model *old = map_putz(&m->by_uid, model->uid, model);
    model_free(old);
    model = NULL;
    return 0;
}
