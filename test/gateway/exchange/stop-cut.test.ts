import { heapStats } from 'bun:jsc';
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { StreamPart } from '../../../src/contract/parts.ts';
import { NO_STOP_BEGUN, STOP_CHARS_MAX, STOPS_MAX, StopSearch } from '../../../src/core/request/stop-search.ts';
import { StopCut } from '../../../src/gateway/exchange/stop-cut.ts';
import { tries } from '../../deep/effort.ts';
import { leastOf } from '../../support/in-time.ts';

/** Few letters are used, so that stop sequences overlap, begin within each other and occur often. */
const stopsOf = fc.uniqueArray(fc.string({ unit: fc.constantFrom('a', 'b', '😀', '\n'), minLength: 1, maxLength: 4 }), {
  minLength: 1,
  maxLength: 4,
});
const texts = fc.string({ unit: fc.constantFrom('a', 'b', 'c', '😀', '\n'), maxLength: 5 });
const pieces = fc.array(texts, { maxLength: 12 });

const finish = { type: 'finish', choice: 0, reason: 'stop', raw: 'end_turn' } as const;
const call: StreamPart = { type: 'tool-call', choice: 0, index: 0, arguments: 'ab' };
const thought: StreamPart = { type: 'reasoning', choice: 0, text: 'ab' };
const state: StreamPart = { type: 'state', choice: 0, details: [] };
const textPart = (text: string): StreamPart => ({ type: 'text', choice: 0, text });
const textIn = (parts: readonly StreamPart[]): string =>
  parts.map((part) => (part.type === 'text' ? part.text : '')).join('');

/** Texts with tool calls, thoughts and states between them, which are not text. */
const contents = fc.array(
  fc.oneof({ weight: 8, arbitrary: texts.map(textPart) }, fc.constantFrom(call, thought, state)),
  { maxLength: 14 },
);

type Pick = (text: string, stops: readonly string[]) => string | undefined;

/** Returns the longest stop sequence that the text ends with. */
const longest: Pick = (text, stops) => stops.filter((one) => text.endsWith(one)).sort((a, b) => b.length - a.length)[0];

/** Simulates a provider that supports stop sequences, in the simplest way. After a tool call or a thought, a new text begins. */
function served(parts: readonly StreamPart[], stops: readonly string[], pick = longest, restarts = true): StreamPart[] {
  const seen: StreamPart[] = [];
  let text = '';
  for (const part of parts) {
    if (restarts && part.type !== 'text' && part.type !== 'state') text = '';
    if (part.type !== 'text') seen.push(part);
    else {
      for (const unit of part.text.split('')) {
        text += unit;
        seen.push(textPart(unit));
        const stop = pick(text, stops);
        if (stop === undefined) continue;
        for (let left = stop.length; left > 0; left--) {
          const at = seen.findLastIndex(({ type }) => type === 'text');
          if (at >= 0) seen.splice(at, 1);
        }
        return [...seen, { ...finish, stop }];
      }
    }
  }
  return seen;
}

/** Returns what a reader gets from parts: adjacent texts are joined, and states are ignored. */
function shapeOf(parts: readonly StreamPart[]): string[] {
  const shape: string[] = [];
  for (const part of parts) {
    if (part.type === 'text')
      shape.push(shape.at(-1)?.startsWith('text:') ? `${shape.pop()}${part.text}` : `text:${part.text}`);
    else if (part.type === 'finish') shape.push(`end:${part.stop}`);
    else if (part.type !== 'state') shape.push(part.type);
  }
  return shape.filter((one) => one !== 'text:');
}

type Cutter = { readonly isOver: boolean; read(parts: readonly StreamPart[]): readonly StreamPart[] };

/** Cuts the whole answer when it has ended. */
function late(cutOff: (parts: readonly StreamPart[]) => StreamPart[]): Cutter {
  const all: StreamPart[] = [];
  let isOver = false;
  return {
    get isOver() {
      return isOver;
    },
    read(parts) {
      all.push(...parts);
      if (parts.every(({ type }) => type !== 'finish')) return [];
      const seen = cutOff(all);
      isOver = seen.some((part) => part.type === 'finish' && part.stop !== undefined);
      return seen;
    },
  };
}

/** Wraps the function that reads from a cutter. */
const wrapped = (cut: Cutter, read: Cutter['read']): Cutter => ({
  get isOver() {
    return cut.isOver;
  },
  read,
});

/** Whether a caller gets the same answer as from a provider that supports stop sequences, however the text is split. */
function holds(cutter: (stops: readonly string[]) => Cutter, params: ReturnType<typeof tries>): boolean {
  const law = fc.property(stopsOf, contents, (stops, parts) => {
    const cut = cutter(stops);
    const answer = [...parts, finish];
    const seen = answer.flatMap((part) => [...cut.read([part])]);
    const expected = served(answer, stops);
    expect(shapeOf(seen)).toEqual(shapeOf(expected));
    expect(cut.isOver).toBe(shapeOf(expected).at(-1) !== 'end:undefined');
  });
  return !fc.check(law, params).failed;
}

/** Reads each piece as a separate text. */
function piecemeal(stops: readonly string[]): Cutter {
  let cut = new StopCut(stops, 1);
  return {
    get isOver() {
      return cut.isOver;
    },
    read(parts) {
      if (cut.isOver) return [];
      cut = new StopCut(stops, 1);
      // The text that is still held back comes with a part that ends the text.
      return cut.read([...parts, call]).slice(0, cut.isOver ? undefined : -1);
    },
  };
}

function leaking(stops: readonly string[]): Cutter {
  const cut = new StopCut(stops, 1);
  return wrapped(cut, (parts) => (cut.isOver ? parts.filter(({ type }) => type === 'text') : cut.read(parts)));
}

function telling(stops: readonly string[]): Cutter {
  const cut = new StopCut(stops, 1);
  return wrapped(cut, (parts) =>
    cut.read(parts).flatMap((part) => (part.type === 'finish' && part.stop ? [textPart(part.stop), part] : [part])),
  );
}

/** Searches for the stop sequences one after another. */
function inTurn(parts: readonly StreamPart[], stops: readonly string[]): StreamPart[] {
  const answers = stops.map((stop) => served(parts, [stop]));
  return answers.find((seen) => seen.some((part) => part.type === 'finish' && part.stop)) ?? served(parts, stops);
}

const PICKS: Readonly<Record<string, Pick>> = {
  'which takes the shortest of the stop sequences that end at one character': (text, stops) =>
    stops.filter((one) => text.endsWith(one)).sort((a, b) => a.length - b.length)[0],
  'which only knows the first stop sequence': (text, stops) => longest(text, stops.slice(0, 1)),
  'which waits for a stop sequence that began earlier': (text, stops) => {
    const stop = longest(text, stops);
    const isWithin = stops.some((one) => one.slice(0, -1).endsWith(stop ?? '') && text.endsWith(one.slice(0, -1)));
    return stop !== undefined && isWithin ? undefined : stop;
  },
};

describe('an answer that the gateway cuts at its stop sequences', () => {
  const params = tries('an answer cut at its stops is what a service that knows stops would have sent', 120, 100_000);
  /** Some mutants break the law only in a later text. */
  const search = { ...params, numRuns: Math.max(250, params.numRuns) };

  test('an answer cut at its stop sequences is the same as from a provider that supports them, for every text and split', () => {
    expect(holds((stops) => new StopCut(stops, 1), params)).toBe(true);
  });

  test.each<[string, (stops: readonly string[]) => Cutter]>([
    ['which searches only within one piece', piecemeal],
    ['which prefers the stop sequence that is listed first', (stops) => late((parts) => inTurn(parts, stops))],
    ['which sends the stop sequence itself', telling],
    ['which sends the text after a stop sequence', leaking],
    [
      'which continues a text after a tool call or a thought',
      (stops) => late((parts) => served(parts, stops, longest, false)),
    ],
    ...Object.entries(PICKS).map(([name, pick]): [string, (stops: readonly string[]) => Cutter] => [
      name,
      (stops) => late((parts) => served(parts, stops, pick)),
    ]),
  ])('the law about cut answers catches a mutant %s', (_, mutant) => {
    expect(holds(mutant, search)).toBe(false);
  });

  test('the code that the mutants change satisfies the law about cut answers', () => {
    expect(holds((stops) => late((parts) => served(parts, stops)), params)).toBe(true);
  });

  test('a cut answer holds back only text that may still become a stop sequence', () => {
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

test('the search for stop sequences takes time that grows linearly with the text, even for the worst stop sequences', () => {
  const stops = Array.from({ length: 16 }, (_, at) => `${'a'.repeat(240 + at)}b`);
  const steps = (length: number) => {
    const search = new StopSearch(stops);
    const began = performance.now();
    let place = NO_STOP_BEGUN;
    for (let at = 0; at < length; at++) ({ place } = search.read(place, 'a'));
    return performance.now() - began;
  };
  steps(100_000);
  const ratios = Array.from({ length: 10 }, () => steps(800_000) / steps(100_000));
  expect(Math.min(...ratios)).toBeLessThan(20);
});

test('all choices of an answer share one search for stop sequences and differ only in their position', async () => {
  const stops = Array.from({ length: STOPS_MAX }, (_, at) => String.fromCharCode(97 + at).repeat(STOP_CHARS_MAX));
  const heapWith = (answers: number) => {
    const cuts = Array.from({ length: answers }, () => new StopCut(stops, 128));
    for (const cut of cuts)
      for (let choice = 0; choice < 128; choice++) cut.read([{ type: 'text', choice, text: 'x' }]);
    Bun.gc(true);
    const { heapSize, extraMemorySize } = heapStats();
    return { size: heapSize + extraMemorySize, cuts };
  };
  // The choices took 200 MB together when every choice had its own search. Other allocations of the process only add to the measured size.
  const bytes = await leastOf(200_000, () => {
    const { size } = heapWith(0);
    const held = heapWith(10);
    return (held.size - size) / held.cuts.length;
  });
  expect(bytes).toBeLessThan(200_000);
});

test('Signalbox cuts each choice separately, and does not send the text after its stop sequence', () => {
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

test('Signalbox sends the probabilities of tokens with their text, and no probabilities after a stop sequence', () => {
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

test('text before a tool call is not held back for a stop sequence', () => {
  const cut = new StopCut(['END'], 1);
  const named: StreamPart = { type: 'tool-call', choice: 0, index: 0, id: 'a', name: 'f', arguments: '{"x":"END"}' };
  expect(cut.read([textPart('go EN'), named])).toEqual([textPart('go '), textPart('EN'), named]);
});
