import type { EntryLine } from '../../../src/core/accounting/entry.ts';
import { plainUsage } from '../../../src/core/money/usage.ts';
import { OPERATOR } from '../../../src/core/people/caller.ts';
import { isShortage } from '../../../src/ledger/available-funds.ts';
import type { Hold } from '../../../src/ledger/hold.ts';
import { budget } from '../../ledger/support.ts';
import { VirtualClock } from '../../store/hostile/clock.ts';
import { World } from '../../store/hostile/world.ts';
import { type Member, openMember, type SharedPolicy } from '../seeds/member.ts';

const START = Date.UTC(2026, 10, 20, 12);
const LIMIT = 1_000;
const CALLER = { ...OPERATOR, keyId: 'key' };
const TARIFF = { model: 'best', provider: 'fake', upstream: 'best-upstream', price: '{}' };
export const lineOf = (cost: number): EntryLine => ({
  tariff: TARIFF,
  usage: plainUsage(1, 1),
  estimated: false,
  cost,
});

/** Opens instances with these names in one world. The clocks of the instances differ by 10 minutes. */
export async function openMembers(policy: SharedPolicy, ...names: readonly string[]) {
  const clock = new VirtualClock(START);
  const world = new World({ clock });
  const budgets = [budget(LIMIT, { window: 'day' })];
  const opening = names.map(async (name, at) =>
    openMember(world, await world.open(name), policy, budgets, (at - 1) * 600_000),
  );
  await clock.pass(1_000);
  return { clock, world, budgets, members: await Promise.all(opening) };
}

export async function held({ gateway }: Member, amount: number): Promise<Hold> {
  const hold = await asked(gateway, gateway.nextId(), amount);
  if (isShortage(hold)) throw new Error(`there is no money: ${hold.why}`);
  return hold;
}

export const asked = ({ ledger }: Member['gateway'], id: number, amount: number) =>
  ledger.reserve({
    ...{ id, caller: CALLER, selector: 'best', agentWallet: null, holder: null, limit: null },
    ...{ amounts: [amount], least: null, waitMs: 0, expiresAt: START + 86_400_000 },
  });

/** The charge of a hold minus refunds, microcredits. */
export async function booked({ books }: World, id: number): Promise<number> {
  const { charged = 0, givenBack = 0 } = (await books.reservation(id)) ?? {};
  return charged - givenBack;
}
