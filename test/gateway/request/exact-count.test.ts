import { expect, test } from 'bun:test';
import { TOKEN_BYTES_MAX } from '../../../src/core/request/tokenizer.ts';
import { utf8Bytes } from '../../../src/core/request/tokens.ts';
import { decisiveTokenizers } from '../../../src/gateway/request/exact-count.ts';
import { facts, model, refusalOf, snapshot } from '../../routing/build.ts';

const WINDOW = 1_000;
const policy = snapshot([
  model('small', { tokenizer: 'o200k_base', contextWindow: WINDOW }),
  model('large', { tokenizer: 'cl100k_base', contextWindow: 4 * WINDOW }),
]);

/** Returns the tokenizers that would count a text whose estimate exceeds both windows. */
function counting(text: string) {
  const refusal = refusalOf(policy, facts({ inputTokens: 10 * WINDOW, inputTokensMax: utf8Bytes(text) }));
  return decisiveTokenizers(refusal, false, policy, [text]).toSorted();
}

test('a prompt is not counted for a model whose window it would exceed even with the longest tokens', () => {
  expect(counting('x'.repeat(WINDOW * TOKEN_BYTES_MAX))).toEqual(['cl100k_base', 'o200k_base']);
  expect(counting('x'.repeat(WINDOW * TOKEN_BYTES_MAX + 1))).toEqual(['cl100k_base']);
  // The limit is in bytes, not in characters.
  expect(counting('é'.repeat(2 * WINDOW * TOKEN_BYTES_MAX + 1))).toEqual([]);
});
