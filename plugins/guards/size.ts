import { defineGuard, Type } from 'signalbox/plugin';

/** Finds requests and answers with too much text. */
export const size = defineGuard({
  name: 'size',
  status: 'alpha',
  settings: Type.Object(
    {
      characters: Type.Integer({
        minimum: 1,
        maximum: 1_000_000_000,
        examples: [200_000],
        description: 'The most characters that all texts may have together: messages, tools and all other members.',
      }),
    },
    { additionalProperties: false },
  ),
  pure: true,
  window: 'all',
  locates: false,
  sides: ['input', 'output'],
  prepare: ({ characters }) => ({
    kinds: ['too-long'],
    // It reads no text, only its length.
    longest: Number.MAX_SAFE_INTEGER,
    check: ({ texts }) =>
      texts.reduce((sum, { text }) => sum + text.length, 0) > characters ? [{ kind: 'too-long' }] : [],
  }),
});
