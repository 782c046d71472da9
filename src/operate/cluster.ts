import { iso } from '../core/clock.ts';
import { type LiveInstance, liveInstances, type ReportSource, revisionsIn } from '../store/instance-reports.ts';
import type { Principal } from './principal.ts';
import { checkAction } from './roles.ts';

/** The servers at one database: the policy, version and clock of each. */
export interface ClusterStatus {
  readonly instances: readonly LiveInstance[];
  /** Whether they run different policies. */
  readonly isSplit: boolean;
}

/** Reads the servers that run. Rejects with StoreError. */
export async function clusterStatus(by: Principal, store: ReportSource): Promise<ClusterStatus> {
  checkAction(by.caller, 'status.read');
  const instances = await liveInstances(store);
  return { instances, isSplit: revisionsIn(instances).length > 1 };
}

/** The status as the admin API shows it. */
export const clusterBody = ({ instances, isSplit }: ClusterStatus) => ({
  object: 'cluster' as const,
  is_split: isSplit,
  data: instances.map((one) => ({
    slot: one.slot,
    epoch: one.epoch,
    name: one.name,
    version: one.version,
    policy_revision: one.revision,
    policy_since: iso(one.since),
    policy_rank: one.rank,
    policy_error: one.error,
    policies_from: one.follows,
    pushed: one.pushed,
    clock_offset_ms: one.clockOffsetMs,
    renewed: one.renewed === null ? null : iso(one.renewed),
  })),
});
