import fc from 'fast-check';

/** Generates one Unicode code point, for texts. fast-check's own unit `binary` takes most of a second to set up in each process. */
export const anyCodePoint = fc
  .oneof(
    fc.integer({ min: 0x20, max: 0x7e }),
    fc.integer({ min: 0, max: 0xd7ff }),
    fc.integer({ min: 0xe000, max: 0x10ffff }),
  )
  .map((code) => String.fromCodePoint(code));
