import type { IdempotencyOptions } from '../../src/access/idempotency/idempotency.ts';
import { openKeys } from '../../src/access/keys.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import { openPayments } from '../../src/payments/service.ts';
import type { OpenStore } from '../../src/store/driver.ts';
import { keyBudgets } from '../ledger/support.ts';
import { type Answer, answerOf } from '../support/answers.ts';
import { openEdge, runtimeOf, variable } from '../support/edge.ts';

/** An answer, or an error. */
export interface Told {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Answer;
}

export type Application = Awaited<ReturnType<typeof startApplication>>;

/**
 * Starts an application over a handle of a store. Stopping the application leaves the handle open.
 * @param change replaces parts of its idempotency, to make a mutant
 * @param section the section `gateway` of its policy
 */
export async function startApplication(
  store: OpenStore,
  url: string,
  change?: (options: IdempotencyOptions) => IdempotencyOptions,
  section = 'gateway: { retries_max: 0, repeats_in_flight: refuse }\n',
) {
  const runtime = runtimeOf(url, section);
  const { snapshot } = runtime;
  const { instance, news } = store;
  const { now } = instance;
  const write = () => {};
  const log = { info: write, warn: write, error: write };
  let recount = async () => {};
  const keys = await openKeys({ store, now, onChange: () => recount() });
  const terms = () => ({ ...snapshot, budgets: [...snapshot.budgets, ...keyBudgets(keys.budgets())] });
  const ledger = await openLedger({ books: await store.openBooks(now), terms: terms(), now, news, onAlarm: write });
  recount = async () => void (await ledger.prepare(terms()))();
  const nextId = () => instance.nextId();
  const deposit = ledger.deposit.bind(ledger);
  const payments = await openPayments({ store, instance, now, nextId, env: variable, deposit, log });
  const edge = await openEdge({ store, keys, ledger, payments, log, lease: () => runtime, ...(change && { change }) });
  const { app, idempotency } = edge;
  app.listen({ port: 0, hostname: '127.0.0.1' });
  return {
    idempotency,
    keys,
    ledger,
    payments,
    makeKey: async () => (await keys.create({ name: 'app', scopes: ['chat'] })).key,
    async ask(key: string, name: string, content = 'How far is the moon?'): Promise<Told> {
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}`, 'idempotency-key': name };
      const body = JSON.stringify({ model: 'best', messages: [{ role: 'user', content }], max_tokens: 100 });
      const target = `http://127.0.0.1:${app.server?.port}/v1/chat/completions`;
      const response = await fetch(target, { method: 'POST', body, headers });
      return { status: response.status, headers: response.headers, body: await answerOf(response) };
    },
    async stop() {
      await app.stop(true);
      await edge.close();
    },
  };
}
