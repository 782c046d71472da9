import { afterAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { isObject, type Json } from '../../plugins/providers/json.ts';
import type { StreamPart } from '../../src/contract/parts.ts';
import { tokenWeight } from '../../src/core/request/tokens.ts';
import { Meter } from '../../src/gateway/money/meter.ts';
import { effort, isDeep } from '../deep/effort.ts';
import { closedBooks, entriesOf } from '../gateway/money/books.ts';
import { startBystander } from '../support/bystander.ts';
import { leastOf } from '../support/in-time.ts';
import { testPolicy } from '../support/policies.ts';
import { withKey } from '../support/signalbox.ts';
import { useSignalbox } from '../support/use.ts';
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

/**
 * Output that only the dialect of the service has, from services that report no usage. Output that only a service's own dialect has must
 * not be free.
 */
const DIALECTS = [MESSAGES, RESPONSES, CHAT];
/** The expected tokens of the prompt. Each token costs a thousandth of a Credit, input and output. */
const PROMPT = 8;

const service = startTextService();
afterAll(() => service.stop());
const policy = () =>
  testPolicy(
    Object.fromEntries(DIALECTS.map(({ adapter }) => [adapter, { url: service.url, adapter }])),
    Object.fromEntries(
      DIALECTS.map(({ adapter }) => [adapter, { endpoints: [adapter], price: { input: 1, output: 1 } }]),
    ),
  )
    .replaceAll('context_window: 32768', 'context_window: 2000000\n    image_tokens_max: 1600')
    .replaceAll('max_output: 8192', 'max_output: 1000000');
const box = useSignalbox(() => ({ policy: policy() }));

interface Received {
  /** The tokens, as the caller would count them. */
  readonly tokens: number;
  /** What was charged, in thousandths of a Credit; null for an answer that never began. */
  readonly charged: number | null;
}

async function ask(
  to: Pick<typeof box, 'post'>,
  dialect: UnmeteredDialect,
  stream: boolean,
  cap = 1_000_000,
): Promise<Received> {
  const { adapter, path } = dialect;
  const response = await to.post(path, { ...dialect.request(adapter, cap), stream });
  const text = await response.text();
  if (response.status !== 200) return { tokens: 0, charged: null };
  const events: readonly Json[] = stream ? eventsIn(text) : [JSON.parse(text)];
  const platform = events.map((event) => dialect.platform(event)).findLast(isObject);
  const credits = Number(platform?.credits_consumed);
  expect(platform?.estimated).toBe(true);
  return { tokens: dialect.received(events), charged: credits * 1_000 };
}

describe('half a megabyte of output without usage', () => {
  const own = useSignalbox(() => ({ policy: policy(), isProcess: true }));
  const bystander: { of?: ReturnType<typeof startBystander> } = {};
  afterAll(() => bystander.of?.stop());
  const { proved } = effort('holes', 1, 1);

  const PIECE = 1_024;
  const PIECES = 500;
  /** Each piece has its own words, because a repeated text counts only once. */
  const pieces = Array.from({ length: PIECES }, (_, at) =>
    `piece${at.toString(36)} ${'of a plain text that goes on '.repeat(40)}`.slice(0, PIECE),
  );
  const asText = pieces.reduce((sum, text) => sum + tokenWeight(text), 0);
  const state = 'QUJD'.repeat((PIECE * PIECES) / 4);
  const TEXTS = [
    { kind: 'citations', dialect: MESSAGES },
    { kind: 'call of a server tool', dialect: MESSAGES },
    { kind: 'block of tomorrow', dialect: MESSAGES },
    { kind: 'annotations', dialect: RESPONSES },
    { kind: 'reasoning', dialect: RESPONSES },
    { kind: 'code interpreter', dialect: RESPONSES },
    { kind: 'call of a server', dialect: RESPONSES },
    { kind: 'item of tomorrow', dialect: RESPONSES },
  ];
  const STATES = [
    { kind: 'thinking', dialect: MESSAGES },
    { kind: 'redacted thinking', dialect: MESSAGES },
    { kind: 'result of a server tool', dialect: MESSAGES },
    { kind: 'summary', dialect: RESPONSES },
    { kind: 'picture', dialect: RESPONSES },
    { kind: 'state', dialect: CHAT },
  ];
  /**
   * Makes a service answer with this part.
   * @returns what is charged in addition to the prompt, as a stream and as JSON
   */
  async function chargedFor(dialect: UnmeteredDialect, said: AnswerPart): Promise<number[]> {
    const all = [{ kind: dialect.kinds.includes('text') ? 'text' : said.kind, pieces: ['so '], state: '' }, said];
    const charged: number[] = [];
    for (const stream of [true, false]) {
      service.lay(stream ? framed(dialect.events(all)).join('') : JSON.stringify(dialect.whole(all)));
      bystander.of ??= startBystander(`${own.url}/healthz`);
      charged.push((await ask(own, dialect, stream)).charged! - PROMPT);
    }
    return charged;
  }

  test.each(TEXTS)('output without usage is charged as text: $dialect.name, $kind', async ({ dialect, kind }) => {
    for (const charged of await chargedFor(dialect, { kind, pieces, state: '' })) {
      // Long texts are sampled. Names of tools and the words around them count, too.
      expect(charged).toBeWithin(asText * 0.99, asText * 1.25);
    }
  });

  test.each(STATES)(
    'state without usage is charged a quarter of text: $dialect.name, $kind',
    async ({ dialect, kind }) => {
      for (const charged of await chargedFor(dialect, { kind, pieces: ['words '], state })) {
        expect(charged).toBeWithin(state.length / 4, state.length / 4 + 20);
      }
    },
  );

  test('other requests do not wait while output without usage is counted', async () => {
    const code = { kind: 'code interpreter', pieces, state: '' };
    await bystander.of?.worstMs();
    const worst = await leastOf(400, async () => {
      await chargedFor(RESPONSES, code);
      return (await bystander.of?.worstMs()) ?? Number.POSITIVE_INFINITY;
    });
    expect(worst).toBeLessThan(400);
    proved(
      `512 kB without usage, in ${TEXTS.length + STATES.length} forms that only their dialects have: ${(state.length / 4_000).toFixed(0)} Credits as state and ${(asText / 1_000).toFixed(0)} as text; another request waited ${worst.toFixed(0)} ms`,
    );
  });
});

/** Different texts of letters whose token count does not depend on their neighbours. */
const word = fc.string({ unit: fc.constantFrom(...'abcdefghijklmnop'), minLength: 6, maxLength: 12 });
const piece = fc.array(word, { minLength: 4, maxLength: 12 }).map((words) => `${words.join(' ')} `);
const base64 = fc.string({ unit: fc.constantFrom(...'ABCDabcd0123+/'), minLength: 12, maxLength: 200 });
const saidOf = ({ kinds }: UnmeteredDialect): fc.Arbitrary<AnswerPart> =>
  fc.record({
    kind: fc.constantFrom(...kinds),
    pieces: fc.uniqueArray(piece, { minLength: 1, maxLength: 4 }),
    state: base64,
  });

const withoutUnread = (part: StreamPart): StreamPart => {
  if (part.type === 'state') return { type: 'state', choice: part.choice };
  if (part.type === 'unread') return { ...part, unread: { texts: [], stateChars: 0 } };
  return part.type === 'passthrough' ? { ...part, unread: undefined } : part;
};

/** What a service does with its answer. */
const WAYS = ['stream', 'whole', 'cut', 'end alone'] as const;
/** OpenAI requires at least 16: below that, a request for Responses is translated. */
const caps = fc.constantFrom(16, 64, 1_000_000);

const atLeastWhatWasReceived = (dialect: UnmeteredDialect) =>
  fc.asyncProperty(
    fc.array(saidOf(dialect), { minLength: 1, maxLength: 5 }),
    fc.constantFrom(...WAYS),
    fc.double({ min: 0, max: 1, noNaN: true }),
    caps,
    async (all, way, share, cap) => {
      const frames = framed(dialect.events(all));
      const isStream = way !== 'whole';
      const end = dialect === RESPONSES ? frames.slice(-1) : frames;
      const until = 1 + Math.floor(share * (frames.length - 1));
      if (way === 'whole') service.lay(JSON.stringify(dialect.whole(all)));
      else if (way === 'cut') service.lay(frames.slice(0, until).join(''), true);
      else service.lay((way === 'end alone' ? end : frames).join(''));
      const { tokens, charged } = await ask(box, dialect, isStream, cap);
      if (charged === null) return way === 'cut';
      const counted = Math.ceil(tokens - 1e-6);
      expect(charged).toBeGreaterThanOrEqual(PROMPT + Math.min(cap, counted) - 1e-6);
      // The text is sent four times and counted once. For an answer that was cut, the elapsed time counts, too.
      if (way !== 'cut') expect(charged).toBeLessThanOrEqual(PROMPT + 1.4 * counted + 10 * all.length);
      return true;
    },
  );

describe.each(DIALECTS)('a metered answer of $name without usage', (dialect) => {
  const { runs, seed, proved } = effort('holes', 8, 2_000);

  test(
    'an answer without usage is charged at least what its caller received, whole or cut, and never more than its hold',
    async () => {
      await fc.assert(atLeastWhatWasReceived(dialect), { numRuns: runs, seed });
      expect((await closedBooks(box.data)).faults).toEqual([]);
      proved(
        `answers of ${dialect.name} without usage, whole and cut: each was charged at least what the caller received`,
      );
    },
    isDeep ? 600_000 : 20_000,
  );

  test('(the law fails for a meter that ignores output that only the dialect of the service has)', async () => {
    const { observe } = Meter.prototype;
    try {
      // For chat completions, only state is such output.
      Meter.prototype.observe = function (parts, now) {
        observe.call(this, parts.map(withoutUnread), now);
      };
      const law = atLeastWhatWasReceived(dialect);
      const { errorInstance } = await fc.check(law, { numRuns: 300, seed, endOnFailure: true });
      expect(String(errorInstance)).toContain('toBeGreaterThanOrEqual');
    } finally {
      Meter.prototype.observe = observe;
    }
  });
});

test('an image that is named by its ID is held as an image', async () => {
  const key = await box.makeKey('--budget', '5000/month');
  const answer = { object: 'response', id: 'r', status: 'completed', output: [], usage: null };
  const held = async (input: readonly object[]): Promise<number> => {
    service.lay(JSON.stringify(answer));
    const response = await box.post('/v1/responses', { model: 'openai', max_output_tokens: 100, input }, withKey(key));
    expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
    return entriesOf(box.data).findLast(({ kind }) => kind === 'reserve')!.amount / 1_000;
  };
  const says = { role: 'user', content: 'Draw it again.' };
  const picture = { type: 'image_generation_call', id: 'ig_68c1b2f0e4a88191b0d6f2' };
  // The tokens of the image, in addition to the 60 bytes that name it.
  expect((await held([picture, says])) - (await held([says]))).toBeWithin(1_600, 1_800);
});
