import type { Patch } from '../../bench/step-patches.ts';

/** The source with one owner of state taken away. */
export interface Mutant {
  /** The tie to one process that it brings back. */
  readonly tie: string;
  readonly name: string;
  readonly patches: readonly Patch[];
  /** The files of tests of which at least one finds it. */
  readonly files: readonly string[];
}

const SEEDS = 'test/instances/seeds/seeds.test.ts';
const NAMES = 'test/instances/names.test.ts';
const STOPPED = 'test/instances/hostile/stopped.test.ts';
const SWEEP = 'test/server/sweep.test.ts';

/** A mutant for each tie; `npm run test:deep -- state` has each killed. */
export const MUTANTS: readonly Mutant[] = [
  {
    tie: 'IDs',
    name: 'all instances give the IDs of one slot',
    patches: [
      {
        file: 'src/core/id.ts',
        find: 'idAt(Math.floor(now())) + slot',
        replace: 'idAt(Math.floor(now()))',
      },
      { file: 'src/core/id.ts', find: 'last - (last % ID_SLOTS) + slot', replace: 'last - (last % ID_SLOTS)' },
    ],
    files: [STOPPED],
  },
  {
    tie: 'IDs',
    name: 'a start does not begin above the mark of its slot',
    patches: [
      {
        file: 'src/core/id.ts',
        find: 'last - (last % ID_SLOTS) + slot',
        replace: '(last * 0) + slot',
      },
    ],
    files: [STOPPED],
  },
  {
    tie: 'running names',
    name: 'a run of another instance is taken for one that was lost',
    patches: [
      {
        file: 'src/access/idempotency/idempotency.ts',
        find: 'owner && !isSameInstance(owner, instance) && (await instance.lives(owner))',
        replace: 'false',
      },
    ],
    files: [NAMES],
  },
  {
    tie: 'running names',
    name: 'a claim does not ride with its hold',
    patches: [
      {
        file: 'src/money/key-funding.ts',
        find: 'claim ? { ...request, also: [claim.claim(request.id)] } : request',
        replace: 'request',
      },
    ],
    files: [NAMES],
  },
  {
    tie: 'versions',
    name: 'keys do not follow their news',
    patches: [
      {
        file: 'src/access/keys.ts',
        find: "store.news.on('keys', async () => {",
        replace: "store.news.on('keys', async () => {\n      if (this.#isOpen) return;",
      },
    ],
    files: ['test/instances/copies.test.ts', SEEDS],
  },
  {
    tie: 'starts that repair',
    name: 'a sweep does not wait for owners',
    patches: [
      { file: 'src/server/sweep.ts', find: 'if (clock() - this.#since < graceMs) return;', replace: 'clock();' },
    ],
    files: [SWEEP],
  },
];
