import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { createOpenAI } from '@ai-sdk/openai';
import Anthropic from '@anthropic-ai/sdk';
import { ChatAnthropic } from '@langchain/anthropic';
import { ChatOpenAI } from '@langchain/openai';
import { Agent, tool as agentTool, OpenAIProvider, Runner } from '@openai/agents';
import { generateText, isStepCount, tool } from 'ai';
import OpenAI from 'openai';
import { z } from 'zod';
import { waitFor } from '../../support/answers.ts';
import { asksForWeather } from '../../support/dialect-bench.ts';
import {
  type Behaviour,
  type FakeUpstream,
  type RecordedRequest,
  startFakeUpstream,
} from '../../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../../support/policies.ts';
import { type Signalbox, startSignalbox } from '../../support/signalbox.ts';

/** Each client with a new `Idempotency-Key` for each call, set up as on its page, over a connection that breaks. */
let upstream: FakeUpstream;
let box: Signalbox;

beforeAll(async () => {
  upstream = startFakeUpstream({ key: UPSTREAM_KEY });
  const policy = testPolicy({ fake: upstream.url }, { best: { endpoints: ['fake'] } });
  box = await startSignalbox({ policy: policy, env: UPSTREAM_ENV });
});
afterEach(() => upstream.behave({}));
afterAll(async () => {
  await box.stop();
  await upstream.stop();
});

/** Sends each first request with a key, and closes the connection once the provider has the request. */
function breaking(): typeof fetch {
  const broken = new Set<string | null>();
  const send = async (url: Parameters<typeof fetch>[0], init: RequestInit = {}) => {
    const key = new Headers(init.headers).get('idempotency-key');
    if (broken.has(key)) return fetch(url, init);
    broken.add(key);
    const calls = upstream.requests.length;
    const leaving = new AbortController();
    const answer = fetch(url, { ...init, signal: leaving.signal }).catch(() => {});
    await waitFor(() => upstream.requests.length > calls);
    leaving.abort();
    await answer;
    throw new TypeError('fetch failed', { cause: new Error('the connection broke') });
  };
  return Object.assign(send, { preconnect: () => {} });
}

/** Sends a new idempotency key with each call of the client; retries of a call send the same key. */
class KeyedOpenAI extends OpenAI {
  protected override idempotencyHeader = 'Idempotency-Key';
}

const prompt = 'How is the weather?';
const messages = [{ role: 'user' as const, content: prompt }];
const fresh = () => ({ 'Idempotency-Key': crypto.randomUUID() });
const baseURL = () => `${box.url}/v1`;
const keyedClient = () => new KeyedOpenAI({ apiKey: box.key, baseURL: baseURL(), fetch: breaking() });

/** Adds a hash of the body to the key of a call, because each step of a tool loop is a separate request. */
const perStep =
  (send: typeof fetch) =>
  (url: Parameters<typeof fetch>[0], init: RequestInit = {}): Promise<Response> => {
    const headers = new Headers(init.headers);
    const call = headers.get('Idempotency-Key');
    const body = createHash('sha256').update(String(init.body)).digest('hex');
    if (call) headers.set('Idempotency-Key', `${call}-${body}`);
    return send(url, { ...init, headers });
  };

const CLIENTS: Readonly<Record<string, () => Promise<unknown>>> = {
  'the OpenAI client, with a header': async () => {
    const client = new OpenAI({ apiKey: box.key, baseURL: baseURL(), fetch: breaking() });
    const { choices } = await client.chat.completions.create({ model: 'best', messages }, { headers: fresh() });
    return choices[0]?.message.content;
  },
  'the OpenAI client, with a key for every call': async () =>
    (await keyedClient().chat.completions.create({ model: 'best', messages })).choices[0]?.message.content,
  'the Anthropic client': async () => {
    const client = new Anthropic({ apiKey: box.key, baseURL: box.url, fetch: breaking() });
    const { content } = await client.messages.create(
      { model: 'best', max_tokens: 100, messages },
      { headers: fresh() },
    );
    return content[0]?.type === 'text' && content[0].text;
  },
  'LangChain’s client of OpenAI': async () => {
    const configuration = { baseURL: baseURL(), fetch: breaking() };
    const chat = new ChatOpenAI({ model: 'best', apiKey: box.key, configuration });
    return (await chat.invoke(prompt, { options: { headers: fresh() } })).text;
  },
  'LangChain’s client of Anthropic': async () => {
    const clientOptions = { fetch: breaking() };
    const chat = new ChatAnthropic({ model: 'best', apiKey: box.key, anthropicApiUrl: box.url, clientOptions });
    return (await chat.invoke(prompt, { headers: fresh() })).text;
  },
};

test.each(Object.keys(CLIENTS))(
  '%s repeats a call after a broken connection, and the provider gets a single request',
  async (client) => {
    const calls = upstream.requests.length;
    upstream.next({ text: 'Sunny.', headersAfterMs: 300 });
    expect(await CLIENTS[client]!()).toBe('Sunny.');
    expect(upstream.requests.length - calls).toBe(1);
  },
);

/** A loop of two model calls. With a fixed key, Signalbox would refuse the second call. */
const LOOPS: Readonly<Record<string, () => Promise<unknown>>> = {
  'the Agents SDK': async () => {
    const weather = agentTool({
      ...{ name: 'weather', description: 'The weather of a city.', parameters: z.object({ city: z.string() }) },
      execute: async () => '20 °C',
    });
    const modelProvider = new OpenAIProvider({ openAIClient: keyedClient(), useResponses: true });
    const agent = new Agent({ name: 'Forecaster', model: 'best', tools: [weather] });
    return (await new Runner({ modelProvider, tracingDisabled: true }).run(agent, prompt)).finalOutput;
  },
  'the AI SDK': async () => {
    const provider = createOpenAI({
      apiKey: box.key,
      baseURL: baseURL(),
      fetch: Object.assign(perStep(breaking()), { preconnect: () => {} }),
    });
    const weather = tool({ inputSchema: z.object({ city: z.string() }), execute: async () => '20 °C' });
    const { text } = await generateText({
      ...{ model: provider('best'), prompt, tools: { weather }, stopWhen: isStepCount(3), headers: fresh() },
      providerOptions: { openai: { store: false } },
    });
    return text;
  },
};

test.each(Object.keys(LOOPS))(
  '%s repeats both calls of a loop with a tool, and the provider gets two',
  async (client) => {
    const calls = upstream.requests.length;
    const slow = (request: RecordedRequest): Behaviour => ({ ...asksForWeather(request), headersAfterMs: 300 });
    upstream.behave(slow);
    expect(await LOOPS[client]!()).toBe('It is 20 °C in Bern.');
    expect(upstream.requests.length - calls).toBe(2);
  },
);
