import type { CheckedExpression } from './cel-check.ts';
import { costOf, EXPRESSION_STEPS_MAX } from './cel-cost.ts';
import { extentsOf } from './cel-extents.ts';
import type { CelKind } from './cel-types.ts';
import type { ParsedPolicy } from './parsed.ts';
import type { Report } from './report.ts';
import { servable } from './wildcards.ts';

/** Limit of steps of all expressions that run for each request, about 4 ms. */
const REQUEST_STEPS_MAX = 200_000;
/** Limit of steps of all expressions that run over the catalog at load, about 0.4 s. */
const LOAD_STEPS_MAX = 20_000_000;

/** Checks the worst-case cost of a policy's expressions before any of them runs. */
export function createCostLimits(parsed: ParsedPolicy, report: Report) {
  const models = servable(parsed);
  const extents = extentsOf(models, parsed.tasks.length);
  const endpointCount = models.reduce((sum, { endpoints }) => sum + endpoints.length, 0);
  const perRequest = new StepTotal('judged for each request', REQUEST_STEPS_MAX);
  const perLoad = new StepTotal('judged over the catalog when the policy is loaded', LOAD_STEPS_MAX);
  return {
    /** Whether one expression is within its limit. Reports the part that exceeds it. */
    admit(program: CheckedExpression<unknown>, kind: CelKind): boolean {
      const { steps, excess } = costOf(program.ast, kind, extents);
      if (excess) {
        const part = excess.node === program.ast ? 'the expression' : 'this part of the expression';
        const message = `${part} can take ${countOf(excess.steps)} steps, more than ${countOf(EXPRESSION_STEPS_MAX)}`;
        report.add('cel-too-costly', program.placeOf(excess.node), message, { hint: HINT });
        return false;
      }
      if (kind === 'constraint') perLoad.add(program, steps * endpointCount);
      else if (kind === 'model') perLoad.add(program, steps * models.length);
      else perRequest.add(program, steps);
      return true;
    },
    /** Whether all admitted expressions together are within the limits. Reports the costliest one otherwise. */
    reviewTotals(): boolean {
      const exceeded = [perRequest, perLoad].filter((total) => total.isExceeded);
      for (const total of exceeded) total.report(report);
      return exceeded.length === 0;
    },
  };
}

const HINT = 'nested loops multiply, and texts of callers count with their greatest length: loop over shorter lists';

/** The steps of all expressions that run on one occasion. */
class StepTotal {
  readonly #occasion: string;
  readonly #max: number;
  #steps = 0;
  #costliest: { readonly program: CheckedExpression<unknown>; readonly steps: number } | null = null;

  constructor(occasion: string, max: number) {
    this.#occasion = occasion;
    this.#max = max;
  }

  add(program: CheckedExpression<unknown>, steps: number): void {
    this.#steps += steps;
    if (steps > (this.#costliest?.steps ?? -1)) this.#costliest = { program, steps };
  }

  get isExceeded(): boolean {
    return this.#steps > this.#max;
  }

  report(report: Report): void {
    if (!this.#costliest) return;
    const { program, steps } = this.#costliest;
    const message = `the expressions that are ${this.#occasion} can take ${countOf(this.#steps)} steps together, more than ${countOf(this.#max)}`;
    const hint = `this one takes the most, ${countOf(steps)}; ${HINT}`;
    report.add('cel-too-costly', program.placeOf(program.ast), message, { hint });
  }
}

const countOf = (steps: number): string => Math.ceil(steps).toLocaleString('en');
