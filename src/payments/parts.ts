import type { PaymentPolicy } from '../core/policy/payments.ts';
import type { Timers } from '../core/time/timers.ts';
import type { Log } from '../host/telemetry/log.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Instance } from '../store/instance.ts';
import type { Lead } from '../store/leaders.ts';
import type { Blocklist } from './blocklist.ts';
import type { PaymentCounts } from './counts.ts';
import type { Networks } from './networks.ts';
import type { PaymentRegister } from './register.ts';
import type { QuoteSeal } from './seal.ts';

/** The services that settlements, and the search for their outcomes, use. */
export interface PaymentParts {
  readonly register: PaymentRegister;
  readonly networks: Networks;
  readonly blocklist: Blocklist;
  readonly seal: QuoteSeal;
  /** Returns the active policy; null while payments are off. */
  readonly policy: () => PaymentPolicy | null;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** The timers for the rounds of reconciliation. */
  readonly timers: Timers;
  readonly nextId: () => number;
  /** This server, as the owner of payments that are settled here. */
  readonly instance: Pick<Instance, 'slot' | 'epoch' | 'lives'>;
  /** Whether this server checks payments without an owner. */
  readonly lead: Lead;
  readonly deposit: Ledger['deposit'];
  readonly counts: PaymentCounts;
  readonly log: Log;
}
