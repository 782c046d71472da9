import type { People } from '../../access/people.ts';
import { iso } from '../../core/time/clock.ts';
import type { OpenStore } from '../../store/driver.ts';
import { showTraffic, type TrafficServices } from '../traffic.ts';
import { ownersIn } from '../use-cases/people.ts';
import { type SightSources, sightOf } from '../use-cases/sight.ts';
import { rebuildTraffic } from '../use-cases/traffic/traffic.ts';
import { namesFor } from '../use-cases/usage.ts';
import { groupOf, parseFlags } from './arguments.ts';
import { commandsOf } from './operations.ts';
import type { CommandOutput } from './result.ts';
import { operator } from './user.ts';

interface TrafficCommand {
  readonly store: OpenStore;
  readonly keys: SightSources['keys'];
  readonly people: Pick<People, 'team' | 'teamNamed' | 'user' | 'users'>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Runs `signalbox traffic show|rebuild`. Throws UsageError. */
export const runTraffic = groupOf<TrafficCommand, CommandOutput>('traffic', {
  ...commandsOf<TrafficServices, TrafficCommand>([showTraffic], ({ store, keys, people }) => ({
    store,
    // The operator sees everything, even without a loaded policy.
    sightOf: ({ caller }) => sightOf(caller, { keys, policy: () => ({ budgets: [], reportedRuns: null }) }),
    namesFor: ({ caller }) => namesFor(caller, people),
    ownersOf: (by, owners) => ownersIn(people, by, owners),
    // A ledger that never had a policy has no charges.
    usdPerCredit: async () => (await store.journal.usdPerCredit()) ?? '0',
  })),
  rebuild,
});

async function rebuild(args: readonly string[], { store, now }: TrafficCommand): Promise<string> {
  parseFlags(args, {});
  const from = await rebuildTraffic(operator(), store.traffic, now);
  if (from === 0) return 'Counted all traffic again.\n';
  return `Counted the traffic since ${iso(from).slice(0, 10)} again. Older records were deleted, so earlier figures stay unchanged.\n`;
}
