import type { DecisionRecord } from '../../core/decision/record.ts';
import type { Facts } from '../../core/request/facts.ts';
import type { Certificate } from '../../routing/certify.ts';

/** How the active policy decides a recorded request. */
export interface RepeatedDecision {
  readonly record: DecisionRecord;
  readonly facts: Facts;
  readonly certificate: Certificate | null;
  /** The revision of the active policy. */
  readonly revision: string;
  /** The error of a refusal; null for a decision. */
  readonly refusal: Certificate['refusal'];
}
