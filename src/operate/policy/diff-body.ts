import { diagnosticsBody } from '../../policy/diagnostics.ts';
import { inSteps } from '../../policy/steps.ts';
import type { PolicyChange } from '../../runtime/diff.ts';
import { inSlices } from '../../runtime/slices.ts';
import { scrubAll } from '../../telemetry/secrets.ts';
import { patchOf } from './bundles.ts';
import {
  type ComparedCase,
  figuresBody,
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

/** The difference as commands print it and the API answers, with secrets masked. Throws SupersededError once stale. */
export async function differenceBody(
  { a, b, changes, renamed, decisions }: PolicyDifference,
  isStale: () => boolean = () => false,
) {
  const requests = decisions?.requests ?? null;
  const body = scrubAll({
    a: sideJson(a),
    b: sideJson(b),
    renamed,
    usd_per_credit: decisions && { a: Number(decisions.worth.a), b: Number(decisions.worth.b) },
    cases: decisions && changedCases(decisions.cases).map(caseJson),
    requests: requests?.different.map(({ a, b, ...request }) => ({ ...request, ...answersJson(a, b) })) ?? null,
    requests_left_out: requests?.leftOut ?? 0,
    moves:
      requests?.moves.map((move) => ({ from: goalJson(move.a), to: goalJson(move.b), ...totalsJson(move.totals) })) ??
      null,
    totals: decisions && {
      cases: {
        ...totalsJson(decisions.caseTotals),
        broken: decisions.cases.filter(({ broken }) => broken.length > 0).length,
      },
      requests: requests && totalsJson(requests.totals),
    },
  });
  // There may be thousands.
  const masked = await inSlices(inSteps(changes, scrubAll<PolicyChange>), isStale);
  return { ...body, changes: masked, patch: await patchOf(a.place.bundle, b.place.bundle, isStale) };
}

const sideJson = ({ place, side, problems, message }: BuiltPolicy) => ({
  name: place.label,
  kind: place.kind,
  loaded: side !== null,
  ...(side === null && { message, ...diagnosticsBody(problems, place.bundle.files) }),
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
  difference: isRefused(a) || isRefused(b) ? null : figuresBody(plus(b, a, -1), 1),
});

function answerJson(answer: RequestOutcome) {
  if (isRefused(answer)) return { refused: answer.code, message: answer.message };
  const { model, provider, reason } = answer;
  return { model, provider, reason, ...figuresBody(answer, 1) };
}

const goalJson = (answer: RequestOutcome) =>
  isRefused(answer) ? { refused: answer.code } : { model: answer.model, provider: answer.provider };

/** The figures cover the requests that both answer. */
function totalsJson({ requests, different, refusedA, refusedB, answered, a, b }: Totals) {
  return {
    count: requests,
    different,
    answered_by_both: answered,
    a: { refused: refusedA, ...figuresBody(a, answered) },
    b: { refused: refusedB, ...figuresBody(b, answered) },
  };
}
