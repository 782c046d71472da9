import { afterAll } from 'bun:test';
import { isObject, type Json, listOf, textOf } from '../../plugins/providers/json.ts';
import { startOwnServer } from './own-server.ts';
import { UPSTREAM_KEY } from './policies.ts';

/** One call as an upstream received it. */
export interface EmbeddingsReceived {
  readonly path: string;
  readonly body: Json;
  readonly texts: readonly string[];
}

export interface EmbeddingUpstream {
  readonly url: string;
  readonly received: EmbeddingsReceived[];
  /** Answers of the next calls in place of vectors, in order; null means vectors. */
  readonly next: (Response | null)[];
  /** The length of a vector if the request states no `dimensions`. */
  dimensions: number;
  /** The most texts in one call. */
  batchMax: number;
  /** Whether answers report their tokens. */
  reportsUsage: boolean;
  /** Counts the tokens of a text; by default its words. */
  tokensOf: (text: string) => number;
  /** Returns how long a call takes, ms. */
  delayMs: (nth: number) => number;
}

/** The vector that every upstream in these tests returns for a text: 32-bit floats that differ for every text. */
export function vectorFor(text: string, dimensions: number): number[] {
  let state = Number(Bun.hash.rapidhash(text) & 0xffffffffn) || 1;
  return Array.from({ length: dimensions }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.fround(state / 0x1_0000_0000 - 0.5);
  });
}

/** The tokens that every upstream in these tests counts for a text. */
export const tokensFor = (text: string): number => text.split(/\s+/).length;

/** Starts a server of OpenAI's embeddings or of Gemini's `batchEmbedContents`. The server refuses the same requests as the real service. */
export function useEmbeddings(wire: 'openai' | 'gemini'): EmbeddingUpstream {
  const server = startOwnServer(answer);
  afterAll(() => server.stop());
  const upstream: EmbeddingUpstream = {
    url: `${server.url}${wire === 'openai' ? '/v1' : '/v1beta'}`,
    received: [],
    next: [],
    dimensions: 8,
    batchMax: wire === 'openai' ? 2048 : 100,
    reportsUsage: wire === 'openai',
    tokensOf: tokensFor,
    delayMs: () => 0,
  };
  const { read, reply } = wire === 'openai' ? OPENAI : GEMINI;

  async function answer(request: Request): Promise<Response> {
    const path = new URL(request.url).pathname;
    const key = request.headers.get(wire === 'openai' ? 'authorization' : 'x-goog-api-key')?.replace('Bearer ', '');
    if (key !== UPSTREAM_KEY) return refused(401, 'Incorrect API key provided.');
    const body: unknown = await request.json();
    if (!isObject(body)) return refused(400, 'no object');
    const asked = read(path, body, upstream);
    if (typeof asked === 'string') return refused(400, asked);
    upstream.received.push({ path, body, texts: asked.texts });
    const scripted = upstream.next.shift();
    const delayMs = upstream.delayMs(upstream.received.length);
    if (delayMs > 0) await Bun.sleep(delayMs);
    return scripted ?? Response.json(reply(asked, upstream));
  }
  return upstream;
}

const refused = (status: number, message: string): Response =>
  Response.json({ error: { message, type: 'invalid_request_error', param: null, code: status } }, { status });

interface AskedVectors {
  readonly texts: readonly string[];
  readonly dimensions: number;
  readonly isBase64: boolean;
}

interface Wire {
  /** Returns the requested vectors, or the reason of a refusal. */
  read(path: string, body: Json, upstream: EmbeddingUpstream): AskedVectors | string;
  reply(asked: AskedVectors, upstream: EmbeddingUpstream): object;
}

/**
 * Fields from the types of openai 7.59.0 (resources/embeddings.d.ts); limits from developers.openai.com/api/reference/resources/embeddings.
 */
const OPENAI: Wire = {
  read(path, body, { dimensions: own, batchMax }) {
    if (path !== '/v1/embeddings') return `Invalid URL (POST ${path})`;
    for (const name in body)
      if (!['model', 'input', 'dimensions', 'encoding_format', 'user'].includes(name))
        return `Unrecognized request argument supplied: ${name}`;
    const { input, dimensions = own, encoding_format: format = 'float' } = body;
    if (typeof body.model !== 'string') return 'you must provide a model parameter';
    if (!Array.isArray(input) || input.length === 0) return '$.input is invalid.';
    if (input.length > batchMax) return `'$.input' is too long. Please reduce its length to ${batchMax}.`;
    const texts = input.map((one: unknown) => (Array.isArray(one) ? one.join(' ') : textOf(one)));
    if (texts.includes('')) return '$.input is invalid.';
    if (typeof dimensions !== 'number' || dimensions < 1 || dimensions > own) return 'Invalid dimensions';
    if (format !== 'float' && format !== 'base64') return 'Invalid encoding_format';
    return { texts, dimensions, isBase64: format === 'base64' };
  },
  reply({ texts, dimensions, isBase64 }, { reportsUsage, tokensOf }) {
    const tokens = texts.reduce((sum, text) => sum + tokensOf(text), 0);
    const data = texts.map((text, index) => {
      const vector = vectorFor(text, dimensions);
      const embedding = isBase64 ? Buffer.from(Float32Array.from(vector).buffer).toString('base64') : vector;
      return { object: 'embedding', index, embedding };
    });
    const usage = reportsUsage ? { usage: { prompt_tokens: tokens, total_tokens: tokens } } : {};
    // The reversed order checks that clients use `index`.
    return { object: 'list', data: data.toReversed(), model: 'an-upstream-model', ...usage };
  },
};

/**
 * Fields from @google/genai 2.32.0 (EmbedContentParameters to `…FromMldev`) and ai.google.dev/api/embeddings; the limit from
 * geldata/gel#9032.
 */
const GEMINI: Wire = {
  read(path, body, { dimensions: own, batchMax }) {
    const model = /^\/v1beta\/(models\/[^/:]+):batchEmbedContents$/.exec(path)?.[1];
    if (!model) return `not found: ${path}`;
    for (const name in body) if (name !== 'requests') return `Unknown name "${name}"`;
    const requests = listOf(body.requests);
    if (requests.length === 0) return 'BatchEmbedContentsRequest.requests: must not be empty';
    if (requests.length > batchMax)
      return `* BatchEmbedContentsRequest.requests: at most ${batchMax} requests can be in one batch\n`;
    const texts: string[] = [];
    let length = own;
    for (const one of requests) {
      if (!isObject(one) || one.model !== decodeURIComponent(model)) return 'the model of each request must match';
      for (const name in one)
        if (!['model', 'content', 'taskType', 'title', 'outputDimensionality'].includes(name))
          return `Unknown name "${name}" at 'requests[0]'`;
      const { content, outputDimensionality = own } = one;
      const part = isObject(content) ? listOf(content.parts)[0] : undefined;
      if (!isObject(part) || typeof part.text !== 'string') return 'requests[0].content: no text';
      if (typeof outputDimensionality !== 'number' || outputDimensionality > own)
        return 'outputDimensionality is wrong';
      texts.push(part.text);
      length = outputDimensionality;
    }
    return { texts, dimensions: length, isBase64: false };
  },
  reply({ texts, dimensions }, { reportsUsage, tokensOf }) {
    const promptTokenCount = texts.reduce((sum, text) => sum + tokensOf(text), 0);
    const embeddings = texts.map((text) => ({ values: vectorFor(text, dimensions) }));
    return { embeddings, ...(reportsUsage && { usageMetadata: { promptTokenCount } }) };
  },
};
