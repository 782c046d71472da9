import { ERRORS } from '../../core/errors.ts';
import { OPERATION_NAMES, type Operation } from '../../core/operation.ts';
import type { Spread } from '../../core/spread.ts';
import { isPlausible, type Usage } from '../../core/usage.ts';
import type { AttemptRecord, DecisionOutcome } from '../../records/record.ts';
import { type CounterCell, LabelledCells, type LabelledCounter } from '../../telemetry/counts.ts';
import type { Family } from '../../telemetry/families.ts';
import { type ChatFamilies, chatFamilies, LANE_LABELS } from './chat-families.ts';
import { type Observation, type Settled, selectorOf } from './observation.ts';
import { createRejectionMetrics } from './rejection-metrics.ts';

/** The bound of lanes of an operation. Later ones share one, whose fixed words stay exact. */
const LANES_MAX = 400;
/** Ways in which a request may end, and more than there are kinds of tokens. */
const SERIES_A_LANE = 8;

type ChatOutcome = DecisionOutcome['status'] | 'replayed' | 'refused' | 'quoted' | 'unavailable';

export interface ChatMetrics {
  /** To be called once when a request is over, wherever it went. */
  count(seen: Observation): void;
  readonly families: readonly Family[];
}

/** What became of chat requests, what they cost, and what was rejected on the way; bounded, whatever policies name. */
export function createChatMetrics(): ChatMetrics {
  const told = chatFamilies(OPERATION_NAMES.length * (LANES_MAX + 1) * SERIES_A_LANE);
  const rejections = createRejectionMetrics();
  const dispatch = told.dispatch.at();
  const lanesOf = (operation: Operation) =>
    new LabelledCells<Lane>(LANE_LABELS, LANES_MAX, (...names) => new Lane(told, [operation, ...names]));
  const lanes = new Map(OPERATION_NAMES.map((operation) => [operation, lanesOf(operation)]));
  const count = (seen: Observation): void => {
    const { judged, settled, begunAt, dispatchedAt } = seen;
    if (judged) rejections.count(judged);
    if (!seen.isChat) return;
    const lane = laneOf(lanes.get(judged?.facts.operation ?? 'chat')!, seen);
    lane.ended(outcomeOf(seen)).value++;
    dispatch.observe((dispatchedAt - begunAt) / 1000);
    if (!settled) return;
    const { outcome } = settled;
    lane.carriedOut(outcome, seen.wasted);
    if (outcome.firstPartMs !== null && seen.isStream && hasAnswered(outcome)) {
      lane.ttft.observe(outcome.firstPartMs / 1000);
    }
    if (judged && isExplored(settled)) told.explored.at(selectorOf(judged)).value++;
    if (outcome.attempts.length > 1) countFailovers(told.failovers, outcome.attempts);
  };
  return { count, families: [...Object.values(told).map(({ family }) => family), ...rejections.families] };
}

function laneOf(lanes: LabelledCells<Lane>, { judged, settled }: Observation): Lane {
  const selector = judged ? selectorOf(judged) : '';
  const answered = settled && hasAnswered(settled.outcome) ? settled.outcome.attempts.at(-1) : undefined;
  return answered
    ? lanes.at(selector, answered.model, answered.provider, answered.upstream)
    : lanes.at(selector, '', '', '');
}

/** Its reason says so, whoever answered then. */
const isExplored = ({ platform }: Settled): boolean => /:explored(?::|$)/.test(platform.route_reason);

/** Whether the last attempt has shown content to the caller. */
function hasAnswered({ status, attempts }: DecisionOutcome): boolean {
  if (status !== 'abandoned') return status !== 'failed';
  const last = attempts.at(-1);
  // One that failed in the batch of its first content did not show it.
  return last !== undefined && last.failure === null && last.firstPartMs !== null;
}

function outcomeOf({ settled, isReplayed, isUnanswered, status, code }: Observation): ChatOutcome {
  if (settled) return settled.outcome.status;
  if (isReplayed) return 'replayed';
  if (code === 'payment_required') return 'quoted';
  if (isUnanswered) return 'abandoned';
  return (code ? ERRORS[code].status : status) >= 500 ? 'unavailable' : 'refused';
}

/** Attempts at one endpoint that follow each other are retries. */
function countFailovers(failovers: LabelledCounter, attempts: readonly AttemptRecord[]): void {
  for (let i = 1; i < attempts.length; i++) {
    const failed = attempts[i - 1]!;
    const next = attempts[i]!;
    const to = next.model !== failed.model ? 'model' : next.endpoint !== failed.endpoint ? 'endpoint' : null;
    if (to) failovers.at(failed.provider, failed.model, failed.upstream, to).value++;
  }
}

/** Of requests that were carried out and ended in one way. */
interface CarriedOut {
  readonly duration: Spread;
  readonly spent: CounterCell;
  readonly saved: CounterCell;
  readonly overspent: CounterCell;
}

/** The figures of all chats that one endpoint answered for one selector, each found once. */
class Lane {
  readonly #told: ChatFamilies;
  readonly #names: readonly string[];
  readonly #ended: Partial<Record<ChatOutcome, CounterCell>> = {};
  readonly #carriedOut: Partial<Record<DecisionOutcome['status'], CarriedOut>> = {};
  #ttft: Spread | null = null;
  #tokens: Tokens | null = null;

  constructor(told: ChatFamilies, names: readonly string[]) {
    this.#told = told;
    this.#names = names;
  }

  ended(outcome: ChatOutcome): CounterCell {
    this.#ended[outcome] ??= this.#told.chats.at(...this.#names, outcome);
    return this.#ended[outcome];
  }

  get ttft(): Spread {
    this.#ttft ??= this.#told.ttft.at(...this.#names);
    return this.#ttft;
  }

  /** `wasted`: of attempts that failed, whose Credits are among those that were charged. */
  carriedOut({ status, totalMs, charged, saved, usage }: DecisionOutcome, wasted: readonly Usage[] | null): void {
    this.#carriedOut[status] ??= this.#begin(status);
    const figures = this.#carriedOut[status];
    figures.duration.observe(totalMs / 1000);
    figures.spent.value += charged;
    if (saved < 0) figures.overspent.value -= saved;
    else figures.saved.value += saved;
    if (usage) this.#count(usage);
    if (wasted) for (const one of wasted) if (isPlausible(one)) this.#count(one);
  }

  #count(usage: Usage): void {
    this.#tokens ??= new Tokens(this.#told.tokens, this.#names);
    this.#tokens.count(usage);
  }

  #begin(status: DecisionOutcome['status']): CarriedOut {
    const { duration, spent, saved, overspent } = this.#told;
    const names = [...this.#names, status];
    return {
      duration: duration.at(...names),
      spent: spent.at(...names),
      saved: saved.at(...names),
      overspent: overspent.at(...names),
    };
  }
}

/** Tokens of one lane by their kinds. */
class Tokens {
  readonly #input: CounterCell;
  readonly #cached: CounterCell;
  readonly #cacheWrite: CounterCell;
  readonly #output: CounterCell;
  readonly #reasoning: CounterCell;

  constructor(tokens: LabelledCounter, names: readonly string[]) {
    this.#input = tokens.at(...names, 'input');
    this.#cached = tokens.at(...names, 'input_cached');
    this.#cacheWrite = tokens.at(...names, 'input_cache_write');
    this.#output = tokens.at(...names, 'output');
    this.#reasoning = tokens.at(...names, 'output_reasoning');
  }

  /** What is a part of another figure there is a kind of its own here. */
  count({ inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens }: Usage): void {
    this.#input.value += inputTokens - cachedInputTokens - cacheWriteTokens;
    this.#cached.value += cachedInputTokens;
    this.#cacheWrite.value += cacheWriteTokens;
    this.#output.value += outputTokens - reasoningTokens;
    this.#reasoning.value += reasoningTokens;
  }
}
