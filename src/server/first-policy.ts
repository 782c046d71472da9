import { CountedRooms } from '../access/limits/endpoint-rooms.ts';
import { endpointEvent } from '../admin/use-cases/events.ts';
import type { ServeOptions } from '../admin/use-cases/serve-options.ts';
import { messageOf } from '../core/thrown.ts';
import type { Log } from '../host/telemetry/log.ts';
import { EventFeed } from '../http/event-feed.ts';
import { ModelServers } from '../policy/runtime/discovery/model-servers.ts';
import type { SecretFiles } from '../policy/runtime/secret-files.ts';
import type { TokenSources } from '../policy/runtime/token-sources.ts';
import { finishEdit } from '../policy/runtime/write-edit.ts';
import { UpstreamNetwork } from '../providers/connection/network.ts';
import { Health } from '../providers/health/health.ts';
import type { HealthChange } from '../providers/health/types.ts';
import { PromptReader } from '../routing/profile/prompt-reader.ts';
import { stateOnDisk } from './data.ts';
import { logHealth } from './events.ts';
import { foundWriter, readFound } from './found-file.ts';
import type { Host } from './host.ts';
import { takePort } from './listen.ts';
import { firstPolicy, judgeTools, type ServerPolicyTools, withFound } from './policy-reload.ts';
import { RehearsalNote } from './rehearsal-note.ts';
import { unpackPolicies, unusedPolicies } from './shipped-policies.ts';

/**
 * Loads the first policy from its folder, or from a copy of the shipped policy. The event feed begins with the health of the policy's
 * endpoints.
 */
export async function startPolicy(
  { policies, policiesFrom, data, home, database, process, host: hostname, port }: ServeOptions,
  host: Host,
  { secrets, sources, log }: { readonly secrets: SecretFiles; readonly sources: TokenSources; readonly log: Log },
) {
  // A start that must fail creates no data folder. The parent of several processes has checked their port.
  if (process === null && port !== 0) await takePort(hostname, port);
  const { clock, now, timers, err, version } = host;
  const feed = new EventFeed(now);
  const onChange = (change: HealthChange) => {
    logHealth(log, change);
    if (change.to === 'misconfigured') sources.refused();
    feed.tell(() => endpointEvent(change, now()));
  };
  const rooms = new CountedRooms(clock);
  const health = new Health({ clock, now, random: Math.random, onChange, rooms });
  const unused = unusedPolicies(policies, home);
  const unpacked = unpackPolicies(policies, home);
  if (unpacked !== null) log.info('the shipped policy was copied: edit the copy', { folder: unpacked });
  const folder = unpacked ?? policies;
  if (unused !== null)
    log.warn('a folder with policy files is not used: name it with --policies', { folder: unused, used: folder });
  const network = new UpstreamNetwork(undefined, timers);
  const servers = new ModelServers({
    ...{ health, network, env: host.env, timers, now, clock },
    kept: readFound(data),
    keep: foundWriter(data, log),
    warn: (message, fields) => log.warn(message, fields),
    info: (message, fields) => log.info(message, fields),
  });
  const tools: ServerPolicyTools = {
    ...judgeTools(host, sources),
    found: servers.input,
    pricedAt: now,
    onFoundDropped: (reason) =>
      log.warn('the policy cannot be built with the found models, so it serves without them', { reason }),
    servers,
    folder,
    dataFolder: home,
    secrets,
    sources,
    rehearsed: new RehearsalNote({ data, version, env: host.env }),
    health,
    network,
    reader: new PromptReader(),
  };
  // If the edit cannot be finished, the policy folder still shows the edit as complete to its readers.
  await finishEdit(tools.folder).catch((error) =>
    log.warn('a policy edit that was interrupted could not be completed', { error: messageOf(error) }),
  );
  const { ledger, teams, pushed } = await stateOnDisk(database, { readsPushed: policiesFrom === 'store' });
  const judging = { ...tools, ledger, teams: () => teams ?? new Map() };
  const plain = await firstPolicy({ ...judging, found: undefined }, err, pushed);
  await servers.begin(plain.runtime);
  const first = await withFound(plain, judging);
  return { first, tools, feed, rooms };
}
