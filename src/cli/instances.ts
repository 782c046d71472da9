import { iso } from '../core/clock.ts';
import { clusterBody, clusterStatus } from '../operate/cluster.ts';
import type { ReportSource } from '../store/instance-reports.ts';
import { parseFlags, SWITCH } from './arguments.ts';
import type { CommandResult } from './result.ts';
import { table } from './terminal.ts';
import { jsonText } from './text.ts';
import { operator } from './user.ts';

/** Code of a command that found servers with different policies. */
const SPLIT = 2;

/**
 * `signalbox instances`: the servers at a database, with the policy that each has in force.
 * @param isServed whether a server holds the store; without one, the last report is of a server that has ended
 */
export async function runInstances(
  args: readonly string[],
  store: ReportSource,
  isServed: boolean,
): Promise<CommandResult> {
  const { json } = parseFlags(args, { json: SWITCH });
  const found = await clusterStatus(operator(), store);
  const status = isServed ? found : { instances: [], isSplit: false };
  const code = status.isSplit ? SPLIT : 0;
  if (json) return { text: jsonText(clusterBody(status)), code };
  if (status.instances.length === 0) return { text: 'No server runs at this database.\n', code };
  const rows = status.instances.map((one) => [
    `${one.slot}`,
    one.name,
    one.version,
    one.revision,
    `${one.rank}`,
    one.follows,
    `${iso(one.since).slice(0, 16).replace('T', ' ')}`,
    `${one.clockOffsetMs} ms`,
    one.error ?? '-',
  ]);
  const head = ['SLOT', 'NAME', 'VERSION', 'POLICY', 'RANK', 'FROM', 'SINCE', 'CLOCK', 'REFUSED'];
  const isOnePush = new Set(status.instances.map(({ pushed }) => pushed)).size === 1 && status.instances[0]?.pushed;
  const why = isOnePush ? 'run one push with different variables set: providers differ' : 'run different policies';
  const note = status.isSplit ? `The servers ${why}.\n` : '';
  return { text: `${table([head, ...rows])}${note}`, code };
}
