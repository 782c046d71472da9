import { showCluster } from '../admin/status.ts';
import { objectOf } from '../core/object.ts';
import { clusterStatus } from '../operate/cluster.ts';
import type { ReportSource } from '../store/instance-reports.ts';
import { NO_WORTH, runOperation } from './operations.ts';
import type { CommandResult } from './result.ts';
import { operator } from './user.ts';

/** Code of a command that found servers with different policies. */
const SPLIT = 2;

/**
 * `signalbox instances`: the servers at a database, with the active policy of each.
 * @param isServed whether a server holds the store; without one, the last report is of a server that has ended
 */
export async function runInstances(
  args: readonly string[],
  store: ReportSource,
  isServed: boolean,
): Promise<CommandResult> {
  const call = { by: operator(), now: 0, id: '', credentials: null, tags: null };
  const services = {
    ...NO_WORTH,
    cluster: async (by: typeof call.by) => {
      const status = await clusterStatus(by, store);
      return isServed ? status : { instances: [], isSplit: false };
    },
  };
  let code: CommandResult['code'] = 0;
  const text = await runOperation(showCluster, args, async () => {
    const { body } = await showCluster.perform(services, call, {});
    if (objectOf(body).is_split === true) code = SPLIT;
    return body;
  });
  return { text, code };
}
