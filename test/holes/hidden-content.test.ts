import { afterAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { isObject, type Json } from '../../plugins/providers/json.ts';
import { tokenWeight } from '../../src/core/request/tokens.ts';
import { Meter } from '../../src/gateway/money/meter.ts';
import { effort, isDeep } from '../deep/effort.ts';
import { closedBooks, entriesOf } from '../gateway/money/books.ts';
import { testPolicy } from '../support/policies.ts';
import { withKey } from '../support/signalbox.ts';
import { useSignalbox } from '../support/use.ts';
import { GEMINI, HIDING_CHAT } from './hidden.ts';
import {
  type AnswerPart,
  CHAT,
  eventsIn,
  framed,
  MESSAGES,
  RESPONSES,
  startTextService,
  type UnmeteredDialect,
} from './unmetered.ts';

/** Content that the dialect of the caller cannot show, from services that report no usage. The caller must pay for it nevertheless. */
const SERVICES = [MESSAGES, RESPONSES, HIDING_CHAT, GEMINI];
const CALLERS = [CHAT, MESSAGES, RESPONSES];
/** The expected tokens of the prompt. Each token costs a thousandth of a Credit, input and output. */
const PROMPT = 8;

const service = startTextService();
afterAll(() => service.stop());
const box = useSignalbox(() => ({
  policy: testPolicy(
    Object.fromEntries(SERVICES.map(({ adapter }) => [adapter, { url: service.url, adapter }])),
    Object.fromEntries(
      SERVICES.map(({ adapter }) => [adapter, { endpoints: [adapter], price: { input: 1, output: 1 } }]),
    ),
  )
    .replaceAll('context_window: 32768', 'context_window: 2000000')
    .replaceAll('max_output: 8192', 'max_output: 1000000'),
}));

interface Ask {
  readonly of: UnmeteredDialect;
  readonly by: UnmeteredDialect;
  readonly all: readonly AnswerPart[];
  readonly stream: boolean;
  readonly cap?: number;
}

/** @returns what an answer is charged, in thousandths of a Credit */
async function chargeOf({ of, by, all, stream, cap = 1_000_000 }: Ask, init: RequestInit = {}): Promise<number> {
  service.lay(stream ? framed(of.events(all)).join('') : JSON.stringify(of.whole(all)));
  const response = await box.post(by.path, { ...by.request(of.adapter, cap), stream }, init);
  const text = await response.text();
  expect([response.status, text.slice(0, 400)]).toEqual([200, expect.any(String)]);
  const events: readonly Json[] = stream ? eventsIn(text) : [JSON.parse(text)];
  const platform = events.map((event) => by.platform(event)).findLast(isObject);
  expect(platform?.estimated).toBe(true);
  return Number(platform?.credits_consumed) * 1_000;
}

const text = (words: string): AnswerPart => ({ kind: 'text', pieces: [words], state: '' });

describe('hidden content: half a megabyte that the dialect of the caller does not show', () => {
  const PIECE = 1_024;
  const pieces = Array.from({ length: 500 }, (_, at) =>
    `piece${at.toString(36)} ${'of a plain text that goes on '.repeat(40)}`.slice(0, PIECE),
  );
  const asText = pieces.reduce((sum, one) => sum + tokenWeight(one), 0);
  const state = 'QUJD'.repeat((PIECE * 500) / 4);

  const TEXTS = [
    ...['citations', 'call of a server tool', 'block of tomorrow'].map((kind) => ({ of: MESSAGES, kind })),
    ...['annotations', 'reasoning', 'code interpreter', 'item of tomorrow'].map((kind) => ({ of: RESPONSES, kind })),
    ...HIDING_CHAT.kinds
      .filter((kind) => kind !== 'text' && !kind.includes('state'))
      .map((kind) => ({ of: HIDING_CHAT, kind })),
    ...['code', 'result of code', 'part of tomorrow', 'sources'].map((kind) => ({ of: GEMINI, kind })),
  ];
  const STATES = [
    ...['thinking', 'redacted thinking', 'result of a server tool'].map((kind) => ({ of: MESSAGES, kind })),
    ...['summary', 'picture'].map((kind) => ({ of: RESPONSES, kind })),
    ...['state', 'state of a call', 'unknown state'].map((kind) => ({ of: HIDING_CHAT, kind })),
    ...['file', 'signature'].map((kind) => ({ of: GEMINI, kind })),
  ];

  test.each(TEXTS)('hidden text is charged as text in chat completions: $of.name, $kind', async ({ of, kind }) => {
    for (const stream of [true, false]) {
      const charged = await chargeOf({ of, by: CHAT, all: [text('so '), { kind, pieces, state: '' }], stream });
      expect([stream, charged - PROMPT]).toEqual([stream, expect.any(Number)]);
      expect(charged - PROMPT).toBeWithin(asText * 0.99, asText * 1.25);
    }
  });

  test.each(STATES)(
    'hidden state is charged a quarter of text in chat completions: $of.name, $kind',
    async ({ of, kind }) => {
      for (const stream of [true, false]) {
        const charged = await chargeOf({
          of,
          by: CHAT,
          all: [text('so '), { kind, pieces: ['words '], state }],
          stream,
        });
        expect(charged - PROMPT).toBeWithin(state.length / 4, state.length / 4 + 30);
      }
    },
  );

  test('hidden content costs no more than was held', async () => {
    const key = await box.makeKey('--budget', '5000/month');
    const all = [text('so '), { kind: 'block of tomorrow', pieces, state: '' }];
    expect(await chargeOf({ of: MESSAGES, by: CHAT, all, stream: true, cap: 64 }, withKey(key))).toBe(PROMPT + 64);
    const held = entriesOf(box.data).findLast(({ kind }) => kind === 'reserve')!.amount / 1_000;
    expect(held).toBeGreaterThanOrEqual(PROMPT + 64);
  });

  test('an answer with hidden content is not stored for repeats, and a repeat costs nothing', async () => {
    const all = [text('so '), { kind: 'block of tomorrow', pieces, state: '' }];
    service.lay(framed(MESSAGES.events(all)).join(''));
    const send = () =>
      box.post(
        CHAT.path,
        { ...CHAT.request(MESSAGES.adapter, 4_000), stream: true },
        { headers: { 'idempotency-key': 'hidden' } },
      );
    const first = await (await send()).text();
    const again = await send();
    expect(again.headers.get('x-signalbox-replayed')).toBe('true');
    expect(await again.text()).toBe(first);
    expect(first).not.toContain('piece7');
  });
});

const word = fc.string({ unit: fc.constantFrom(...'abcdefghijklmnop'), minLength: 6, maxLength: 12 });
const piece = fc.array(word, { minLength: 4, maxLength: 12 }).map((words) => `${words.join(' ')} `);
const base64 = fc.string({ unit: fc.constantFrom(...'ABCDabcd0123+/'), minLength: 12, maxLength: 200 });

const sameForAll = (of: UnmeteredDialect) =>
  fc.asyncProperty(
    fc.array(
      fc.record({
        kind: fc.constantFrom(...of.kinds),
        pieces: fc.uniqueArray(piece, { minLength: 1, maxLength: 4 }),
        state: base64,
      }),
      { minLength: 1, maxLength: 5 },
    ),
    fc.boolean(),
    fc.constantFrom(16, 64, 1_000_000),
    async (said, stream, cap) => {
      const all = [text('so '), ...said];
      const charges: number[] = [];
      for (const by of CALLERS) charges.push(await chargeOf({ of, by, all, stream, cap }));
      // Breaks between messages of Responses are counted with the text or separately, which differs by less than a token each.
      const rounding = of === RESPONSES ? all.length : 0;
      expect(Math.max(...charges) - Math.min(...charges)).toBeLessThanOrEqual(rounding);
      // What was sent, counted independently: see `received` in `unmetered.ts`.
      const sent = of.received(stream ? of.events(all) : [of.whole(all)]);
      expect(Math.min(...charges)).toBeGreaterThanOrEqual(PROMPT + Math.min(cap, Math.ceil(sent - 1e-6)) - 1e-6);
      expect(Math.max(...charges)).toBeLessThanOrEqual(PROMPT + cap);
    },
  );

describe.each(SERVICES)('an answer of $name without usage', (of) => {
  const { runs, seed, proved } = effort('holes', 8, 1_000);

  test(
    'an answer without usage costs the same in every dialect of its caller: at least all that was sent, at most what was held',
    async () => {
      await fc.assert(sameForAll(of), { numRuns: runs, seed });
      expect((await closedBooks(box.data)).faults).toEqual([]);
      proved(
        `answers of ${of.name} without usage, also with hidden content: the charge is the same in every dialect of the caller`,
      );
    },
    isDeep ? 600_000 : 30_000,
  );
});

test('(the law fails for a meter that ignores hidden content)', async () => {
  const { observe } = Meter.prototype;
  const { seed } = effort('holes', 8, 1_000);
  try {
    Meter.prototype.observe = function (parts, now) {
      observe.call(
        this,
        parts.filter(({ type }) => type !== 'unread'),
        now,
      );
    };
    expect((await fc.check(sameForAll(MESSAGES), { numRuns: 100, seed, endOnFailure: true })).failed).toBe(true);
  } finally {
    Meter.prototype.observe = observe;
  }
});
