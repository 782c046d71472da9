import { type InstanceName, isSameInstance } from './instance.ts';
import type { Write } from './store.ts';

/** Where an instance takes its policy from: files that it watches, or the revisions that are pushed to the store. */
export const POLICY_ORIGINS = ['files', 'store'] as const;
export type PolicyOrigin = (typeof POLICY_ORIGINS)[number];

/** How far an instance is, as it last wrote it: at its start, and when something of it changes. Times are ms since 1970. */
export interface InstanceReport extends InstanceName {
  /** For operators: its host and process. */
  readonly name: string;
  /** The build. */
  readonly version: string;
  readonly follows: PolicyOrigin;
  /** The policy in force there. */
  readonly revision: string;
  /** Since when it is in force there. */
  readonly since: number;
  /** The rank of its budgets: those of the greatest rank decide the limits of all. */
  readonly rank: number;
  /** Why the last policy that it read is not in force there; null where it is. */
  readonly error: string | null;
  /** The number of the pushed policy in force there; null for files. */
  readonly pushed: number | null;
  /** The number of the pushed policy that it judged last, and why it cannot serve it; null for none. */
  readonly judged: number | null;
  readonly refusal: string | null;
  /** The name of that policy there: it depends on which variables are set, too. */
  readonly judgedRevision: string | null;
  /** The place in the trail up to which all changes are in force there. */
  readonly seen: number;
  /** The store's clock less its own, ms. */
  readonly clockOffsetMs: number;
}

/** An instance that may write. */
export interface PresentInstance extends InstanceName {
  /** When its lease was renewed last, by the store's clock; null for a store whose lease needs no renewal. */
  readonly renewed: number | null;
}

/** The reports of instances. State: instance report. */
export interface InstanceReportTable {
  /** Every report that was ever written, by slot: instances that have ended left theirs. */
  all(): Promise<readonly InstanceReport[]>;
  /** The instances that the store takes writes from. On SQLite it is the last that began, and the lock of its folder tells whether it runs. */
  present(): Promise<readonly PresentInstance[]>;
  /** Replaces the report of the slot. */
  put(report: InstanceReport): Write;
}

/** A store, as far as it has reports. */
export interface ReportSource {
  readonly instanceReports: InstanceReportTable;
}

/** An instance that runs, with its report. */
export type LiveInstance = InstanceReport & PresentInstance;

/** The instances that run, by slot. One that has not reported yet is left out. Rejects with StoreError. */
export async function liveInstances({ instanceReports: table }: ReportSource): Promise<readonly LiveInstance[]> {
  const [reports, present] = await Promise.all([table.all(), table.present()]);
  return reports.flatMap((report) => {
    const found = present.find((one) => isSameInstance(one, report));
    return found ? [{ ...report, renewed: found.renewed }] : [];
  });
}

/** The names of instances that run and do not have a change of the trail in force. Rejects with StoreError. */
export async function instancesBehind({ instanceReports: table }: ReportSource, change: number) {
  const [reports, present] = await Promise.all([table.all(), table.present()]);
  return present.flatMap((one) => {
    const report = reports.find((each) => isSameInstance(each, one));
    return report && report.seen >= change ? [] : [report?.name ?? `slot ${one.slot}`];
  });
}

/** The revisions that instances have in force, with how many have each, the most frequent first. */
export function revisionsIn(instances: readonly Pick<InstanceReport, 'revision'>[]) {
  const counts = Map.groupBy(instances, ({ revision }) => revision);
  return [...counts]
    .map(([revision, those]) => ({ revision, instances: those.length }))
    .sort((one, other) => other.instances - one.instances || (one.revision < other.revision ? -1 : 1));
}
