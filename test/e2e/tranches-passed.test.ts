import { afterEach, describe, expect, test } from 'bun:test';
import { isObject, type Json, listOf, objectOf, textOf } from '../../plugins/providers/json.ts';
import { closedBooks, entriesOf } from '../gateway/money/books.ts';
import { waitFor } from '../support/answers.ts';
import { foldedMessage } from '../support/message-events.ts';
import { PROMPT_TOKENS, type ServiceAnswer, startMeteredService } from '../support/metered-service.ts';
import { type AnswerKind, type MeteredWire, messagesWire, responsesWire } from '../support/metered-wires.ts';
import { checkStream } from '../support/open-responses/schemas.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { startSignalbox } from '../support/signalbox.ts';

/** Streams that are passed through unchanged while their hold grows, in the dialects of Anthropic and OpenAI. */
interface Told {
  readonly text: string;
  readonly isCut: boolean;
  readonly platform: Json;
}

interface PassedDialect {
  readonly adapter: string;
  readonly path: string;
  readonly reports: ServiceAnswer['reports'];
  /** The least share of the money that must be useful. Without usage reports during the stream, an answer is counted by its bytes. */
  readonly useful: number;
  wire(kind: AnswerKind): MeteredWire;
  readonly body: object;
  /** Reads a stream, and checks it against the rules of its dialect. */
  read(events: string): Told;
}

/** Returns the text of an answer, wherever it is in the value. Arguments that were cut are not an object. */
function textIn(value: unknown): string {
  if (!isObject(value)) return '';
  const { input, content, summary, arguments: args } = value;
  const own = [value.text, value.thinking, objectOf(input).text, objectOf(input).INVALID_JSON, args].map(textOf);
  return [...own, ...[...listOf(content), ...listOf(summary)].map(textIn)].join('').replace(/^\{"text":"|"\}$/g, '');
}

const DIALECTS: Readonly<Record<string, PassedDialect>> = {
  Messages: {
    adapter: 'anthropic',
    path: '/v1/messages',
    reports: 'each',
    useful: 0.7,
    wire: messagesWire,
    body: { max_tokens: 800, messages: [{ role: 'user', content: 'Wherefore?' }] },
    read(events) {
      const { message, content, platform } = foldedMessage(events);
      return {
        text: content.map(textIn).join(''),
        isCut: message.stop_reason === 'max_tokens',
        platform: objectOf(platform),
      };
    },
  },
  Responses: {
    adapter: 'openai',
    path: '/v1/responses',
    reports: 'last',
    useful: 0.15,
    wire: responsesWire,
    body: { max_output_tokens: 800, input: 'Wherefore?' },
    read(events) {
      const { type, response } = checkStream(events).at(-1)!;
      const { output, status, incomplete_details: why, platform } = objectOf(response);
      expect<unknown>(type).toBe(`response.${String(status)}`);
      if (status === 'incomplete') expect(why).toEqual({ reason: 'max_output_tokens' });
      return {
        text: listOf(output).map(textIn).join(''),
        isCut: status === 'incomplete',
        platform: objectOf(platform),
      };
    },
  },
};

const running: { stop(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const one of running.splice(0)) await one.stop();
});

/** Sends this many requests at once. */
async function ask(dialect: PassedDialect, kind: AnswerKind, credits: number, answers: number, tokens: number) {
  const { adapter, path, reports, wire, body, read } = dialect;
  const answer = { tokens, atOnce: 4, reports, afterAbort: 20 } as const;
  const service = startMeteredService('stops', () => answer, wire(kind));
  const policy = testPolicy(
    { up: { url: service.url, adapter } },
    { m: { endpoints: ['up'] } },
    `budgets: [{ name: purse, limit_credits: ${credits}, window: total }]
ledger: { contention_wait_ms: 0 }
`,
  )
    .replace(
      'passthrough: [verbosity]',
      'after_abort: { bills: stops, reports: each, margin_tokens: 20, margin_ms: 20 }',
    )
    .replace(/expected_output_tokens: \d+/g, 'expected_output_tokens: 100');
  const box = await startSignalbox({ policy, env: UPSTREAM_ENV });
  running.push(box, service);
  const one = async (): Promise<Told> => {
    const response = await box.post(path, { model: 'm', stream: true, ...body });
    return read(await response.text());
  };
  const told = await Promise.all(Array.from({ length: answers }, one));
  await waitFor(() => service.bills.every(({ isOver }) => isOver));
  const books = await closedBooks(box.data);
  expect(books.faults).toEqual([]);
  const raises = entriesOf(box.data).filter(({ kind: entry }) => entry === 'raise').length;
  return { told, bills: service.bills, raises, spent: books.funds[0]!.spent };
}

const TOKEN = ' tok';
const costOf = (output: number): number => PROMPT_TOKENS + 4 * output;
const sum = (figures: readonly number[]): number => figures.reduce((all, one) => all + one, 0);

for (const [name, dialect] of Object.entries(DIALECTS)) {
  test(`a stream of ${name} that is passed through arrives completely while its hold grows, and is charged what its provider bills`, async () => {
    const { told, bills, raises, spent } = await ask(dialect, 'text', 4, 1, 600);
    const platform = expect.objectContaining({ credits_consumed: costOf(600) / 1_000, estimated: false });
    expect<unknown>(told).toEqual([{ text: TOKEN.repeat(600), isCut: false, platform }]);
    expect(bills.map(({ isAborted }) => isAborted)).toEqual([false]);
    expect(raises).toBeGreaterThan(3);
    expect(spent).toBe(costOf(600) * 1_000);
  });

  describe.each<AnswerKind>(['text', 'thinking', 'call'])(`a stream of ${name} that is passed through: %s`, (kind) => {
    test('a stream that is passed through is cut when the money ends, and ends correctly', async () => {
      const { told, bills, raises, spent } = await ask(dialect, kind, 3.3, 3, 800);
      expect(bills.map(({ isAborted }) => isAborted)).toEqual([true, true, true]);
      for (const { text, isCut, platform } of told) {
        expect([isCut, TOKEN.repeat(800).startsWith(text)]).toEqual([true, true]);
        expect(platform).toMatchObject({ output_capped_by: 'purse', estimated: true });
      }
      expect(raises).toBeGreaterThan(0);
      expect(sum(told.map(({ platform }) => Number(platform.credits_consumed) * 1e6))).toBeCloseTo(spent, 0);
      // The provider bills no more than is charged.
      const billed = sum(bills.map((bill) => costOf(bill.billed)));
      expect(billed * 1_000).toBeLessThanOrEqual(spent);
      expect(spent).toBeLessThanOrEqual(3_300_000);
      const received = sum(told.map(({ text }) => costOf(text.length / TOKEN.length)));
      expect(received).toBeLessThanOrEqual(billed);
      expect(received).toBeGreaterThan(dialect.useful * 3_300);
    });
  });
}
