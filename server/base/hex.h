/* Four bytes at a time as hexadecimal digits. Not for use outside base. */
#ifndef QN_BASE_HEX_H
#define QN_BASE_HEX_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

/* Writes 8 small digits for the 4 bytes at `bytes`, computed side by side in one word. */
static inline void qn_hex_of_four(const uint8_t *bytes, char *out)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint32_t packed;
    uint64_t word;

    memcpy(&packed, bytes, sizeof(packed));
    word = le32toh(packed);
    /* Each byte gets 16 bits of its own, then each half of it 8, the high one first. */
    word = (word | word << 16) & UINT64_C(0x0000FFFF0000FFFF);
    word = (word | word << 8) & UINT64_C(0x00FF00FF00FF00FF);
    word = (word >> 4 & UINT64_C(0x000F000F000F000F)) | (word & UINT64_C(0x000F000F000F000F)) << 8;
    /* 1 in each digit above 9. */
    uint64_t letters = (word + ones * 6) >> 4 & ones;
    word = htole64(word + ones * '0' + letters * ('a' - '0' - 10));
    memcpy(out, &word, sizeof(word));
}

#endif
