import type { Timers } from '../../../core/time/timers.ts';
import type { Diagnostic } from '../../../policy/report/diagnostics.ts';
import type { Runtime } from '../../../policy/runtime/runtime.ts';
import type { SecretStatus } from '../../../policy/runtime/secret-files.ts';
import type { ReloadAttempt } from '../../../policy/runtime/status.ts';
import type { Instance } from '../../../store/instance.ts';
import type { ClusterStatus } from '../cluster.ts';
import type { AuditResult } from '../ledger/audit.ts';
import type { ServeOptions } from '../serve-options.ts';
import type { KeyCall } from './provider-calls.ts';
import type { CheckState } from './states.ts';

/** A result of a check for one subject. */
export interface Finding {
  readonly state: CheckState;
  /** The examined thing, such as a provider with its key; null if the check examines only one thing. */
  readonly subject: string | null;
  /** The result, in one or two sentences. */
  readonly found: string;
  /** The advice, in one or two sentences; null if there is nothing to do. */
  readonly advice: string | null;
}

export const fine = (found: string, subject: string | null = null): Finding => ({
  ...{ state: 'ok', subject, found, advice: null },
});

/** Makes a finding that says what to do. */
const advising =
  (state: CheckState) =>
  (found: string, advice: string, subject: string | null = null): Finding => ({ state, subject, found, advice });
export const warning = advising('warning');
export const problem = advising('problem');
export const notChecked = advising('not_checked');

/** The advice for an error whose message has none. */
const CORRECT = 'Correct the cause, and run the checks again.';

/** Makes a finding from the message of an error. Messages first say what is wrong, then after `; ` or in a second sentence what to do. */
export function faultFinding(message: string, subject: string | null = null, otherwise = CORRECT): Finding {
  const end = message.search(/[.;] \S/);
  if (end < 0) return problem(sentence(message), otherwise, subject);
  const advice = message.slice(end + 2);
  return problem(
    sentence(message.slice(0, end)),
    sentence(`${advice.slice(0, 1).toUpperCase()}${advice.slice(1)}`),
    subject,
  );
}

/** Ends a text with a full stop unless it ends with a sign of its own. */
export const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);

/** A policy with its warnings of today, or why it cannot be used. */
export type DoctorPolicy =
  | { readonly runtime: Runtime; readonly warnings: readonly Diagnostic[] }
  | { readonly refusal: string; readonly advice: string };
export type LoadedPolicy = Extract<DoctorPolicy, { runtime: Runtime }>;

/** The facts that only a running server has. */
export interface ServerFacts {
  readonly instance: Pick<Instance, 'slot' | 'epoch' | 'clockOffsetMs' | 'fenced'>;
  readonly options: Pick<
    ServeOptions,
    'host' | 'port' | 'metrics' | 'metricsPort' | 'process' | 'allowsPolicyWrites' | 'credentials'
  >;
  /** The last attempt to reload the policy. */
  readonly lastReload: ReloadAttempt;
  /** The secrets from files and token sources, without their values. */
  readonly secrets: readonly SecretStatus[];
  /** The last audit of this server; null if it has made none. */
  readonly lastAudit: AuditResult | null;
}

/** The port on which `serve` would listen in this environment, and which program uses it, or why a server cannot open it. */
export type Door =
  | { readonly address: string; readonly user: 'free' | 'signalbox' | 'program' }
  | { readonly address: string; readonly fault: string };

/** Where the checks get their facts: at a running server, or at a data folder without a server. */
export interface DoctorSources {
  /** Milliseconds since 1970, by the clock of this machine. */
  readonly now: () => number;
  readonly timers: Timers;
  /** `home` is the data folder of the operator, `data` the folder of this process. */
  readonly place: Pick<ServeOptions, 'home' | 'data' | 'database'>;
  /** The policy folder. */
  readonly folder: string;
  /** Writes a command line on the data folder of this run: `ledger audit` → `signalbox ledger audit --data DIR`. */
  readonly command: (words: string) => string;
  /** The paths of the files with secrets that were read. */
  readonly secretPaths: () => readonly string[];
  /** Loads the policy. Never rejects. */
  readonly policy: () => Promise<DoctorPolicy>;
  /** The running servers of the database. Rejects with StoreError. */
  readonly cluster: () => Promise<ClusterStatus>;
  /** Null without a server. */
  readonly server: ServerFacts | null;
  /** Why `DATABASE_URL` cannot be used. The `database` of `place` is then the database in the data folder, which no check may use. */
  readonly databaseFault: string | null;
  /** Tries the port of `serve`; null at a running server. Never rejects. */
  readonly door: (() => Promise<Door>) | null;
}

/** The sources of one run, with the facts that several checks share. */
export interface DoctorRun extends DoctorSources {
  /** The answers of the providers, which are called once in a run. */
  readonly calls: (policy: LoadedPolicy) => Promise<readonly KeyCall[]>;
  /** Why the database cannot be examined; null if it can. Never rejects. */
  readonly noDatabase: () => Promise<Finding | null>;
}

type Found = readonly Finding[] | Promise<readonly Finding[]>;

/** One check. `needs` says what must be there; without it, the check is not made. The check `database` reports an unusable database. */
export type Check = {
  /** The name in JSON. It stays the same in later versions. */
  readonly id: string;
  readonly title: string;
  /** The examined things and their limits, for the table of the documentation. */
  readonly examines: string;
} & (
  | { readonly needs: null; readonly run: (run: DoctorRun) => Found }
  | { readonly needs: 'database'; readonly run: (run: DoctorRun) => Found }
  | { readonly needs: 'policy'; readonly run: (run: DoctorRun, policy: LoadedPolicy) => Found }
  | { readonly needs: 'server'; readonly run: (run: DoctorRun, server: ServerFacts) => Found }
);
