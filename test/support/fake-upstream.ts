import { chunksOf, errorBody, type OpenAiRequest, replyOf } from './openai-wire.ts';

/** How the fake answers one request. Everything left out is as OpenAI would do it. */
export interface Behaviour {
  /** The answer; a list is streamed as given, a text in pieces of some letters. */
  readonly text?: string | readonly string[];
  readonly reasoning?: string;
  readonly refusal?: string;
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: string; readonly id?: string }[];
  /** `stop`, or `tool_calls` with those. */
  readonly finish?: string;
  /** Merged over counted tokens; `missing` sends none. */
  readonly usage?: 'missing' | Readonly<Record<string, unknown>>;

  /** Anything but 200 answers with `error` as the body. */
  readonly status?: number;
  /** OpenAI's error fields, or the body as it is to be. */
  readonly error?: string | Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Bytes sent in place of the answer, a write each. */
  readonly raw?: readonly (string | Uint8Array)[];
  /** Replaces the fitting content type. */
  readonly contentType?: string;
  /** Answers in this form, whatever was asked. */
  readonly form?: 'json' | 'sse';

  /** Milliseconds. */
  readonly headersAfterMs?: number;
  readonly firstChunkAfterMs?: number;
  readonly betweenChunksMs?: number;
  /** Never sends headers, or never goes on after so many chunks. */
  readonly hang?: 'headers' | number;
  /** Breaks the connection after so many chunks. */
  readonly cutAfter?: number;
  /** Ends the stream cleanly after so many chunks. */
  readonly endAfter?: number;
  /** False: no `[DONE]`. */
  readonly done?: boolean;
  /** Leaves the stream open behind its last chunk. */
  readonly keepOpen?: boolean;
}

export interface RecordedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Headers;
  readonly text: string;
  readonly body: OpenAiRequest;
}

export interface FakeUpstream {
  /** The base URL to give a provider, with its `/v1`. */
  readonly url: string;
  readonly port: number;
  readonly requests: RecordedRequest[];
  /** Clients that hung up before the end. */
  readonly aborted: number;
  /** Behaviour of the next request only; several queue up. */
  next(...behaviours: Behaviour[]): void;
  /** Behaviour of all requests that no `next` is for. */
  behave(behaviour: Behaviour | ((request: RecordedRequest) => Behaviour)): void;
  stop(): Promise<void>;
}

export interface FakeOptions {
  /** Requests without this key get OpenAI's 401. */
  readonly key?: string;
  readonly behaviour?: Behaviour | ((request: RecordedRequest) => Behaviour);
  /** Where it listens; 127.0.0.1 and a free port if left out. */
  readonly hostname?: string;
  readonly port?: number;
}

const encoder = new TextEncoder();
const sleep = (ms: number | undefined) => (ms ? Bun.sleep(ms) : Promise.resolve());
const never = () => new Promise<never>(() => {});

/** Starts a server on 127.0.0.1 that speaks OpenAI's chat-completions wire format. */
export function startFakeUpstream(options: FakeOptions = {}): FakeUpstream {
  const requests: RecordedRequest[] = [];
  const queue: Behaviour[] = [];
  let behaviour = options.behaviour ?? {};
  let aborted = 0;
  const server = Bun.serve({
    port: options.port ?? 0,
    hostname: options.hostname ?? '127.0.0.1',
    idleTimeout: 0,
    maxRequestBodySize: 1 << 30,
    // A cut is made by a stream that throws: outside development Bun does not print that.
    development: false,
    async fetch(request) {
      const recorded = await record(request);
      requests.push(recorded);
      request.signal.addEventListener('abort', () => aborted++);
      const refusal = refusalOf(recorded, options.key);
      if (refusal) return refusal;
      const scripted = queue.shift() ?? (typeof behaviour === 'function' ? behaviour(recorded) : behaviour);
      return answer(recorded, scripted);
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}/v1`,
    port: server.port ?? 0,
    requests,
    get aborted() {
      return aborted;
    },
    next: (...behaviours) => void queue.push(...behaviours),
    behave(next) {
      behaviour = next;
    },
    stop: () => server.stop(true),
  };
}

async function record(request: Request): Promise<RecordedRequest> {
  const text = await request.text();
  let body: OpenAiRequest = {};
  try {
    body = JSON.parse(text);
  } catch {
    // Answered with a 400.
  }
  const { pathname } = new URL(request.url);
  return { method: request.method, path: pathname, headers: request.headers, text, body };
}

/** What OpenAI itself would refuse. */
function refusalOf({ method, path, headers, body }: RecordedRequest, key: string | undefined): Response | null {
  const refuse = (status: number, message: string, type: string, code: string | null) =>
    Response.json(errorBody(message, type, code), { status });
  if (key !== undefined && headers.get('authorization') !== `Bearer ${key}`) {
    const given = headers.get('authorization')?.replace(/^Bearer /, '') ?? '';
    const message = given ? `Incorrect API key provided: ${given}.` : "You didn't provide an API key.";
    return refuse(401, message, 'invalid_request_error', 'invalid_api_key');
  }
  if (method !== 'POST' || path !== '/v1/chat/completions') {
    return refuse(404, `Invalid URL (${method} ${path})`, 'invalid_request_error', null);
  }
  if (typeof body.model !== 'string' || !Array.isArray(body.messages)) {
    return refuse(400, 'you must provide a model parameter and messages', 'invalid_request_error', null);
  }
  return null;
}

async function answer(request: RecordedRequest, behaviour: Behaviour): Promise<Response> {
  const { status = 200, headers = {}, raw, contentType } = behaviour;
  if (behaviour.hang === 'headers') await never();
  await sleep(behaviour.headersAfterMs);
  const typed = (type: string) => ({ 'x-request-id': 'req_fake', 'content-type': contentType ?? type, ...headers });
  if (status !== 200 && !raw) return new Response(errorText(behaviour), { status, headers: typed('application/json') });
  const sse = behaviour.form ? behaviour.form === 'sse' : request.body.stream === true;
  if (raw) {
    return new Response(stream(raw, { ...behaviour, done: false }), {
      status,
      headers: typed(sse ? 'text/event-stream; charset=utf-8' : 'application/json'),
    });
  }
  if (!sse) {
    await sleep(behaviour.firstChunkAfterMs);
    return new Response(JSON.stringify(replyOf(request.body, behaviour)), { headers: typed('application/json') });
  }
  const events = chunksOf(request.body, behaviour).map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`);
  return new Response(stream(events, behaviour), { headers: typed('text/event-stream; charset=utf-8') });
}

function errorText({ error, status }: Behaviour): string {
  if (typeof error === 'string') return error;
  return JSON.stringify({ error: { ...errorBody(`status ${status}`, 'server_error', null).error, ...error } });
}

function stream(writes: readonly (string | Uint8Array)[], behaviour: Behaviour): ReadableStream<Uint8Array> {
  const { cutAfter = Infinity, endAfter = Infinity, hang, done = true } = behaviour;
  let gone = false;
  return new ReadableStream<Uint8Array>({
    async start(controller) {
      const write = (data: string | Uint8Array) => {
        if (!gone) controller.enqueue(typeof data === 'string' ? encoder.encode(data) : data);
      };
      await sleep(behaviour.firstChunkAfterMs);
      for (const [at, data] of writes.entries()) {
        if (at > 0) await sleep(behaviour.betweenChunksMs);
        if (at === hang) return;
        if (at === endAfter) return gone ? undefined : controller.close();
        if (at === cutAfter) {
          // Time for what was written to leave before the connection breaks.
          await sleep(20);
          return gone ? undefined : controller.error(new Error('cut'));
        }
        write(data);
      }
      if (done) write('data: [DONE]\n\n');
      if (!behaviour.keepOpen && !gone) controller.close();
    },
    cancel() {
      gone = true;
    },
  });
}
