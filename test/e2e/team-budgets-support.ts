import { expect } from 'bun:test';
import { type Signalbox, withKey } from '../support/signalbox.ts';

export const budget = (match: string, credits = 1000) =>
  `budgets:\n  - { name: cap, match: '${match}', limit_credits: ${credits}, window: total, on_exhausted: reject }\n`;
export const SEARCH = budget('team.name == "search"');

export type Made = Readonly<Record<'id' | 'key', string>>;
export async function made(box: Signalbox, path: string, body: object): Promise<Made> {
  const response = await box.post(path, body);
  expect(response.status).toBe(200);
  return (await response.json()) as Made;
}
export const patch = async (box: Signalbox, path: string, body: object) =>
  (await box.get(path, { method: 'PATCH', body: JSON.stringify(body) })).status;

export const chat = (box: Signalbox, key: string) =>
  box.post(
    '/v1/chat/completions',
    { model: 'm', messages: [{ role: 'user', content: 'Hi.' }], max_tokens: 100 },
    withKey(key),
  );
/** Returns the Credits that a request cost. */
export async function spend(box: Signalbox, key: string): Promise<number> {
  const response = await chat(box, key);
  expect(response.status).toBe(200);
  return Number(response.headers.get('x-signalbox-credits'));
}

export interface Fund {
  readonly name: string;
  readonly spent_credits: number;
}
/** Returns what each window of the budget `cap` has spent. */
export async function spentIn(box: Signalbox): Promise<readonly number[]> {
  const { funds } = (await (await box.get('/admin/ledger?name=cap')).json()) as { funds: readonly Fund[] };
  return funds.map(({ spent_credits }) => spent_credits);
}
export const credits = (...amounts: readonly number[]) => amounts.map((one) => expect.closeTo(one, 6));

/** The part of a policy that declares a team and has a budget for the team `name`. */
export const declaredTeam = (entry: string, name: string) =>
  `teams:\n  - { ${entry}, budgets: [{ limit_credits: 500, window: total }] }\n${budget(`team.name == "${name}"`)}`;
