import type { ReportSource } from '../../store/instance-reports.ts';
import { showCluster } from '../status.ts';
import { clusterStatus } from '../use-cases/cluster.ts';
import { NO_WORTH, runOperation } from './operations.ts';
import type { CommandOutput } from './result.ts';
import { operator } from './user.ts';

/**
 * Runs `signalbox instances`: lists the servers that share a database, with the active policy of each.
 * @param isServed whether a server is using the store. If no server uses the store, the last report is from a server that has ended.
 */
export async function runInstances(
  args: readonly string[],
  store: ReportSource,
  isServed: boolean,
): Promise<CommandOutput> {
  const call = { by: operator(), now: 0, id: '', credentials: null, tags: null };
  const services = {
    ...NO_WORTH,
    cluster: async (by: typeof call.by) => {
      const status = await clusterStatus(by, store);
      return isServed ? status : { instances: [], isSplit: false };
    },
  };
  return runOperation(showCluster, args, async () => (await showCluster.perform(services, call, {})).body);
}
