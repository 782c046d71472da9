import { isObject, parseJson } from '../../plugins/providers/json.ts';
import type { Asked, Dialect, Failure, FailureKind, WireRequest } from './dialects/dialect.ts';
import { DIALECTS, type DialectName } from './dialects/index.ts';
import type { OpenAiRequest } from './openai-wire.ts';
import { type OwnServer, type OwnServerOptions, startOwnServer } from './own-server.ts';

/** How the fake answers one request, in OpenAI's words for every dialect. Everything left out is as the provider would do it. */
export interface Behaviour {
  /** The answer; a list is streamed as given, a text in pieces of some letters. */
  readonly text?: string | readonly string[];
  readonly reasoning?: string;
  readonly refusal?: string;
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: string; readonly id?: string }[];
  /** `stop`, or `tool_calls` with those. A word that OpenAI has not is the dialect's own. */
  readonly finish?: string;
  /** Merged over counted tokens; `missing` sends none. `cache_write_tokens` are among the prompt's details. */
  readonly usage?: 'missing' | Readonly<Record<string, unknown>>;

  /** Fails as the provider does. */
  readonly fail?: FailureKind;
  /** Anything but 200 answers with `error` as the body. */
  readonly status?: number;
  /** Fields of the dialect's error, or the body as it is to be. */
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
  /** False: no `[DONE]`, no `message_stop`. */
  readonly done?: boolean;
  /** Leaves the stream open behind its last chunk. */
  readonly keepOpen?: boolean;
}

export interface RecordedRequest extends WireRequest {
  readonly body: OpenAiRequest;
  /** The same for every dialect. */
  readonly asked: Asked;
}

export interface FakeUpstream extends OwnServer {
  /** The base URL to give a provider, with its `/v1` or `/v1beta`. */
  readonly url: string;
  /** The same without. */
  readonly root: string;
  readonly requests: RecordedRequest[];
  /** Clients that hung up before the end. */
  readonly aborted: number;
  /** Behaviour of the next request only; several queue up. */
  next(...behaviours: Behaviour[]): void;
  /** Behaviour of all requests that no `next` is for. */
  behave(behaviour: Behaviour | ((request: RecordedRequest) => Behaviour)): void;
}

export interface FakeOptions extends OwnServerOptions {
  /** `openai` if left out. */
  readonly dialect?: DialectName;
  /** Requests without this key are refused as the provider does. */
  readonly key?: string;
  readonly behaviour?: Behaviour | ((request: RecordedRequest) => Behaviour);
}

const encoder = new TextEncoder();
const sleep = (ms: number | undefined) => (ms ? Bun.sleep(ms) : Promise.resolve());
const never = () => new Promise<never>(() => {});

/** Starts a server on 127.0.0.1 that speaks a provider's dialect. */
export function startFakeUpstream(options: FakeOptions = {}): FakeUpstream {
  const dialect = DIALECTS[options.dialect ?? 'openai'];
  const requests: RecordedRequest[] = [];
  const queue: Behaviour[] = [];
  let behaviour = options.behaviour ?? {};
  let aborted = 0;
  const server = startOwnServer(async (request) => {
    const recorded = await record(request, dialect);
    requests.push(recorded);
    request.signal.addEventListener('abort', () => aborted++);
    const refusal = dialect.refusal(recorded, options.key);
    if (refusal) return failed(refusal, dialect);
    const scripted = queue.shift() ?? (typeof behaviour === 'function' ? behaviour(recorded) : behaviour);
    return answer(recorded, scripted, dialect);
  }, options);
  return {
    ...server,
    url: server.url + dialect.basePath,
    root: server.url,
    requests,
    get aborted() {
      return aborted;
    },
    next: (...behaviours) => void queue.push(...behaviours),
    behave(next) {
      behaviour = next;
    },
  };
}

async function record(request: Request, dialect: Dialect): Promise<RecordedRequest> {
  const text = await request.text();
  const parsed = parseJson(text);
  const { pathname: path, searchParams: query } = new URL(request.url);
  const body: OpenAiRequest = isObject(parsed) ? parsed : {};
  const recorded = { method: request.method, path, query, headers: request.headers, text, body };
  return {
    ...recorded,
    // Only looked at where a test does: a hostile request has no such view.
    get asked() {
      return dialect.asked(recorded);
    },
  };
}

function failed({ status, body, headers }: Failure, dialect: Dialect): Response {
  return Response.json(body, { status, headers: { ...dialect.headers, ...headers } });
}

async function answer(request: RecordedRequest, behaviour: Behaviour, dialect: Dialect): Promise<Response> {
  const { status = 200, headers = {}, raw, contentType } = behaviour;
  if (behaviour.hang === 'headers') await never();
  await sleep(behaviour.headersAfterMs);
  if (behaviour.fail) return failed(dialect.failure(behaviour.fail), dialect);
  const typed = (type: string) => ({ ...dialect.headers, 'content-type': contentType ?? type, ...headers });
  if (status !== 200 && !raw) {
    return new Response(errorText(behaviour, dialect), { status, headers: typed('application/json') });
  }
  const sse = behaviour.form ? behaviour.form === 'sse' : dialect.asksForStream(request);
  if (raw) {
    return new Response(stream(raw, { ...behaviour, done: false }, ''), {
      status,
      headers: typed(sse ? 'text/event-stream; charset=utf-8' : 'application/json'),
    });
  }
  if (!sse) {
    await sleep(behaviour.firstChunkAfterMs);
    return new Response(JSON.stringify(dialect.reply(request, behaviour)), { headers: typed('application/json') });
  }
  const end = dialect.endOf?.(request) ?? dialect.end;
  return new Response(stream(dialect.events(request, behaviour), behaviour, end), {
    headers: typed('text/event-stream; charset=utf-8'),
  });
}

function errorText({ error, status = 500 }: Behaviour, dialect: Dialect): string {
  return typeof error === 'string' ? error : JSON.stringify(dialect.errorBody(status, error ?? {}));
}

function stream(
  writes: readonly (string | Uint8Array)[],
  behaviour: Behaviour,
  end: string,
): ReadableStream<Uint8Array> {
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
      if (done) write(end);
      if (!behaviour.keepOpen && !gone) controller.close();
    },
    cancel() {
      gone = true;
    },
  });
}
