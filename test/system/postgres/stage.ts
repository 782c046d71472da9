import { capOf, type Gate, type GateAnswers, startGate } from '../../gateway/money/gate.ts';
import { hello, pursePolicy, tokens } from '../../gateway/money/purse.ts';
import { answerOf, eventsOf, waitFor } from '../../support/answers.ts';
import { layCable } from '../../support/cable.ts';
import { UPSTREAM_ENV } from '../../support/policies.ts';
import type { PostgresOptions } from '../../support/postgres.ts';
import { type PostgresServers, startServers } from '../../support/postgres-servers.ts';
import type { Signalbox, StartOptions } from '../../support/signalbox.ts';

/** The highest possible and the actual cost of a request of `ask`, microcredits. */
export const COST = 442_000;

/**
 * Servers that share one PostgreSQL database, with an upstream that holds answers back, and the budget `team` of 20 Credits for each label.
 */
export interface Stage extends AsyncDisposable {
  readonly gate: Gate;
  readonly answers: GateAnswers;
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
  /** Microcredits; 0 if the answer reported no price. */
  readonly micro: number;
  readonly ms: number;
}

/** @param own whether the test has its own PostgreSQL server, which it can kill */
export async function startStage(
  count: number,
  {
    limit = 20,
    own = false,
    more = '',
    onCrash = 'charge',
    ...options
  }: StartOptions & {
    limit?: number;
    own?: boolean | PostgresOptions;
    more?: string;
    onCrash?: 'charge' | 'release';
  } = {},
): Promise<Stage> {
  const answers: GateAnswers = { usageOf: (request) => tokens(42, capOf(request)) };
  const gate = startGate(answers);
  gate.open();
  const terms = pursePolicy(gate.url, 2_000).replace('_wait_ms: 2000', `$&, on_crash: ${onCrash}`);
  const policy = `${terms}${more}budgets:
  - { name: team, each: key.labels.team, match: 'key.labels.team != ""', limit_credits: ${limit}, window: day, alert_at: [0.5], on_exhausted: reject }
`;
  const fleet = await startServers(count, { policy, env: UPSTREAM_ENV, ...options }, own);
  return {
    ...{ gate, answers, fleet },
    async [Symbol.asyncDispose]() {
      gate.open();
      await fleet[Symbol.asyncDispose]();
      await gate.stop();
    },
  };
}

/** Starts servers that reach the database through a cable. */
export async function startCabled(count: number, options: Parameters<typeof startStage>[1] = {}) {
  const stage = await startStage(0, options);
  const { database, url } = stage.fleet;
  const cable = await layCable(database.port);
  const env = { DATABASE_URL: url.replace(`:${database.port}/`, `:${cable.port}/`) };
  const start = (more: StartOptions = {}) => stage.fleet.start({ ...more, env });
  for (let at = 0; at < count; at++) await start();
  return {
    ...stage,
    ...{ cable, start },
    async [Symbol.asyncDispose]() {
      cable.delayMs = 0;
      await stage[Symbol.asyncDispose]();
      cable[Symbol.dispose]();
    },
  };
}

/** Creates a key under the budget of a team, and waits until all servers of the stage know it. */
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

/**
 * Sends a stream and another request, and holds both upstream. `told` lets the upstream answer both requests and returns their reported
 * prices, microcredits.
 */
export async function sendTwo({ gate }: Stage, box: Signalbox, key: MadeKey) {
  gate.close();
  const [stream, whole] = [chat(box, key, { stream: true }), chat(box, key)];
  await waitFor(() => gate.inside === 2);
  return {
    async told() {
      gate.open();
      const { chunks, done } = await eventsOf(await stream);
      if (!done) throw new Error('the stream was cut');
      const told = [chunks.at(-1)?.platform, (await answerOf(await whole)).platform];
      return told.map((one) => Math.round((one?.credits_consumed ?? 0) * 1e6));
    },
  };
}

export const isReady = async (box: Signalbox): Promise<boolean> => (await box.get('/readyz')).status === 200;

/** Returns the ledger's figures of a key and of its team's budget, microcredits, once nothing is held. */
export async function booked(box: Signalbox, team: string): Promise<number> {
  return await waitFor(async () => {
    const { out } = await box.run('ledger', 'status', '--offline', '--json', '--name', 'team');
    const { funds } = JSON.parse(out) as { funds: { subject: string; spent_credits: number; held_credits: number }[] };
    const fund = funds.find(({ subject }) => subject === team);
    return fund?.held_credits === 0 ? Math.round(fund.spent_credits * 1e6) : null;
  });
}

export const audit = async (box: Signalbox): Promise<string> => {
  const { out, err } = await box.run('ledger', 'audit');
  return out.includes('nothing wrong') ? 'nothing wrong' : out + err;
};

/** Returns the same as `booked`, and checks that the ledger has no error. */
export async function bookedWell(box: Signalbox, team: string): Promise<number> {
  const sum = await booked(box, team);
  const found = await audit(box);
  if (found !== 'nothing wrong') throw new Error(found);
  return sum;
}
