import { afterAll, describe, expect, test } from 'bun:test';
import Anthropic from '@anthropic-ai/sdk';
import fc from 'fast-check';
import OpenAI from 'openai';
import { isObject, type Json, objectOf } from '../../plugins/providers/json.ts';
import type { StreamPart } from '../../src/contract/parts.ts';
import { MessageEvents } from '../../src/dialects/anthropic-messages/events.ts';
import { PassedResponse } from '../../src/dialects/openai-responses/passed-response.ts';
import { effort } from '../deep/effort.ts';
import { testPolicy } from '../support/policies.ts';
import { useSignalbox } from '../support/use.ts';
import {
  type AnswerPart,
  eventsIn,
  framed,
  MESSAGES,
  RESPONSES,
  startTextService,
  type UnmeteredDialect,
} from './unmetered.ts';

/**
 * Services that report an impossible usage and whose answers are passed through. Callers of these services must get the count of the
 * gateway instead.
 */
const service = startTextService();
afterAll(() => service.stop());
const box = useSignalbox(() => ({
  policy: testPolicy(
    Object.fromEntries([MESSAGES, RESPONSES].map(({ adapter }) => [adapter, { url: service.url, adapter }])),
    Object.fromEntries([MESSAGES, RESPONSES].map(({ adapter }) => [adapter, { endpoints: [adapter] }])),
  ),
}));

const ALL: readonly AnswerPart[] = [
  { kind: 'thinking', pieces: ['let me see '], state: 'c2lnbmVk/+==' },
  { kind: 'text', pieces: ['one ', 'two ', 'three '], state: '' },
];
const OF_RESPONSES: readonly AnswerPart[] = [{ ...ALL[0]!, kind: 'summary' }, ALL[1]!];
const saidIn = (dialect: UnmeteredDialect) => (dialect === MESSAGES ? ALL : OF_RESPONSES);

const IMPOSSIBLE = [-5, 1e15, 1.5, '42'] as const;
/** A usage without these figures would get them, because strict clients require them. */
const DETAILS = { input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 } };
const figure = fc.nat(300);
const odd = fc.constantFrom(...IMPOSSIBLE);
/** A usage whose figures are all counts, or that has one impossible figure. */
const usageOf = (dialect: UnmeteredDialect, isOdd: boolean): fc.Arbitrary<Json> =>
  fc.tuple(figure, figure, odd, fc.nat(2)).map(([input, output, wrong, at]) => {
    const wrongAt = (place: number, right: number) => (isOdd && at === place ? wrong : right);
    const [input_tokens, output_tokens] = [wrongAt(0, input + 1), wrongAt(1, output + 1)];
    return dialect === MESSAGES
      ? { input_tokens, output_tokens, cache_read_input_tokens: wrongAt(2, 3), service_tier: 'standard' }
      : { input_tokens, ...DETAILS, output_tokens, total_tokens: wrongAt(2, input + output + 2) };
  });

/** The places where a service states its usage: at the beginning, on the way, and at the end. */
interface Stated {
  readonly begin: Json | null;
  readonly running: Json | null;
  readonly end: Json | null;
}

const statedIn = (dialect: UnmeteredDialect): fc.Arbitrary<Stated> =>
  fc.tuple(fc.boolean(), fc.boolean(), fc.boolean()).chain(([begin, running, end]) =>
    fc.record({
      begin: usageOf(dialect, begin),
      running: dialect === MESSAGES ? fc.option(usageOf(dialect, running)) : fc.constant(null),
      end: usageOf(dialect, end),
    }),
  );

/** The events of an answer with these usages. */
function eventsWith(dialect: UnmeteredDialect, { begin, running, end }: Stated): Json[] {
  const [first, ...rest] = dialect.events(saidIn(dialect));
  if (dialect === RESPONSES) {
    const last = rest.pop()!;
    const withUsage = (event: Json, usage: Json | null) => ({
      ...event,
      response: { ...objectOf(event.response), usage },
    });
    return [withUsage(first!, begin), ...rest, withUsage(last, end)];
  }
  const message = { ...objectOf(first!.message), usage: begin };
  const [delta, stop] = rest.splice(-2);
  const soFar = running ? [{ type: 'message_delta', delta: { stop_reason: null }, usage: running }] : [];
  return [{ ...first, message }, ...rest, ...soFar, { ...delta, ...(end && { usage: end }) }, stop!];
}

const wholeWith = (dialect: UnmeteredDialect, usage: Json): Json => ({ ...dialect.whole(saidIn(dialect)), usage });

/** The usages in events, or in a body. */
const usagesIn = (events: readonly Json[]): Json[] =>
  events.flatMap(({ usage, message, response }) =>
    [usage, objectOf(message).usage, objectOf(response).usage].filter(isObject),
  );
const isCount = (value: unknown): boolean => Number.isInteger(value) && Number(value) >= 0 && Number(value) < 1e9;
const isTrue = (usage: Json): boolean =>
  Object.entries(usage).every(
    ([name, value]) =>
      value === null || (isObject(value) ? isTrue(value) : !name.endsWith('_tokens') || isCount(value)),
  );

/** The events without usage and receipt. */
const bare = (events: readonly Json[]): string =>
  JSON.stringify(events, (name, value) => (name === 'usage' || name === 'platform' ? undefined : value));

/** The input and output tokens of a usage, as its caller adds them up. */
const sumOf = (usage: Json): readonly number[] => {
  const { input_tokens: input, cache_read_input_tokens: read = 0, cache_creation_input_tokens: written = 0 } = usage;
  return [Number(input) + Number(read ?? 0) + Number(written ?? 0), Number(usage.output_tokens)];
};

async function recordOf(platform: Json): Promise<Json> {
  const decision: unknown = await (await box.get(`/v1/decisions/${platform.decision_id}`)).json();
  return objectOf(objectOf(decision).outcome);
}

/** Merges the usages of a message as Anthropic's SDK merges them. */
const folded = (usages: readonly Json[]): Json =>
  Object.assign(
    {},
    ...usages.map((one) => Object.fromEntries(Object.entries(one).filter(([, value]) => value !== null))),
  );

const shown = (dialect: UnmeteredDialect) =>
  fc.asyncProperty(statedIn(dialect), fc.boolean(), async (stated, stream) => {
    const sent = stream ? eventsWith(dialect, stated) : [wholeWith(dialect, stated.end!)];
    service.lay(stream ? framed(sent).join('') : JSON.stringify(sent[0]));
    const request = { ...dialect.request(dialect.adapter, 4_000), stream };
    const text = await (await box.post(dialect.path, request)).text();
    const got = stream ? eventsIn(text) : [JSON.parse(text)];
    // Nothing but the usage has changed.
    expect(bare(got)).toBe(bare(sent));
    const platform = got.map((event) => dialect.platform(event)).findLast(isObject)!;
    const usages = usagesIn(got);
    expect(usages.filter((usage) => !isTrue(usage))).toEqual([]);
    const before = usagesIn(sent);
    const isReplaced = !before.every(isTrue) || !isTrue(folded(before));
    const outcome = await recordOf(platform);
    expect([platform.usage_replaced ?? false, outcome.usage_replaced]).toEqual([isReplaced, isReplaced]);
    if (!isReplaced) expect(usages).toEqual(before);
    const { prompt_tokens: input, completion_tokens: output } = objectOf(outcome.usage);
    const last = dialect === MESSAGES ? folded(usages) : usages.at(-1)!;
    expect(sumOf(last)).toEqual([Number(input), Number(output)]);
    // Prompt tokens from the cache cost less.
    if (dialect === RESPONSES)
      expect(Number(platform.credits_consumed) * 1_000).toBeCloseTo(Number(input) + 4 * Number(output), 3);
  });

/** Parts without the mark that the usage is impossible, so that a writer passes it through. */
function forgetting(parts: readonly StreamPart[]): StreamPart[] {
  return parts.map((part) => (part.type === 'passthrough' ? { ...part, usage: undefined } : part));
}

describe.each([MESSAGES, RESPONSES])('the usage in an answer of $name that is passed through', (dialect) => {
  const { runs, seed, proved } = effort('holes', 8, 1_000);

  test('the usage of the service is passed through if it is plausible; otherwise the count of the gateway replaces it, and nothing else changes', async () => {
    await fc.assert(shown(dialect), { numRuns: runs, seed });
    proved(
      `answers of ${dialect.name} with usage at the beginning, on the way and at the end, some of it impossible: callers saw no impossible usage, and the same sums as the ledger`,
    );
  });

  test('(the law fails for a writer that passes an impossible usage through)', async () => {
    const { write } = MessageEvents.prototype;
    const { add } = PassedResponse.prototype;
    try {
      MessageEvents.prototype.write = function (parts) {
        return write.call(this, forgetting(parts));
      };
      PassedResponse.prototype.add = function (part) {
        return add.call(this, { ...part, usage: undefined });
      };
      expect((await fc.check(shown(dialect), { numRuns: 200, seed, endOnFailure: true })).failed).toBe(true);
    } finally {
      MessageEvents.prototype.write = write;
      PassedResponse.prototype.add = add;
    }
  });
});

const ODD_MESSAGE = { input_tokens: -5, output_tokens: 1e15 };

test('Anthropic’s own SDK adds up the count of the gateway, in a stream and in JSON', async () => {
  const client = new Anthropic({ apiKey: box.key, baseURL: box.url, maxRetries: 0 });
  const request = {
    ...MESSAGES.request('anthropic', 4_000),
    stream: undefined,
  } as Anthropic.MessageCreateParamsNonStreaming;
  service.lay(
    framed(eventsWith(MESSAGES, { begin: ODD_MESSAGE, running: null, end: { output_tokens: 1e15 } })).join(''),
  );
  const streamed = await client.messages.stream(request).finalMessage();
  service.lay(JSON.stringify(wholeWith(MESSAGES, ODD_MESSAGE)));
  const whole = await client.messages.create(request);
  for (const { usage } of [streamed, whole]) {
    expect(usage).toMatchObject({ input_tokens: 8, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 });
    expect(usage.output_tokens).toBeWithin(5, 20);
  }
});

test('OpenAI’s own SDK finds the count of the gateway, in a stream and in JSON', async () => {
  const client = new OpenAI({ apiKey: box.key, baseURL: `${box.url}/v1`, maxRetries: 0 });
  const request = { model: 'openai', input: 'Say hello.', max_output_tokens: 4_000 };
  const usage = { input_tokens: -5, output_tokens: 1e15, total_tokens: -5 };
  service.lay(framed(eventsWith(RESPONSES, { begin: usage, running: null, end: usage })).join(''));
  let streamed: OpenAI.Responses.Response | undefined;
  for await (const event of await client.responses.create({ ...request, stream: true })) {
    if (event.type === 'response.completed') streamed = event.response;
  }
  service.lay(JSON.stringify(wholeWith(RESPONSES, usage)));
  for (const response of [streamed!, await client.responses.create(request)]) {
    const { input_tokens: input, output_tokens: output, total_tokens: total } = response.usage!;
    expect(input).toBe(8);
    expect(output).toBeWithin(5, 20);
    expect(total).toBe(input + output);
  }
});

test('a repeat of the request gets the same usage', async () => {
  const usage = { input_tokens: Number.MAX_SAFE_INTEGER, output_tokens: '42' };
  for (const dialect of [MESSAGES, RESPONSES]) {
    service.lay(framed(eventsWith(dialect, { begin: usage, running: null, end: usage })).join(''));
    const headers = { 'idempotency-key': `odd-${dialect.name}` };
    const ask = () => box.post(dialect.path, { ...dialect.request(dialect.adapter, 4_000), stream: true }, { headers });
    const first = await (await ask()).text();
    const again = await ask();
    expect(again.headers.get('x-signalbox-replayed')).toBe('true');
    expect(await again.text()).toBe(first);
    expect(usagesIn(eventsIn(first)).every(isTrue)).toBe(true);
  }
});
