/* memo.h - recognising a part of a document that was decoded before.
 *
 * A recording is the part as JSON showed it: keys in order, and the values of the fields that the
 * table knows. A document that shows the same decodes to the same struct, so what was decoded
 * before can be taken as it is: comparing costs a fraction of decoding.
 */
#ifndef KOORD_JSON_MEMO_H
#define KOORD_JSON_MEMO_H
#include "json/kj.h"
#include "json/schema.h"

/* Is this item of a list without influence on the result? It may look at keys and nulls only. */
typedef bool (*kj_memo_drops_fn)(const struct kfield *f, const struct kj_val *item);
/* Appends the recording; false when the document has something that is not worth recording (a
 * fraction, for instance), then rec is left empty. drops may be NULL. */
bool kj_memo_record(const struct kschema *s, kj_memo_drops_fn drops, const struct kj_val *in,
                    struct strbuf *rec);
/* Does the document show the same? Never true for one that would decode differently. */
bool kj_memo_matches(const struct strbuf *rec, const struct kj_val *in);
#endif
