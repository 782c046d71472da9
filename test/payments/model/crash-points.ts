/**
 * Preloaded before `src/main.ts`: kills the process where a payment passes a point that `PAY_CRASH_AT` names, such as
 * `captured-after-commit:2`. It hooks the disk, the node and the provider, and nothing in `src/` knows of it.
 */
import { Database } from 'bun:sqlite';
import { writeSync } from 'node:fs';
import { Dial } from '../../../src/upstream/connection/dial.ts';

const [wanted = '', count = '1'] = (process.env.PAY_CRASH_AT ?? '').split(':');
let left = Number(count);

function pass(point: string): void {
  if (point !== wanted || --left !== 0) return;
  // The reader must be able to tell this death from every other.
  writeSync(1, `killed at ${wanted}\n`);
  process.kill(process.pid, 'SIGKILL');
}

/** The payment writes of the current transaction, one by one: several share a commit. */
let written: string[] = [];

function note(sql: string): void {
  if (sql.startsWith('INSERT INTO payments')) written.push('settling');
  else if (sql.startsWith('UPDATE payments')) {
    const [, state] = /SET state = '(\w+)'/.exec(sql) ?? [];
    if (state) written.push(state);
  }
}

/** Hooks every statement of the store, before and after. */
function watchStatements(): void {
  const prepare = Database.prototype.prepare;
  function watched(this: Database, ...args: Parameters<typeof prepare>): ReturnType<typeof prepare> {
    const statement = Reflect.apply(prepare, this, args);
    const [sql] = args;
    const run = statement.run.bind(statement);
    statement.run = (...params) => {
      if (sql !== 'COMMIT') {
        const changes = run(...params);
        if (sql === 'BEGIN IMMEDIATE') written = [];
        else note(sql);
        return changes;
      }
      const states = written;
      for (const state of states) pass(`${state}-before-commit`);
      const changes = run(...params);
      for (const state of states) pass(`${state}-after-commit`);
      return changes;
    };
    return statement;
  }
  Object.defineProperty(Database.prototype, 'prepare', { value: watched });
}

/** Both forms of `transferWithAuthorization`, as a call's data begins. A payment is simulated before it is sent. */
const TRANSFERS = ['0xe3ee160e', '0xcf092995'];

function watchNode(): void {
  const { fetch } = globalThis;
  const watched = async (...args: Parameters<typeof fetch>) => {
    const [input, init] = args;
    const asked =
      typeof init?.body === 'string' ? init.body : input instanceof Request ? await input.clone().text() : '';
    const sends = asked.includes('eth_sendRawTransaction') || String(urlOf(input)).endsWith('/settle');
    const looks = asked.includes('eth_getTransactionReceipt');
    if (sends) pass('broadcast-asked-for');
    if (TRANSFERS.some((selector) => asked.includes(selector)) && asked.includes('eth_call')) pass('verify');
    const answer = await fetch(...args);
    if (sends) pass('broadcast-sent');
    if (looks && (await answer.clone().text()).includes('"status"')) pass('receipt-seen');
    return answer;
  };
  Object.defineProperty(globalThis, 'fetch', { value: Object.assign(watched, { preconnect: fetch.preconnect }) });
}

const urlOf = (input: string | URL | Request): string | URL => (input instanceof Request ? input.url : input);

function watchProvider(): void {
  const { post } = Dial.prototype;
  Dial.prototype.post = function (...args) {
    const answer = post.apply(this, args);
    pass('provider-called');
    return answer;
  };
}

watchStatements();
watchNode();
watchProvider();
