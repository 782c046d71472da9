import { ID_SLOTS } from '../../../core/id.ts';
import { plural } from '../../../core/text/text.ts';
import { type InstanceName, isSameInstance } from '../../../store/instance.ts';
import { tablesOfStore } from '../../../store/open.ts';
import type { ClusterStatus } from '../cluster.ts';
import { clockFinding } from './clocks.ts';
import { type DoctorRun, type Finding, fine, notChecked, problem, warning } from './finding.ts';

/** A database accepts this many servers at once. The warning leaves room to replace servers one after the other. */
const SERVERS_WARNING = ID_SLOTS - 8;

export async function checkServers({ cluster, command, place, server }: DoctorRun): Promise<readonly Finding[]> {
  if (server === null) {
    const { version, known } = await tablesOfStore(place.database);
    if (version < known)
      return [
        notChecked(
          'The tables are older than this program, which cannot read the reports of servers in them.',
          'See the finding on the database.',
        ),
      ];
  }
  return serverFindings(await cluster(), server?.instance ?? null, command);
}

/** Compares the servers that share a database. @param own the server that makes the checks; null without a server */
function serverFindings(
  { instances, isSplit }: ClusterStatus,
  own: InstanceName | null,
  command: DoctorRun['command'],
): readonly Finding[] {
  if (instances.length === 0) return [fine('No server uses the database.')];
  const builds = [...new Set(instances.map(({ version }) => version))];
  const findings: Finding[] = [];
  if (builds.length > 1)
    findings.push(
      warning(
        `The servers run ${builds.length} builds: ${builds.join(', ')}.`,
        'Finish the upgrade: replace the servers that still run the earlier build.',
      ),
    );
  if (isSplit)
    findings.push(
      problem(
        'The servers run different policies, or the same policy with different variables set.',
        `Give all servers the same files and variables, or push the policy. \`${command('instances')}\` shows which server runs which.`,
      ),
    );
  for (const instance of instances) {
    const { name, error, clockOffsetMs } = instance;
    // The check `policy` reports the mistakes of the own policy.
    if (error !== null && !(own && isSameInstance(instance, own)))
      findings.push(
        problem(`The server does not use the latest policy: ${error}`, 'Correct the policy of this server.', name),
      );
    const clock = clockFinding('The clock of the database', clockOffsetMs, name);
    if (instances.length > 1 && clock.state !== 'ok') findings.push(clock);
  }
  if (instances.length > SERVERS_WARNING)
    findings.push(
      warning(
        `${instances.length} of ${ID_SLOTS} servers use the database; further servers wait.`,
        'Run fewer servers, each with more load.',
      ),
    );
  if (findings.length > 0) return findings;
  return [
    fine(
      instances.length === 1
        ? 'One server uses the database.'
        : `${plural(instances.length, 'server')} run the same build and policy.`,
    ),
  ];
}
