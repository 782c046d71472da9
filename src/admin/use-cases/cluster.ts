import { revisionsIn } from '../../core/text/revision.ts';
import { type LiveInstance, liveInstances, type ReportSource } from '../../store/instance-reports.ts';
import type { Principal } from './principal.ts';
import { checkAction } from './roles.ts';

/** The servers that share a database, with the policy, version and clock of each. */
export interface ClusterStatus {
  readonly instances: readonly LiveInstance[];
  /** Whether the servers run different policies. */
  readonly isSplit: boolean;
}

/** Returns the running servers. Rejects with StoreError. */
export async function clusterStatus(by: Principal, store: ReportSource): Promise<ClusterStatus> {
  checkAction(by.caller, 'status.read');
  const instances = await liveInstances(store);
  return { instances, isSplit: revisionsIn(instances).length > 1 };
}
