import { join } from 'node:path';
import { openKeys } from '../../src/access/keys.ts';
import { openPeople } from '../../src/access/people.ts';
import { makeKey as creating, type KeyServices } from '../../src/admin/keys.ts';
import { storedKeyFunds, storedUsdPerCredit } from '../../src/admin/use-cases/key-funds.ts';
import { Places, UNBOUNDED } from '../../src/admin/use-cases/places.ts';
import { runOperation } from '../../src/cli/operations.ts';
import { operator } from '../../src/cli/user.ts';
import { seedOf } from '../deep/effort.ts';
import { FRIENDLY, SLOW } from '../store/hostile/faults.ts';
import { World } from '../store/hostile/world.ts';
import { layStore } from './empty-store.ts';
import { startFleet } from './fleet.ts';
import { type Signalbox, type StartOptions, temporaryFolder } from './signalbox.ts';

/** The stores that can replace SQLite in a suite, chosen with `SIGNALBOX_STORE`, and the number of applications on each. */
export const ELSEWHERE: Readonly<Record<string, { readonly faults: typeof SLOW; readonly count: number }>> = {
  memory: { faults: FRIENDLY, count: 1 },
  hostile: { faults: SLOW, count: 1 },
  'hostile-two': { faults: SLOW, count: 2 },
};

/** Suites that use only HTTP: they read no database and run no command. */
const AT_THE_DOOR: readonly string[] = [
  'affinity',
  'allowed-tools',
  'asked',
  'attempts',
  'bodies',
  'chat',
  'cors',
  'data-url',
  'drop-unsupported',
  'dropped-tools',
  'failover',
  'feedback',
  'leavers',
  'limits',
  'loop-readers',
  'metrics-golden',
  'model-paths',
  'names',
  'prompt-cache',
  'shedding',
  'simulated',
  'system-in-the-middle',
  'three-dialects',
];

/**
 * What an instance knows alone, as the table of state says: where prompts are cached and who wrote reasoning (affinity), the health of
 * providers, room for bodies, places and limits of rates (× N), what it has learned within a minute, its log, its metrics, and the
 * policy for two seconds behind a reload at another.
 */
const OF_ONE: ReadonlySet<string> = new Set([
  ...['prompt-cache', 'affinity', 'loop-readers', 'failover', 'bodies', 'shedding', 'limits'],
  ...['feedback', 'attempts', 'leavers', 'cors'],
]);

const filesOf = (names: readonly string[]): string[] => names.map((name) => `test/e2e/${name}.test.ts`);

/** The test files that pass on each of these stores. */
export const SUITES: Readonly<Record<string, readonly string[]>> = {
  memory: filesOf(AT_THE_DOOR),
  hostile: filesOf(AT_THE_DOOR),
  'hostile-two': filesOf(AT_THE_DOOR.filter((name) => !OF_ONE.has(name))),
};

/** Starts a server on a store other than SQLite, or two such servers with a balancer in front. Commands cannot reach these stores. */
export async function startElsewhere(name: string, options: StartOptions): Promise<Signalbox> {
  const kind = ELSEWHERE[name];
  if (!kind) throw new Error(`there is no store ${name}; there are ${Object.keys(ELSEWHERE).join(', ')}`);
  const world = new World({ faults: kind.faults, seed: seedOf('elsewhere') });
  const fleet = await startFleet(world, kind.count, options);
  const [first] = fleet.instances;
  const { store } = world;
  const now = Date.now;
  /** The command that makes keys reads what a Credit is worth in a database. */
  const file = join(temporaryFolder(), 'signalbox.db');
  await layStore(file);
  const [keys, people] = await Promise.all([openKeys({ store, now }), openPeople({ store, now })]);
  const services = {
    ...{ keys, people, store, searches: new Places(UNBOUNDED) },
    usdPerCredit: () => storedUsdPerCredit(file),
    fundsOf: (...[info, at]: Parameters<KeyServices['fundsOf']>) => storedKeyFunds(file, info, at),
    checkLedger: async () => {},
    refresh: async () => {},
  };
  const own = { url: fleet.url, post: fleet.post, get: fleet.get, stop: fleet.stop, makeKey, run: noCommand };
  return Object.defineProperties(Object.create(first!) as Signalbox, Object.getOwnPropertyDescriptors(own));

  async function makeKey(...flags: string[]): Promise<string> {
    const output = await runOperation(creating, flags, async (id, input) => {
      const call = { by: operator(), now: now(), id, credentials: null, tags: null };
      return (await creating.perform(services, call, input)).body;
    });
    const printed = typeof output === 'string' ? output : output.text;
    // A server reads all keys before it lists them, so each server knows the new key afterwards.
    await Promise.all(fleet.instances.map((one) => one.get('/admin/keys')));
    return printed.split('\n', 1)[0]!;
  }
}

const noCommand = (): never => {
  throw new Error('a command sees SQLite alone');
};
