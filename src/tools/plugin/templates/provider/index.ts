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
 * An adapter for a small example dialect: `POST /generate` with a model and messages returns text, the reason why it ends, and counts of
 * tokens, as one JSON value or as lines of JSON. Change the example to your provider's dialect. The adapter only translates; the gateway
 * makes the connection.
 */
export const exampleProvider = defineProvider({
  contract: 2,
  // The name that providers of a policy use: `adapter: example`.
  name: 'example',
  status: 'alpha',
  // The schema of `settings` in a policy. This adapter has no settings yet.
  settings: Type.Object({}, { additionalProperties: false }),
  // The variables with the address of the service and its key, for policies that state neither.
  presets: { example: { baseUrlEnv: 'EXAMPLE_BASE_URL', apiKeyEnv: 'EXAMPLE_API_KEY' } },
  prepare: () => ({
    kind: 'wire',
    dialect: 'example',
    // `sse` for server-sent events, `ndjson` for lines of JSON.
    frames: 'ndjson',
    // The gateway sends the key in this header, and nowhere else.
    auth: { header: 'authorization', prefix: 'Bearer ' },
    // The capabilities that the dialect cannot express. Requests that need these capabilities go to other models. This dialect has only
    // text.
    lacks: () => CAPABILITY_NAMES,
    request,
    reply: (body) => answerParts(parseJson(body)),
    // Returns a new reader for each stream. Keep state between events inside the reader.
    stream: () => ({ read: ({ data }) => answerParts(parseJson(data)) }),
    failure,
  }),
});

/** Builds the HTTP request. The request must contain `outputCap`, because the money reserved for the request depends on this cap. */
function request({ upstream, request: asked, stream, outputCap }: ProviderCall): HttpCall | ProviderFailure {
  const messages: { role: string; text: string }[] = [];
  for (const turn of asked.conversation.turns) {
    const text = turnText(turn);
    // Never send a request that the dialect cannot express. If you return `rejected`, the gateway tries another model, or returns this
    // message to the caller.
    if (text === null) return { kind: 'rejected', message: `${pathText(turn.at)} must contain only text` };
    messages.push({ role: turn.role === 'assistant' ? 'model' : 'user', text });
  }
  const body = {
    model: upstream,
    messages,
    stream,
    max_tokens: outputCap,
    temperature: asked.settings.temperature,
  };
  // The names of settings that were left out, in the caller's words. Callers see the dropped settings in `platform.dropped`.
  const dropped = (['topP', 'user'] as const).flatMap((name) =>
    asked.settings[name] === undefined ? [] : [asked.names[name]],
  );
  return { path: '/generate', headers: {}, body: JSON.stringify(body), dropped };
}

/** Returns the text of a turn; null if the turn contains anything else. */
function turnText({ parts }: Turn): string | null {
  const texts = parts.map((part) => (part.type === 'text' ? part.text : null));
  return texts.includes(null) ? null : texts.join('');
}

/** Reads a whole answer, or a line of a stream; an answer and a line have the same members. Check every member. */
function answerParts(answer: unknown): StreamPart[] {
  if (!isObject(answer)) return [{ type: 'failure', failure: { kind: 'malformed', message: 'no JSON object' } }];
  if (answer.error !== undefined) return [{ type: 'failure', failure: { kind: 'server', message: reasonIn(answer) } }];
  const parts: StreamPart[] = [];
  if (typeof answer.text === 'string') parts.push({ type: 'text', choice: 0, text: answer.text });
  if (typeof answer.stop === 'string') {
    const reason = answer.stop === 'limit' ? 'length' : 'stop';
    parts.push({ type: 'finish', choice: 0, reason, raw: answer.stop });
  }
  // If the provider also counts cached or reasoning tokens, use `canonicalUsage`. Without `canonicalUsage`, tokens could be counted and
  // billed twice.
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
