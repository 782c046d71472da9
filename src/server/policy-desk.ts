import type { PolicyServices } from '../admin/policy.ts';
import { oneAtATime } from '../admin/use-cases/policy/desk.ts';
import type { PolicyHome } from '../admin/use-cases/policy/home.ts';
import { Turns } from '../admin/use-cases/policy/turns.ts';
import type { ServeOptions } from '../admin/use-cases/serve-options.ts';
import type { Gateway } from '../gateway/request/gateway.ts';
import { createParser } from '../policy/runtime/parser.ts';
import type { Reloader } from '../policy/runtime/reload.ts';
import type { ServerPolicyTools } from './policy-reload.ts';
import type { ServerResources } from './resources.ts';

/** The longest time to parse a policy that a request sends, ms. */
const PARSE_MS = 5_000;

interface DeskParts {
  readonly gateway: Gateway;
  readonly reloader: Reloader;
  readonly home: PolicyHome;
}

/** Opens the tools that check policies sent by requests. */
export function openPolicyDesk(
  { gateway, reloader, home }: DeskParts,
  tools: ServerPolicyTools,
  { store, keys, people, host: { clock }, life }: ServerResources,
  { allowsPolicyWrites: allowsGuarded }: Pick<ServeOptions, 'allowsPolicyWrites'>,
): PolicyServices['desk'] {
  // The policy reload uses a separate parser, so that a malicious policy in a request cannot delay an edit of the policy files.
  const parser = createParser(PARSE_MS);
  life.stops.defer(parser.close);
  const { health: _, network: __, found: ___, servers: ____, ...judging } = tools;
  return {
    active: () => reloader.active,
    folder: tools.folder,
    home,
    judge: {
      ...judging,
      ...reloader.surroundings,
      labels: keys.labels,
      teamsWithKeys: keys.teamsWithKeys,
      parse: oneAtATime(parser.parse),
    },
    findRevision: gateway.records.findRevision,
    revisionsLike: (beginning) => store.records.revisions.findByPrefix(beginning),
    turns: new Turns(clock),
    gateway,
    callerOf: keys.callerOf,
    people,
    allowsGuarded,
    reload: (by) => reloader.reload('request', null, by),
    store,
    now: gateway.now,
  };
}
