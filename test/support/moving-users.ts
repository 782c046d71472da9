import { expect } from 'bun:test';
import { waitFor } from './answers.ts';
import { type Signalbox, withKey } from './signalbox.ts';

const USERS = 4;
/** The requests that each user sends, and how many of them run at the same time. */
const REQUESTS = 48;
const AT_ONCE = 8;
/** The time between two moves, ms. */
const MOVE_MS = 30;

interface MovingUser {
  readonly id: string;
  readonly key: string;
  /** What the answers reported, microcredits. */
  told: number;
}

const bodyOf = async <Body>(answer: Promise<Response>): Promise<Body> => {
  const response = await answer;
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()) as Body;
};

const moveTo = (box: Signalbox, user: MovingUser, team: string) =>
  bodyOf(box.post(`/admin/users/${user.id}`, { team }, { method: 'PATCH' }));

/** Creates two teams whose members have daily and monthly budgets, and users of the first team whose keys all servers accept. */
async function prepare(boxes: readonly Signalbox[]) {
  const [first] = boxes as [Signalbox];
  const newTeam = async (name: string, window: string) => {
    const budgets = [{ limit_credits: 100_000, window, on_exhausted: 'reject' }];
    return (await bodyOf<{ id: string }>(first.post('/admin/teams', { name, member_defaults: { budgets } }))).id;
  };
  const teams = [await newTeam('daily', 'day'), await newTeam('monthly', 'month')] as const;
  const users = await Promise.all(
    Array.from({ length: USERS }, async (_, at): Promise<MovingUser> => {
      const { id } = await bodyOf<{ id: string }>(first.post('/admin/users', { name: `user ${at}`, team: teams[0] }));
      const { key } = await bodyOf<{ key: string }>(first.post('/admin/keys', { user: id }));
      for (const box of boxes) await waitFor(async () => (await box.get('/v1/models', withKey(key))).status === 200);
      return { id, key, told: 0 };
    }),
  );
  return { teams, users };
}

/** Returns what a budget has spent for each user, microcredits; null while a request holds money of it. */
async function spentAt(box: Signalbox, name: string, users: readonly MovingUser[]): Promise<number[] | null> {
  type Fund = { readonly subject: string; readonly spent_credits: number; readonly held_credits: number };
  const { funds } = await bodyOf<{ funds: readonly Fund[] }>(box.get(`/admin/ledger?name=${name}`));
  if (funds.some(({ held_credits }) => held_credits !== 0)) return null;
  const spentOf = ({ id }: MovingUser) => funds.find(({ subject }) => subject === id)?.spent_credits ?? 0;
  return users.map((user) => Math.round(spentOf(user) * 1e6));
}

/**
 * Moves users between two teams whose members have different budgets, while the requests of these users run on all servers. Expects that
 * each budget then has exactly the reported prices, on each server, and that the audit finds nothing wrong.
 * @param chat sends a request with a key
 */
export async function expectExactBudgets(
  boxes: readonly Signalbox[],
  chat: (box: Signalbox, key: string) => Promise<Response>,
): Promise<void> {
  const { teams, users } = await prepare(boxes);
  let isOver = false;
  const moving = (async () => {
    for (let at = 0; !isOver; at++) {
      const user = users[at % USERS]!;
      const team = teams[Math.floor(at / USERS + 1) % teams.length]!;
      await Promise.all([moveTo(boxes[at % boxes.length]!, user, team), Bun.sleep(MOVE_MS)]);
    }
  })();
  const asking = users.flatMap((user) =>
    Array.from({ length: AT_ONCE }, async (_, line) => {
      for (let at = 0; at < REQUESTS / AT_ONCE; at++) {
        const answer = await chat(boxes[(line + at) % boxes.length]!, user.key);
        expect(answer.status).toBe(200);
        await answer.text();
        user.told += Math.round(Number(answer.headers.get('x-signalbox-credits')) * 1e6);
      }
    }),
  );
  await Promise.all(asking).finally(() => (isOver = true));
  await moving;
  const told = users.map((user) => user.told);
  // Each team once more: users come back to budgets that other budgets replaced in between.
  for (const [at, name] of ['user-day', 'user-month', 'user-day'].entries()) {
    for (const user of users) await moveTo(boxes[0]!, user, teams[at % teams.length]!);
    for (const box of boxes) {
      const spent = () => spentAt(box, name, users);
      await waitFor(async () => JSON.stringify(await spent()) === JSON.stringify(told), 5_000).catch(() => {});
      expect(await spent()).toEqual(told);
      // An answer makes the books name the fund in the journal, with the sum that it opens with.
      for (const [at, user] of users.entries()) {
        const answer = await chat(box, user.key);
        await answer.text();
        told[at]! += Math.round(Number(answer.headers.get('x-signalbox-credits')) * 1e6);
      }
    }
  }
  expect(await boxes[0]!.run('ledger', 'audit', '--idle')).toMatchObject({ code: 0, err: '' });
}
