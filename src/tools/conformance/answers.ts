import fc from 'fast-check';
import type { Frame } from '../../contract/provider.ts';
import { framesIn, type ProviderSubject, typicalAdapter } from './provider-subject.ts';

/** Any sequence of UTF-16 code units, including lone surrogates and NUL. fast-check's own generator needs a second to set up. */
export const anyText = (maxLength: number): fc.Arbitrary<string> =>
  fc
    .array(fc.oneof(fc.integer({ min: 0, max: 0xffff }), fc.integer({ min: 0x20, max: 0x7e })), { maxLength })
    .map((codes) => String.fromCharCode(...codes));

/** Malformed answers. */
export const oddTexts: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    'null',
    '{}',
    '[]',
    '"text"',
    '7',
    '{',
    '[DONE]',
    '<html></html>',
    '{"__proto__":null}',
    '\0',
    '{"error":{}}',
  ),
  anyText(30),
  fc.json({ maxDepth: 3 }),
);

/** Values of the wrong type for a member of an answer. */
const WRONG_VALUES: readonly unknown[] = [null, -1, 0.5, 1e21, '', 'odd', true, [], {}, [null], [{}], { type: 'odd' }];

/** Makes a body in which a single JSON value is replaced or removed. A body that is not JSON is cut instead. */
const corrupt = (text: string): fc.Arbitrary<string> => {
  const spots = countValues(text);
  if (spots === 0) return fc.nat({ max: text.length }).map((at) => text.slice(0, at));
  return fc
    .record({ at: fc.nat({ max: spots - 1 }), stray: fc.constantFrom(...WRONG_VALUES), isGone: fc.boolean() })
    .map(({ at, stray, isGone }) => {
      let seen = 0;
      // Removing an item of a list leaves null in its place.
      return (
        JSON.stringify(JSON.parse(text), (_, value) => (seen++ === at ? (isGone ? undefined : stray) : value)) ?? ''
      );
    });
};

function countValues(text: string): number {
  try {
    let spots = 0;
    JSON.parse(text, (_, value) => {
      spots++;
      return value;
    });
    return spots;
  } catch {
    return 0;
  }
}

/** Malformed bodies, and recorded bodies that are intact or corrupted. */
export function bodies({ samples }: ProviderSubject): fc.Arbitrary<string> {
  const recorded = samples.filter(({ kind }) => kind === 'reply').map(({ text }) => text);
  if (recorded.length === 0) return oddTexts;
  const real = fc.constantFrom(...recorded);
  return fc.oneof(oddTexts, real, real.chain(corrupt), real.chain(corrupt).chain(corrupt));
}

/** The frames of the recorded streams. */
function recordedFrames({ plugin, samples, host }: ProviderSubject): (readonly Frame[])[] {
  const adapter = typicalAdapter(plugin);
  const kind = adapter?.kind === 'wire' ? adapter.frames : 'sse';
  return samples.filter((sample) => sample.kind === 'stream').map(({ text }) => framesIn(host, kind, text));
}

/** Malformed streams, and recorded streams that are intact or have lost, duplicated, reordered or corrupted frames. */
export function frames(subject: ProviderSubject): fc.Arbitrary<readonly Frame[]> {
  const any = fc.array(fc.record({ event: fc.constantFrom('', '', 'message', 'error'), data: oddTexts }), {
    maxLength: 4,
  });
  const recorded = recordedFrames(subject).filter(({ length }) => length > 0);
  if (recorded.length === 0) return any;
  const real = fc.constantFrom(...recorded);
  const single = real.chain((list) => fc.constantFrom(...list));
  const wrong = single.chain(({ event, data }) => corrupt(data).map((text) => ({ event, data: text })));
  const muddled = fc.array(fc.oneof({ weight: 2, arbitrary: single }, wrong), { maxLength: 8 });
  const pierced = fc
    .tuple(real, wrong, fc.nat(), fc.boolean())
    .map(([list, one, at, isMore]) => list.toSpliced(at % list.length, isMore ? 0 : 1, one));
  return fc.oneof(any, real, muddled, pierced);
}
