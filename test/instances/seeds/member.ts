import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { shipped } from '../../../plugins/index.ts';
import { openKeys } from '../../../src/access/keys.ts';
import { openPeople } from '../../../src/access/people.ts';
import type { Budget } from '../../../src/core/money/budget.ts';
import { steady } from '../../../src/core/time/clock.ts';
import { EventFeed } from '../../../src/http/event-feed.ts';
import type { PolicyCandidate } from '../../../src/policy/runtime/candidate.ts';
import { SecretFiles } from '../../../src/policy/runtime/secret-files.ts';
import { TokenSources } from '../../../src/policy/runtime/token-sources.ts';
import { UpstreamNetwork } from '../../../src/providers/connection/network.ts';
import { Health } from '../../../src/providers/health/health.ts';
import { openGateway } from '../../../src/server/gateway.ts';
import type { Host } from '../../../src/server/host.ts';
import { keepDoing } from '../../../src/server/keep-doing.ts';
import { ServerLife } from '../../../src/server/life.ts';
import { firstPolicy, judgeTools } from '../../../src/server/policy-reload.ts';
import { RehearsalNote } from '../../../src/server/rehearsal-note.ts';
import { REFRESH_MS } from '../../../src/server/server-data.ts';
import { timersOf } from '../../store/hostile/leases.ts';
import type { HostileStore, World } from '../../store/hostile/world.ts';
import { testPolicy, UPSTREAM_KEY } from '../../support/policies.ts';

/** The use cases of one server in a world, opened as `serve` does, without a port. */
export type Member = Awaited<ReturnType<typeof openMember>>;

/** The policy that all members start with. The policy is made once, because compiling it takes longer than a thousand requests. */
export interface SharedPolicy extends Disposable {
  readonly folder: string;
  readonly candidate: PolicyCandidate;
}

/** The interval of `keepTrailNote`, which also writes files. */
const LOOK_EVERY_MS = 100;

const silent = { write: () => {}, isTerminal: false };
const log = { info: () => {}, warn: () => {}, error: () => {} };
const env = () => UPSTREAM_KEY;

export async function sharedPolicy(): Promise<SharedPolicy> {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-seeds-'));
  const text = testPolicy({ fake: 'http://127.0.0.1:9' }, { best: { endpoints: ['fake'] } });
  writeFileSync(join(folder, 'policy.yaml'), text);
  const candidate = await firstPolicy({ ...judgeTools({ shipped, env, now: Date.now }), folder }, silent);
  return { folder, candidate, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Returns the same policy with other budgets. */
export function withBudgets({ candidate }: SharedPolicy, budgets: readonly Budget[]): PolicyCandidate {
  const { runtime } = candidate;
  const snapshot = { ...runtime.snapshot, budgets };
  return { ...candidate, runtime: { ...runtime, snapshot } };
}

/**
 * Opens the use cases of an instance.
 * @param skewMs how far the clock of its machine is ahead of the clock of the store, ms
 */
export async function openMember(
  world: World,
  store: HostileStore,
  policy: SharedPolicy,
  budgets: readonly Budget[],
  skewMs: number,
) {
  const { clock: time } = world;
  const timers = timersOf(time, store.connection);
  const now = steady(() => time.now() + skewMs);
  const clock = () => time.now();
  const host: Host = {
    version: '0.0.0-test',
    shipped,
    out: silent,
    err: silent,
    env,
    now,
    clock,
    timers,
    openSink: () => {
      throw new Error('nothing is logged here');
    },
    on: () => {},
    exit: () => {},
  };
  let recount = async () => {};
  const keys = await openKeys({
    store,
    now: store.instance.now.bind(store.instance),
    refreshMs: REFRESH_MS,
    timers,
    onChange: () => recount(),
  });
  const health = new Health({ clock, now, random: world.random, onChange: () => {} });
  const network = new UpstreamNetwork(undefined, timers);
  const secrets = new SecretFiles({ env, now, onUnusable: () => {} });
  const sources = new TokenSources({ path: null, env, secret: env, now, timers, log, readYaml: () => null });
  const rehearsed = new RehearsalNote({ data: '/nowhere', version: 'test', env });
  const shared = { folder: policy.folder, dataFolder: policy.folder };
  const tools = { ...judgeTools(host), network, ...shared, health, secrets, sources, rehearsed };
  const people = await openPeople({ store, now: store.instance.now.bind(store.instance) });
  const life = new ServerLife();
  const resources = { store, keys, people, log, host, feed: new EventFeed(now), life };
  const opened = await openGateway(withBudgets(policy, budgets), tools, resources, {
    allowsPolicyWrites: false,
    policiesFrom: 'files',
    ...{ home: '/nowhere', data: '/nowhere', database: '/nowhere' },
  });
  recount = opened.recount;
  const stopLooking = await keepDoing(() => store.news.look(), LOOK_EVERY_MS, timers);
  const stop = () => life.stops.dispose();
  return { ...opened, stop, store, keys, stopLooking, connection: store.connection };
}
