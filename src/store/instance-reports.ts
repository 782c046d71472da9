import { type InstanceName, isSameInstance } from './instance.ts';
import type { Write } from './store.ts';

/** Where an instance gets its policy: from files that it watches, or from revisions that operators push to the store. */
export const POLICY_ORIGINS = ['files', 'store'] as const;
export type PolicyOrigin = (typeof POLICY_ORIGINS)[number];

/**
 * The state of an instance, as the instance itself last reported it: at its start, and whenever a value changes. Times are ms since 1970.
 */
export interface InstanceReport extends InstanceName {
  /** Host and process of the instance, for operators to read. */
  readonly name: string;
  /** The build of Signalbox that the instance runs. */
  readonly version: string;
  /** Where the instance takes its policy from: its own files, or the pushes in the store. */
  readonly follows: PolicyOrigin;
  /** The policy revision that is active on the instance. */
  readonly revision: string;
  /** When the active policy revision became active on the instance. */
  readonly since: number;
  /** The rank of the instance's budgets. The budgets with the greatest rank decide the limits on all instances. */
  readonly rank: number;
  /** Why the last policy that the instance read is not active; null if that policy is active. */
  readonly error: string | null;
  /** The number of the pushed policy that is active on the instance; null if the instance uses files. */
  readonly pushed: number | null;
  /**
   * The number of the pushed policy that the instance checked last, and why it cannot serve that policy; null if the instance can serve
   * that policy.
   */
  readonly judged: number | null;
  readonly refusal: string | null;
  /** The revision name that this policy gets on the instance. The name also depends on which environment variables are set there. */
  readonly judgedRevision: string | null;
  /** The ID of the audit-trail entry up to which all changes are active on the instance. */
  readonly seen: number;
  /** The store's clock minus the instance's clock, ms. */
  readonly clockOffsetMs: number;
}

/** An instance that may write to the store. */
export interface PresentInstance extends InstanceName {
  /** When the instance's lease was last renewed, by the store's clock; null for a store whose leases need no renewal. */
  readonly renewed: number | null;
}

/** The reports of instances. State: instance report. */
export interface InstanceReportTable {
  /** Returns every report ever written, by slot. The result includes instances that have ended. */
  all(): Promise<readonly InstanceReport[]>;
  /**
   * Returns the instances that may write to the store. On SQLite, the result is the last instance that started; the lock of its folder
   * shows whether that instance still runs.
   */
  present(): Promise<readonly PresentInstance[]>;
  /** Writes the report of a slot, and replaces the slot's earlier report. */
  put(report: InstanceReport): Write;
}

/** The part of a store that has instance reports. */
export interface ReportSource {
  readonly instanceReports: InstanceReportTable;
}

/** A running instance with its report. */
export type LiveInstance = InstanceReport & PresentInstance;

/** Returns the running instances by slot, without the instances that have not reported yet. Rejects with StoreError. */
export async function liveInstances({ instanceReports: table }: ReportSource): Promise<readonly LiveInstance[]> {
  const [reports, present] = await Promise.all([table.all(), table.present()]);
  return reports.flatMap((report) => {
    const found = present.find((one) => isSameInstance(one, report));
    return found ? [{ ...report, renewed: found.renewed }] : [];
  });
}

/** Returns the names of running instances on which a change of the audit trail is not active yet. Rejects with StoreError. */
export async function instancesBehind({ instanceReports: table }: ReportSource, change: number) {
  const [reports, present] = await Promise.all([table.all(), table.present()]);
  return present.flatMap((one) => {
    const report = reports.find((each) => isSameInstance(each, one));
    return report && report.seen >= change ? [] : [report?.name ?? `slot ${one.slot}`];
  });
}
