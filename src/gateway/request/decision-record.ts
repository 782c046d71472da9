import type { Decision } from '../../core/decision/decision.ts';
import type { DecisionOutcome } from '../../core/decision/outcome.ts';
import type { DecisionRecord } from '../../core/decision/record.ts';
import type { Caller } from '../../core/people/caller.ts';
import { REDACTIONS } from '../../core/policy/content.ts';
import type { PolicySnapshot } from '../../core/policy/snapshot.ts';
import type { ModelRequest } from '../../core/request/model-request.ts';
import { NO_RUN, type RunNames } from '../../core/request/run-names.ts';
import { expectedLength } from '../../routing/expected-length.ts';
import type { Write } from '../../store/store.ts';
import { redact } from '../records/redact.ts';
import { PRIOR_READINGS } from '../records/stored-readings.ts';
import type { Gateway } from './gateway.ts';

/** The inputs of conditions that are not part of the facts, as far as a record stores them. */
type RecordedInputs = Pick<
  DecisionRecord,
  | 'keyId'
  | 'team'
  | 'user'
  | 'stream'
  | 'labels'
  | 'metadata'
  | 'session'
  | 'agent'
  | 'parentAgent'
  | 'sentBy'
  | 'request'
>;

type RecordedCaller = Pick<Caller, 'keyId' | 'labels'> & {
  readonly team?: string | null | undefined;
  readonly user?: string | null | undefined;
};

/** The parts of a request's context that a record keeps. */
interface RecordedContext {
  readonly work: { readonly run: RunNames };
  readonly client: { readonly sentBy: string | null };
  readonly requestNumber: number | null;
}
const NO_CONTEXT: RecordedContext = {
  work: { run: NO_RUN },
  client: { sentBy: null },
  requestNumber: null,
};

/** Returns the inputs of rules that a record stores. Of `metadata`, a record stores only the keys that the policy lists, redacted. */
export function recordedOf(
  { stream, routing }: Pick<ModelRequest, 'stream' | 'routing'>,
  { keyId, labels, team = null, user = null }: RecordedCaller,
  { records }: { readonly records: Pick<PolicySnapshot['records'], 'metadata'> },
  { work, client: { sentBy }, requestNumber: request }: RecordedContext = NO_CONTEXT,
): RecordedInputs {
  const { session, agent, parentAgent } = work.run;
  const isRecorded = records.metadata.length > 0 && routing.metadata != null;
  const metadata = isRecorded ? pickMetadata(routing.metadata, records.metadata) : NO_METADATA;
  return { keyId, team, user, stream, labels, metadata, session, agent, parentAgent, sentBy, request };
}

/** The most characters of a stored value of `metadata`. The metadata of a request has no longer values. */
const METADATA_MAX = 512;
const NO_METADATA: DecisionRecord['metadata'] = Object.freeze({});

function pickMetadata(metadata: Readonly<Record<string, string>>, keys: readonly string[]): DecisionRecord['metadata'] {
  const kept = keys.filter((key) => Object.hasOwn(metadata, key));
  return Object.fromEntries(kept.map((key) => [key, redact(metadata[key]!.slice(0, METADATA_MAX), REDACTIONS)]));
}

/** The parts of the gateway that are needed to record a decision. */
interface RecordingGateway extends Pick<Gateway, 'nextId' | 'now'> {
  readonly records: Pick<Gateway['records'], 'add' | 'readings'>;
}

/**
 * Records a decision: facts without text, qualities, choice and outcome.
 * @returns the writes of the readings that the record refers to; the caller must store them at once
 */
export function recordDecision(
  { records, nextId, now }: RecordingGateway,
  kind: DecisionRecord['kind'],
  decision: Decision,
  { keyId, team, user, stream, labels, metadata, session, agent, parentAgent, sentBy, request }: RecordedInputs,
  snapshot: PolicySnapshot,
  outcome: DecisionOutcome | null,
): readonly Write[] {
  const { id, revision, seed, facts, reason, readings } = decision;
  const { number: readingsNumber, writes } =
    readings.number === 0 ? PRIOR_READINGS : records.readings.refer(readings, snapshot, nextId, id);
  const { choice, fallbacks, lastResorts } = chosen(decision, snapshot);
  // The fields of a record are listed without a spread, because every request makes a record, and spreading costs more time than everything
  // else here.
  records.add({
    id,
    time: now(),
    request,
    keyId,
    team,
    user,
    kind,
    revision,
    readingsNumber,
    seed,
    facts,
    stream,
    labels,
    metadata,
    session,
    agent,
    parentAgent,
    sentBy,
    // Declared qualities are not stored, because a repeated decision computes them from the policy.
    reason,
    choice,
    fallbacks,
    lastResorts,
    expectedLength: expectedLength(facts, snapshot, readings),
    outcome,
  });
  return writes;
}

/** Returns the choice, fallbacks and last resorts of a decision as model IDs. */
export function chosen(
  { ranked, lastResorts }: Decision,
  { models }: PolicySnapshot,
): Pick<DecisionRecord, 'choice' | 'fallbacks' | 'lastResorts'> {
  const fallbacks: string[] = [];
  for (let at = 1; at < ranked.length; at++) fallbacks.push(models[ranked[at]!.model]!.id);
  const resorts: DecisionRecord['lastResorts'][number][] = [];
  for (const { model, endpoints } of lastResorts) resorts.push({ model: models[model]!.id, endpoints });
  return { choice: models[ranked[0].model]!.id, fallbacks, lastResorts: resorts };
}
