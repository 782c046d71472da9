import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { StreamPart } from '../../src/contract/parts.ts';
import { StopSearch } from '../../src/core/stop-search.ts';
import { StopCut } from '../../src/exchange/stop-cut.ts';
import { tries } from '../deep/effort.ts';

/** Few letters, so that stops overlap, begin within each other and occur. */
const stopsOf = fc.uniqueArray(fc.string({ unit: fc.constantFrom('a', 'b', '😀', '\n'), minLength: 1, maxLength: 4 }), {
  minLength: 1,
  maxLength: 4,
});
const pieces = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', 'c', '😀', '\n'), maxLength: 5 }), {
  maxLength: 12,
});

const finish: StreamPart = { type: 'finish', choice: 0, reason: 'stop', raw: 'end_turn' };
const textPart = (text: string): StreamPart => ({ type: 'text', choice: 0, text });
const textIn = (parts: readonly StreamPart[]): string =>
  parts.map((part) => (part.type === 'text' ? part.text : '')).join('');

/** A service that knows stops, in the plainest way. */
function served(text: string, stops: readonly string[]): { readonly text: string; readonly stop: string | undefined } {
  for (let end = 1; end <= text.length; end++) {
    const [stop] = stops.filter((one) => text.slice(0, end).endsWith(one)).sort((a, b) => b.length - a.length);
    if (stop !== undefined) return { text: text.slice(0, end - stop.length), stop };
  }
  return { text, stop: undefined };
}

type Cutter = Pick<StopCut, 'read' | 'isOver'>;

/** Whether a caller sees the same as of a service that knows stops, however its text is split. */
function holds(cutter: (stops: readonly string[]) => Cutter, params: ReturnType<typeof tries>): boolean {
  const law = fc.property(stopsOf, pieces, (stops, texts) => {
    const cut = cutter(stops);
    const seen = [...texts.map(textPart), finish].flatMap((part) => cut.read([part]));
    const expected = served(texts.join(''), stops);
    const end = seen.at(-1);
    return (
      textIn(seen) === expected.text &&
      end?.type === 'finish' &&
      end.stop === expected.stop &&
      seen.filter(({ type }) => type === 'finish').length === 1 &&
      cut.isOver === (expected.stop !== undefined)
    );
  });
  return !fc.check(law, params).failed;
}

describe('an answer that the gateway cuts', () => {
  const params = tries('an answer cut at its stops is what a service that knows stops would have sent', 500, 100_000);

  test('is, for every text, split and set of stops, what a service that knows stops would have sent', () => {
    expect(holds((stops) => new StopCut(stops, 1), params)).toBe(true);
  });

  test.each<[string, (stops: readonly string[]) => Cutter]>([
    [
      'which looks within one piece alone',
      (stops) => ({ ...new StopCut(stops, 1), isOver: false, read: (parts) => new StopCut(stops, 1).read(parts) }),
    ],
    ['which prefers the stop that is listed first', (stops) => new StopCut(stops.slice(0, 1), 1)],
    ['which sends the stop itself', (stops) => withStop(new StopCut(stops, 1))],
  ])('is not that of a mutant %s', (_, mutant) => {
    expect(holds(mutant, params)).toBe(false);
  });

  test('holds back only text that may still become a stop', () => {
    const law = fc.property(stopsOf, pieces, (stops, texts) => {
      const cut = new StopCut(stops, 1);
      let [sent, seen] = ['', ''];
      for (const text of texts) {
        sent += text;
        seen += textIn(cut.read([textPart(text)]));
        if (cut.isOver) return;
        const begun = stops.flatMap((stop) => stop.split('').map((_, at) => stop.slice(0, at)));
        const longest = Math.max(0, ...begun.filter((start) => sent.endsWith(start)).map(({ length }) => length));
        expect(sent.length - seen.length).toBeLessThanOrEqual(longest);
        expect(sent.startsWith(seen)).toBe(true);
      }
    });
    fc.assert(law, params);
  });
});

function withStop(cut: StopCut): Cutter {
  return {
    get isOver() {
      return cut.isOver;
    },
    read: (parts) =>
      cut.read(parts).flatMap((part) => (part.type === 'finish' && part.stop ? [textPart(part.stop), part] : [part])),
  };
}

test('a search follows its text in time that grows with the text, for the stops that are worst', () => {
  const stops = Array.from({ length: 16 }, (_, at) => `${'a'.repeat(240 + at)}b`);
  const steps = (length: number) => {
    const search = new StopSearch(stops);
    const began = performance.now();
    for (let at = 0; at < length; at++) search.find('a');
    return performance.now() - began;
  };
  steps(100_000);
  const ratios = Array.from({ length: 10 }, () => steps(800_000) / steps(100_000));
  expect(Math.min(...ratios)).toBeLessThan(20);
});

test('each choice is cut for itself, and what follows in it is not sent', () => {
  const cut = new StopCut(['END'], 2);
  const seen = cut.read([
    { type: 'text', choice: 0, text: 'one EN' },
    { type: 'text', choice: 1, text: 'two' },
    { type: 'text', choice: 0, text: 'D more' },
    { type: 'tool-call', choice: 0, index: 0, id: 'a', name: 'f', arguments: '{}' },
    { type: 'reasoning', choice: 1, text: 'END' },
    finish,
  ]);
  expect(seen).toEqual([
    { type: 'text', choice: 0, text: 'one ' },
    { type: 'text', choice: 1, text: 'two' },
    { type: 'finish', choice: 0, reason: 'stop', raw: 'stop', stop: 'END' },
    { type: 'reasoning', choice: 1, text: 'END' },
  ]);
  expect(cut.isOver).toBe(false);
  cut.read([{ ...finish, choice: 1 }]);
  expect(cut.isOver).toBe(true);
});

test('probabilities of tokens are sent with their text, and not beyond it', () => {
  const cut = new StopCut(['END'], 1);
  const tokens = (...texts: string[]): StreamPart => {
    const content = texts.map((token) => ({ token, logprob: -1 }));
    return { type: 'logprobs', choice: 0, content, refusal: [] };
  };
  expect(cut.read([textPart('a E'), tokens('a', ' E')])).toEqual([textPart('a '), tokens('a')]);
  expect(cut.read([textPart('x'), tokens('x')])).toEqual([textPart('Ex'), tokens(' E', 'x')]);
  expect(cut.read([tokens('…')])).toEqual([]);
  expect(cut.read([textPart('…')])).toEqual([textPart('…'), tokens('…')]);
  const seen = cut.read([textPart('yEND'), tokens('y', 'END')]);
  expect(seen).toEqual([textPart('y'), tokens('y'), { ...finish, raw: 'stop', stop: 'END' }]);
});

test('text before a tool call waits for no stop', () => {
  const cut = new StopCut(['END'], 1);
  const call: StreamPart = { type: 'tool-call', choice: 0, index: 0, id: 'a', name: 'f', arguments: '{"x":"END"}' };
  expect(cut.read([textPart('go EN'), call])).toEqual([textPart('go '), textPart('EN'), call]);
});
