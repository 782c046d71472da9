import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { beyondLimits } from '../../src/core/json/limits.ts';
import type { Members } from '../../src/core/json/original.ts';
import { type BodySource, setSource, sourceOf, writeJson, writtenText } from '../../src/core/json/source.ts';
import { OPERATOR } from '../../src/core/people/caller.ts';
import { processTimers } from '../../src/host/telemetry/process-timers.ts';
import { KeptConversations, type KeptReading, openConversations } from '../../src/http/kit/kept-conversations.ts';
import type { NewsListener, NewsSubject } from '../../src/store/news.ts';
import { tries } from '../deep/effort.ts';

const READING: KeptReading = { keyId: 'a', generation: 0, bytesMax: 1_048_576, valuesMax: 400 };

type Reader = Pick<KeptConversations, 'read'>;
const opened = (clock = () => 0) => new KeptConversations(clock, processTimers);

/** The text that a provider gets for a body with another model and without `stream`. */
function sentText(body: Members): string {
  const { stream: _, ...rest } = body;
  return writtenText(writeJson({ ...rest, model: 'other' }, body));
}

/** The parts of a body that a caller and a provider can see, with the order of members. */
function seen(body: Members | null) {
  if (body === null) return null;
  const sent = sentText(body);
  const read: unknown = JSON.parse(sent);
  return {
    value: JSON.stringify(body),
    sent: JSON.stringify(read),
    names: countNames(read),
    colons: countColons(sent),
  };
}

/** Counts the members of all objects in a value. Two members with the same name count once. */
const countNames = (value: unknown): number =>
  typeof value !== 'object' || value === null
    ? 0
    : Object.values(value).reduce((sum: number, inner) => sum + countNames(inner), 0) +
      (Array.isArray(value) ? 0 : Object.keys(value).length);

/** Counts the members in a JSON text. */
const countColons = (text: string): number => text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '').split(':').length - 1;

function readWhole(bytes: Buffer, valuesMax: number): Members | null {
  const text = new TextDecoder().decode(bytes);
  if (beyondLimits(text, valuesMax) !== null) return null;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null;
  } catch {
    return null;
  }
}

/** Texts that are hard to split: boundaries, names and escapes inside strings. */
const word = fc.constantFrom(
  '',
  'a',
  'b',
  '"',
  '\\',
  '\\"',
  '"messages":[',
  '}],"messages":[{',
  '\u006d',
  'é',
  '漢',
  '🙂',
  '[]{},:',
);
const name = fc.constantFrom('a', 'role', 'messages', 'input', '__proto__');
const member = (key: string, value: string) => `${JSON.stringify(key)}:${value}`;
const json = fc.oneof(
  word.map((text) => JSON.stringify(text)),
  fc.constantFrom('null', '1.0', '1e2', '12345678901234567890', '[]', '{}', '[[1,2],{"a":[]}]', '"\\u0061\\u005c"'),
  fc.tuple(name, word).map(([key, text]) => `{${member(key, JSON.stringify(text))}}`),
  // Members with equal names.
  fc.tuple(word, word).map((two) => `{${two.map((text) => member('a', JSON.stringify(text))).join()}}`),
);
const message = fc.oneof(
  { weight: 40, arbitrary: json.map((content) => `{"role":"user","content":${content}}`) },
  { weight: 1, arbitrary: json },
);
const setting = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .tuple(fc.constantFrom('model', 'stream', 'tools', 'a', '__proto__'), json)
      .map(([key, value]) => member(key, value)),
  },
  fc.tuple(name, json).map(([key, value]) => member(key, value)),
  fc
    .tuple(fc.constantFrom('"messages"', '"\\u006dessages"', '"\\u006dodel"', '"input"'), json)
    .map((two) => two.join(':')),
  // A member that is long enough to be kept.
  {
    weight: 4,
    arbitrary: fc
      .tuple(fc.constantFrom('tools', 'system'), json)
      .map(([key, value]) => `"${key}":[${value},"${'x'.repeat(300)}"]`),
  },
);

interface Shape {
  readonly head: readonly string[];
  readonly messages: readonly string[];
  readonly tail: readonly string[];
  readonly gap: string;
}

const textOf = ({ head, messages, tail, gap }: Shape): string =>
  `${gap}{${[...head, `"messages"${gap}:${gap}[${messages.join(`${gap},`)}${gap}]`, ...tail].join(`,${gap}`)}}`;

const gap = fc.constantFrom('', '', ' ', '\n\t');
const shape: fc.Arbitrary<Shape> = fc.record({
  head: fc.array(setting, { maxLength: 2 }),
  messages: fc.array(message, { minLength: 2, maxLength: 6 }),
  tail: fc.array(setting, { maxLength: 2 }),
  gap,
});

/** A change from one body of a conversation to the next. */
type Step = (body: Shape) => Shape;
const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.array(message, { minLength: 1, maxLength: 3 }).map(
      (added): Step =>
        (body) => ({ ...body, messages: [...body.messages, ...added] }),
    ),
  },
  fc.tuple(fc.nat(9), message).map(
    ([at, other]): Step =>
      (body) => ({ ...body, messages: body.messages.with(at % Math.max(1, body.messages.length), other) }),
  ),
  fc.nat(6).map(
    (most): Step =>
      (body) => ({ ...body, messages: body.messages.slice(0, most + 1) }),
  ),
  fc.array(setting, { maxLength: 2 }).map(
    (tail): Step =>
      (body) => ({ ...body, tail }),
  ),
  fc.array(setting, { maxLength: 2 }).map(
    (head): Step =>
      (body) => ({ ...body, head }),
  ),
  gap.map(
    (other): Step =>
      (body) => ({ ...body, gap: other }),
  ),
);
/** Inserts a piece after one of the last closing braces, such as the end of a message. */
function afterBrace(text: string, fromEnd: number, piece: string): string {
  const ends = [...text.matchAll(/\}/g)].map(({ index }) => index + 1);
  const end = ends.at(-1 - (fromEnd % Math.max(1, ends.length))) ?? 0;
  return text.slice(0, end) + piece + text.slice(end);
}

/** A further change of a body: it is cut, or a piece is inserted anywhere or after a message. */
type Damage = (text: string) => Buffer;
const whole: Damage = (text) => Buffer.from(text);
const damages: fc.Arbitrary<Damage> = fc.oneof(
  { weight: 30, arbitrary: fc.constant(whole) },
  fc.nat(400).map(
    (at): Damage =>
      (text) =>
        whole(text).subarray(0, at),
  ),
  fc.tuple(fc.nat(400), fc.constantFrom('"', '\\', '}', '{', ']', ',', '.5', '1', ',]', ':')).map(
    ([at, piece]): Damage =>
      (text) =>
        whole(text.slice(0, at % (text.length + 1)) + piece + text.slice(at % (text.length + 1))),
  ),
  fc.tuple(fc.nat(5), fc.constantFrom('.5', '1', 'e1', ',', '{}', '"', ' ', ']')).map(
    ([at, piece]): Damage =>
      (text) =>
        whole(afterBrace(text, at, piece)),
  ),
  // Bytes that are no UTF-8, and a byte order mark.
  fc.tuple(fc.nat(400), fc.constantFrom([0xff], [0xc3], [0xed, 0xa0, 0x80])).map(
    ([at, piece]): Damage =>
      (text) =>
        Buffer.concat([whole(text).subarray(0, at), Buffer.from(piece), whole(text).subarray(at)]),
  ),
  fc.constant((text: string) => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), whole(text)])),
);
const turn = fc.record({
  step: steps,
  damage: damages,
  keyId: fc.constantFrom('a', 'a', 'a', 'b'),
  valuesMax: fc.constantFrom(400, 400, 400, 30),
});
const session = fc.record({ first: shape, turns: fc.array(turn, { minLength: 2, maxLength: 8 }) });

/** @returns how many bodies were read by the reader, and how many of them have bytes to send on */
function checkReader(open: () => Reader, runs: fc.Parameters<unknown>): { read: number; copied: number } {
  const count = { read: 0, copied: 0 };
  fc.assert(
    fc.property(session, ({ first, turns }) => {
      const reader = open();
      let body = first;
      for (const { step, damage, keyId, valuesMax } of turns) {
        const bytes = damage(textOf(body));
        const found = reader.read(bytes, { ...READING, keyId, valuesMax });
        // A body that is not read here is read whole.
        if (found !== null) {
          count.read++;
          if (sourceOf(found)) count.copied++;
          expect(seen(found)).toEqual(seen(readWhole(bytes, valuesMax)));
        }
        body = step(body);
      }
    }),
    runs,
  );
  return count;
}

/** A reader whose comparisons of bytes are wrong. */
function comparing(compare: Buffer['compare']): Reader {
  const reader = opened();
  return {
    read(bytes, reading) {
      bytes.compare = compare;
      return reader.read(bytes, reading);
    },
  };
}

/** A reader that may send other bytes than it should. */
function sending(change: (source: BodySource) => BodySource): Reader {
  const reader = opened();
  return {
    read(bytes, reading) {
      const body = reader.read(bytes, reading);
      const source = body && sourceOf(body);
      if (source) setSource(body, change(source));
      return body;
    },
  };
}

const MUTANTS: Readonly<Record<string, () => Reader>> = {
  'compares only lengths': () => comparing(() => 0),
  'compares only the last bytes': () =>
    comparing(function (this: Buffer, other, from = 0, to = 0, start = 0, end = 0) {
      const length = Math.min(8, end - start, to - from);
      return Buffer.compare(other.subarray(to - length, to), this.subarray(end - length, end));
    }),
  'compares up to a boundary inside a string': () =>
    comparing(function (this: Buffer, other, from = 0, to = 0, start = 0, end = 0) {
      return Buffer.compare(other.subarray(from, to - 4), this.subarray(start, end - 4));
    }),
  'sends messages in which two members have the same name': () =>
    sending((source) => ({ ...source, isClean: source.isClean.map(() => true) })),
  'finds messages in the body by their text': () =>
    sending((source) => {
      const text = Buffer.from(source.bytes);
      const shift = text.indexOf('"messages":[') + 12 - source.starts[0]!;
      const moved = (at: number) => at + shift;
      return { ...source, starts: source.starts.map(moved), ends: source.ends.map(moved) };
    }),
};

describe('kept conversations', () => {
  test('a body of a running conversation is read and sent exactly as if it were parsed whole', () => {
    const { read, copied } = checkReader(
      opened,
      tries('kept conversations are read as if parsed whole', 2_500, 50_000),
    );
    expect(read).toBeGreaterThan(3_000);
    expect(copied).toBeGreaterThan(800);
  });

  for (const [what, open] of Object.entries(MUTANTS)) {
    test(`the law rejects a reader that ${what}`, () => {
      expect(() => checkReader(open, { seed: 71, numRuns: 3_000 })).toThrow();
    });
  }
});

const message2 = (text: string) => ({ role: 'user', content: text });
const bodyWith = (...texts: string[]) => JSON.stringify({ model: 'm', messages: texts.map(message2) });

/** Returns the messages of a body that was read. */
function messagesOf(reader: Reader, text: string, keyId = 'a', bytesMax = READING.bytesMax): readonly unknown[] {
  const messages = reader.read(Buffer.from(text), { ...READING, keyId, bytesMax })?.messages;
  return Array.isArray(messages) ? messages : [];
}

describe('the memory of kept conversations', () => {
  test('the third turn reuses the messages of the second turn, and a request cannot change them', () => {
    const reader = opened();
    // A first turn leaves no body, because most large bodies have no second turn.
    messagesOf(reader, bodyWith('1', '2'));
    expect([reader.size, reader.bytes]).toEqual([0, 0]);
    const second = messagesOf(reader, bodyWith('1', '2', '3'));
    const third = messagesOf(reader, bodyWith('1', '2', '3', '4'));
    expect(third.slice(0, 3).every((one, at) => one === second[at])).toBe(true);
    expect(() => Reflect.set(Object(third[0]), 'content', 'other')).not.toThrow();
    expect(third[0]).toEqual(message2('1'));
  });

  test('a first turn is read whole while no conversation of its key is kept, and shares its tools afterwards', () => {
    const reader = opened();
    const tools = [{ type: 'function', function: { name: 'read', description: 'Reads a file. '.repeat(40) } }];
    const withTools = (...texts: string[]) => Buffer.from(JSON.stringify({ tools, messages: texts.map(message2) }));
    expect(reader.read(withTools('1', '2'), READING)).toBeNull();
    const second = reader.read(withTools('1', '2', '3'), READING);
    expect([second?.messages, reader.size]).toEqual([['1', '2', '3'].map(message2), 1]);
    const other = reader.read(withTools('other', '2'), READING);
    expect(other?.tools).toBe(second?.tools);
    expect(reader.size).toBe(1);
  });

  test('a conversation begins again if too many others began since its first turn', () => {
    const reader = opened();
    const begin = (count: number) => {
      for (let at = 0; at < count; at++) messagesOf(reader, bodyWith(`${at}`, 'once'));
    };
    messagesOf(reader, bodyWith('1', '2'));
    begin(16_000);
    messagesOf(reader, bodyWith('1', '2', '3'));
    expect(reader.size).toBe(1);
    messagesOf(reader, bodyWith('a', 'b'));
    reader.clear();
    messagesOf(reader, bodyWith('a', 'b'));
    begin(17_000);
    messagesOf(reader, bodyWith('a', 'b', 'c'));
    expect(reader.size).toBe(0);
  });

  test('another key never gets the messages of a key', () => {
    const reader = opened();
    for (let turns = 0; turns < 3; turns++) messagesOf(reader, bodyWith('1', '2', '3'));
    const own = messagesOf(reader, bodyWith('1', '2', '3'));
    for (let turns = 0; turns < 2; turns++)
      expect(messagesOf(reader, bodyWith('1', '2', '3'), 'b')[0]).not.toBe(own[0]);
    expect(reader.size).toBe(2);
  });

  test('the kept conversations stay within their bound, and the least recently used go first', () => {
    const reader = opened();
    const most = 100_000;
    for (let at = 0; at < 100; at++) {
      for (let turns = 0; turns < 2; turns++) messagesOf(reader, bodyWith(`${at}`, 'x'.repeat(1_000)), 'a', most);
      expect(reader.bytes).toBeLessThanOrEqual(most);
    }
    expect(reader.size).toBeGreaterThan(1);
    for (let turns = 0; turns < 2; turns++) messagesOf(reader, bodyWith('large', 'x'.repeat(most)), 'a', most);
    expect(reader.bytes).toBeLessThanOrEqual(most);
  });

  test('a conversation is dropped 10 minutes after its last turn', () => {
    let now = 0;
    const sweeps: (() => void)[] = [];
    const timer = { close: () => sweeps.splice(0), unref() {}, ref() {} };
    const timers = {
      ...processTimers,
      every: (_: number, call: () => void) => {
        sweeps.push(call);
        return timer;
      },
    };
    const reader = new KeptConversations(() => now, timers);
    for (let turns = 0; turns < 2; turns++) messagesOf(reader, bodyWith('1', '2'));
    now = 500_000;
    sweeps[0]!();
    expect(reader.size).toBe(1);
    now = 590_000;
    sweeps[0]!();
    expect([reader.size, reader.bytes]).toEqual([0, 0]);
    expect(sweeps).toEqual([]);
  });

  test('a change of keys drops the conversations of keys that no longer work, a change of people drops all', async () => {
    const listeners = new Map<NewsSubject, NewsListener>();
    const on = (subject: NewsSubject, listener: NewsListener) => {
      listeners.set(subject, listener);
      return () => {};
    };
    const working = new Set<string>();
    let copy = new Set(['key00000000000a', 'key00000000000b']);
    const keys = {
      readChanges: async () => {
        copy = working;
      },
      callerOf: (id: string) => (copy.has(id) ? OPERATOR : null),
    };
    const reader = openConversations({ news: { on }, keys }, () => 0, processTimers);
    const read = (keyId: string, generation: number) =>
      reader.read(Buffer.from(bodyWith('1', '2')), { ...READING, keyId, generation });
    const [a, b] = copy;
    working.add(b!);
    for (const keyId of [a!, a!, b!, b!, 'a wallet', 'a wallet']) read(keyId, 0);
    await listeners.get('keys')!();
    expect(reader.size).toBe(1);
    // A request that was admitted before the change leaves nothing in memory.
    expect(read(a!, 0)).toBeNull();
    expect(reader.size).toBe(1);
    expect(read(b!, reader.generation)).not.toBeNull();
    await listeners.get('people')!();
    expect([reader.size, reader.bytes]).toEqual([0, 0]);
  });
});
