import fc from 'fast-check';

/** Any UTF-16 code units, with lone surrogates and NUL. fast-check's own arbitrary takes a second to set up. */
export const anyText = (maxLength: number): fc.Arbitrary<string> =>
  fc
    .array(fc.oneof(fc.integer({ min: 0, max: 0xffff }), fc.integer({ min: 0x20, max: 0x7e })), { maxLength })
    .map((codes) => String.fromCharCode(...codes));
