import fc from 'fast-check';
import type { AnswerRow, IdempotencyTable } from '../../../../src/store/idempotency.ts';
import type { InstanceName } from '../../../../src/store/instance.ts';
import { LEADER_JOBS, type LeaderTable } from '../../../../src/store/leaders.ts';
import type { RateDemand } from '../../../../src/store/rates.ts';
import type { Write } from '../../../../src/store/store.ts';
import { type Step as BookStep, step as bookStep, rare } from '../../../store/books-steps.ts';
import { demands } from '../../../store/rate-demands.ts';
import { type LawTables, type MakeWrite, writes } from '../../../store/repository-law.ts';

/** Makes a write for an instance. */
export type OwnWrite = (
  tables: LawTables & { readonly idempotency: IdempotencyTable; readonly leaders: LeaderTable },
  owner: InstanceName,
) => ReturnType<MakeWrite>;

/** The fate of a call: null for nothing special, or its delay, ms. */
export type Fate = 'refused' | 'lost' | number | null;

type Call =
  | { readonly kind: 'ops'; readonly on: number; readonly ops: readonly BookStep[] }
  /** A hold with the writes in its commit. */
  | { readonly kind: 'ride'; readonly on: number; readonly hold: BookStep; readonly also: OwnWrite }
  | { readonly kind: 'commit'; readonly writes: readonly OwnWrite[] }
  | { readonly kind: 'rates'; readonly demands: readonly RateDemand[] }
  | { readonly kind: 'lead' }
  | { readonly kind: 'sweep'; readonly rule: 'charge' | 'release' };

/** A step of an instance, or an event that affects it. */
export type Step =
  | (Call & { readonly by: number; readonly fate: Fate })
  | { readonly kind: 'crash' | 'leave' | 'revoke'; readonly by: number }
  | { readonly kind: 'pause' | 'lose'; readonly by: number; readonly ms: number }
  | { readonly kind: 'pass'; readonly ms: number };

/** How many things money is spent on, and how many instances spend it. */
export interface Size {
  readonly things: number;
  readonly instances: number;
  readonly steps: number;
}

/** Returns 32 equal bytes. */
export const bytes = (value: number) => new Uint8Array(32).fill(value);
const rowOf = (name: number, salt: Uint8Array, more: Partial<AnswerRow>): AnswerRow => ({
  ...{ name: bytes(name), state: 'running', decision: 5, earlier: null, losses: 0, time: 1, salt },
  ...{ verifier: bytes(9), body: bytes(8), answer: null, owner: null },
  ...more,
});
const one = <Kind extends string>(kind: Kind) => fc.constant(kind);

/** Each run of an instance has its own salt. */
const saltOf = ({ slot, epoch }: InstanceName) => bytes(slot).fill(epoch, 16);

/** Claims of idempotency names, each of which only one of several instances gets. */
const named: fc.Arbitrary<OwnWrite> = fc
  .record({
    what: fc.constantFrom('claim', 'claim', 'claim', 'keep', 'drop', 'disown'),
    name: fc.nat(1),
    seen: fc.option(fc.nat(2), { freq: 1 }),
  })
  .map(({ what, name, seen }): OwnWrite => {
    const running = (salt: Uint8Array) => ({ name: bytes(name), state: 'running' as const, salt });
    return ({ idempotency }, owner) => {
      const salt = saltOf(owner);
      if (what === 'disown') return idempotency.disown(owner);
      if (what === 'drop') return idempotency.replace(running(salt), null);
      const kept = rowOf(name, salt, { state: 'kept', answer: bytes(7) });
      if (what === 'keep') return idempotency.replace(running(salt), kept);
      const other = seen === null ? null : running(saltOf({ slot: seen, epoch: 1 }));
      return idempotency.claim(rowOf(name, salt, { owner }), other);
    };
  });
const led: fc.Arbitrary<OwnWrite> = fc.constantFrom(...LEADER_JOBS).map(
  (job): OwnWrite =>
    ({ leaders }) =>
      leaders.require(job),
);
const anyWrite = fc.oneof(
  { weight: 6, arbitrary: writes as fc.Arbitrary<OwnWrite> },
  { weight: 2, arbitrary: named },
  { weight: 1, arbitrary: led },
);

const fate: fc.Arbitrary<Fate> = fc.oneof(
  { weight: 8, arbitrary: fc.constant(null) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 400 }) },
  { weight: 1, arbitrary: fc.constantFrom('refused' as const, 'lost' as const) },
);
const held = bookStep.filter(({ kind }) => kind === 'hold');

/**
 * Generates histories of at most this many instances. Each step contains its own fate, so that removing one step does not change the
 * others.
 */
export function historiesOf({ things, instances, steps }: Size): fc.Arbitrary<readonly Step[]> {
  const by = fc.nat(instances - 1);
  const on = fc.nat(things - 1);
  const ms = fc.oneof({ weight: 12, arbitrary: fc.nat(400) }, { weight: 1, arbitrary: fc.nat(8_000) });
  const ops = fc.oneof(
    { weight: 5, arbitrary: fc.array(bookStep, { minLength: 1, maxLength: 6, size: 'max' }) },
    { weight: 1, arbitrary: rare },
  );
  const rule = fc.constantFrom('charge' as const, 'release' as const);
  const commit = fc.array(anyWrite, { minLength: 1, maxLength: 3, size: 'max' });
  const step: fc.Arbitrary<Step> = fc.oneof(
    { weight: 60, arbitrary: fc.record({ kind: one('ops'), by, fate, on, ops }) },
    { weight: 5, arbitrary: fc.record({ kind: one('ride'), by, fate, on, hold: held, also: named }) },
    { weight: 15, arbitrary: fc.record({ kind: one('commit'), by, fate, writes: commit }) },
    { weight: 8, arbitrary: fc.record({ kind: one('rates'), by, fate, demands }) },
    { weight: 3, arbitrary: fc.record({ kind: one('lead'), by, fate }) },
    { weight: 2, arbitrary: fc.record({ kind: one('sweep'), by, fate, rule }) },
    {
      weight: 4,
      arbitrary: fc.record({ kind: fc.constantFrom('crash' as const, 'leave' as const, 'revoke' as const), by }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ kind: fc.constantFrom('pause' as const, 'lose' as const), by, ms: fc.nat(30_000) }),
    },
    { weight: 12, arbitrary: fc.record({ kind: one('pass'), ms }) },
  );
  return fc.array(step, { maxLength: steps, size: 'max' });
}

/** Returns the writes of several makers. */
export const madeBy = (makers: readonly OwnWrite[], ...given: Parameters<OwnWrite>): readonly Write[] =>
  makers.flatMap((make) => make(...given));
