/* fuzz_tokenfile.c - files of static tokens: what is taken in is found again, a refusal says why.
 */
#include "apiserver/authn/tokenfile.h"
#include "apiserver/authn/user.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(tokenfile_free) struct tokenfile *t = NULL;
    const char *text = (const char *)data;
    struct kerr err = { 0 };

    if (tokenfile_parse("f", text, size, &t, &err) < 0) {
        assert(err.code < 0 && err.text[0] && !t);
        return 0;
    }
    size_t n = 0;
    while (n < size && text[n] != ',')
        n++;
    const struct api_user *u = tokenfile_find(t, (struct str){ text, n });
    if (u)
        assert(user_in_group(u, GROUP_AUTHENTICATED) && u->name && u->uid);
    assert(!tokenfile_find(t, STR("")));
    return 0;
}
