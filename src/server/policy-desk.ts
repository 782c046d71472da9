import type { Keys } from '../access/keys.ts';
import type { People } from '../access/people.ts';
import type { PolicyServices } from '../admin/policy.ts';
import { oneAtATime } from '../admin/use-cases/policy/desk.ts';
import type { PolicyHome } from '../admin/use-cases/policy/home.ts';
import { Turns } from '../admin/use-cases/policy/turns.ts';
import type { ServeOptions } from '../admin/use-cases/serve-options.ts';
import type { Gateway } from '../gateway/request/gateway.ts';
import { createParser } from '../policy/runtime/parser.ts';
import type { Reloader } from '../policy/runtime/reload.ts';
import type { OpenStore } from '../store/driver.ts';
import type { Host } from './host.ts';
import type { ServerPolicyTools } from './policy-reload.ts';

/** Longest time that a policy which somebody sent is parsed, ms. */
const PARSE_MS = 5_000;

interface DeskParts {
  readonly gateway: Gateway;
  readonly reloader: Reloader;
  readonly home: PolicyHome;
  readonly people: People;
}

interface DeskResources {
  readonly store: OpenStore;
  readonly keys: Keys;
  readonly host: Pick<Host, 'clock'>;
}

/** Opens the tools for policies that requests send. Returns a function that ends them, too. */
export function openPolicyDesk(
  { gateway, reloader, home, people }: DeskParts,
  tools: ServerPolicyTools,
  { store, keys, host: { clock } }: DeskResources,
  { allowsPolicyWrites: allowsGuarded }: Pick<ServeOptions, 'allowsPolicyWrites'>,
) {
  // Another parser than the reload's: a hostile text must not keep an edit on disk waiting.
  const parser = createParser(PARSE_MS);
  const { health: _, network: __, ...judging } = tools;
  const desk: PolicyServices['desk'] = {
    inForce: () => reloader.inForce,
    folder: tools.folder,
    home,
    judge: {
      ...{ ...judging, ...reloader.surroundings, labels: keys.labels, teamsWithKeys: keys.teamsWithKeys },
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
  return { desk, close: parser.close };
}
