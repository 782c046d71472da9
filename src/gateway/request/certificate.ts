import type { Decision, InsteadOf, Refusal } from '../../core/decision/decision.ts';
import type { Readings } from '../../core/decision/readings.ts';
import { type DecisionRecord, isAnsweredHere } from '../../core/decision/record.ts';
import { idText } from '../../core/id.ts';
import type { Microcredits } from '../../core/money/credits.ts';
import { costOf, expectedPrice } from '../../core/money/price.ts';
import type { Usage } from '../../core/money/usage.ts';
import type { PolicySnapshot } from '../../core/policy/snapshot.ts';
import type { Facts } from '../../core/request/facts.ts';
import { leftOutProviders } from '../../policy/runtime/candidate.ts';
import type { PastPolicies } from '../../policy/runtime/replay.ts';
import { type DecisionRuntime, strategyOf } from '../../policy/runtime/runtime.ts';
import { decisionRuntimeFor } from '../../policy/runtime/wildcard-runtime.ts';
import { type Certificate, certify } from '../../routing/certify.ts';
import { type DecisionContext, isRefusal } from '../../routing/decide.ts';
import { repeatsChoice } from '../../routing/spread-record.ts';
import type { RecordReader } from '../records/records.ts';
import { chosen } from './decision-record.ts';
import { ANSWERED_HERE, type Hindsight, type RecordedCertificate } from './recorded-certificate.ts';

/** @param reason a sentence that says why the decision was not repeated */
export const withoutReplay = (record: DecisionRecord, reason: string): RecordedCertificate => ({
  record,
  reason,
  certificate: null,
  matches: null,
  repeatsEndpoints: null,
  hindsight: null,
  leftOut: null,
});

/**
 * Repeats a decision from its record. If the decision cannot be repeated, the result has a reason instead of a certificate.
 * @throws StoreError when the store cannot be read
 */
export async function certificateOf(
  record: DecisionRecord,
  records: Pick<RecordReader, 'findRevision' | 'findReadings'>,
  past: Pick<PastPolicies, 'find'>,
): Promise<RecordedCertificate> {
  const without = (reason: string) => withoutReplay(record, reason);
  if (isAnsweredHere(record)) return without(answererOf(record));
  const revision = await records.findRevision(record.revision);
  if (!revision) return without('The policy revision of this decision is no longer stored.');
  const found = await past.find(revision);
  if (typeof found === 'string') return without(found);
  const readings = await records.findReadings(record.readingsNumber, found.snapshot).catch(orNone);
  if (!readings) return without('The readings that this decision used are no longer stored.');
  try {
    return replayed(record, decisionRuntimeFor(found, record.facts.model), readings);
  } catch {
    // The record names something that its policy does not have, so the record or the policy was edited.
    return without('The record of this decision does not match its policy revision.');
  }
}

function answererOf({ outcome }: DecisionRecord): string {
  const { repeats } = outcome ?? {};
  return repeats === undefined
    ? ANSWERED_HERE
    : `The cache repeated the answer of ${idText('dec_', repeats)}, so no model was chosen.`;
}

/** Treats edited readings as missing. */
function orNone(cause: unknown): null {
  if (cause instanceof RangeError) return null;
  throw cause;
}

function replayed(record: DecisionRecord, deciding: DecisionRuntime, readings: Readings): RecordedCertificate {
  const { id, seed, facts } = record;
  const { snapshot } = deciding;
  const given: DecisionContext = { id, seed, readings, ...strategyOf(facts, deciding) };
  const outcome = deciding.decider.decide(facts, given);
  const certificate = certify(snapshot, facts, given);
  const isSameDecision = certificate.choice === record.choice && isSame(outcome, record, snapshot);
  const repeatsEndpoints = endpointsRepeat(record, snapshot, readings);
  const usage = record.outcome?.usage;
  return {
    record,
    certificate,
    reason: null,
    matches: isSameDecision && repeatsEndpoints !== false,
    repeatsEndpoints,
    hindsight: usage ? hindsightOf(certificate, usage, facts, snapshot) : null,
    leftOut: leftOutProviders(snapshot),
  };
}

/** Repeats the choices of endpoints. */
function endpointsRepeat(
  { facts, outcome }: DecisionRecord,
  snapshot: PolicySnapshot,
  readings: Readings,
): boolean | null {
  const { models, modelIndex } = snapshot;
  const repeated = (outcome?.attempts ?? []).flatMap(({ model, endpoint, spread }) => {
    if (!spread) return [];
    const one = models[modelIndex.get(model)!]!;
    return repeatsChoice(spread, endpoint, one, { facts, readings }, snapshot) ?? [];
  });
  return repeated.length === 0 ? null : repeated.every((isSameEndpoint) => isSameEndpoint);
}

function isSame(outcome: Decision | Refusal, record: DecisionRecord, snapshot: PolicySnapshot): boolean {
  if (isRefusal(outcome) || outcome.reason !== record.reason) return false;
  const { choice, fallbacks, lastResorts } = record;
  return (
    JSON.stringify(chosen(outcome, snapshot)) === JSON.stringify({ choice, fallbacks, lastResorts }) &&
    isSameInstead(outcome.insteadOf, record.outcome?.insteadOf)
  );
}

/** A recommendation has no outcome, and a model may also be left out after the decision. */
const isSameInstead = (decided: InsteadOf | undefined, recorded: InsteadOf | undefined): boolean =>
  decided === undefined ||
  recorded === undefined ||
  (decided.model === recorded.model && decided.reason === recorded.reason);

function hindsightOf(
  { candidates, runnerUp, baseline }: Certificate,
  usage: Usage,
  { addOns }: Pick<Facts, 'addOns'>,
  { models, modelIndex }: PolicySnapshot,
): Hindsight {
  const costAt = (id: string, endpoint: number): Microcredits =>
    costOf(expectedPrice(models[modelIndex.get(id)!]!.endpoints[endpoint]!.price, addOns), usage);
  const next = candidates.find(({ model }) => model === runnerUp?.model) ?? null;
  const first = next?.endpoints.findIndex(({ open }) => open) ?? -1;
  return {
    runnerUp: next && costAt(next.model, Math.max(0, first)),
    // The baseline's cost is computed in the same way as for savings.
    baseline: baseline && costAt(baseline.model, 0),
  };
}
