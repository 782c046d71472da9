import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type SharedPolicy, sharedPolicy } from '../seeds/member.ts';
import { held, lineOf, openMembers } from './support.ts';

let policy: SharedPolicy;
beforeAll(async () => {
  policy = await sharedPolicy();
});
afterAll(() => policy[Symbol.dispose]());

test('if the rows of two writers become visible out of order, a budget counts each row once', async () => {
  const { clock, world, members } = await openMembers(policy, 'a', 'b');
  const [a, b] = members as [(typeof members)[number], (typeof members)[number]];
  const { journal } = world.books;
  const use = b.gateway.ledger.prepare({ ...policy.candidate.runtime.snapshot, budgets: [] });
  await clock.pass(1_000);
  (await use)();
  await clock.pass(1_000);
  const spent = async () => {
    const status = a.gateway.ledger.status();
    await clock.pass(100);
    return (await status).funds.find(({ title }) => title.name === 'all')?.spent;
  };
  const [early, late] = [await held(b, 300), await held(b, 200)];
  // This commit gets its number first, but the next commit becomes visible first.
  let isNext = true;
  journal.isOvertaken = () => isNext;
  const posting = late.post(lineOf(70));
  isNext = false;
  await clock.pass(2_000);
  await posting;
  expect(await spent()).toBe(0);
  const settling = early.settle(lineOf(300), () => []);
  await clock.pass(2_000);
  await settling;
  const places = journal.entries.map(({ place }) => place);
  expect(places).not.toEqual(places.toSorted((one, other) => one - other));
  expect(await spent()).toBe(370);
});
