import {
  type Choice,
  type ComparedCase,
  isRefused,
  isSame,
  type RequestOutcome,
  type SideTotals,
  type Totals,
} from '../../operate/policy/compare.ts';
import { diagnosticsJson } from '../../policy/diagnostics.ts';
import type { PolicyChange, PolicyRename } from '../../runtime/diff.ts';
import { scrubAll } from '../../telemetry/secrets.ts';
import { jsonText } from '../text.ts';
import type { ComparedRequests } from './diff-requests.ts';
import type { Built } from './diff-side.ts';

/** Two policies, side by side. */
export interface Difference {
  readonly a: Built;
  readonly b: Built;
  readonly changes: readonly PolicyChange[];
  /** Those of the changes that are one thing by two names: removed by the one, added by the other. */
  readonly renamed: readonly PolicyRename[];
  /** What they decide; null where one of them cannot be loaded. */
  readonly decided: {
    readonly cases: readonly ComparedCase[];
    readonly caseTotals: Totals;
    /** Null where none were given. */
    readonly requests: ComparedRequests | null;
    /** What a Credit is worth, USD. */
    readonly worth: { readonly a: string; readonly b: string };
  } | null;
}

/** The cases to tell of: those that are decided differently, and those that no longer hold. */
export const toldCases = (cases: readonly ComparedCase[]): ComparedCase[] =>
  cases.filter(({ a, b, broken }) => !isSame(a, b) || broken.length > 0);

export function differenceJson({ a, b, changes, renamed, decided }: Difference): string {
  const body = {
    a: sideJson(a),
    b: sideJson(b),
    changes,
    renamed,
    usd_per_credit: decided && { a: Number(decided.worth.a), b: Number(decided.worth.b) },
    cases: decided && toldCases(decided.cases).map(caseJson),
    requests:
      decided?.requests?.different.map(({ a, b, ...request }) => ({ ...request, ...answersJson(a, b) })) ?? null,
    requests_left_out: decided?.requests?.leftOut ?? 0,
    moves:
      decided?.requests?.moves.map((move) => ({
        from: goalJson(move.a),
        to: goalJson(move.b),
        ...totalsJson(move.totals),
      })) ?? null,
    totals: decided && {
      cases: {
        ...totalsJson(decided.caseTotals),
        broken: decided.cases.filter(({ broken }) => broken.length > 0).length,
      },
      requests: decided.requests && totalsJson(decided.requests.totals),
    },
  };
  // Names of cases and requests, and what plugins word, are anybody's.
  return jsonText(scrubAll(body));
}

const sideJson = ({ place, side, problems, message }: Built) => ({
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
  const by = (read: (one: Choice) => number) => (isRefused(a) || isRefused(b) ? null : tidy(read(b) - read(a)));
  const difference = {
    cost_credits: by(({ costCredits }) => costCredits),
    cost_usd: by(({ costUsd }) => costUsd),
    latency_ms: by(({ latencyMs }) => latencyMs),
    quality: by(({ quality }) => quality),
  };
  return { a: answerJson(a), b: answerJson(b), difference: difference.cost_usd === null ? null : difference };
}

/** Without what adding doubles leaves behind. */
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

/** Figures are of the requests that both answer: sums of what they cost, and means. */
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
