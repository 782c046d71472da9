import { isObject, parseJson } from '../../plugins/providers/json.ts';
import type { Asked, Dialect, Failure, FailureKind, WireRequest } from './dialects/dialect.ts';
import { DIALECTS, type DialectName } from './dialects/index.ts';
import type { OpenAiRequest } from './openai-wire.ts';
import { type OwnServer, type OwnServerOptions, startOwnServer } from './own-server.ts';

/**
 * How the fake answers one request, in OpenAI's terms for every dialect. The fake does what the provider would do for all members that are
 * absent.
 */
export interface Behaviour {
  /** The text of the answer. A stream sends the items of a list as they are, and a single text in pieces of a few letters. */
  readonly text?: string | readonly string[];
  readonly reasoning?: string;
  readonly refusal?: string;
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: string; readonly id?: string }[];
  /** `stop`, or `tool_calls` if there are any. A word that OpenAI does not have is the dialect's own word. */
  readonly finish?: string;
  /** Replaces members of the counted usage; `missing` sends no usage. `cache_write_tokens` belong to the details of the prompt. */
  readonly usage?: 'missing' | Readonly<Record<string, unknown>>;

  /** Makes the request fail in the provider's own form. */
  readonly fail?: FailureKind;
  /** Any status except 200 sends `error` as the body. */
  readonly status?: number;
  /** Fields of the dialect's error, or the complete body as text. */
  readonly error?: string | Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Bytes to send in place of the answer, one write for each item. */
  readonly raw?: readonly (string | Uint8Array)[];
  /** Replaces the usual content type. */
  readonly contentType?: string;
  /** Answers in this form, whatever the request asks for. */
  readonly form?: 'json' | 'sse';

  /** Milliseconds. */
  readonly headersAfterMs?: number;
  readonly firstChunkAfterMs?: number;
  readonly betweenChunksMs?: number;
  /** `headers`: never sends headers. A number: stops after this many chunks without ending. */
  readonly hang?: 'headers' | number;
  /** Breaks the connection after this many chunks. */
  readonly cutAfter?: number;
  /** Ends the stream cleanly after this many chunks. */
  readonly endAfter?: number;
  /** False omits the end mark: `[DONE]` or `message_stop`. */
  readonly done?: boolean;
  /** Leaves the stream open after its last chunk. */
  readonly keepOpen?: boolean;
}

export interface RecordedRequest extends WireRequest {
  readonly body: OpenAiRequest;
  /** The content of the request in the same form for every dialect. */
  readonly asked: Asked;
}

export interface FakeUpstream extends OwnServer {
  /** The base URL for a provider, with its `/v1` or `/v1beta`. */
  readonly url: string;
  /** The base URL without `/v1` or `/v1beta`. */
  readonly root: string;
  readonly requests: RecordedRequest[];
  /** How many clients disconnected before the end. */
  readonly aborted: number;
  /** Sets the behaviour of the next request; several behaviours form a queue. */
  next(...behaviours: Behaviour[]): void;
  /** Sets the behaviour of all requests for which `next` has queued nothing. */
  behave(behaviour: Behaviour | ((request: RecordedRequest) => Behaviour)): void;
}

export interface FakeOptions extends OwnServerOptions {
  /** The dialect; `openai` by default. */
  readonly dialect?: DialectName;
  /** The fake refuses requests without this key as the provider does. */
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
    // The getter computes the view only when a test reads it, because a hostile request has no valid view.
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
          // Waits until the kernel has sent the written bytes, before the connection breaks.
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
