/**
 * A server preloads this file before `src/main.ts`. The file kills the process where a payment passes the point in `PAY_CRASH_AT`, such as
 * `captured-after-commit:2`. The file intercepts the disk, the node and the provider; code in `src/` does not know about it.
 */
import { crashPoint, watchCalls, watchStatements } from '../../../support/crash-point.ts';

const { pass } = crashPoint('PAY_CRASH_AT', 1);

/** The payment writes of the current transaction, one by one, because several share a commit. */
let written: string[] = [];

function note(sql: string): void {
  if (sql.startsWith('INSERT INTO payments')) written.push('settling');
  else if (sql.startsWith('UPDATE payments')) {
    const [, state] = /SET state = '(\w+)'/.exec(sql) ?? [];
    if (state) written.push(state);
  }
}

/** The first bytes of both forms of `transferWithAuthorization` in a call's data. The program simulates a payment before it sends it. */
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

watchStatements({
  begun() {
    written = [];
  },
  ran: note,
  commits() {
    const states = written;
    for (const state of states) pass(`${state}-before-commit`);
    return () => {
      for (const state of states) pass(`${state}-after-commit`);
    };
  },
});
watchNode();
watchCalls(() => pass('provider-called'));
