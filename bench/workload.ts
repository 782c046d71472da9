/** The fields of the chat requests. */
export interface ChatFields {
  readonly messages: readonly ChatTurn[];
  readonly tools?: readonly { readonly type: string; readonly function: ChatFunction }[];
  readonly stream?: true;
}

export type ChatTurn =
  | { readonly role: 'system' | 'user'; readonly content: string }
  | { readonly role: 'assistant'; readonly content: null; readonly tool_calls: readonly [ChatCall] }
  | { readonly role: 'tool'; readonly tool_call_id: string; readonly content: string };

interface ChatCall {
  readonly id: string;
  readonly type: string;
  readonly function: { readonly name: string; readonly arguments: string };
}

interface ChatFunction {
  readonly name: string;
  readonly description: string;
  readonly parameters: object;
}

/**
 * The requests of the ladder: bodies of a size, and the bytes of successive HTTP requests. Each sentence of a prompt contains a word made
 * by a counter, so that either every request has its own prompt, or all have the same.
 */
export interface Workload {
  readonly name: string;
  readonly stream: boolean;
  /** The fields of the request's body except `model`. */
  readonly fields: ChatFields;
  /**
   * The number of requests per round: large enough for the scheduler's count, and small enough that all rungs run under the same
   * conditions.
   */
  readonly requests: number;
  /** The size at which the conversations of agents begin, in bytes. Each request is then the next turn of a conversation; absent for none. */
  readonly sessionBytes?: number;
}

export type Prompts = 'own' | 'same';

/** The position of a prompt's own word. */
const MARK = 'qzxwvk';
const SENTENCE = `Our gateway sends the requests of team ${MARK} to a model by policy. Explain how its choice changes if the price of ${MARK} doubles, and how a caller notices. `;
/** Returns a prompt with this many characters. */
export const promptText = (chars: number): string =>
  SENTENCE.repeat(Math.ceil(chars / SENTENCE.length)).slice(0, chars);
/** With this text in a prompt, `bench/upstream.ts` writes all events of a stream at once. */
export const AT_ONCE = 'Answer in one piece.';

const question = (chars: number, manner = ''): ChatFields => ({
  messages: [
    { role: 'system', content: `You are a helpful assistant. ${manner}`.trim() },
    { role: 'user', content: promptText(chars) },
  ],
});

const TOOLS = Array.from({ length: 20 }, (_, at) => ({
  type: 'function',
  function: {
    name: `tool_${at}`,
    description: 'Looks something up and returns what it found, in a sentence or two.',
    parameters: {
      type: 'object',
      properties: { query: { type: 'string' }, limit: { type: 'integer' } },
      required: ['query'],
    },
  },
}));

/** Twenty tool calls with their results: about 20 KB with the tools. */
const STEPS = Array.from({ length: 20 }, (_, at): ChatTurn[] => {
  const call = { name: `tool_${at}`, arguments: `{"query":"${MARK}","limit":3}` };
  return [
    { role: 'assistant', content: null, tool_calls: [{ id: `call_${at}`, type: 'function', function: call }] },
    { role: 'tool', tool_call_id: `call_${at}`, content: promptText(480) },
  ];
}).flat();

/** The number of conversations at the same time. */
export const SESSIONS = 12;
/** The number of first turns of each conversation, which are not measured, and the number of later turns. */
const FIRST_TURNS = 2;
const LATER_TURNS = 33;
/** The number of requests that begin the conversations, and of those that continue them. */
export const SESSION_BEGIN = SESSIONS * FIRST_TURNS;
const SESSION_REQUESTS = SESSIONS * LATER_TURNS;

export const JSON_200 = 'JSON, 200 B';
export const STREAM = 'stream of 50 chunks';
export const WORKLOADS: readonly Workload[] = [
  { name: JSON_200, stream: false, fields: question(200), requests: 600 },
  { name: 'JSON, 2 KB', stream: false, fields: question(2_000), requests: 600 },
  { name: 'JSON, 100 KB', stream: false, fields: question(100_000), requests: 300 },
  {
    name: 'agent’s turn, 20 KB',
    stream: false,
    fields: { messages: [...question(200).messages, ...STEPS], tools: TOOLS },
    requests: 400,
  },
  ...[20, 100, 300].map((size) => ({
    name: `agent’s turn in a session, ${size} KB`,
    stream: false,
    fields: { messages: [], tools: TOOLS },
    requests: SESSION_REQUESTS,
    sessionBytes: size * 1_000,
  })),
  { name: STREAM, stream: true, fields: { stream: true, ...question(200) }, requests: 300 },
  {
    name: 'stream in one piece',
    stream: true,
    fields: { stream: true, ...question(200, AT_ONCE) },
    requests: 300,
  },
];

export const workloadOf = (name: string): Workload => WORKLOADS.find((workload) => workload.name === name)!;

/** Returns the bytes of a whole HTTP request. `body` null: a GET. `more`: further header lines. */
export function httpBytes(
  port: number,
  path: string,
  key: string,
  body: object | null,
  more: readonly string[] = [],
): Uint8Array {
  const encoded = new TextEncoder().encode(body ? JSON.stringify(body) : '');
  const head = [
    `${body ? 'POST' : 'GET'} ${path} HTTP/1.1`,
    `host: 127.0.0.1:${port}`,
    `authorization: Bearer ${key}`,
    ...(body ? ['content-type: application/json', `content-length: ${encoded.length}`] : []),
    ...more,
  ].join('\r\n');
  return Buffer.concat([new TextEncoder().encode(`${head}\r\n\r\n`), encoded]);
}

/** No two requests of a run have the same word at the same position. */
let words = 0;
const LETTERS = Buffer.from('aeioubdfglmnprst');
/** The distance between the words of neighbouring positions. */
const STRIDE = 7_919;

/** Returns a function that returns the bytes of one request after the other. */
export function bytesOf(template: Uint8Array, prompts: Prompts): () => Uint8Array {
  const places = placesOf(template);
  const fresh = () => {
    const bytes = new Uint8Array(template);
    words++;
    for (const [nth, at] of places.entries()) writeWord(bytes, at, words + nth * STRIDE);
    return bytes;
  };
  if (prompts === 'own') return fresh;
  const same = fresh();
  return () => same;
}

/**
 * Returns a function that returns the bytes of the next turn of one conversation after the other. Each turn adds a tool call and its result.
 * All conversations end together, and others begin, after `SESSION_BEGIN` and `requests` turns.
 */
export function sessionRequests(
  { fields, sessionBytes = 0 }: Workload,
  request: (body: object) => Uint8Array,
  model: string,
): () => Uint8Array {
  const sessions = Array.from({ length: SESSIONS }, () => ({ left: 0, messages: begun(sessionBytes) }));
  let turn = 0;
  return () => {
    const session = sessions[turn++ % SESSIONS]!;
    if (session.left-- <= 0)
      Object.assign(session, { left: FIRST_TURNS + LATER_TURNS - 1, messages: begun(sessionBytes) });
    addStep(session.messages);
    return request({ model, ...fields, messages: session.messages });
  };
}

function begun(bytes: number): ChatTurn[] {
  const messages: ChatTurn[] = [
    { role: 'system', content: 'You are a coding agent. '.repeat(100) },
    { role: 'user', content: `Task ${words++}: ${promptText(200)}` },
  ];
  for (let size = 3_000; size < bytes; ) size += addStep(messages);
  return messages;
}

const CODE =
  'export function sum(list: readonly number[]): number {\n  let total = 0;\n  for (const one of list) total += one;\n  return total;\n}\n// "NaN" and Infinity\n';

/** Adds a tool call and its result. Returns how many bytes they have, roughly. */
function addStep(messages: ChatTurn[]): number {
  const id = `call_${words++}`;
  const call = { name: `tool_${words % 20}`, arguments: JSON.stringify({ query: `/src/${words}.ts`, limit: 3 }) };
  const content = `${words}\n${CODE.repeat(8 + (words % 5))}`;
  messages.push(
    { role: 'assistant', content: null, tool_calls: [{ id, type: 'function', function: call }] },
    { role: 'tool', tool_call_id: id, content },
  );
  return content.length + 300;
}

function placesOf(template: Uint8Array): number[] {
  const bytes = Buffer.from(template);
  const places: number[] = [];
  for (let at = bytes.indexOf(MARK); at >= 0; at = bytes.indexOf(MARK, at + MARK.length)) places.push(at);
  return places;
}

function writeWord(bytes: Uint8Array, at: number, number: number): void {
  for (let letter = 0; letter < MARK.length; letter++) bytes[at + letter] = LETTERS[(number >>> (4 * letter)) & 15]!;
}
