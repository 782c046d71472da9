import {
  CAPABILITY_NAMES,
  defineProvider,
  type HttpCall,
  isObject,
  type ProviderCall,
  type ProviderFailure,
  parseJson,
  pathText,
  plainUsage,
  type StreamPart,
  type Turn,
  Type,
} from 'signalbox/plugin';

/**
 * Speaks a small dialect: `POST /generate` with a model and messages; text, a word on why it ends, and counts of tokens
 * come back, in one JSON or as lines of JSON. Make it your provider's. It only translates: the gateway connects.
 */
export const exampleProvider = defineProvider({
  contract: 2,
  // Providers of a policy refer to it by this name: `adapter: example`.
  name: 'example',
  status: 'alpha',
  // The schema of `settings` in a policy. None so far.
  settings: Type.Object({}, { additionalProperties: false }),
  // Where the service is and which variable has its key, for policies that state neither.
  presets: { example: { baseUrlEnv: 'EXAMPLE_BASE_URL', apiKeyEnv: 'EXAMPLE_API_KEY' } },
  prepare: () => ({
    kind: 'wire',
    dialect: 'example',
    // `sse` for server-sent events, `ndjson` for lines of JSON.
    frames: 'ndjson',
    // The gateway puts the key there, and nowhere else.
    auth: { header: 'authorization', prefix: 'Bearer ' },
    // The capabilities that the dialect cannot express: requests that need them go to other models. This one has text alone.
    lacks: () => CAPABILITY_NAMES,
    request,
    reply: (body) => answerParts(parseJson(body)),
    // Returns a fresh reader for each stream; keep its state between events in here.
    stream: () => ({ read: ({ data }) => answerParts(parseJson(data)) }),
    failure,
  }),
});

/** The HTTP request. It must carry `outputCap`, by which money is reserved for the request. */
function request({ upstream, request: asked, stream, outputCap }: ProviderCall): HttpCall | ProviderFailure {
  const messages: { role: string; text: string }[] = [];
  for (const turn of asked.conversation.turns) {
    const text = turnText(turn);
    // Never send a request that the dialect cannot express: the gateway tries another model, or returns this message.
    if (text === null) return { kind: 'rejected', message: `${pathText(turn.at)} has more than text` };
    messages.push({ role: turn.role === 'assistant' ? 'model' : 'user', text });
  }
  const body = {
    model: upstream,
    messages,
    stream,
    max_tokens: outputCap,
    temperature: asked.settings.temperature,
  };
  // Settings that were left out, by the caller's names: callers see them in `platform.dropped`.
  const dropped = (['topP', 'user'] as const).flatMap((name) =>
    asked.settings[name] === undefined ? [] : [asked.names[name]],
  );
  return { path: '/generate', headers: {}, body: JSON.stringify(body), dropped };
}

/** The text of a turn; null where it has anything else. */
function turnText({ parts }: Turn): string | null {
  const texts = parts.map((part) => (part.type === 'text' ? part.text : null));
  return texts.includes(null) ? null : texts.join('');
}

/** Reads a whole answer, and a line of a stream: they have the same members. Check every member. */
function answerParts(answer: unknown): StreamPart[] {
  if (!isObject(answer)) return [{ type: 'failure', failure: { kind: 'malformed', message: 'no JSON object' } }];
  if (answer.error !== undefined) return [{ type: 'failure', failure: { kind: 'server', message: reasonIn(answer) } }];
  const parts: StreamPart[] = [];
  if (typeof answer.text === 'string') parts.push({ type: 'text', choice: 0, text: answer.text });
  if (typeof answer.stop === 'string') {
    const reason = answer.stop === 'limit' ? 'length' : 'stop';
    parts.push({ type: 'finish', choice: 0, reason, raw: answer.stop });
  }
  // Where cached or reasoning tokens are counted too, use `canonicalUsage`: one that is counted twice is billed twice.
  if (isObject(answer.tokens)) {
    parts.push({ type: 'usage', usage: plainUsage(Number(answer.tokens.in), Number(answer.tokens.out)) });
  }
  return parts;
}

/** Classifies an answer with a status outside 2xx. */
function failure(status: number, _headers: Headers, body: string): ProviderFailure {
  return {
    kind: KINDS.get(status) ?? (status < 500 ? 'rejected' : 'server'),
    message: reasonIn(parseJson(body)),
    status,
  };
}

const KINDS: ReadonlyMap<number, ProviderFailure['kind']> = new Map([
  [401, 'auth'],
  [402, 'credit'],
  [403, 'auth'],
  [404, 'not_found'],
  [413, 'context'],
  [429, 'rate_limited'],
  [503, 'overloaded'],
]);

const reasonIn = (body: unknown): string =>
  isObject(body) && typeof body.error === 'string' ? body.error.slice(0, 300) : 'no reason given';
