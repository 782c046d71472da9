import { expect, test } from 'bun:test';
import { listOf, objectOf, objectsIn } from '../../../plugins/providers/json.ts';
import type { StreamPart } from '../../../src/contract/parts.ts';
import { generateContent } from '../../../src/dialects/google-gemini/surface.ts';
import { RECEIPT } from '../../support/caller-message.ts';

/** Answers as they are written for callers of Gemini's API. */

test('two calls with one ID are both written, also if the provider wrote state for each', () => {
  const call = (index: number, name: string): StreamPart => ({
    type: 'tool-call',
    choice: 0,
    index,
    id: 'same',
    name,
    arguments: '{}',
    extra: { own: { signature: name } },
  });
  const writer = generateContent.json({ decision: 1, created: 1_790_000_000, model: 'm' });
  const text = writer.write([call(0, 'first'), call(1, 'second')]) + writer.end(RECEIPT);
  const [candidate] = objectsIn(objectOf(JSON.parse(text)).candidates);
  const parts = listOf(objectOf(candidate?.content).parts).map(objectOf);
  expect(parts.map(({ functionCall }) => objectOf(functionCall).name)).toEqual(['first', 'second']);
});
