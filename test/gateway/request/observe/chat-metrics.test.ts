import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { AttemptRecord } from '../../../../src/core/decision/attempt.ts';
import { REJECTIONS, type Rejection } from '../../../../src/core/decision/decision.ts';
import type { DecisionOutcome } from '../../../../src/core/decision/outcome.ts';
import { ERRORS, type ErrorCode } from '../../../../src/core/errors.ts';
import type { Usage } from '../../../../src/core/money/usage.ts';
import { type Constraint, emptyBits, setBit } from '../../../../src/core/policy/rules.ts';
import type { Facts } from '../../../../src/core/request/facts.ts';
import { type ChatMetrics, createChatMetrics } from '../../../../src/gateway/request/observe/chat-metrics.ts';
import type { RequestContext } from '../../../../src/gateway/request/request-context.ts';
import type { RoutingAttempt } from '../../../../src/gateway/request/request-facts.ts';
import { metricsPage } from '../../../../src/host/telemetry/page.ts';
import { tries } from '../../../deep/effort.ts';
import { facts, model, snapshot } from '../../../routing/build.ts';
import { type Page, readPage, total } from '../../../support/prometheus.ts';
import {
  attemptRecord as attempt,
  type ContextFacts,
  contextWith,
  notedIn,
  resultOf,
} from '../../../support/request-context.ts';

const CHATS = 'signalbox_chats_total';
const KINDS = Object.keys(REJECTIONS) as Rejection[];

const policy = snapshot([model('a'), model('b'), model('c')]);

const routingOf = (
  more: Partial<Facts> = {},
  counts: Partial<Record<Rejection, number>> = {},
  from = policy,
): RoutingAttempt => ({
  facts: facts(more),
  snapshot: from,
  rejections: Uint32Array.from(KINDS, (kind) => counts[kind] ?? 0),
});

const failed = (more: Partial<AttemptRecord> = {}) => attempt({ failure: 'server', firstPartMs: null, ...more });

/** Makes a request that has ended. */
const seenOf = (facts: ContextFacts = {}): RequestContext =>
  contextWith({ route: '/v1/chat/completions', status: 200, ...facts });

const carriedOut = (more: Partial<DecisionOutcome> = {}, also: ContextFacts = {}): RequestContext =>
  seenOf({ routing: routingOf(), result: resultOf(more), ...also });

async function pageOf(seen: readonly RequestContext[], make: () => ChatMetrics = createChatMetrics): Promise<Page> {
  const metrics = make();
  for (const one of seen) metrics.count(one);
  return readPage(await metricsPage(metrics.families)());
}

describe('the outcome of a chat request', () => {
  const refused = (code: ErrorCode, status: number = ERRORS[code].status) => seenOf({ code, status });
  const ways: readonly (readonly [string, RequestContext, string])[] = [
    ['that was answered', carriedOut(), 'completed'],
    ['that failed upstream', carriedOut({ status: 'failed' }, { code: 'upstream_failed', status: 502 }), 'failed'],
    ['whose answer broke off', carriedOut({ status: 'broken' }), 'broken'],
    ['whose caller left', carriedOut({ status: 'abandoned' }), 'abandoned'],
    ['whose caller left before any work was done', seenOf({ status: 0 }), 'abandoned'],
    ['that replays a stored answer', seenOf({ isReplayed: true }), 'replayed'],
    ['that replays a stored error', seenOf({ isReplayed: true, status: 502 }), 'replayed'],
    ['that must be paid for', refused('payment_required'), 'quoted'],
    ['without money', refused('insufficient_quota'), 'refused'],
    ['that is invalid', refused('invalid_value'), 'refused'],
    ['at a gateway that is overloaded', refused('overloaded'), 'unavailable'],
    ['of a stream that had begun when there was no memory', refused('overloaded', 200), 'unavailable'],
    ['at a gateway with a defect', refused('internal_error'), 'unavailable'],
  ];
  for (const [what, seen, outcome] of ways) {
    test(`the outcome of a chat ${what} is ${outcome}`, async () => {
      const page = await pageOf([seen]);
      expect(total(page, CHATS)).toBe(1);
      expect(total(page, CHATS, { outcome })).toBe(1);
    });
  }

  test('a chat whose output a fund limited counts for that fund, by whether it reached the limit', async () => {
    const page = await pageOf([
      carriedOut({ cappedBy: 'purse' }),
      carriedOut({ cappedBy: 'purse' }, { hasReachedCap: true }),
      carriedOut({ cappedBy: 'balance' }, { hasReachedCap: true }),
      // This chat reached a limit of its own request.
      carriedOut({}, { hasReachedCap: true }),
    ]);
    const capped = (fund: string, end: string) => total(page, 'signalbox_chats_capped_total', { fund, end });
    expect(total(page, 'signalbox_chats_capped_total')).toBe(3);
    expect([capped('purse', 'within'), capped('purse', 'length'), capped('balance', 'length')]).toEqual([1, 1, 1]);
  });

  test('a chat is counted by its selector and by the endpoint that answered', async () => {
    const page = await pageOf([
      carriedOut(),
      carriedOut({ attempts: [failed(), attempt({ model: 'b', provider: 'q', upstream: 'b-up' })] }),
      carriedOut({}, { routing: routingOf({ model: 'a', named: ['a'] }) }),
      carriedOut({ status: 'failed', attempts: [failed()] }),
      carriedOut({ status: 'abandoned', attempts: [attempt({ firstPartMs: null })] }),
      // The first content of this attempt came together with its failure, so the caller did not see it.
      carriedOut({ status: 'abandoned', attempts: [failed({ firstPartMs: 3 })] }),
      carriedOut({ status: 'broken', attempts: [failed({ firstPartMs: 3, failure: 'cut' })] }),
      seenOf({ status: 401, code: 'invalid_api_key' }),
      seenOf({ status: 422, code: 'no_eligible_model', routing: routingOf() }),
    ]);
    const series = page.get(CHATS)!.samples.map(({ labels, value }) => [Object.values(labels).join(' ').trim(), value]);
    expect(series).toEqual([
      ['chat auto a p a-up completed', 1],
      ['chat auto b q b-up completed', 1],
      ['chat pinned a p a-up completed', 1],
      ['chat auto    failed', 1],
      ['chat auto    abandoned', 2],
      ['chat auto a p a-up broken', 1],
      ['chat     refused', 1],
      ['chat auto    refused', 1],
    ]);
  });

  test('a request counts as a chat according to its route and method', async () => {
    const page = await pageOf([
      seenOf({ route: '/v1/route', routing: routingOf({}, { health: 2 }) }),
      seenOf({ route: '/v1/models', method: 'GET' }),
      seenOf({ method: 'GET', status: 405, code: 'method_not_allowed' }),
    ]);
    expect(total(page, CHATS)).toBeNull();
    expect(total(page, 'signalbox_rejections_total', { kind: 'health' })).toBe(2);
  });

  test('a chat has a duration, and a stream with content has a time to first content', async () => {
    const page = await pageOf([
      carriedOut({ totalMs: 2_500, firstPartMs: 400 }, { isStream: true, startedAt: 1_000, dispatchedAt: 1_000.7 }),
      carriedOut({ totalMs: 700, firstPartMs: 690 }, { isStream: false }),
      carriedOut({ status: 'failed', firstPartMs: 5, totalMs: 9 }, { isStream: true }),
      seenOf({ status: 429, code: 'rate_limit_exceeded' }),
    ]);
    const duration = 'signalbox_chat_duration_seconds';
    expect(total(page, `${duration}_count`)).toBe(3);
    expect(total(page, `${duration}_sum`, { outcome: 'completed' })).toBeCloseTo(3.2, 9);
    expect(total(page, `${duration}_bucket`, { outcome: 'completed', le: '1' })).toBe(1);
    expect(total(page, 'signalbox_chat_ttft_seconds_count')).toBe(1);
    expect(total(page, 'signalbox_chat_ttft_seconds_sum')).toBe(0.4);
    expect(total(page, 'signalbox_chat_dispatch_seconds_count')).toBe(1);
    expect(total(page, 'signalbox_chat_dispatch_seconds_sum')).toBeCloseTo(0.0007, 9);
  });
});

describe('the metrics of rejections', () => {
  const allowing = (...slots: number[]): Uint32Array => {
    const bits = emptyBits(3);
    for (const slot of slots) setBit(bits, slot);
    return bits;
  };
  const constraint = (name: string, more: Partial<Constraint> = {}): Constraint => ({
    name,
    place: { file: 'p.yaml', line: 1, column: 1 },
    when: null,
    allows: null,
    maxLatencyMs: null,
    maxCostCredits: null,
    ...more,
  });
  const ruled = snapshot([model('a'), model('b'), model('c')], {
    constraints: [
      constraint('only-a', { allows: allowing(0) }),
      constraint('not-c', { allows: allowing(0, 1) }),
      constraint('cheap', { maxCostCredits: 1 }),
    ],
  });
  const rules = (...constraints: number[]) => ({ rules: { constraints, preferences: [] } });
  const byRule = (page: Page) =>
    Object.fromEntries(
      page
        .get('signalbox_rejections_total')!
        .samples.filter(({ labels, value }) => labels.kind === 'constraint' && value > 0)
        .map(({ labels, value }) => [labels.rule, value]),
    );

  test('rejections are counted by kind', async () => {
    const routing = routingOf({}, { capability: 2, context: 1 });
    const page = await pageOf([carriedOut({}, { routing }), carriedOut({}, { routing })]);
    expect(total(page, 'signalbox_rejections_total', { kind: 'capability', rule: '' })).toBe(4);
    expect(total(page, 'signalbox_rejections_total', { kind: 'context' })).toBe(2);
    expect(total(page, 'signalbox_rejections_total')).toBe(6);
  });

  test('rejections by constraints are counted for each constraint that applied and that rejects the model', async () => {
    const routing = routingOf(rules(0, 1), { constraint: 2 }, ruled);
    expect(byRule(await pageOf([carriedOut({}, { routing })]))).toEqual({ 'only-a': 2, 'not-c': 1 });
  });

  test('rejections by the limit of a constraint have no name', async () => {
    const routing = routingOf(rules(1, 2), { constraint: 2 }, ruled);
    expect(byRule(await pageOf([carriedOut({}, { routing })]))).toEqual({ 'not-c': 1, '': 1 });
  });

  test('rejections by a limit are counted although constraints overlap', async () => {
    // Two constraints reject `c`, and the limit rejects the models that both allow.
    const routing = routingOf(rules(0, 1, 2), { constraint: 3 }, ruled);
    expect(byRule(await pageOf([carriedOut({}, { routing })]))).toEqual({ 'only-a': 2, 'not-c': 1, '': 1 });
  });

  test('rejections of a request that names a model concern only that model', async () => {
    const pinned = (model: string, constraint: number) =>
      carriedOut({}, { routing: routingOf({ ...rules(0, 1), model, named: [model] }, { constraint }, ruled) });
    expect(byRule(await pageOf([pinned('a', 0), pinned('b', 1)]))).toEqual({ 'only-a': 1 });
  });
});

const usage = fc.tuple(fc.nat(1_000), fc.nat(1_000), fc.nat(1_000), fc.nat(1_000), fc.nat(1_000)).map(
  ([input, cached, write, output, reasoning]): Usage => ({
    ...{ inputTokens: input + cached + write, outputTokens: output + reasoning, reasoningTokens: reasoning },
    units: { cached_input: cached, cache_write: write },
  }),
);

/** The test uses few names, so that the same name often follows itself. */
const attempts = fc.array(
  fc.record({ model: fc.constantFrom('a', 'b'), endpoint: fc.nat(1), isLast: fc.constant(false) }),
  { minLength: 1, maxLength: 5 },
);

const settled = fc
  .record({
    status: fc.constantFrom('completed', 'failed', 'broken', 'abandoned'),
    tries: attempts,
    usage: fc.option(usage),
    charged: fc.nat(10_000_000),
    saved: fc.integer({ min: -10_000_000, max: 10_000_000 }),
    totalMs: fc.nat(400_000),
    selector: fc.integer({ min: 0, max: 30 }),
    upstream: fc.integer({ min: 0, max: 30 }),
  })
  .map(({ tries, selector, upstream, ...rest }): RequestContext => {
    const made = tries.map(({ model, endpoint }, at) =>
      attempt({ model, endpoint, upstream: `u${upstream}`, failure: at < tries.length - 1 ? 'server' : null }),
    );
    return carriedOut({ ...rest, attempts: made }, { routing: routingOf({ model: `selector-${selector}` }) });
  });

const unsettled = fc
  .constantFrom<ErrorCode | null>(null, 'payment_required', 'overloaded', 'invalid_json', 'rate_limit_exceeded')
  .chain((code) =>
    fc.record({ code: fc.constant(code), isReplayed: fc.boolean() }).map((one) => {
      return seenOf({ ...one, status: code ? ERRORS[code].status : 0 });
    }),
  );

const requests = fc.array(fc.oneof({ weight: 4, arbitrary: settled }, unsettled), { maxLength: 40 });

/** Returns what is wrong with a metrics page after these requests; empty if it is correct. Credits are compared in whole microcredits. */
function wrongs(page: Page, seen: readonly RequestContext[]): string[] {
  const outcomes = seen.flatMap((one) => (one.exchange.result ? [one.exchange.result.outcome] : []));
  const sum = (figure: (one: DecisionOutcome) => number) => outcomes.reduce((all, one) => all + figure(one), 0);
  const micro = (name: string) => Math.round((total(page, name) ?? 0) * 1e6);
  const changes = (isOne: (a: AttemptRecord, b: AttemptRecord) => boolean) =>
    sum(({ attempts }) => attempts.slice(1).filter((next, at) => isOne(attempts[at]!, next)).length);
  const kind = (name: string) => total(page, 'signalbox_tokens_total', { kind: name }) ?? 0;
  const facts: readonly (readonly [string, number, number])[] = [
    ['chats', total(page, CHATS) ?? 0, seen.length],
    ['durations', total(page, 'signalbox_chat_duration_seconds_count') ?? 0, outcomes.length],
    ['spent', micro('signalbox_credits_spent_total'), sum(({ charged }) => charged)],
    [
      'saved less overspent',
      micro('signalbox_credits_saved_total') - micro('signalbox_credits_overspent_total'),
      sum(({ saved }) => saved),
    ],
    ['overspent', micro('signalbox_credits_overspent_total'), sum(({ saved }) => Math.max(0, -saved))],
    [
      'tokens',
      total(page, 'signalbox_tokens_total') ?? 0,
      sum(({ usage }) => (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0)),
    ],
    ['cached', kind('input_cached'), sum(({ usage }) => usage?.units?.cached_input ?? 0)],
    ['written', kind('input_cache_write'), sum(({ usage }) => usage?.units?.cache_write ?? 0)],
    ['reasoned', kind('output_reasoning'), sum(({ usage }) => usage?.reasoningTokens ?? 0)],
    [
      'other models',
      total(page, 'signalbox_failovers_total', { to: 'model' }) ?? 0,
      changes((a, b) => a.model !== b.model),
    ],
    [
      'other endpoints',
      total(page, 'signalbox_failovers_total', { to: 'endpoint' }) ?? 0,
      changes((a, b) => a.model === b.model && a.endpoint !== b.endpoint),
    ],
  ];
  return facts.flatMap(([name, told, is]) => (told === is ? [] : [`${name}: ${told}, not ${is}`]));
}

const { numRuns, seed } = tries('the metrics of chats add up, with every outcome', 100, 5_000);

async function firstLie(make: () => ChatMetrics): Promise<readonly RequestContext[] | null> {
  const law = fc.asyncProperty(requests, async (seen) => wrongs(await pageOf(seen, make), seen).length === 0);
  const { failed, counterexample } = await fc.check(law, { numRuns, seed });
  return failed ? counterexample![0] : null;
}

describe('the metrics of chats', () => {
  test('the metrics of chats add up, for every outcome', async () => {
    expect(await firstLie(createChatMetrics)).toBeNull();
  });

  /** Metrics that receive a changed outcome. */
  const told = (change: (outcome: DecisionOutcome) => DecisionOutcome) => (): ChatMetrics => {
    const { count, families } = createChatMetrics();
    return {
      families,
      count: (seen) => {
        const { result } = seen.exchange;
        count(seenOf({ ...notedIn(seen), result: result && resultOf(change(result.outcome)) }));
      },
    };
  };
  const mutants: Readonly<Record<string, () => ChatMetrics>> = {
    'counted parts of tokens in addition to the whole': told(({ usage, ...outcome }) => ({
      ...outcome,
      usage: usage && { ...usage, inputTokens: usage.inputTokens + (usage.units?.cached_input ?? 0) },
    })),
    'ignored a choice that cost more than the baseline': told((outcome) => ({
      ...outcome,
      saved: Math.max(0, outcome.saved),
    })),
    'counted a retry as a failover': told(({ attempts, ...outcome }) => ({
      ...outcome,
      attempts: attempts.map((one, at) => ({ ...one, endpoint: at })),
    })),
    'counted only requests that were carried out': () => {
      const { count, families } = createChatMetrics();
      return { families, count: (seen) => (seen.exchange.result ? count(seen) : undefined) };
    },
  };
  for (const [wrong, make] of Object.entries(mutants)) {
    test(`the law about metrics fails for metrics that ${wrong}`, async () => {
      expect(await firstLie(make)).not.toBeNull();
    });
  }

  test('the number of series is bounded, and beyond the bound the outcomes of requests are still counted', async () => {
    const names = Array.from({ length: 2_000 }, (_, at) => `model-${at}`);
    const seen = names.map((model, at) =>
      carriedOut({ status: at % 2 ? 'completed' : 'broken', attempts: [failed(), attempt({ model })] }),
    );
    const page = await pageOf(seen);
    const lanes = new Set(page.get(CHATS)!.samples.map(({ labels: { outcome, ...lane } }) => JSON.stringify(lane)));
    expect(lanes.size).toBe(401);
    for (const outcome of ['completed', 'broken']) expect(total(page, CHATS, { outcome })).toBe(1_000);
    expect(total(page, CHATS, { model: 'other', selector: 'other', outcome: 'broken' })).toBe(800);
    expect(wrongs(page, seen)).toEqual([]);
  });
});
