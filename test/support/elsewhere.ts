import { openKeys } from '../../src/access/keys.ts';
import { parseTerms } from '../../src/cli/keys/terms.ts';
import { seedOf } from '../deep/effort.ts';
import { FRIENDLY, SLOW } from '../store/hostile/faults.ts';
import { World } from '../store/hostile/world.ts';
import { startFleet } from './fleet.ts';
import type { Signalbox, StartOptions } from './signalbox.ts';

/** The stores that a suite may run on in place of SQLite, by `SIGNALBOX_STORE`, and the applications on each. */
export const ELSEWHERE: Readonly<Record<string, { readonly faults: typeof SLOW; readonly count: number }>> = {
  memory: { faults: FRIENDLY, count: 1 },
  hostile: { faults: SLOW, count: 1 },
  'hostile-two': { faults: SLOW, count: 2 },
};

/** Starts a server, or two behind a balancer, on another store than SQLite. Commands see no such store. */
export async function startElsewhere(name: string, options: StartOptions): Promise<Signalbox> {
  const kind = ELSEWHERE[name];
  if (!kind) throw new Error(`there is no store ${name}; there are ${Object.keys(ELSEWHERE).join(', ')}`);
  const world = new World({ faults: kind.faults, seed: seedOf('elsewhere') });
  const fleet = await startFleet(world, kind.count, options);
  const [first] = fleet.instances;
  const command = await openKeys({ store: world.store, now: Date.now });
  const own = { url: fleet.url, post: fleet.post, get: fleet.get, stop: fleet.stop, makeKey, run: noCommand };
  return Object.defineProperties(Object.create(first!) as Signalbox, Object.getOwnPropertyDescriptors(own));

  async function makeKey(...flags: string[]): Promise<string> {
    const { key } = await command.create(parseTerms(flags, Date.now()).grant);
    // To list its keys a server reads them.
    await Promise.all(fleet.instances.map((one) => one.get('/admin/keys')));
    return key;
  }
}

const noCommand = (): never => {
  throw new Error('a command sees SQLite alone');
};
