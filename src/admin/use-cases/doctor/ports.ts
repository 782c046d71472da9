import { isLoopbackHost } from '../../../core/net/loopback.ts';
import { isStoreLocked } from '../../../store/open.ts';
import {
  type DoctorRun,
  type Door,
  type Finding,
  faultFinding,
  fine,
  problem,
  type ServerFacts,
  warning,
} from './finding.ts';

/** Whether only programs of this machine can connect to a host that a server listens on. */
const isHere = (host: string): boolean => isLoopbackHost(host.includes(':') ? `[${host}]` : host);

/** Judges the addresses at which the server listens. Signalbox speaks HTTP and leaves TLS to a proxy. */
export async function checkPorts(run: DoctorRun): Promise<readonly Finding[]> {
  const { policy, server, door, noDatabase, place } = run;
  if (!server) {
    if (!door) return [];
    const isServed = (await noDatabase()) === null && (await isStoreLocked(place.database));
    return [doorFinding(await door(), isServed)];
  }
  const { options } = server;
  const loaded = await policy();
  const hasProxy = 'runtime' in loaded && loaded.runtime.snapshot.gateway.trustedProxies.length > 0;
  return portFindings(options, hasProxy);
}

const OTHER_PORT = 'choose another port with --port or the variable PORT';

/** Judges the port that a server would open here. @param isServed whether a server uses the database */
function doorFinding(door: Door, isServed: boolean): Finding {
  const { address } = door;
  if ('fault' in door) return faultFinding(door.fault, address);
  if (door.user === 'free') return fine('The port is free for a server.', address);
  if (door.user === 'program')
    return problem(
      'Another program uses this port, so a server cannot start on it.',
      `Stop that program, or ${OTHER_PORT}.`,
      address,
    );
  if (isServed) return fine('A Signalbox server uses this port.', address);
  return warning(
    'A Signalbox server with other data uses this port, so a second server cannot start on it.',
    `To check that server, name its data folder with --data. To start a second server, ${OTHER_PORT}.`,
    address,
  );
}

/** @param hasProxy whether the policy names trusted proxies */
export function portFindings(
  { host, port, metrics, metricsPort, process, allowsPolicyWrites }: ServerFacts['options'],
  hasProxy: boolean,
): readonly Finding[] {
  const address = `${host}:${port}`;
  if (isHere(host)) return [fine('Only programs of this machine can connect.', address)];
  return [
    hasProxy
      ? fine('The server listens without TLS, and the policy names the proxies that may stand in front of it.', address)
      : warning(
          'Other machines can connect to this port without TLS, so keys and prompts cross the network in the clear.',
          'Put a proxy with TLS in front, and name it in `gateway.trusted_proxies`, or listen on 127.0.0.1.',
          address,
        ),
    ...(metrics
      ? [
          warning(
            'Everyone who can reach this port can read /metrics without a key: names of models and budgets, and amounts.',
            'Let only Prometheus reach /metrics, in the proxy or the firewall, or start the server with --metrics off.',
            process === null ? address : `${host}:${metricsPort}`,
          ),
        ]
      : []),
    ...(allowsPolicyWrites
      ? [
          warning(
            'Owners can change guarded settings of the policy over this port, such as the addresses of providers.',
            'Start the server without --allow-policy-writes if you edit the policy in its files.',
            address,
          ),
        ]
      : []),
  ];
}
