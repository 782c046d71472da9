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
  const perRequest = stepTotal('judged for each request', REQUEST_STEPS_MAX);
  const perLoad = stepTotal('judged over the catalog when the policy is loaded', LOAD_STEPS_MAX);
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
      // Those of claims run once for a token.
      else if (kind !== 'claims') perRequest.add(program, steps);
      return true;
    },
    /** Whether all admitted expressions together are within the limits. Reports the costliest one otherwise. */
    reviewTotals(): boolean {
      return [perRequest, perLoad].map((total) => total.isWithin(report)).every(Boolean);
    },
  };
}

const HINT = 'nested loops multiply, and texts of callers count with their greatest length: loop over shorter lists';

/** The steps of all expressions that run on one occasion. */
function stepTotal(occasion: string, max: number) {
  let total = 0;
  const costliest: { program?: CheckedExpression<unknown>; steps: number } = { steps: -1 };
  return {
    add(program: CheckedExpression<unknown>, steps: number): void {
      total += steps;
      if (steps > costliest.steps) Object.assign(costliest, { program, steps });
    },
    /** Whether they are within the limit. Reports the costliest one otherwise. */
    isWithin(report: Report): boolean {
      const { program, steps } = costliest;
      if (total <= max || !program) return true;
      const message = `the expressions that are ${occasion} can take ${countOf(total)} steps together, more than ${countOf(max)}`;
      const hint = `this one takes the most, ${countOf(steps)}; ${HINT}`;
      report.add('cel-too-costly', program.placeOf(program.ast), message, { hint });
      return false;
    },
  };
}

const countOf = (steps: number): string => Math.ceil(steps).toLocaleString('en');
