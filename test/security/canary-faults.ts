import type { Behaviour } from '../support/fake-upstream.ts';

/** Everything that a fault may contain and that Signalbox must not disclose. */
export interface Known {
  /** The caller's complete API key. */
  readonly own: string;
  /** The provider's key that the upstream call used. */
  readonly key: string;
  readonly prompt: string;
  /** The name of a model that does not exist. */
  readonly model: string;
  readonly answer: string;
}

export interface Fault {
  readonly name: string;
  /** The behaviour of both upstreams under the fault. */
  readonly upstream?: (known: Known) => Behaviour;
  /** Fields in addition to the usual request. */
  readonly ask?: (known: Known) => object;
  /** A text instead of a JSON body. */
  readonly raw?: (known: Known) => string;
  readonly headers?: (known: Known) => Readonly<Record<string, string>>;
  readonly path?: (known: Known) => string;
}

const error = (status: number, message: string, more: object = {}): Behaviour => ({
  status,
  error: { message, type: 'invalid_request_error', ...more },
});
const event = (data: object) => `data: ${JSON.stringify(data)}\n\n`;
const delta = (content: string) => event({ choices: [{ index: 0, delta: { content }, finish_reason: null }] });

/** Everything that an upstream, a caller or the network between them can do wrong. Each fault contains the secrets. */
export const FAULTS: readonly Fault[] = [
  { name: 'none', upstream: ({ answer }) => ({ text: answer }) },
  ...[400, 401, 402, 403, 404, 408, 413, 418, 422, 429, 500, 503, 504, 529].map(
    (status): Fault => ({
      name: `${status} with the key and the prompt`,
      upstream: ({ key, prompt }) => error(status, `Incorrect API key provided: ${key}. You sent: ${prompt}`),
    }),
  ),
  {
    name: 'the key in the middle of a long text that is cut off',
    upstream: ({ key }) => error(500, `${'x '.repeat(140)}${key}${'y'.repeat(400)}`),
  },
  { name: 'the first half of the key', upstream: ({ key }) => error(400, `key ${key.slice(0, 20)}… is wrong`) },
  { name: 'the end of the key', upstream: ({ key }) => error(403, `key ***${key.slice(-16)} is wrong`) },
  { name: 'the key as a header', upstream: ({ key }) => error(500, `{"authorization": "Bearer ${key}"}`) },
  { name: 'the key in a URL', upstream: ({ key }) => error(502, `GET /v1?key=${encodeURIComponent(key)} failed`) },
  {
    name: 'the prompt in pieces',
    upstream: ({ prompt }) => error(500, `near ${prompt.slice(5, 25)} and ${prompt.slice(12, 40)}`),
  },
  {
    name: 'the prompt as JSON',
    upstream: ({ prompt }) => error(422, JSON.stringify({ messages: [{ content: prompt }] })),
  },
  {
    name: 'a text instead of JSON',
    upstream: ({ key, prompt }) => ({ status: 500, error: `panic: ${key} ${prompt}` }),
  },
  {
    name: 'a page of HTML',
    upstream: ({ key, prompt }) => ({ status: 502, error: `<html>${key} ${prompt}</html>`, contentType: 'text/html' }),
  },
  {
    name: 'an error in headers',
    upstream: ({ key, prompt }) => ({ status: 503, headers: { 'x-echo': `${key} ${prompt}`, 'retry-after': '1' } }),
  },
  {
    name: 'a redirect with the key',
    upstream: ({ key }) => ({ status: 307, headers: { location: `http://127.0.0.1:9/${key}` } }),
  },
  {
    name: 'an answer that is not JSON',
    upstream: ({ key, answer }) => ({ raw: [`{"choices": ${key} ${answer}`], form: 'json' }),
  },
  {
    name: 'an answer of another form',
    upstream: ({ key, answer }) => ({ raw: [JSON.stringify({ result: answer, key })], form: 'json' }),
  },
  {
    name: 'an error in a 200',
    upstream: ({ key, prompt }) => ({
      raw: [JSON.stringify({ error: { message: `${key} ${prompt}` } })],
      form: 'json',
    }),
  },
  { name: 'nothing in a 200', upstream: () => ({ raw: [''], form: 'json' }) },
  {
    name: 'an error in the middle of a stream, with the answer so far',
    upstream: ({ key, prompt, answer }) => ({
      form: 'sse',
      raw: [delta(answer), event({ error: { message: `${key}: after ${answer} to ${prompt}`, code: 500 } })],
    }),
  },
  {
    name: 'an error before a stream',
    upstream: ({ key, prompt }) => ({ form: 'sse', raw: [event({ error: { message: `${key} ${prompt}` } })] }),
  },
  {
    name: 'a stream of noise',
    upstream: ({ key, answer }) => ({ form: 'sse', raw: [`data: ${key}${answer}\n\n`, `: ${key}\n\n`] }),
  },
  {
    name: 'a choice that was not requested',
    upstream: ({ answer }) => ({ form: 'sse', raw: [event({ choices: [{ index: 7, delta: { content: answer } }] })] }),
  },
  { name: 'a cut', upstream: ({ answer }) => ({ text: [answer, ' and more', '!'], cutAfter: 2 }) },
  { name: 'a stream that ends too early', upstream: ({ answer }) => ({ text: [answer, ' and more'], endAfter: 2 }) },
  {
    name: 'a JSON answer that is cut off',
    upstream: ({ answer }) => ({
      raw: [`{"id":"x","choices":[{"message":{"content":"${answer}`],
      form: 'json',
      cutAfter: 1,
    }),
  },
  { name: 'silence', upstream: () => ({ hang: 'headers' }) },
  {
    name: 'silence in the middle of an answer',
    upstream: ({ answer }) => ({ text: [answer, answer, answer], hang: 2 }),
  },
  {
    name: 'impossible token counts',
    upstream: ({ answer }) => ({ text: answer, usage: { prompt_tokens: -1, completion_tokens: 1e308 } }),
  },
  { name: 'a refusal', upstream: ({ answer }) => ({ refusal: answer, text: [] }) },
  {
    name: 'tool calls',
    upstream: ({ answer }) => ({ toolCalls: [{ name: 'look', arguments: JSON.stringify({ at: answer }) }] }),
    ask: () => ({ tools: [{ type: 'function', function: { name: 'look' } }] }),
  },
  { name: 'a body that is not JSON', raw: ({ prompt }) => `{"messages": "${prompt}` },
  { name: 'a body of another type', raw: ({ prompt }) => JSON.stringify([prompt]) },
  { name: 'a field of another type', ask: ({ prompt }) => ({ temperature: prompt }) },
  { name: 'a role that does not exist', ask: ({ prompt }) => ({ messages: [{ role: prompt, content: prompt }] }) },
  { name: 'a model that does not exist', ask: ({ model }) => ({ model }) },
  {
    name: 'a tool choice that does not exist',
    ask: ({ prompt }) => ({
      tools: [{ type: 'function', function: { name: 'a' } }],
      tool_choice: { type: 'function', function: { name: prompt } },
    }),
  },
  { name: 'unknown fields', ask: ({ prompt }) => ({ [prompt]: prompt, extra: { [prompt]: prompt } }) },
  {
    name: 'text outside the messages',
    ask: ({ prompt }) => ({ user: prompt, metadata: { note: prompt, n: prompt }, stop: [prompt] }),
  },
  {
    name: 'a wrong image',
    ask: ({ prompt }) => ({
      messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: `http://${prompt}.local/` } }] }],
    }),
  },
  {
    name: 'an API key in fields that are stored',
    upstream: ({ answer }) => ({ text: answer }),
    ask: ({ own }) => ({ agent_wallet: own, user: own, metadata: { note: own } }),
  },
  { name: 'an API key as a language', ask: ({ own }) => ({ constraints: { required_languages: [own] } }) },
  { name: 'a budget that is too low', ask: () => ({ budget_limit: 0.000001 }) },
  { name: 'constraints that no model satisfies', ask: () => ({ constraints: { max_latency_ms: 1 } }) },
  { name: 'a header of another type', headers: ({ prompt }) => ({ 'content-type': `text/${prompt}` }) },
  { name: 'headers that are too large', headers: ({ prompt }) => ({ 'x-large': prompt.repeat(500) }) },
  {
    name: 'a key for repeats',
    upstream: ({ answer }) => ({ text: answer }),
    headers: ({ prompt }) => ({ 'idempotency-key': prompt }),
  },
  {
    name: 'the same request again',
    upstream: ({ answer }) => ({ text: answer }),
    headers: ({ prompt }) => ({ 'idempotency-key': prompt }),
  },
  { name: 'a path that contains the prompt', path: ({ prompt }) => `/v1/chat/completions/${prompt}` },
  {
    name: 'a query that contains the prompt',
    path: ({ prompt }) => `/v1/usage?${prompt}=${prompt}`,
    upstream: ({ answer }) => ({ text: answer }),
  },
];
