import type { AttemptRecord } from '../../../core/decision/attempt.ts';
import type { DecisionOutcome } from '../../../core/decision/outcome.ts';
import { ERRORS } from '../../../core/errors.ts';
import { OPERATION_NAMES, type Operation } from '../../../core/kinds/operations.ts';
import { type Amounts, PART_UNITS, TOKEN_UNITS, UNITS, unitOf } from '../../../core/money/units.ts';
import type { Usage } from '../../../core/money/usage.ts';
import type { Spread } from '../../../core/time/spread.ts';
import { type CounterCell, LabelledCells, type LabelledCounter, OTHER } from '../../../host/telemetry/counts.ts';
import type { Family } from '../../../host/telemetry/families.ts';
import type { RequestGuards } from '../../guards/request-guards.ts';
import type { RequestContext } from '../request-context.ts';
import { selectorOf } from '../request-facts.ts';
import { type ChatFamilies, chatFamilies, LANE_LABELS } from './chat-families.ts';
import { KeyLabels, PAIRS_MAX } from './key-labels.ts';
import { createRejectionMetrics } from './rejection-metrics.ts';

/** The most lanes of an operation. Further lanes share one lane; the labels with a fixed set of values stay exact. */
const LANES_MAX = 400;
/** The number of outcomes of a chat, or of the kinds of tokens, which are the units and hidden reasoning. */
const SERIES_A_LANE = Math.max(8, TOKEN_UNITS.length + 1);

type ChatOutcome = DecisionOutcome['status'] | 'replayed' | 'refused' | 'quoted' | 'unavailable';

export interface ChatMetrics {
  /** Counts a request that may have done work for a model, once it has ended. */
  count(request: RequestContext): void;
  readonly families: readonly Family[];
}

/** The most series of a family by lane: each operation has its own lanes, and a shared lane for all further lanes. */
const SERIES_MAX = OPERATION_NAMES.length * (LANES_MAX + 1) * SERIES_A_LANE;
/** Each lane has a series without a label, a series for the remaining values, and a series for each of its pairs. */
const KEYED_MAX = 2 * SERIES_MAX + PAIRS_MAX * SERIES_A_LANE;

/**
 * Makes the metrics of outcomes, costs and rejections of requests for a model. The number of series is bounded for any policy.
 * @param keyLabel returns the key label that the active policy chooses; null for none
 */
export function createChatMetrics(keyLabel: () => string | null = () => null): ChatMetrics {
  const families = chatFamilies(SERIES_MAX, KEYED_MAX);
  const keyLabels = new KeyLabels(keyLabel);
  const rejections = createRejectionMetrics();
  const dispatch = families.dispatch.at();
  const lanesOf = (operation: Operation) =>
    new LabelledCells<Lane>(LANE_LABELS, LANES_MAX, (...names) => new Lane(families, keyLabels, [operation, ...names]));
  const lanes = new Map(OPERATION_NAMES.map((operation) => [operation, lanesOf(operation)]));
  const count = (request: RequestContext): void => {
    const { routing, startedAt, guards, cache, promptCounts } = request.work;
    const { result, dispatchedAt } = request.exchange;
    if (routing) rejections.count(routing);
    if (guards) countGuards(families, guards);
    if (request.operation === null) return;
    if (cache) families.cache.at(request.operation, cache.result).value++;
    const lane = laneOf(lanes.get(request.operation)!, request);
    const cells = lane.of(keyLabels.of(request.caller));
    cells.outcome(outcomeOf(request)).value++;
    dispatch.observe((dispatchedAt - startedAt) / 1000);
    if (promptCounts) for (const { provider, end } of promptCounts) families.promptCounts.at(provider, end).value++;
    if (!result) return;
    const { outcome } = result;
    if (routing?.facts.escalation) families.escalations.at(routing.facts.escalation.signal).value++;
    if (routing?.facts.unescalated) families.unescalated.at(routing.facts.unescalated.signal).value++;
    lane.count(outcome, request.exchange.failedUsage);
    cells.spent(outcome.status).value += outcome.charged;
    if (outcome.firstPartMs !== null && request.answer.isStream && hasAnswered(outcome)) {
      lane.ttft.observe(outcome.firstPartMs / 1000);
    }
    if (outcome.cappedBy !== null) {
      families.capped.at(outcome.cappedBy, request.exchange.hasReachedCap ? 'length' : 'within').value++;
    }
    if (outcome.insteadOf) families.leftOut.at(outcome.insteadOf.model, outcome.insteadOf.reason).value++;
    if (outcome.attempts.length > 1) countFailovers(families.failovers, outcome.attempts);
  };
  return { count, families: [...Object.values(families).map(({ family }) => family), ...rejections.families] };
}

function countGuards({ guardMatches, guardFailures, guardCredits }: ChatFamilies, guards: RequestGuards): void {
  for (const { guard, side, action, matches, failed } of guards.verdicts.all) {
    for (const [kind, count] of Object.entries(matches)) guardMatches.at(guard, side, action, kind).value += count;
    if (failed) guardFailures.at(guard, side).value++;
  }
  for (const { guard, model, charged } of guards.calls) guardCredits.at(guard, model).value += charged;
}

function laneOf(lanes: LabelledCells<Lane>, { work: { routing }, exchange: { result } }: RequestContext): Lane {
  const selector = routing ? selectorOf(routing) : '';
  const answered = result && hasAnswered(result.outcome) ? result.outcome.attempts.at(-1) : undefined;
  if (!answered) return lanes.at(selector, '', '', '');
  // Callers choose the model IDs of wildcards, so the wildcard's pattern is the label.
  const pattern = routing?.snapshot.models[0]?.pattern;
  const { model, provider, upstream } = answered;
  return pattern === undefined
    ? lanes.at(selector, model, provider, upstream)
    : lanes.at(selector, pattern, provider, '*');
}

/** Whether the last attempt has sent content to the caller. */
function hasAnswered({ status, attempts }: DecisionOutcome): boolean {
  if (status !== 'abandoned') return status !== 'failed';
  const last = attempts.at(-1);
  // An attempt that failed in the batch with its first content did not send this content.
  return last !== undefined && last.failure === null && last.firstPartMs !== null;
}

function outcomeOf({ exchange: { result }, answer }: RequestContext): ChatOutcome {
  const { isReplayed, isMissing, status, code } = answer;
  if (result) return result.outcome.status;
  if (isReplayed) return 'replayed';
  if (code === 'payment_required') return 'quoted';
  if (isMissing) return 'abandoned';
  return (code ? ERRORS[code].status : status) >= 500 ? 'unavailable' : 'refused';
}

/** Counts changes of the endpoint or model. Consecutive attempts at one endpoint are retries and do not count. */
function countFailovers(failovers: LabelledCounter, attempts: readonly AttemptRecord[]): void {
  for (let i = 1; i < attempts.length; i++) {
    const failed = attempts[i - 1]!;
    const next = attempts[i]!;
    const to = next.model !== failed.model ? 'model' : next.endpoint !== failed.endpoint ? 'endpoint' : null;
    if (to) failovers.at(failed.provider, failed.model, failed.upstream, to).value++;
  }
}

type OutcomeFigures = ReturnType<typeof outcomeFigures>;
type TokenCounts = ReturnType<typeof tokenCounts>;

/** The figures of executed requests with one outcome. */
const outcomeFigures = ({ duration, saved, overspent }: ChatFamilies, names: readonly string[]) => ({
  duration: duration.at(...names),
  saved: saved.at(...names),
  overspent: overspent.at(...names),
});

/** The tokens of each kind. Figures of a usage may include each other, but these cells count every token once. */
const tokenCounts = ({ tokens }: ChatFamilies, names: readonly string[]) => ({
  input: tokens.at(...names, 'input'),
  output: tokens.at(...names, 'output'),
  reasoning: tokens.at(...names, 'output_reasoning'),
});

/** The units whose series are 0 before their first token. The other units have no series until then, because few models use them. */
const EXPECTED_PARTS = PART_UNITS.filter((unit) => UNITS[unit].figure !== undefined);

/** The counts and Credits of a lane's chats by keys with one value of the chosen label. Each series is looked up only once. */
class KeyedCells {
  readonly #families: ChatFamilies;
  readonly #names: readonly string[];
  readonly #value: string;
  readonly #outcomes: Partial<Record<ChatOutcome, CounterCell>> = {};
  readonly #spent: Partial<Record<ChatOutcome, CounterCell>> = {};

  constructor(families: ChatFamilies, names: readonly string[], value: string) {
    this.#families = families;
    this.#names = names;
    this.#value = value;
  }

  outcome(outcome: ChatOutcome): CounterCell {
    this.#outcomes[outcome] ??= this.#families.chats.at(...this.#names, outcome, this.#value);
    return this.#outcomes[outcome];
  }

  spent(outcome: ChatOutcome): CounterCell {
    this.#spent[outcome] ??= this.#families.spent.at(...this.#names, outcome, this.#value);
    return this.#spent[outcome];
  }
}

/** The figures of the chats that one endpoint answered for one selector. Each series is looked up only once. */
class Lane {
  readonly #families: ChatFamilies;
  readonly #keyLabels: KeyLabels;
  readonly #names: readonly string[];
  readonly #unlabelled: KeyedCells;
  readonly #labelled = new Map<string, KeyedCells>();
  readonly #figures: Partial<Record<DecisionOutcome['status'], OutcomeFigures>> = {};
  #ttft: Spread | null = null;
  #tokens: TokenCounts | null = null;
  readonly #parts: Record<string, CounterCell> = {};

  constructor(families: ChatFamilies, keyLabels: KeyLabels, names: readonly string[]) {
    this.#families = families;
    this.#keyLabels = keyLabels;
    this.#names = names;
    this.#unlabelled = new KeyedCells(families, names, '');
  }

  /** Returns the cells of a value, or the shared cells once the number of pairs has reached its limit. */
  of(value: string): KeyedCells {
    if (value === '') return this.#unlabelled;
    const known = this.#labelled.get(value);
    if (known) return known;
    if (value !== OTHER && !this.#keyLabels.hasRoom()) return this.of(OTHER);
    const cells = new KeyedCells(this.#families, this.#names, value);
    this.#labelled.set(value, cells);
    return cells;
  }

  get ttft(): Spread {
    this.#ttft ??= this.#families.ttft.at(...this.#names);
    return this.#ttft;
  }

  /**
   * Counts an executed request.
   * @param failedUsage the usage of failed attempts; its Credits are included in the charged Credits
   */
  count({ status, totalMs, saved, usage }: DecisionOutcome, failedUsage: readonly Usage[] | null): void {
    this.#figures[status] ??= outcomeFigures(this.#families, [...this.#names, status]);
    const figures = this.#figures[status];
    figures.duration.observe(totalMs / 1000);
    if (saved < 0) figures.overspent.value -= saved;
    else figures.saved.value += saved;
    if (usage) this.#countTokens(usage);
    if (failedUsage) for (const one of failedUsage) this.#countTokens(one);
  }

  #countTokens(usage: Usage): void {
    if (!this.#tokens) {
      this.#tokens = tokenCounts(this.#families, this.#names);
      for (const unit of EXPECTED_PARTS) this.#part(unit);
    }
    const { input, output, reasoning } = this.#tokens;
    input.value += usage.inputTokens;
    output.value += usage.outputTokens - usage.reasoningTokens;
    reasoning.value += usage.reasoningTokens;
    if (usage.units !== undefined) this.#countParts(usage.units, this.#tokens);
  }

  #countParts(units: Amounts, { input, output }: TokenCounts): void {
    for (const key in units) {
      const side = unitOf(key)?.side;
      if (side === 'input') input.value -= units[key]!;
      else if (side === 'output') output.value -= units[key]!;
      else continue;
      this.#part(key).value += units[key]!;
    }
  }

  #part(unit: string): CounterCell {
    this.#parts[unit] ??= this.#families.tokens.at(...this.#names, unitOf(unit)?.metric ?? unit);
    return this.#parts[unit];
  }
}
