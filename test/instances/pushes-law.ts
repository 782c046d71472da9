import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { shipped } from '../../plugins/index.ts';
import { bundleOf } from '../../src/admin/use-cases/policy/bundles.ts';
import { type PushTarget, push } from '../../src/admin/use-cases/policy/push.ts';
import { rehearse } from '../../src/admin/use-cases/policy/rehearse.ts';
import { editNotes } from '../../src/admin/use-cases/policy/write.ts';
import { createPluginLoader } from '../../src/host/plugins/load.ts';
import { processTimers } from '../../src/host/telemetry/process-timers.ts';
import { buildCandidate, isRejected, type PolicyCandidate } from '../../src/policy/runtime/candidate.ts';
import { parseFiles } from '../../src/policy/runtime/parse-files.ts';
import { pushedBundle } from '../../src/policy/runtime/pushed.ts';
import type { PolicyBundle } from '../../src/policy/runtime/source.ts';
import type { ReloadAttempt } from '../../src/policy/runtime/status.ts';
import { InstanceReporter } from '../../src/server/instance-report.ts';
import { PushFollower } from '../../src/server/push-follower.ts';
import type { News } from '../../src/store/news.ts';
import type { Repositories } from '../../src/store/repositories.ts';
import { SERVER } from '../../src/store/trail.ts';
import type { Effort } from '../deep/effort.ts';
import { SMALL } from '../policy/support.ts';
import { loneInstance } from '../store/memory/instance.ts';
import { waitFor } from '../support/answers.ts';

const built = await buildCandidate(bundleOf([{ path: 'p.yaml', text: SMALL }]), {
  ...{ folder: '.', shipped, loader: createPluginLoader(), env: { get: () => undefined } },
  ...{ now: () => 0, parse: parseFiles, rehearse },
});
if (isRejected(built)) throw new Error('the policy of the test is not valid');
const candidate: PolicyCandidate = built;

/** A fault of a mutant. */
interface Fault {
  /** A push does not ask the servers first. */
  readonly isDeaf?: boolean;
  /** A server activates what is only offered. */
  readonly isHasty?: boolean;
  /** A server claims that it can serve everything. */
  readonly isBlind?: boolean;
}

const named = (bundle: PolicyBundle): PolicyCandidate => {
  const { runtime } = candidate;
  const snapshot = { ...runtime.snapshot, revision: bundle.hash };
  return { ...candidate, bundle, runtime: { ...runtime, snapshot } };
};

type Store = PushTarget['store'] & Pick<Repositories, 'trail'> & { readonly news: News };

/** A store that several servers open. */
interface Shared extends AsyncDisposable {
  open(): Promise<Store>;
}
export type Lay = () => Promise<Shared>;

const log = { info: () => {}, warn: () => {}, error: () => {} };

/** A server that follows pushes. The server cannot serve a push that names this server. */
class Member {
  readonly name: string;
  /** The numbers of all pushes that were active on it. */
  readonly had: number[] = [];
  readonly #follower: PushFollower;
  readonly #reporter: InstanceReporter;
  #active = candidate;
  #last: ReloadAttempt['result'] = 'applied';

  constructor(slot: number, store: Store, { isHasty = false, isBlind = false }: Fault) {
    this.name = `server-${slot}`;
    const can = (bundle: PolicyBundle) => !bundle.files.some(({ text = '' }) => text.includes(this.name));
    const refusal = { problems: [], message: `${this.name} cannot` };
    const own = { store: { ...store, instance: loneInstance(() => 0, { slot, epoch: 1 }) } };
    const attempt = (result: ReloadAttempt['result']): ReloadAttempt => {
      const { revision } = this.#active.runtime.snapshot;
      return { time: 0, tookMs: 0, cause: 'push', result, revision, message: '', diagnostics: [], changes: [] };
    };
    this.#reporter = new InstanceReporter({
      ...own,
      ...{ log, timers: processTimers, version: 'test', follows: 'store', rank: () => 0 },
      status: () => ({
        ...{
          revision: this.#active.runtime.snapshot.revision,
          since: 0,
          files: [],
          warnings: [],
          failsCases: false,
          outdatedPlugins: [],
        },
        ...{ last: attempt(this.#last), previous: null, counts: { applied: 0, unchanged: 0, refused: 0 } },
        ...{ lastSuccess: 0, secrets: [] },
      }),
      pushed: () => this.pushed,
    });
    const reload = async () => {
      const found = (isHasty && (await store.pushedPolicies.offered())) || (await store.pushedPolicies.head());
      const bundle = found && pushedBundle(found);
      this.#last = bundle && can(bundle) ? 'applied' : 'refused';
      if (bundle && this.#last === 'applied') {
        this.#active = named(bundle);
        this.had.push(found.id);
      }
      await this.#reporter.note();
      return attempt(this.#last);
    };
    const member = this;
    const reloader = {
      get active() {
        return member.#active;
      },
      reload,
    };
    this.#follower = new PushFollower({
      ...{ store: { news: store.news, pushedPolicies: store.pushedPolicies }, reporter: this.#reporter, reloader },
      judge: async (bundle) => {
        if (isHasty) await reload();
        return isBlind || can(bundle) ? named(bundle) : refusal;
      },
      ...{ timers: processTimers, log },
    });
  }

  get pushed(): number | null {
    return this.#active.bundle.pushed?.id ?? null;
  }

  async begin(): Promise<void> {
    await this.#reporter.begin();
    this.#follower.begin();
  }

  stop(): void {
    this.#follower.stop();
    this.#reporter.stop();
  }
}

/** Pushes that are made at the same time, each with the servers that cannot serve it. A server may join before them. */
const step = fc.record({
  joins: fc.boolean(),
  pushes: fc.array(fc.subarray(['server-0', 'server-1', 'server-2']), { minLength: 1, maxLength: 2 }),
});
const steps = fc.array(step, { minLength: 1, maxLength: 4 });

interface Step {
  readonly joins: boolean;
  readonly pushes: readonly (readonly string[])[];
}

async function offerOf(cannot: readonly string[], at: number, store: Store, target: PushTarget): Promise<boolean> {
  const head = await store.pushedPolicies.head();
  const before = head ? pushedBundle(head) : bundleOf([]);
  const after = bundleOf([{ path: 'p.yaml', text: `# ${at} ${cannot.join(' ')}` }]);
  const edit = { before, after, edits: [], candidate };
  const notes = editNotes(
    SERVER,
    { store, now: () => 0 },
    { ...edit, patch: '', guarded: [], previous: null, revision: `r${at}` },
  );
  return await push(edit, notes, target).then(
    () => true,
    () => false,
  );
}

/**
 * Checks that no server has activated a push that another server refuses, and that every accepted push becomes active, based on the one
 * before.
 */
async function isOne(lay: Lay, all: readonly Step[], fault: Fault = {}): Promise<boolean> {
  await using shared = await lay();
  const store = await shared.open();
  const target = { store, isServed: async () => fault.isDeaf !== true, now: () => 0 };
  const members: Member[] = [];
  const join = async () => {
    if (members.length === 3) return;
    const member = new Member(members.length, await shared.open(), fault);
    members.push(member);
    await member.begin();
  };
  try {
    await join();
    for (const [at, { joins, pushes }] of all.entries()) {
      if (joins) await join();
      const ends = await Promise.all(pushes.map((cannot, other) => offerOf(cannot, 10 * at + other, store, target)));
      const isServable = (cannot: readonly string[]) => !members.some(({ name }) => cannot.includes(name));
      // Of several pushes at the same time, one that all servers can serve may still come after another one.
      if (ends.some((isAccepted, other) => isAccepted && !isServable(pushes[other]!))) return false;
      if (pushes.length === 1 && !ends[0] && isServable(pushes[0]!)) return false;
      // A server that joins later may lack something that the others have. A server that lacks something keeps its revision and reports
      // what it lacks.
      const head = await store.pushedPolicies.head();
      const able = members.filter(({ name }) => !head?.source.includes(name));
      await waitFor(() => able.every(({ pushed }) => pushed === (head?.id ?? null)), 4_000).catch(() => null);
      if (able.some(({ pushed }) => pushed !== (head?.id ?? null))) return false;
    }
    const history = (await store.pushedPolicies.list(99)).toReversed();
    const accepted = history.filter(({ state }) => state === 'accepted').map(({ id }) => id);
    const isChain = history.every(
      ({ id, state, base }) => state !== 'accepted' || base === (accepted[accepted.indexOf(id) - 1] ?? 0),
    );
    const had = members.flatMap((member) => member.had);
    return isChain && history.every(({ state }) => state !== 'offered') && had.every((id) => accepted.includes(id));
  } finally {
    for (const member of members) member.stop();
  }
}

const LAW = 'a push is active on all servers or on none, and each push replaces the one that it started from';
const lawOf = (lay: Lay, fault?: Fault) => fc.asyncProperty(steps, (all) => isOne(lay, all, fault));

const MUTANTS: Readonly<Record<string, Fault>> = {
  'a push asks no server': { isDeaf: true },
  'a server activates what is only offered': { isHasty: true },
  'a server claims that it can serve everything': { isBlind: true },
};

/**
 * Tests the law with servers that share a store.
 * @param mutates true to check that the law finds its mutants in this store, too
 */
export function overPushes(place: string, lay: Lay, { runs, seed, proved }: Effort, mutates: boolean): void {
  test(`in ${place} ${LAW}`, async () => {
    await fc.assert(lawOf(lay), { numRuns: runs, seed });
    proved(`no server with a store in ${place} activates a pushed revision that another server refuses`);
  });

  for (const [name, fault] of Object.entries(mutates ? MUTANTS : {})) {
    test(`in ${place} the law of pushes fails if ${name}`, async () => {
      expect((await fc.check(lawOf(lay, fault), { numRuns: 50, seed, endOnFailure: true })).failed).toBe(true);
    });
  }
}
