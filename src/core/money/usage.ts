import { USES_MAX } from './add-ons.ts';
import { type Amounts, type Unit, unitOf } from './units.ts';

/** What one completion used, in the one form that every adapter translates to. */
export interface Usage {
  /** All input tokens, cached tokens included. */
  readonly inputTokens: number;
  /** All output tokens, hidden reasoning included. */
  readonly outputTokens: number;
  /** The part of `outputTokens` that was spent on hidden reasoning. */
  readonly reasoningTokens: number;
  /**
   * The parts of the input and the output that are billed as units of their own, and what is billed in addition to tokens, by unit. No
   * token counts in two of them. Absent for none.
   */
  readonly units?: Amounts | undefined;
}

/** No request has more tokens than this. A higher number of tokens is an error of the upstream. */
const TOKENS_MAX = 1_000_000_000;

const isCount = (n: number): boolean => Number.isInteger(n) && n >= 0 && n <= TOKENS_MAX;

/** Returns false for figures that cannot be true: negative, fractional or absurdly large figures, or parts larger than the whole. */
export function isPlausible(usage: Usage): boolean {
  return (
    isCount(usage.inputTokens) &&
    isCount(usage.outputTokens) &&
    isCount(usage.reasoningTokens) &&
    usage.reasoningTokens <= usage.outputTokens &&
    (usage.units === undefined || arePlausible(usage.units, usage.inputTokens, usage.outputTokens))
  );
}

/** Units that a usage has in other members, or under the names of tools. */
const OTHERWISE: ReadonlySet<string> = new Set<Unit>(['input', 'output', 'request', 'tool_use']);

function arePlausible(units: Amounts, input: number, output: number): boolean {
  let [inputLeft, outputLeft] = [input, output];
  for (const key in units) {
    const amount = units[key]!;
    const unit = unitOf(key);
    if (!unit || OTHERWISE.has(key) || !isCount(amount)) return false;
    if (unit.side === 'input') inputLeft -= amount;
    else if (unit.side === 'output') outputLeft -= amount;
    else if (amount > USES_MAX) return false;
  }
  return inputLeft >= 0 && outputLeft >= 0;
}

/** Whether a usage is stated and cannot be true. */
export const isImpossible = (usage: Usage | undefined): boolean => usage !== undefined && !isPlausible(usage);

/** Makes a usage without other units or reasoning, for counts that Signalbox makes if the upstream reports none. */
export function plainUsage(inputTokens: number, outputTokens: number): Usage {
  return { inputTokens, outputTokens, reasoningTokens: 0, units: undefined };
}

/** Returns the tokens that a figure of the dialects includes. */
export const figureOf = ({ units }: Usage, figure: 'cache_read' | 'cache_write'): number =>
  units === undefined ? 0 : sumOfFigure(units, figure);

function sumOfFigure(units: Amounts, figure: 'cache_read' | 'cache_write'): number {
  let sum = 0;
  for (const key in units) if (unitOf(key)?.figure === figure) sum += units[key]!;
  return sum;
}

/**
 * Moves tokens that were written to the cache to a unit with a longer TTL, if the provider did not state how many of them it kept for how
 * long. @param unit see `undividedUnit`
 */
export function dividedUsage(usage: Usage, unit: Unit | null): Usage {
  const { units } = usage;
  if (unit === null || units?.cache_write === undefined || units[unit] !== undefined) return usage;
  const { cache_write: written, ...others } = units;
  return { ...usage, units: { ...others, [unit]: written } };
}

/** A usage as a provider reports it. A count that the provider leaves out is 0. */
export interface ReportedUsage {
  readonly input: number;
  readonly output: number;
  readonly reasoning?: number | undefined;
  /** What is billed as a unit of its own, by `UnitKey`: `{ cached_input: 300, 'tool_use/web_search': 2 }`. */
  readonly units?: Readonly<Record<string, number | undefined>>;
}

/**
 * Converts a provider's counts to the one form. Providers differ in which counts include other counts. `within` states whether `input` and
 * `output` include the units that are a part of them, and whether `output` includes `reasoning`. Counts that are not included are added, so
 * that each token is billed once.
 */
export function canonicalUsage(
  { input, output, reasoning = 0, units }: ReportedUsage,
  within: { readonly input: boolean; readonly output: boolean; readonly reasoning: boolean },
): Usage {
  let inputTokens = input;
  let outputTokens = output + (within.reasoning ? 0 : reasoning);
  const amounts: Record<string, number> = {};
  let isAny = false;
  for (const key in units) {
    const amount = units[key];
    const { side, asked } = unitOf(key) ?? {};
    // A stated 0 of a unit that a request asks for means that nothing of `undividedUnit` belongs to it.
    if (amount === undefined || (amount === 0 && !asked)) continue;
    if (side === 'input' && !within.input) inputTokens += amount;
    if (side === 'output' && !within.output) outputTokens += amount;
    amounts[key] = amount;
    isAny = true;
  }
  return { inputTokens, outputTokens, reasoningTokens: reasoning, units: isAny ? amounts : undefined };
}
