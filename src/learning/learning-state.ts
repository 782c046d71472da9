import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { timeOfId } from '../core/id.ts';
import { parseJson } from '../core/object.ts';
import type { OutcomeRow } from '../store/learning.ts';
import { BrierScore, BrierSums } from './brier.ts';
import { InfluenceSums, KeyInfluence } from './influence.ts';

const Body = Type.Object({ influence: InfluenceSums, brier: BrierSums });

/** The influence of keys and the accuracy of estimates. All estimators share it. State: influence. */
export class LearningState {
  readonly influence: KeyInfluence;
  readonly brier: BrierScore;

  /** @param body an earlier `text`; null or anything else begins at `now` */
  constructor(body: string | null, now: number) {
    const stored = parseBody(body);
    this.influence = new KeyInfluence(stored?.influence ?? { at: now, stakes: [] });
    this.brier = new BrierScore(stored?.brier);
  }

  /** Adds an outcome whose weight is already in its key's mass. */
  note({ score, declared, estimated, offered, weight }: OutcomeRow): void {
    if (weight > 0) this.brier.note(score, { declared, estimated }, weight / offered);
  }

  /** Adds an outcome since the last checkpoint. */
  replay(row: OutcomeRow): void {
    if (row.weight > 0) this.influence.addMass(row.keyId, row.weight, timeOfId(row.id));
    this.note(row);
  }

  get text(): string {
    return JSON.stringify({ influence: this.influence.sums, brier: this.brier.sums });
  }
}

/** Unreadable figures start afresh: they only affect how much outcomes count. */
function parseBody(text: string | null): Static<typeof Body> | null {
  const body = text === null ? null : parseJson(text);
  return Value.Check(Body, body) ? body : null;
}
