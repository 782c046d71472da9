import { expect } from 'bun:test';
import { parseId } from '../../src/core/id.ts';
import { type Entry, read } from '../gateway/money/books.ts';
import { waitFor } from '../support/answers.ts';
import { READER } from '../support/chat-body.ts';
import { CONTRACT, expectError } from '../support/error-contract.ts';
import { UPSTREAM_KEY } from '../support/policies.ts';
import { profile } from '../support/profile.ts';
import { readOn } from '../support/read-request.ts';
import type { Signalbox } from '../support/signalbox.ts';
import { deadlinesOf, isTakenOver } from './faults.ts';
import { TOOL } from './faults-content.ts';
import { type FailureKind, isRepeatable, type Outcome } from './outcome.ts';
import { JUNK, TEXT, USAGE, WORDS } from './sample-texts.ts';
import { type Case, HEALTHY_TEXT, HEALTHY_USAGE } from './stage.ts';
import { type AnswerContent, hasOpenAiErrors, requestIn } from './surfaces.ts';

/** A complete response, as its caller gets it. */
export interface CallerResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
  /** The time from the request to the last byte, ms. */
  readonly ms: number;
}

/** Sends the request of the case and reads the whole answer. */
export async function ask(box: Signalbox, one: Case, more: object = {}): Promise<CallerResponse> {
  const { asks, form, surface, seen } = one;
  const since = performance.now();
  const sent = requestIn(surface, asks, form === 'SSE', { ...requestOf(one), ...more });
  const response = await box.post(sent.path, sent.body);
  let body = '';
  const decoder = new TextDecoder();
  for await (const bytes of response.body ?? []) {
    body += decoder.decode(bytes, { stream: true });
    seen.resolve();
  }
  return { status: response.status, headers: response.headers, body, ms: performance.now() - since };
}

/** The output cap that the request states, tokens. */
const CAP = 20;
const requestOf = ({ surface, fault, dialect }: Case): object =>
  surface.body(CAP, fault.tool ?? dialect.model?.tool ?? null);
/** The expected tokens of a prompt without a tool: 3 for its 10 letters, and 4 for its frame. */
const PROMPT = 8;

/** The expected tokens of the prompt of a case. */
function promptOf(one: Case): number {
  if (!one.dialect.model && !one.surface.wires) return PROMPT;
  const { reads, path } = one.surface;
  const { request } = readOn(reads, { model: path, ...requestOf(one) });
  return Math.ceil(profile(request, READER).inputTokens);
}
/** The cost in microcredits, at the prices of the test policy. */
const costOf = (input: number, output: number): number => 1_000 * input + 4_000 * output;
export const REPORTED = costOf(USAGE.prompt, USAGE.output);
const HEALTHY = costOf(HEALTHY_USAGE.prompt_tokens, HEALTHY_USAGE.completion_tokens);

/** Failures that another attempt at the same endpoint cannot resolve, or not in time. */
const FINAL: ReadonlySet<FailureKind> = new Set(['auth', 'credit', 'rejected', 'context', 'not_found', 'timeout']);

/** True if the upstream speaks the caller's dialect, so that its events and errors are passed through. */
const isPassed = ({ surface, dialect }: Case): boolean => surface.passes === dialect.name;

/** Details of upstreams that no caller may see. */
const SECRETS = ['chatcmpl-fake', 'fp_fake', UPSTREAM_KEY, '127.0.0.1', '10.0.0.1', '.invalid'];

/** Checks an answer to a fault: what its caller gets, its record, and the books. */
export async function judge(box: Signalbox, one: Case, response: CallerResponse): Promise<void> {
  const { fault, setting, outcome, id } = one;
  const text = `${JSON.stringify([...response.headers])} ${response.body}`;
  const secrets = [...SECRETS, ...(isPassed(one) ? [] : [JUNK]), `${id}-upstream`, '<'];
  expect(secrets.filter((junk) => text.includes(junk))).toEqual([]);
  expect(response.headers.get('x-request-id')).toStartWith('req_');
  // The answer must end within the deadline plus one second. The test allows four times as long.
  expect(response.ms).toBeLessThan(4 * (deadlinesOf(fault).totalMs + 1_000));
  const took = isTakenOver(outcome, setting);
  if (took) expectAnswer(one, response, HEALTHY_TEXT);
  else if (outcome.ends === 'answered') expectAnswer(one, response, fault.text ?? TEXT);
  else if (outcome.ends === 'failed') await expectFailure(one, outcome, response);
  else expectCut(one, outcome, response);
  const total = await expectBooks(box, one, response);
  expectPrice(one, response, total);
  await expectRecord(box, one, response);
}

/** Reads an answer, JSON or SSE. */
function contentOf({ surface }: Case, { headers, body }: CallerResponse): AnswerContent {
  const isStream = headers.get('content-type')?.startsWith('text/event-stream');
  return isStream ? surface.streamed(body) : surface.content(JSON.parse(body));
}

/** Expects a complete answer that reports its model and cost. */
function expectAnswer(one: Case, response: CallerResponse, text: string): void {
  const { fault, setting, outcome, id } = one;
  const took = text === HEALTHY_TEXT;
  const calls = fault.tool !== undefined && !took;
  const answer = contentOf(one, response);
  expect([response.status, answer.error]).toEqual([200, undefined]);
  const model = took && setting === 'fallback' ? 'healthy' : id;
  expect(answer).toMatchObject({ text: calls ? '' : text, finish: calls ? 'tools' : 'stop' });
  const wanted = { name: TOOL.name, arguments: JSON.parse(TOOL.arguments) };
  expect(answer.tools.map(({ name, arguments: input }) => ({ name, arguments: input }))).toEqual(calls ? [wanted] : []);
  expect(answer.tools.every(({ id }) => id !== '')).toBe(true);
  expect(answer.platform).toMatchObject({ routed_model: model });
  if (setting === 'fallback') expect(answer.platform?.route_reason.endsWith(':fallback')).toBe(took);
  expect(response.headers.get('x-signalbox-model')).toBe(model);
  const reported = took || (outcome.ends === 'answered' && outcome.charged === 'reported');
  if (reported) expect(answer.platform?.estimated).toBe(false);
  else if (/counted|completed/.test(outcome.charged)) expect(answer.platform?.estimated).toBe(true);
}

/** Expects an error before the first byte, with a status of its own. */
async function expectFailure(
  one: Case,
  outcome: Outcome & { ends: 'failed' },
  response: CallerResponse,
): Promise<void> {
  const { code } = outcome;
  const { fault, surface, dialect } = one;
  if (isPassed(one) && outcome.kind === 'rejected') {
    expect(response.status).toBe(400);
    expect<unknown>(JSON.parse(response.body)).toEqual(dialect.error(400, expect.any(String)));
    return;
  }
  const param = code === 'context_length_exceeded' ? surface.field : null;
  const type = surface.typeOf(code);
  if (hasOpenAiErrors(surface)) await expectError(response, code, param, isRepeatable(outcome));
  else {
    const [status, , wireCode] = CONTRACT[code];
    const error = surface.failure(JSON.parse(response.body));
    expect<unknown>({ status: response.status, ...error }).toEqual({ status, type, code: wireCode, param });
    expect(response.headers.get('x-should-retry')).toBe(String(isRepeatable(outcome)));
  }
  if (code !== 'upstream_rate_limited') return;
  const pause = Number(response.headers.get('retry-after'));
  expect(pause).toBeGreaterThanOrEqual(1);
  // The wait that the upstream requested minus the elapsed time, in whole seconds.
  if (fault.pauseMs !== undefined) {
    expect(pause).toBeWithin((fault.pauseMs - response.ms) / 1_000 - 1, fault.pauseMs / 1_000 + 2);
  }
}

/** Expects a stream that shows where it broke and cannot be taken for a complete answer. */
function expectCut(one: Case, { code }: Outcome & { ends: 'cut' }, response: CallerResponse): void {
  const { text, finish, platform, error } = contentOf(one, response);
  expect([response.status, finish]).toEqual([200, null]);
  expect(text).toStartWith(WORDS[0]);
  expect<unknown>(error).toMatchObject({ type: one.surface.typeOf(code), code: CONTRACT[code][2], param: null });
  expect(platform).toMatchObject({ estimated: true });
}

const isCharge = ({ kind }: Entry): boolean => kind === 'post' || kind === 'settle' || kind === 'expire';

/**
 * Checks that the hold was settled once.
 * @returns the charge, microcredits
 */
async function expectBooks(box: Signalbox, one: Case, { headers }: CallerResponse): Promise<number> {
  const id = parseId('dec_', headers.get('x-signalbox-decision-id') ?? '');
  expect(id).not.toBeNull();
  const rows = await waitFor(() => {
    const found = read<Entry>(box.data, 'SELECT * FROM entries WHERE reservation = ? ORDER BY seq', id!);
    return found.some(({ kind }) => kind === 'settle') ? found : null;
  });
  expect(rows.filter(({ kind }) => kind === 'settle' || kind === 'expire')).toHaveLength(1);
  const charges = rows.filter(isCharge);
  const total = charges.reduce((sum, { amount }) => sum + amount, 0);
  const took = isTakenOver(one.outcome, one.setting);
  const last = charges.at(-1)!;
  if (took) {
    expect(last).toMatchObject({ amount: HEALTHY, estimated: 0, output_tokens: HEALTHY_USAGE.completion_tokens });
  }
  expectCharge(one, rows, total - (took ? HEALTHY : 0), took);
  return total;
}

/** Checks the charge for the failing upstream: what it reported, or what the documentation says. */
function expectCharge(one: Case, rows: readonly Entry[], charged: number, took: boolean): void {
  const { outcome, dialect } = one;
  const last = rows.filter(isCharge).at(-1)!;
  const expected = promptOf(one);
  const prompt = outcome.ends === 'cut' && dialect.counts !== 'at its end' ? USAGE.prompt : expected;
  const reserved = rows.reduce((sum, { kind, amount }) => sum + (/^(reserve|raise)$/.test(kind) ? amount : 0), 0);
  switch (outcome.charged) {
    case 'nothing':
      expect(charged).toBe(0);
      return;
    case 'reported':
      // Each answer costs this much. A broken connection costs nothing.
      expect(charged).toBe(REPORTED * (one.calls - (outcome.ends === 'answered' && outcome.after ? 1 : 0)));
      return;
    case 'begun':
      expect(charged).toBe(costOf(USAGE.prompt, 1) * one.calls);
      return;
    case 'completed':
      expect([charged, last.estimated]).toEqual([costOf(USAGE.prompt, WORDS.length), 1]);
      return;
    case 'counted':
      expect([charged, last.estimated]).toEqual([costOf(expected, WORDS.length), 1]);
      return;
    case 'reserved':
      expect(charged).toBe(reserved);
      return;
    case 'broken':
      // If another endpoint answered, only reported usage is charged.
      if (took) {
        expect(charged).toBe(0);
        return;
      }
      expect(last).toMatchObject({ estimated: 1, input_tokens: prompt, amount: charged });
      expect(last.output_tokens).toBeWithin(outcome.ends === 'cut' ? 1 : 0, CAP + 1);
      expect(charged).toBe(costOf(prompt, last.output_tokens!));
      expect(charged).toBeLessThanOrEqual(reserved);
  }
}

/** The caller always learns the cost. */
function expectPrice(one: Case, response: CallerResponse, total: number): void {
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
  if (!isStream) expect(Number(response.headers.get('x-signalbox-credits'))).toBe(total / 1e6);
  if (response.status === 200) expect(contentOf(one, response).platform?.credits_consumed).toBe(total / 1e6);
}

interface RecordAnswer {
  readonly outcome: { readonly attempts: readonly AttemptAnswer[] };
}

interface AttemptAnswer {
  readonly model: string;
  readonly provider: string;
  readonly failure: string | null;
}

/** The attempts in the record of a request. */
export async function attemptsOf(box: Signalbox, { headers }: CallerResponse): Promise<readonly AttemptAnswer[]> {
  const response = await box.get(`/v1/decisions/${headers.get('x-signalbox-decision-id')}`);
  const { attempts } = ((await response.json()) as RecordAnswer).outcome;
  return attempts.map(({ model, provider, failure }) => ({ model, provider, failure }));
}

/** Checks that the record has every attempt with its outcome, and no more attempts than reached the upstream. */
async function expectRecord(box: Signalbox, one: Case, response: CallerResponse): Promise<void> {
  const { outcome } = one;
  const attempts = await attemptsOf(box, response);
  if (response.status === 200) expect(contentOf(one, response).platform?.attempts).toMatchObject(attempts);
  const own = attempts.filter(({ provider }) => provider === one.id).map(({ failure }) => failure);
  const others = attempts.filter(({ provider }) => provider !== one.id).map(({ failure }) => failure);
  expect(others).toEqual(isTakenOver(outcome, one.setting) ? [null] : []);
  if (outcome.ends === 'answered') expect(own).toEqual(outcome.after ? [outcome.after, null] : [null]);
  else expect([...new Set(own)]).toEqual([outcome.kind]);
  // A server that cannot be reached cannot count.
  if (one.fault.upstream.speaks !== 'nothing') expect(own).toHaveLength(one.calls);
  const passes = outcome.ends === 'failed' && !FINAL.has(outcome.kind) && one.fault.pauseMs === undefined;
  if (!passes && outcome.ends !== 'answered') expect(own).toHaveLength(1);
}
