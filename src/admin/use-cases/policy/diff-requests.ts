import { statSync } from 'node:fs';
import { type Static, Type } from '@sinclair/typebox';
import { SignalboxError } from '../../../core/errors.ts';
import { isObject, parseJson } from '../../../core/json/object.ts';
import { OPERATOR } from '../../../core/people/caller.ts';
import { compileCheck } from '../../../core/schema/validation.ts';
import { parseMoment } from '../../../core/time/clock.ts';
import { UsageError } from '../../../core/usage-error.ts';
import { readRouteBody } from '../../../dialects/route-body.ts';
import type { Runtime } from '../../../policy/runtime/runtime.ts';
import { createTokenCounter, PATIENT_COUNT_MS, type TokenCounter } from '../../../providers/tokenizer/counter.ts';
import {
  isRefused,
  isSame,
  NO_TOTALS,
  type RequestOutcome,
  requestOutcomeOf,
  type Side,
  settingFor,
  type Totals,
  withOutcomes,
} from './compare.ts';
import { decideFor, exactFacts, type HypotheticalRequest } from './hypothetical.ts';
import { USUAL_TIME } from './reasons.ts';
import { bodyOf } from './tools.ts';

/** The most bytes of a line. */
const LINE_BYTES_MAX = 10_000_000;
/** The most differences that are kept. The report only counts further differences. */
const KEPT_MAX = 10_000;

/** A line of the file: a request, optionally with its key and time. */
const RequestLine = Type.Object(
  {
    name: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
    request: Type.Object({}),
    key: Type.Optional(
      Type.Object(
        {
          id: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
          labels: Type.Optional(Type.Record(Type.String(), Type.String())),
          models: Type.Optional(Type.Array(Type.String({ minLength: 1 }), { minItems: 1 })),
        },
        { additionalProperties: false },
      ),
    ),
    time: Type.Optional(Type.String()),
    count: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000_000 })),
  },
  { additionalProperties: false },
);
type RequestLine = Static<typeof RequestLine>;
const checkLine = compileCheck(RequestLine);

/** A request that the two policies decide differently. */
export interface DifferentRequest {
  readonly name: string;
  readonly line: number;
  readonly count: number;
  readonly a: RequestOutcome;
  readonly b: RequestOutcome;
}

/** Requests that the first policy sends to one model and the second policy to another model, or refuses. */
export interface Move {
  /** The outcomes of a request that the two policies decide differently. */
  readonly a: RequestOutcome;
  readonly b: RequestOutcome;
  readonly totals: Totals;
}

export type ComparedRequests = Awaited<ReturnType<typeof compareRequests>>;

/** Decides every request of a file, or of the standard input, with both policies. Throws UsageError with file and line. */
export async function compareRequests(file: string, a: Side, b: Side) {
  const counter = createTokenCounter(() => {}, PATIENT_COUNT_MS);
  const different: DifferentRequest[] = [];
  const moves = new Map<string, Move>();
  let leftOut = 0;
  let totals = NO_TOTALS;
  for await (const { text, line } of linesOf(file)) {
    const place = `${shownName(file)}:${line}`;
    const found = await naming(place, () => decided(text, a, b, counter));
    totals = withOutcomes(totals, found.a, found.b, found.count);
    if (isSame(found.a, found.b)) continue;
    if (different.length < KEPT_MAX) different.push({ ...found, name: found.name ?? place, line });
    else leftOut++;
    const move = [found.a, found.b].map(goalOf).join('\n');
    const before = moves.get(move)?.totals ?? NO_TOTALS;
    moves.set(move, { a: found.a, b: found.b, totals: withOutcomes(before, found.a, found.b, found.count) });
  }
  if (totals.requests === 0)
    throw new UsageError(`${shownName(file)} has no requests. Write one request on each line.`);
  const most = [...moves.values()].sort((one, other) => other.totals.requests - one.totals.requests);
  // `leftOut` counts the different requests that are not kept. The move of the most requests comes first.
  return { different, leftOut, moves: most, totals };
}

async function decided(text: string, a: Side, b: Side, counter: TokenCounter) {
  const { name, count = 1, ...query } = readLine(text);
  const [before, after] = settingFor(query.request.model, a, b);
  return { name, count, a: await answer(query, before, counter), b: await answer(query, after, counter) };
}

const goalOf = (one: RequestOutcome): string => (isRefused(one) ? one.code : `${one.model} ${one.provider}`);

const shownName = (file: string): string => (file === '-' ? 'the standard input' : file);

async function naming<T>(place: string, run: () => T | Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (cause) {
    // No policy accepts a body that does not match the schema.
    if (cause instanceof UsageError || cause instanceof SignalboxError) {
      throw new UsageError(`${place}: ${cause.message}`);
    }
    throw cause;
  }
}

function readLine(text: string): HypotheticalRequest & Pick<RequestLine, 'name' | 'count'> {
  const value = parseJson(text);
  if (value === undefined) throw new UsageError('the line is not JSON. Write one request as JSON on each line.');
  const isWrapped = isObject(value) && 'request' in value;
  if (isWrapped) checkLine(value);
  // The schema has already been checked.
  const { request, key = {}, time, ...more } = isWrapped ? (value as RequestLine) : { request: value };
  const { id = 'request', labels = {}, models = null } = key;
  return {
    request: readRouteBody(bodyOf(request)),
    caller: { ...OPERATOR, keyId: id, labels, models: models && new Set(models) },
    timeMs: momentOf(time ?? USUAL_TIME),
    ...more,
  };
}

function momentOf(text: string): number {
  const moment = parseMoment(text);
  if (moment !== null) return moment;
  throw new UsageError(`\`time\` must be a time with its offset, such as 2026-11-20T08:00:00Z, not "${text}".`);
}

async function answer(query: HypotheticalRequest, runtime: Runtime, counter: TokenCounter): Promise<RequestOutcome> {
  const { snapshot } = runtime;
  try {
    const facts = await exactFacts(query, runtime, undefined, counter);
    return requestOutcomeOf(decideFor(facts, runtime), snapshot);
  } catch (error) {
    if (error instanceof SignalboxError) return requestOutcomeOf(error, snapshot);
    throw error;
  }
}

/** Reads the lines of a file as they arrive, with line numbers from 1, and skips empty lines. Throws UsageError. */
async function* linesOf(file: string): AsyncGenerator<{ readonly text: string; readonly line: number }> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let line = 1;
  let begun = Buffer.alloc(0);
  const refuse = (why: string) => new UsageError(`${shownName(file)}:${line}: the line is ${why}.`);
  const plus = (bytes: Uint8Array) => {
    if (begun.length + bytes.length > LINE_BYTES_MAX) throw refuse(`longer than ${LINE_BYTES_MAX / 1e6} MB`);
    return Buffer.concat([begun, bytes]);
  };
  const textOf = (bytes: Uint8Array) => {
    try {
      return decoder.decode(bytes).trim();
    } catch {
      throw refuse('not UTF-8');
    }
  };
  for await (const chunk of streamOf(file)) {
    let at = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, at)) {
      const text = textOf(plus(chunk.subarray(at, end)));
      if (text !== '') yield { text, line };
      begun = Buffer.alloc(0);
      line++;
      at = end + 1;
    }
    begun = plus(chunk.subarray(at));
  }
  const text = textOf(begun);
  if (text !== '') yield { text, line };
}

function streamOf(file: string): ReadableStream<Uint8Array> {
  if (file === '-') return Bun.stdin.stream();
  try {
    if (!statSync(file).isDirectory()) return Bun.file(file).stream();
  } catch {
    throw new UsageError(`--requests: ${file} cannot be read.`);
  }
  throw new UsageError(`--requests: ${file} is a folder. Name a file with a request on each line.`);
}
