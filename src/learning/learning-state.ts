import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { timeOfId } from '../core/id.ts';
import { SIGNALS, type Signal } from '../core/learning-policy.ts';
import { parseJson } from '../core/object.ts';
import type { OutcomeRow } from '../store/learning.ts';
import { BrierScore } from './brier.ts';
import { SignalRates } from './checks.ts';
import { KeyInfluence } from './influence.ts';

const Sums = Type.Array(Type.Number());
const Body = Type.Object({
  influence: Type.Object({
    at: Type.Number(),
    stakes: Type.Array(Type.Tuple([Type.String(), Type.Number(), Type.Number()])),
  }),
  signals: Type.Object({ shown: Sums, bad: Sums }),
  brier: Type.Object({ weight: Type.Number(), declared: Type.Number(), estimated: Type.Number() }),
});

/** The influence of keys, the rates of signals and the accuracy of estimates. All estimators share it. */
export class LearningState {
  readonly influence: KeyInfluence;
  readonly signals: SignalRates;
  readonly brier: BrierScore;

  /** @param body an earlier `text`; null or anything else begins at `now` */
  constructor(body: string | null, now: number) {
    const stored = parseBody(body);
    this.influence = new KeyInfluence(stored?.influence ?? { at: now, stakes: [] });
    this.signals = new SignalRates(stored?.signals);
    this.brier = new BrierScore(stored?.brier);
  }

  /** Adds an outcome whose weight is already in its key's mass. */
  note({ source, score, declared, estimated, offered, weight, looked, label }: OutcomeRow): void {
    if (weight === 0) return;
    const share = weight / offered;
    if (source === 'caller') {
      this.brier.note(score, { declared, estimated }, share);
      return;
    }
    this.signals.note({ looked, blamed: isSignal(label) ? label : null }, estimated, share);
  }

  /** Adds an outcome since the last checkpoint. */
  replay(row: OutcomeRow): void {
    const at = timeOfId(row.id);
    if (row.source === 'checks') this.influence.noteChat(row.keyId, at);
    if (row.weight > 0) this.influence.addMass(row.keyId, row.weight, at);
    this.note(row);
  }

  get text(): string {
    const body: Static<typeof Body> = {
      influence: { at: this.influence.sums.at, stakes: this.influence.sums.stakes.map((stake) => [...stake]) },
      signals: { shown: [...this.signals.sums.shown], bad: [...this.signals.sums.bad] },
      brier: this.brier.sums,
    };
    return JSON.stringify(body);
  }
}

const LABELS: readonly (string | null)[] = SIGNALS;
const isSignal = (label: string | null): label is Signal => LABELS.includes(label);

/** Unreadable figures start afresh: they only affect how much outcomes count. */
function parseBody(text: string | null): Static<typeof Body> | null {
  const body = text === null ? null : parseJson(text);
  return Value.Check(Body, body) ? body : null;
}
