/* share_memo.h - recognising a part of a document that was decoded before.
 *
 * A recording is the part as JSON showed it: keys in order, and the values of the fields that our
 * table knows. A document that shows the same decodes to the same struct, so the shared block can
 * be taken as it is: comparing costs a third of decoding. Internal to api/.
 */
#ifndef KOORD_API_SHARE_MEMO_H
#define KOORD_API_SHARE_MEMO_H
#include "api/share.h"

/* Appends the recording of the part; false when it has something that is not worth recording (a
 * fraction, for instance), then rec is left empty. */
bool memo_record(const struct sharepart *part, const struct kj_val *in, struct strbuf *rec);
/* Does the document show the same? Never true for one that would decode differently. */
bool memo_matches(const struct strbuf *rec, const struct kj_val *in);
#endif
