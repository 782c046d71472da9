import { currentAddOns, type FormerAddOns, formerUsage } from '../../../core/accounting/former.ts';
import { Attempt, FullEndpoint } from '../../../core/decision/attempt.ts';
import { type DecisionOutcome, RecordedOutcome } from '../../../core/decision/outcome.ts';
import type { DecisionRecord } from '../../../core/decision/record.ts';
import { RecordedRefusedAnswer, type RefusalRecord } from '../../../core/decision/refusal.ts';
import { isEmpty } from '../../../core/json/object.ts';
import type { Amounts } from '../../../core/money/units.ts';
import type { Usage } from '../../../core/money/usage.ts';
import { type Facts, type RecordedFacts, StoredFacts } from '../../../core/request/facts.ts';
import { listPacking, packingOf } from './packing.ts';

/** The fields of a record that have their own columns. */
export type RecordHead = Pick<
  DecisionRecord,
  'id' | 'time' | 'request' | 'keyId' | 'kind' | 'revision' | 'readingsNumber' | 'session' | 'team' | 'user'
>;

/** The fields of a record that are stored together in one text column. */
type RecordBody = Omit<DecisionRecord, keyof RecordHead | 'labels'>;

/** The positions of the counts in a usage that every usage has. */
const USAGE_AT = { inputTokens: 0, outputTokens: 3, reasoningTokens: 4 } as const;
/** A usage by position. Builds before version 31 of the ledger's tables also used the positions that are 0, and the first null. */
type UsageValues = readonly [
  input: number,
  formerCached: number,
  formerWritten: number,
  output: number,
  reasoning: number,
  formerAddOns?: FormerAddOns | null,
  units?: Amounts,
];

const AS_IT_IS = <Value>(value: Value): Value => value;

const FACTS = packingOf<Facts, RecordedFacts>(StoredFacts, {
  named: { pack: (named: readonly string[]) => (named.length > 1 ? named : undefined), unpack: AS_IT_IS },
  pdfs: { pack: (pdfs: number) => pdfs || undefined, unpack: AS_IT_IS },
  addOns: { pack: AS_IT_IS, unpack: currentAddOns },
});
const ATTEMPT = packingOf(Attempt);
/** How a refused answer is stored, in the body and in the summary of its record. */
export const REFUSED = packingOf(RecordedRefusedAnswer);
const OUTCOME = packingOf(
  RecordedOutcome,
  {
    attempts: listPacking(ATTEMPT),
    full: listPacking(packingOf(FullEndpoint)),
    usage: { pack: packUsage, unpack: unpackUsage },
  },
  { cappedBy: null, usageReplaced: false },
);

function packUsage({ inputTokens, outputTokens, reasoningTokens, units }: Usage): UsageValues {
  if (units === undefined) return [inputTokens, 0, 0, outputTokens, reasoningTokens];
  return [inputTokens, 0, 0, outputTokens, reasoningTokens, null, units];
}

function unpackUsage(values: UsageValues): Usage {
  const [inputTokens, cached, written, outputTokens, reasoningTokens, addOns, units] = values;
  if (units || (cached === 0 && written === 0 && !addOns)) return { inputTokens, outputTokens, reasoningTokens, units };
  return formerUsage([inputTokens, cached, written, outputTokens, reasoningTokens], addOns ?? {});
}

export function encodeBody(body: RecordBody): string {
  const { seed, facts, reason, choice, fallbacks, lastResorts, outcome, stream, metadata } = body;
  const { agent, parentAgent, sentBy, expectedLength } = body;
  const packed = outcome && OUTCOME.pack(outcome);
  const by = sentBy === null ? [agent, parentAgent] : [agent, parentAgent, sentBy];
  const values: unknown[] = [seed, FACTS.pack(facts), reason, choice, fallbacks, packed];
  values.push(lastResorts, stream ? 1 : 0, metadata, by);
  if (expectedLength) values.push([expectedLength.tokens, expectedLength.source]);
  else values.length = TAIL_AT + tailLength(body);
  return JSON.stringify(values);
}

/** The values at the end of a body, which are left out while they are empty. */
const EMPTY_TAIL = [[], 0, {}, [null, null]] as const;
const TAIL_AT = 6;

/** Returns how many values of the tail a body without an expected length has. */
function tailLength({ agent, parentAgent, sentBy, metadata, stream, lastResorts }: RecordBody): number {
  if (agent !== null || parentAgent !== null || sentBy !== null) return EMPTY_TAIL.length;
  if (!isEmpty(metadata)) return 3;
  if (stream) return 2;
  return lastResorts.length > 0 ? 1 : 0;
}

/** Decodes the text of `encodeBody`. */
export function decodeBody(text: string): RecordBody {
  const values = JSON.parse(text);
  const [seed, facts, reason, choice, fallbacks, outcome, ...last] = values;
  const [lastResorts = [], stream = 0, metadata = {}, [agent, parentAgent, sentBy = null] = [null, null], length] =
    last;
  return {
    seed,
    facts: unpackFacts(facts),
    reason,
    choice,
    fallbacks,
    lastResorts,
    stream: stream === 1,
    metadata,
    agent,
    parentAgent,
    sentBy,
    expectedLength: length === undefined ? null : { tokens: length[0], source: length[1] },
    outcome: outcome && OUTCOME.unpack(outcome),
  };
}

/** The position of a refused answer in a body, after all positions of a decision's body. */
const REFUSED_AT = 11;

/** Encodes a refusal in the positions of a decision's body, so that both have the same summary. */
export function encodeRefusal(refusal: RefusalRecord): string {
  const { guards, guardedBy } = refusal;
  const outcome: unknown[] = ['refused', refusal.code, []];
  if (guards || guardedBy) {
    while (outcome.length < OUTCOME.at('guards')) outcome.push(null);
    outcome.push(guards ?? null, guardedBy ?? null);
  }
  return JSON.stringify(['', ['', 0], refusal.reason, '', [], outcome, ...EMPTY_TAIL, null, REFUSED.pack(refusal)]);
}

/** Decodes only the number of answers from the text of `encodeRefusal`. */
export const decodeAnswers = (text: string): number => JSON.parse(text)[REFUSED_AT][REFUSED.at('answers')];

/** Decodes only the outcome from the text of `encodeBody`. */
export const decodeOutcome = (text: string): DecisionOutcome | null => {
  const outcome = JSON.parse(text)[5];
  return outcome && OUTCOME.unpack(outcome);
};

function unpackFacts(values: readonly unknown[]): Facts {
  const { pinned, ...facts } = FACTS.unpack(values);
  return { ...facts, named: facts.named ?? (pinned ? [facts.model] : null), pdfs: facts.pdfs ?? 0 };
}

/** The position of the outcome in a body. */
const OUTCOME_AT = 5;
const pathOf = (...positions: readonly (number | string)[]): string => `$${positions.map((at) => `[${at}]`).join('')}`;

/** Returns the JSON path of a member of the outcome in a body. */
export const outcomePath = (member: keyof DecisionOutcome): string => pathOf(OUTCOME_AT, OUTCOME.at(member));

/** The JSON paths of the values of a summary in a body; see `summary.ts`. */
export const SUMMARY_PATHS: readonly string[] = [
  pathOf(1, FACTS.at('pinned')),
  pathOf(1, FACTS.at('model')),
  pathOf(TAIL_AT + 1),
  pathOf(TAIL_AT + 2),
  pathOf(2),
  outcomePath('error'),
  pathOf(OUTCOME_AT, OUTCOME.at('attempts'), '#-1', ATTEMPT.at('provider')),
  ...(['charged', 'saved', 'firstPartMs', 'totalMs'] as const).map(outcomePath),
  ...(['inputTokens', 'outputTokens'] as const).map((tokens) =>
    pathOf(OUTCOME_AT, OUTCOME.at('usage'), USAGE_AT[tokens]),
  ),
  pathOf(REFUSED_AT),
  ...(['guards', 'guardedBy', 'cache', 'spared', 'insteadOf'] as const).map(outcomePath),
];
