import type { PaymentPolicy } from '../core/payment-policy.ts';
import type { Timers } from '../core/timers.ts';
import type { Log } from '../host/telemetry/log.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Instance } from '../store/instance.ts';
import type { Lead } from '../store/leaders.ts';
import type { Blocklist } from './blocklist.ts';
import type { PaymentCounts } from './counts.ts';
import type { Networks } from './networks.ts';
import type { PaymentRegister } from './register.ts';
import type { QuoteSeal } from './seal.ts';

/** The parts that settlements, and the search for their outcomes, work with. */
export interface PaymentParts {
  readonly register: PaymentRegister;
  readonly networks: Networks;
  readonly blocklist: Blocklist;
  readonly seal: QuoteSeal;
  /** The policy in force; null while payments are off. */
  readonly policy: () => PaymentPolicy | null;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Sets the rounds of reconciliation. */
  readonly timers: Timers;
  readonly nextId: () => number;
  /** The owner of payments that are settled here. */
  readonly instance: Pick<Instance, 'slot' | 'epoch' | 'lives'>;
  /** Whether payments of nobody are this instance's to check. */
  readonly lead: Lead;
  readonly deposit: Ledger['deposit'];
  readonly counts: PaymentCounts;
  readonly log: Log;
}
