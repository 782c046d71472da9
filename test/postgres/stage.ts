import { capOf, type Gate, startGate } from '../money/gate.ts';
import { hello, pursePolicy, tokens } from '../money/purse.ts';
import { answerOf, waitFor } from '../support/answers.ts';
import { UPSTREAM_ENV } from '../support/policies.ts';
import { type PostgresServers, startServers } from '../support/postgres-servers.ts';
import type { Signalbox, StartOptions } from '../support/signalbox.ts';

/** What a request of `ask` costs at most, and costs: microcredits. */
export const COST = 442_000;

/** Servers at one PostgreSQL with an upstream that holds answers back, and the budget `team` of 20 Credits for each label. */
export interface Stage extends AsyncDisposable {
  readonly gate: Gate;
  readonly fleet: PostgresServers;
}

export interface MadeKey {
  readonly id: string;
  readonly key: string;
}

/** How a request ended. */
export interface Told {
  readonly status: number;
  readonly code: string | undefined;
  readonly retryAfter: string | null;
  /** Microcredits; 0 where none were told. */
  readonly micro: number;
  readonly ms: number;
}

/** @param own whether the database's server is the test's alone, to be killed */
export async function startStage(
  count: number,
  {
    limit = 20,
    own = false,
    more = '',
    onCrash = 'charge',
    ...options
  }: StartOptions & { limit?: number; own?: boolean; more?: string; onCrash?: 'charge' | 'release' } = {},
): Promise<Stage> {
  const gate = startGate({ usageOf: (request) => tokens(42, capOf(request)) });
  gate.open();
  const terms = pursePolicy(gate.url, 2_000).replace('_wait_ms: 2000', `$&, on_crash: ${onCrash}`);
  const policy = `${terms}${more}budgets:
  - { name: team, each: key.labels.team, match: 'key.labels.team != ""', limit_credits: ${limit}, window: day, on_exhausted: reject }
`;
  const fleet = await startServers(count, { policy, env: UPSTREAM_ENV, ...options }, own);
  return {
    gate,
    fleet,
    async [Symbol.asyncDispose]() {
      gate.open();
      await fleet[Symbol.asyncDispose]();
      await gate.stop();
    },
  };
}

/** A key of the budget of a team, which all servers of the stage know. */
export async function makeKey({ fleet }: Stage, team: string, limits = {}): Promise<MadeKey> {
  const made = await fleet.servers[0]!.post('/admin/keys', { labels: { team }, limits });
  if (made.status !== 200) throw new Error(`no key: ${await made.text()}`);
  const key = (await made.json()) as MadeKey;
  for (const box of fleet.servers) await waitFor(async () => (await models(box, key)).status === 200);
  return key;
}

export const models = (box: Signalbox, { key }: MadeKey) =>
  box.get('/v1/models', { headers: { authorization: `Bearer ${key}` } });

export const chat = (box: Signalbox, { key }: MadeKey, more = {}, headers = {}) =>
  box.post(
    '/v1/chat/completions',
    { model: 'best', messages: hello, max_tokens: 100, ...more },
    { headers: { authorization: `Bearer ${key}`, ...headers } },
  );

/** Sends a request and reads its answer. */
export async function ask(...asked: Parameters<typeof chat>): Promise<Told> {
  const began = performance.now();
  const answer = await chat(...asked);
  const { platform, error } = await answerOf(answer);
  return {
    status: answer.status,
    code: error?.code,
    retryAfter: answer.headers.get('retry-after'),
    micro: Math.round((platform?.credits_consumed ?? 0) * 1e6),
    ms: performance.now() - began,
  };
}

/** What the ledger has of a key and of the budget of its team, microcredits, once nothing is held there. */
export async function booked(box: Signalbox, team: string): Promise<number> {
  return await waitFor(async () => {
    const { out } = await box.run('ledger', 'status', '--json', '--name', 'team');
    const { funds } = JSON.parse(out) as { funds: { subject: string; spent_credits: number; held_credits: number }[] };
    const fund = funds.find(({ subject }) => subject === team);
    return fund?.held_credits === 0 ? Math.round(fund.spent_credits * 1e6) : null;
  });
}

export const audit = async (box: Signalbox): Promise<string> => {
  const { out, err } = await box.run('ledger', 'audit');
  return out.includes('nothing wrong') ? 'nothing wrong' : out + err;
};
