import { objectOf } from '../../core/object.ts';
import { diagnosticsJson } from '../../policy/diagnostics.ts';
import { inSteps } from '../../policy/steps.ts';
import { scrubAll } from '../../telemetry/secrets.ts';
import {
  type ComparedCase,
  type Figures,
  isRefused,
  isSame,
  plus,
  type RequestOutcome,
  type Totals,
} from './compare.ts';
import type { PolicyDifference } from './diff.ts';
import type { BuiltPolicy } from './diff-side.ts';

/** The cases that are decided differently, or no longer hold. */
export const changedCases = (cases: readonly ComparedCase[]): ComparedCase[] =>
  cases.filter(({ a, b, broken }) => !isSame(a, b) || broken.length > 0);

/** The difference as `policy diff --json` prints it and `POST /admin/policy/diff` answers, with secrets masked. Yields after each change. */
export function* differenceBody({ a, b, changes, renamed, decisions }: PolicyDifference): Generator<undefined, object> {
  const body = {
    a: sideJson(a),
    b: sideJson(b),
    // In its place, and masked one by one: there may be thousands.
    changes: null,
    renamed,
    usd_per_credit: decisions && { a: Number(decisions.worth.a), b: Number(decisions.worth.b) },
    cases: decisions && changedCases(decisions.cases).map(caseJson),
    requests:
      decisions?.requests?.different.map(({ a, b, ...request }) => ({ ...request, ...answersJson(a, b) })) ?? null,
    requests_left_out: decisions?.requests?.leftOut ?? 0,
    moves:
      decisions?.requests?.moves.map((move) => ({
        from: goalJson(move.a),
        to: goalJson(move.b),
        ...totalsJson(move.totals),
      })) ?? null,
    totals: decisions && {
      cases: {
        ...totalsJson(decisions.caseTotals),
        broken: decisions.cases.filter(({ broken }) => broken.length > 0).length,
      },
      requests: decisions.requests && totalsJson(decisions.requests.totals),
    },
  };
  return { ...objectOf(scrubAll(body)), changes: yield* inSteps(changes, scrubAll) };
}

const sideJson = ({ place, side, problems, message }: BuiltPolicy) => ({
  name: place.label,
  kind: place.kind,
  loaded: side !== null,
  ...(side === null && { message, ...diagnosticsJson(problems) }),
});

const caseJson = ({ case: one, of, isReworded, a, b, broken }: ComparedCase) => ({
  name: one.name,
  file: one.place.file,
  line: one.place.line,
  of,
  asks_otherwise: isReworded,
  broken: broken.map(({ key, wanted, got }) => ({ key, expected: wanted, got })),
  ...answersJson(a, b),
});

const answersJson = (a: RequestOutcome, b: RequestOutcome) => ({
  a: answerJson(a),
  b: answerJson(b),
  difference: isRefused(a) || isRefused(b) ? null : figuresJson(plus(b, a, -1), 1),
});

/** Rounds off the errors of adding doubles. */
const tidy = (value: number): number => Number(value.toPrecision(12));

/** Sums of costs, and means of what `answered` requests sum up to. */
const figuresJson = ({ costCredits, costUsd, latencyMs, quality }: Figures, answered: number) => ({
  cost_credits: tidy(costCredits),
  cost_usd: tidy(costUsd),
  latency_ms: answered === 0 ? null : tidy(latencyMs / answered),
  quality: answered === 0 ? null : tidy(quality / answered),
});

function answerJson(answer: RequestOutcome) {
  if (isRefused(answer)) return { refused: answer.code, message: answer.message };
  const { model, provider, reason } = answer;
  return { model, provider, reason, ...figuresJson(answer, 1) };
}

const goalJson = (answer: RequestOutcome) =>
  isRefused(answer) ? { refused: answer.code } : { model: answer.model, provider: answer.provider };

/** The figures cover the requests that both answer. */
function totalsJson({ requests, different, refusedA, refusedB, answered, a, b }: Totals) {
  return {
    count: requests,
    different,
    answered_by_both: answered,
    a: { refused: refusedA, ...figuresJson(a, answered) },
    b: { refused: refusedB, ...figuresJson(b, answered) },
  };
}
