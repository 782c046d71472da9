import type { Keys } from '../access/keys.ts';
import type { People } from '../access/people.ts';
import { showTraffic, type TrafficServices } from '../admin/traffic.ts';
import { iso } from '../core/clock.ts';
import { FULL_SIGHT } from '../operate/sight.ts';
import { rebuildTraffic } from '../operate/traffic/rebuild.ts';
import { namesOf } from '../operate/traffic/traffic.ts';
import type { OpenStore } from '../store/driver.ts';
import { groupOf, parseFlags } from './arguments.ts';
import { commandsOf } from './operations.ts';
import type { CommandOutput } from './result.ts';
import { operator } from './user.ts';

interface TrafficCommand {
  readonly store: OpenStore;
  readonly keys: Pick<Keys, 'named'>;
  readonly people: Pick<People, 'team' | 'teamNamed' | 'user'>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** `signalbox traffic show|rebuild`. Throws UsageError. */
export const runTraffic = groupOf<TrafficCommand, CommandOutput>('traffic', {
  ...commandsOf<TrafficServices, TrafficCommand>([showTraffic], ({ store, keys, people }) => ({
    ...{ store, nameOf: namesOf(keys, () => people), sightOf: () => FULL_SIGHT },
    teamIdOf: (text) => people.teamNamed(text)?.id ?? text,
    // A ledger that never had a policy has no charges.
    usdPerCredit: async () => (await store.journal.usdPerCredit()) ?? '0',
  })),
  rebuild,
});

async function rebuild(args: readonly string[], { store, now }: TrafficCommand): Promise<string> {
  parseFlags(args, {});
  const from = await rebuildTraffic(operator(), store.traffic, now);
  if (from === 0) return 'Counted all traffic again.\n';
  return `Counted the traffic since ${iso(from).slice(0, 10)} again. Earlier records were deleted, so earlier buckets are as they were.\n`;
}
