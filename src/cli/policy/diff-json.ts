import {
  type ComparedCase,
  type ComparedChoice,
  isRefused,
  isSame,
  type RequestOutcome,
  type SideTotals,
  type Totals,
} from '../../operate/policy/compare.ts';
import type { PolicyDifference } from '../../operate/policy/diff.ts';
import type { BuiltPolicy } from '../../operate/policy/diff-side.ts';
import { diagnosticsJson } from '../../policy/diagnostics.ts';
import { scrubAll } from '../../telemetry/secrets.ts';
import { jsonText } from '../text.ts';

/** The cases that are decided differently, or no longer hold. */
export const changedCases = (cases: readonly ComparedCase[]): ComparedCase[] =>
  cases.filter(({ a, b, broken }) => !isSame(a, b) || broken.length > 0);

export function differenceJson({ a, b, changes, renamed, decisions }: PolicyDifference): string {
  const body = {
    a: sideJson(a),
    b: sideJson(b),
    changes,
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
  // Names of cases and requests, and texts of plugins, may hold control characters.
  return jsonText(scrubAll(body));
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

function answersJson(a: RequestOutcome, b: RequestOutcome) {
  const by = (read: (one: ComparedChoice) => number) => (isRefused(a) || isRefused(b) ? null : tidy(read(b) - read(a)));
  const difference = {
    cost_credits: by(({ costCredits }) => costCredits),
    cost_usd: by(({ costUsd }) => costUsd),
    latency_ms: by(({ latencyMs }) => latencyMs),
    quality: by(({ quality }) => quality),
  };
  return { a: answerJson(a), b: answerJson(b), difference: difference.cost_usd === null ? null : difference };
}

/** Rounds off the errors of adding doubles. */
const tidy = (value: number): number => Number(value.toPrecision(12));

const answerJson = (answer: RequestOutcome) =>
  isRefused(answer)
    ? { refused: answer.code, message: answer.message }
    : {
        model: answer.model,
        provider: answer.provider,
        reason: answer.reason,
        cost_credits: tidy(answer.costCredits),
        cost_usd: tidy(answer.costUsd),
        latency_ms: tidy(answer.latencyMs),
        quality: tidy(answer.quality),
      };

const goalJson = (answer: RequestOutcome) =>
  isRefused(answer) ? { refused: answer.code } : { model: answer.model, provider: answer.provider };

/** The figures cover the requests that both answer: sums of their costs, and means. */
function totalsJson({ requests, different, refusedA, refusedB, answered, a, b }: Totals) {
  const figures = ({ credits, usd, latencyMs, quality }: SideTotals) => ({
    cost_credits: tidy(credits),
    cost_usd: tidy(usd),
    latency_ms: answered === 0 ? null : tidy(latencyMs / answered),
    quality: answered === 0 ? null : tidy(quality / answered),
  });
  return {
    count: requests,
    different,
    answered_by_both: answered,
    a: { refused: refusedA, ...figures(a) },
    b: { refused: refusedB, ...figures(b) },
  };
}
