import OpenAI from 'openai';
import { TOOL } from '../../test/fault/faults-content.ts';
import { TEXT } from '../../test/fault/sample-texts.ts';
import type { Trial } from './stage.ts';

/** The address and credentials for calling a gateway. */
export interface Address {
  /** The base URL, with `/v1`. */
  readonly url: string;
  readonly key: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Longer than the deadline of any fault, in ms. */
export const PATIENCE_MS = 7_000;

const STREAM = { stream: true, stream_options: { include_usage: true } } as const;
const bodyOf = ({ id, fault }: Trial) => ({
  model: id,
  messages: [{ role: 'user' as const, content: 'Say hello.' }],
  max_tokens: 20,
  ...(fault.tool !== undefined && {
    tools: [{ type: 'function' as const, function: { name: fault.tool } }],
    tool_choice: 'auto' as const,
  }),
});

/** The received parts of an answer, in either form. */
interface Gathered {
  text: string;
  /** The ID, name and arguments of a tool call. */
  id: string;
  name: string;
  call: string;
  finish: string | null;
}
const nothing = (): Gathered => ({ text: '', id: '', name: '', call: '', finish: null });

interface Choice {
  readonly message?: Part | null;
  readonly delta?: Part | null;
  readonly finish_reason?: string | null;
}
interface Part {
  readonly content?: string | null;
  readonly tool_calls?: readonly ToolCall[] | null;
}
interface ToolCall {
  readonly id?: string;
  readonly function?: { readonly name?: string; readonly arguments?: string };
}

function gather(into: Gathered, [choice]: readonly Choice[]): void {
  const part = choice?.message ?? choice?.delta;
  into.text += part?.content ?? '';
  for (const { id, function: named } of part?.tool_calls ?? []) {
    into.id ||= id ?? '';
    into.name ||= named?.name ?? '';
    into.call += named?.arguments ?? '';
  }
  into.finish ??= choice?.finish_reason ?? null;
}

const textOf = ({ fault }: Trial): string => fault.text ?? TEXT;

/** Returns whether a program could continue with the answer: it has the complete text, or a call with everything that a result needs. */
function isWhole(trial: Trial, { text, id, name, call, finish }: Gathered): boolean {
  if (finish === null) return false;
  if (trial.fault.tool === undefined) return text === textOf(trial);
  return id !== '' && name === TOOL.name && call === TOOL.arguments;
}

const post = ({ url, key, headers }: Address, trial: Trial, signal: AbortSignal): Promise<Response> =>
  fetch(`${url}/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ ...bodyOf(trial), ...(trial.form === 'SSE' && STREAM) }),
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    signal,
  });

/** Returns what a reader of bytes sees, in a few words. */
export async function read(address: Address, trial: Trial): Promise<string> {
  const patience = AbortSignal.timeout(PATIENCE_MS);
  let body = '';
  let status = 0;
  let pause = '';
  let end: 'clean' | 'broken' | 'never' = 'clean';
  try {
    const response = await post(address, trial, patience);
    ({ status } = response);
    if (response.headers.has('retry-after') || response.headers.has('retry-after-ms')) pause = ' with a pause';
    const decoder = new TextDecoder();
    for await (const bytes of response.body ?? []) {
      body += decoder.decode(bytes, { stream: true });
      trial.seen.resolve();
    }
  } catch {
    end = patience.aborted ? 'never' : 'broken';
  }
  if (status === 0) return end === 'never' ? 'nothing' : 'a closed connection';
  if (status !== 200) {
    return `${status}${pause}${end === 'never' ? ' without end' : ''}${isOpenAiError(body) ? '' : ', other form'}`;
  }
  const said = trial.form === 'SSE' ? readStream(trial, body) : readReply(trial, body);
  if (end === 'clean') return said;
  return `${said === 'the answer' ? said : said.replace(', clean end', '')}, ${end === 'never' ? 'then silence' : 'broken off'}`;
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
const isOpenAiError = (body: string): boolean => typeof fieldOf(fieldOf(parsed(body), 'error'), 'message') === 'string';
const choicesOf = (value: unknown): Choice[] => {
  const choices = fieldOf(value, 'choices');
  return Array.isArray(choices) ? choices : [];
};

function readReply(trial: Trial, body: string): string {
  const value = parsed(body);
  if (value === undefined) return body.trim() === '' ? '200, empty' : '200, not JSON';
  if (fieldOf(value, 'error')) return '200 with an error';
  const got = nothing();
  gather(got, choicesOf(value));
  return isWhole(trial, got) ? 'the answer' : '200, not the answer';
}

function readStream(trial: Trial, body: string): string {
  const got = nothing();
  let errors = 0;
  let junk = 0;
  const data = body
    .replaceAll('\r\n', '\n')
    .split('\n')
    .filter((line) => line.startsWith('data:'));
  for (const line of data.map((one) => one.slice('data:'.length).trim())) {
    if (line === '[DONE]') break;
    const value = parsed(line);
    if (value === undefined) junk++;
    else if (fieldOf(value, 'error')) errors++;
    gather(got, choicesOf(value));
  }
  const isMore = got.text !== textOf(trial) && got.text.startsWith(textOf(trial));
  const part = isMore ? 'more than the answer' : got.text + got.call === '' ? 'no content' : 'part';
  if (errors > 0) return `${part}, an error event`;
  if (junk > 0) return `${part}, an event that is no JSON`;
  return isWhole(trial, got) ? 'the answer' : `${part}, clean end`;
}

/** The outcome that a program with the `openai` package concludes from the answer. */
export type Conclusion =
  | { readonly made: 'answer' | 'silence' | 'hung' }
  /** The program threw an error, with this status if the error has a status. */
  | { readonly made: 'error'; readonly what: string };

export async function conclude({ url, key, headers }: Address, trial: Trial): Promise<Conclusion> {
  const client = new OpenAI({
    baseURL: url,
    apiKey: key,
    defaultHeaders: headers,
    maxRetries: 0,
    timeout: PATIENCE_MS,
  });
  const patience = AbortSignal.timeout(PATIENCE_MS);
  const got = nothing();
  const body = bodyOf(trial);
  try {
    if (trial.form === 'SSE') {
      for await (const chunk of await client.chat.completions.create({ ...body, ...STREAM }, { signal: patience })) {
        gather(got, choicesOf(chunk));
        if (got.text + got.call !== '') trial.seen.resolve();
      }
    } else {
      const reply = await client.chat.completions.create(body, { signal: patience });
      gather(got, choicesOf(reply));
    }
  } catch (error) {
    if (patience.aborted) return { made: 'hung' };
    const status = fieldOf(error, 'status');
    return { made: 'error', what: typeof status === 'number' ? `throws ${status}` : 'throws' };
  }
  // The client's stream ends without an error if it is aborted.
  if (patience.aborted) return { made: 'hung' };
  return { made: isWhole(trial, got) ? 'answer' : 'silence' };
}

/**
 * Sends a request, disconnects in the middle, and returns after how many ms the gateway no longer waits for the upstream; null if it still
 * waits.
 */
export async function leave(address: Address, trial: Trial, isOpen: () => boolean): Promise<number | null> {
  const gone = new AbortController();
  const reading = post(address, trial, gone.signal).then(
    async (response) => {
      for await (const _ of response.body ?? []);
    },
    () => {},
  );
  await Bun.sleep(400);
  if (!isOpen()) throw new Error('the upstream was not asked');
  const since = performance.now();
  gone.abort();
  await reading.catch(() => {});
  while (isOpen()) {
    if (performance.now() - since > LEAVE_MS) return null;
    await Bun.sleep(5);
  }
  return performance.now() - since;
}
/** How long the upstream is watched after its caller has disconnected, in ms. */
export const LEAVE_MS = 3_000;
