import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { LedgerBooks } from '../../src/store/books.ts';
import { tries } from '../deep/effort.ts';
import { held, line, order } from '../ledger/support.ts';
import { type Instance, SharedBooks } from './support.ts';

describe('a settlement after on_crash', () => {
  for (const [rule, swept] of [
    ['charge', 500],
    ['release', 0],
  ] as const) {
    test(`a settlement after on_crash is told and booked at its price, and the hold ends once (${rule})`, async () => {
      const shared = new SharedBooks();
      await using one = await shared.ledger(rule);
      await using two = await shared.ledger(rule);
      const hold = await held(one.ledger, order(500));
      await hold.post(line(30));
      one.died();
      expect(await two.ledger.sweep()).toMatchObject({ ids: [hold.id] });
      expect(await shared.booked(hold.id)).toBe(swept || 30);
      const told = await hold.settle(line(120), () => []);
      expect(told).toEqual({ charged: 150, overrun: 0 });
      expect(await shared.booked(hold.id)).toBe(150);
      expect(await hold.settle(line(400), () => [])).toEqual(told);
      expect(shared.endsOf(hold.id)).toEqual(['expire']);
    });
  }
});

type Step = readonly [kind: 'hold' | 'post' | 'settle' | 'die' | 'sweep', who: number, amount: number];
const kinds = fc.constantFrom<Step[0][]>('hold', 'hold', 'hold', 'post', 'settle', 'settle', 'die', 'sweep', 'sweep');
const plans = fc.array(fc.tuple(kinds, fc.nat(11), fc.nat(90)), { minLength: 5, maxLength: 60 });

/**
 * Three instances. An instance whose lease has ended may still run and settle. What callers are told must equal what is booked and what
 * they used, and each hold must end once.
 * @param wrap replaces methods of the books of an instance, to make a mutant
 */
const toldIsBooked = (wrap: (books: SharedBooks) => Partial<LedgerBooks> = () => ({})) =>
  fc.asyncProperty(plans, fc.constantFrom('charge' as const, 'release' as const), async (plan, rule) => {
    const shared = new SharedBooks();
    const open = () => shared.ledger(rule, wrap(shared));
    const instances: Instance[] = [await open(), await open(), await open()];
    const holds: { readonly hold: Awaited<ReturnType<typeof held>>; used: number }[] = [];
    const told = new Map<number, number>();
    const used = new Map<number, number>();
    for (const [kind, who, amount] of plan) {
      const one = instances[who % 3]!;
      const [running] = holds.length > 0 ? [holds[who % holds.length]!] : [];
      if (kind === 'hold') holds.push({ hold: await held(one.ledger, order(100)), used: 0 });
      else if (kind === 'sweep') await one.ledger.sweep();
      else if (kind === 'die') {
        one.died();
        instances[who % 3] = await open();
      } else if (kind === 'post' && running) {
        running.used += amount;
        await running.hold.post(line(amount));
      } else if (running) {
        holds.splice(holds.indexOf(running), 1);
        const { charged } = await running.hold.settle(line(amount), () => []);
        told.set(running.hold.id, charged);
        used.set(running.hold.id, Math.min(100, running.used + amount));
      }
    }
    for (const one of instances) one.died();
    const last = await open();
    await last.ledger.sweep();
    const booked = new Map<number, number>();
    for (const id of told.keys()) booked.set(id, await shared.booked(id));
    expect(booked).toEqual(told);
    expect(told).toEqual(used);
    expect(shared.ends().every((ends) => ends.length === 1)).toBe(true);
  });

test('whichever instance dies, closes abandoned holds or settles late, callers receive the booked price, and each hold ends once', async () => {
  await fc.assert(toldIsBooked(), tries('told is booked', 60, 5_000));
});

describe('the law of late settlements fails if', () => {
  const mutants: Readonly<Record<string, (shared: SharedBooks) => Partial<LedgerBooks>>> = {
    'a hold reports its own calculation': ({ books }) => ({
      append: async (ops, follow) => {
        const results = ops.map((op) =>
          op.kind === 'settle' && op.entry ? { kind: 'charged' as const, charged: op.entry.cost, overrun: 0 } : null,
        );
        return books.append(ops, follow && ((real) => follow(real.map((one, at) => results[at] ?? one))));
      },
    }),
    'a late settlement is discarded': ({ books }) => ({
      append: async (ops, follow) => {
        const [op] = ops;
        const isLate = op?.kind === 'settle' && !(await books.reservation(op.id))?.isOpen;
        return books.append(isLate ? [{ kind: 'expire', id: op.id, at: 0, rule: 'charge' }] : ops, follow);
      },
    }),
  };
  for (const [name, wrap] of Object.entries(mutants)) {
    test(name, async () => {
      const { failed } = await fc.check(toldIsBooked(wrap), { numRuns: 200, seed: 44, endOnFailure: true });
      expect(failed).toBe(true);
    });
  }
});
