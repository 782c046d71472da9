import { afterAll, beforeAll, expect, test } from 'bun:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { newKey } from '../../http/replay-support.ts';
import { waitFor } from '../../support/answers.ts';
import { type FakeUpstream, startFakeUpstream } from '../../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../../support/policies.ts';
import { type Signalbox, startSignalbox } from '../../support/signalbox.ts';

/** Official, unmodified SDKs whose timeout is shorter than the answer takes, with a new key for the call. */
let upstream: FakeUpstream;
let box: Signalbox;

beforeAll(async () => {
  upstream = startFakeUpstream({ key: UPSTREAM_KEY });
  const policy = testPolicy({ fake: upstream.url }, { best: { endpoints: ['fake'] } });
  box = await startSignalbox({ policy: policy, env: UPSTREAM_ENV });
});
afterAll(async () => {
  await box.stop();
  await upstream.stop();
});

/**
 * Both SDKs pause for about 0.5 s and 1 s before their retries, so the second retry times out 3.5 s after the start of the call at the
 * earliest.
 */
const TRIES = { maxRetries: 2, timeout: 800 };
const ANSWER_MS = 2_900;
const USAGE = { usage: { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 } };
const messages = [{ role: 'user' as const, content: 'Say hello.' }];

const say: Readonly<
  Record<string, (key: string, headers: Record<string, string>) => Promise<string | null | undefined>>
> = {
  async OpenAI(apiKey, headers) {
    const client = new OpenAI({ apiKey, baseURL: `${box.url}/v1`, ...TRIES });
    const { choices } = await client.chat.completions.create({ model: 'best', messages }, { headers });
    return choices[0]?.message.content;
  },
  async Anthropic(apiKey, headers) {
    const client = new Anthropic({ apiKey, baseURL: box.url, ...TRIES });
    const { content } = await client.messages.create({ model: 'best', max_tokens: 100, messages }, { headers });
    return content[0]?.type === 'text' ? content[0].text : null;
  },
};

test.each(Object.keys(say))(
  'the SDK of %s times out, repeats the request and receives the answer, which is charged once',
  async (sdk) => {
    const apiKey = await box.makeKey('--name', sdk);
    const calls = upstream.requests.length;
    upstream.next({ text: 'Slow.', ...USAGE, headersAfterMs: ANSWER_MS });
    expect(await say[sdk]!(apiKey, { 'Idempotency-Key': newKey() })).toBe('Slow.');
    expect(upstream.requests.length - calls).toBe(1);
    await waitFor(async () => {
      const usage = await box.get('/v1/usage', { headers: { authorization: `Bearer ${apiKey}` } });
      return ((await usage.json()) as { total_credits: number }).total_credits === 0.09;
    });
  },
);
