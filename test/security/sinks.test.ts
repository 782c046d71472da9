import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { NEWS_TABLE } from '../../src/store/sqlite/news.ts';
import { ALL_TABLES } from '../../src/store/sqlite/open.ts';

/** Where words can leave a request to, read off the sources and the tables: what is new must be thought of here. */
const ROOT = join(import.meta.dir, '../..');
/** It runs in a browser, and may do what test/console/rules.test.ts allows. */
const CLIENT = 'src/console/';
const sources = ['src', 'plugins'].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
    .filter((path) => !path.startsWith(CLIENT))
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') })),
);
const filesWith = (pattern: RegExp) =>
  sources
    .filter(({ text }) => pattern.test(text))
    .map(({ path }) => path)
    .sort();

/** Prose about `fetch(` is not a call of it. */
const withoutComments = (text: string) => text.replace(/\/\*[\s\S]*?\*\/|(?<![:'"`])\/\/[^\n]*/g, '');

describe('the store', () => {
  test('has these columns for texts and bytes, and words of requests stand in two of them', () => {
    const db = new Database(':memory:');
    // The news first, as a store has them: triggers of other tables raise them.
    for (const { versions } of new Set([NEWS_TABLE, ...ALL_TABLES])) {
      for (const version of versions) db.run(version);
    }
    const tables = db.query<{ name: string }, []>(`SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name`);
    const columns = tables.all().flatMap(({ name }) =>
      db
        .query<{ name: string; type: string }, [string]>('SELECT name, type FROM pragma_table_info(?)')
        .all(name)
        .filter(({ type }) => type !== 'INTEGER' && type !== 'REAL')
        .map((column) => `${name}.${column.name}`),
    );
    const named = [
      // Who: of keys, written by an operator, and hashes of secrets.
      ...[
        'keys.id',
        'keys.name',
        'keys.hash',
        'keys.scopes',
        'keys.labels',
        'keys.models',
        'keys.limits',
        'keys.budgets',
        'keys.wallets',
        'keys.wallet',
        'keys.maker',
        'keys.parent',
        'keys.parent_hash',
        'keys.root',
        'keys.team',
        'keys.user',
      ],
      ...['keys.previous_hash', 'accounts.key_id', 'accounts.labels', 'balances.key_id', 'adjustments.key_id'],
      // Of teams and users: names and addresses for showing, written by an operator or a sign-in; the terms are figures and models.
      ...['id', 'name', 'origin', 'terms', 'member_defaults'].map((name) => `teams.${name}`),
      ...['id', 'issuer', 'sub', 'name', 'email', 'team', 'role', 'terms', 'maker'].map((name) => `users.${name}`),
      // What operators did.
      ...['previous', 'hash', 'actor', 'action', 'subject_kind', 'subject', 'facts', 'request_id'].map(
        (name) => `trail.${name}`,
      ),
      ...['by_seal', 'from_seal', 'details_seal'].map((name) => `trail.${name}`),
      ...['slot', 'salt', 'words'].map((name) => `trail_words.${name}`),
      ...['adjustments.kind', 'adjustments.note', 'adjustments.name', 'journal.note'],
      // A chain and the address that pays for its transactions.
      'gas_nonces.key',
      // Names of models and funds, figures, and what an `agent_wallet` beside a key said.
      ...['accounts.selector', 'accounts.agent_wallet', 'tariffs.model', 'tariffs.provider', 'tariffs.upstream'],
      ...[
        'tariffs.price',
        'funds.kind',
        'funds.name',
        'funds.subject',
        'funds.definition',
        'journal.kind',
        'journal.funds',
      ],
      ...['checkpoint.open', 'checkpoint.usd_per_credit', 'checkpoint.budgets'],
      // Decisions: facts and figures, labels that operators gave keys, metadata that the policy lists; revisions: the policy, with whatever looks like a secret masked.
      ...[
        'decisions.key_id',
        'decisions.kind',
        'decisions.revision',
        'decisions.quality',
        'decisions.body',
        'decisions.estimate',
      ],
      ...[
        'key_id',
        'kind',
        'operation',
        'status',
        'model',
        'task',
        'labels',
        'revision',
        'quality',
        'estimate',
        'body',
      ].map((name) => `records.${name}`),
      ...['key_id', 'model', 'task', 'status', 'operation', 'summary'].map((name) => `record_index.${name}`),
      ...['record_labels.name', 'record_labels.value'],
      // What can be learnt of them: names, figures, buckets of hashes, and a caller's word for a score, which has no blanks.
      ...['key_id', 'estimator', 'model', 'task', 'features'].map((name) => `examples.${name}`),
      ...['source', 'estimator', 'key_id', 'model', 'task', 'label'].map((name) => `outcomes.${name}`),
      ...['learning_secret.secret', 'learning_standing.body', 'learning_resets.model', 'learnt_through.estimator'],
      ...['learnt.estimator', 'learnt.part', 'learnt.bytes'],
      ...['revisions.revision', 'revisions.source', 'revisions.models', 'revisions.surroundings', 'frames.figures'],
      // Answers that callers keep for themselves: hashes, and what only their own secret opens.
      ...[
        'idempotency.name',
        'idempotency.state',
        'idempotency.salt',
        'idempotency.verifier',
        'idempotency.body',
        'idempotency.answer',
      ],
    ];
    // Wallets, what they paid and for which decision; a hash with a secret.
    const payments = [
      ...['state', 'purpose', 'network', 'asset', 'pay_to', 'payer', 'nonce', 'amount', 'key_id', 'request_mark'],
      ...['quote', 'tx', 'error'],
    ].map((name) => `payments.${name}`);
    // The caller's names of a session and its agent: plain and short, hashes where they have an address or a secret in them.
    named.push('accounts.session', 'accounts.agent', 'records.session', 'record_index.session');
    // IDs of ours.
    for (const table of ['accounts', 'records', 'record_index']) named.push(`${table}.team_id`, `${table}.user_id`);
    // A random name.
    named.push('identity.ledger');
    named.push(...payments, 'accounts.payer', 'payment_secret.secret');
    named.push(
      'pending_settlements.key',
      'pending_settlements.value',
      'blocked_wallets.address',
      'blocked_wallets.note',
    );
    // Names and conditions of budgets of the policy.
    named.push('budgets.name', 'budgets.definition');
    // Rules and webhooks, names of budgets, keys and providers, and figures; why a webhook could not be reached.
    named.push('alert_marks.id', 'alert_marks.state', 'alert_messages.content', 'alert_messages.deliveries');
    // Hosts, versions and revisions; diagnostics of the policy, with secrets masked.
    named.push(
      ...['name', 'version', 'follows', 'revision', 'error', 'refusal', 'judged_revision'].map(
        (name) => `instance_reports.${name}`,
      ),
    );
    // Texts of the policy, which are not taken with a secret; why a server refuses one.
    named.push(...['revision', 'source', 'plugins', 'state', 'reason'].map((name) => `pushed_policies.${name}`));
    // Names of the policy.
    named.push(...['provider', 'upstream', 'model'].map((name) => `broken_declarations.${name}`));
    // Who is signed in, by IDs and a hash, from where and by which browser; a refresh token that only the cookie opens.
    named.push(
      ...['id', 'user', 'key', 'key_hash', 'hash', 'token', 'browser', 'address'].map((name) => `logins.${name}`),
    );
    // Workloads by the words of their issuer's tokens, and a name of the policy.
    named.push(...['id', 'issuer', 'sub', 'name'].map((name) => `subjects.${name}`));
    // Figures, by IDs of keys, teams and users, labels of keys, names of the policy, statuses and tasks.
    named.push(...['traffic.duration', 'traffic.ttft', 'traffic_series.name']);
    named.push(
      ...['key_id', 'team_id', 'user_id', 'labels', 'model', 'provider'].map((name) => `traffic_waiting.${name}`),
    );
    // Which service keeps a history: its ID of the answer, names of the policy and of tools, a hash.
    named.push(...['key_id', 'answer', 'model', 'provider', 'origin', 'add_ons'].map((name) => `threads.${name}`));
    const words = ['contents.prompt', 'contents.answer'];
    expect(columns.sort()).toEqual([...named, ...words].sort());
    // A room whose tables were not asked about here could keep anything.
    expect(filesWith(/export const \w+Migrations: Migrations\b/)).toEqual([
      'src/store/sqlite/alerts.ts',
      'src/store/sqlite/books/schema.ts',
      'src/store/sqlite/endpoints.ts',
      'src/store/sqlite/idempotency.ts',
      'src/store/sqlite/identity.ts',
      'src/store/sqlite/instance.ts',
      'src/store/sqlite/keys.ts',
      'src/store/sqlite/learning/schema.ts',
      'src/store/sqlite/logins.ts',
      'src/store/sqlite/payments.ts',
      'src/store/sqlite/people.ts',
      'src/store/sqlite/pushed-policies.ts',
      'src/store/sqlite/records/schema.ts',
      'src/store/sqlite/subjects.ts',
      'src/store/sqlite/threads.ts',
      'src/store/sqlite/traffic/schema.ts',
    ]);
  });

  test('gets words from one file alone, beside that of its tables', () => {
    expect(filesWith(/(?:INTO|FROM|UPDATE|TABLE|JOIN) contents\b/)).toEqual([
      'src/store/postgres/schema/records.ts',
      'src/store/sql/records/contents.ts',
      'src/store/sqlite/records/schema.ts',
    ]);
  });
});

describe('the log', () => {
  /** Each call with its arguments, as far as its brackets go. */
  function callsIn(text: string): string[] {
    return [...text.matchAll(/\b(?:log\.(?:info|warn|error)|write)\(/g)].map(({ index, 0: head }) => {
      let depth = 1;
      let at = index + head.length;
      for (; depth > 0 && at < text.length; at++) depth += text[at] === '(' ? 1 : text[at] === ')' ? -1 : 0;
      return text.slice(index, at);
    });
  }
  const WORDS =
    /\bmessages\b|\brequest\.(?!method\b)|\bprompt\b|\banswer\b|\.content\b|\.text\b|\bbody\b|\bheaders\b|authorization/;

  const LOGS = /\blog\.(?:info|warn|error)\b|\bLog\b/;
  const files = filesWith(LOGS);

  test('is written to by these files', () => {
    expect(files).toEqual([
      'src/access/sign-in/sign-in.ts',
      'src/access/tokens/tokens.ts',
      'src/alerts/alerts.ts',
      'src/alerts/outbox.ts',
      'src/http/app.ts',
      'src/http/console/sign-in.ts',
      'src/http/cors.ts',
      'src/http/replay.ts',
      'src/money/funding.ts',
      'src/money/shortage.ts',
      'src/operate/content.ts',
      'src/operate/payments.ts',
      'src/operate/subjects.ts',
      'src/operate/wallets.ts',
      'src/payments/networks.ts',
      'src/payments/parts.ts',
      'src/payments/reconciler.ts',
      'src/payments/resolve-outcome.ts',
      'src/payments/service.ts',
      'src/payments/settlements.ts',
      'src/payments/sweep.ts',
      'src/request/answer-recorder.ts',
      'src/request/decide.ts',
      'src/request/drain.ts',
      'src/request/observe/foreign-fields.ts',
      'src/request/observe/log-line.ts',
      'src/request/observe/observer.ts',
      'src/server/announce.ts',
      'src/server/audits.ts',
      'src/server/console.ts',
      'src/server/declarations.ts',
      'src/server/defects.ts',
      'src/server/events.ts',
      'src/server/first-key.ts',
      'src/server/gateway.ts',
      'src/server/host.ts',
      'src/server/instance-report.ts',
      'src/server/ledger-note.ts',
      'src/server/log.ts',
      'src/server/policies.ts',
      'src/server/processes/fleet.ts',
      'src/server/processes/serve.ts',
      'src/server/push-follower.ts',
      'src/server/serve.ts',
      'src/server/shutdown.ts',
      'src/server/sign-in.ts',
      'src/server/store.ts',
      'src/server/trail-head.ts',
      'src/server/upkeep.ts',
      'src/telemetry/log.ts',
      'src/telemetry/tracing/span-queue.ts',
      'src/telemetry/tracing/start.ts',
    ]);
  });

  test('gets figures and names, and an upstream’s message without the words of the request', () => {
    const calls = sources.filter(({ path }) => files.includes(path)).flatMap(({ text }) => callsIn(text));
    expect(calls.length).toBeGreaterThan(15);
    expect(calls.filter((call) => WORDS.test(call))).toEqual([]);
    const said = calls.filter((call) => call.includes('upstream_message'));
    expect(said).toHaveLength(1);
    expect(said[0]).toContain('upstream_message: loggableMessage(attempt, request)');
  });

  test('of a mutant that logs the prompt would be caught', () => {
    for (const mutant of ["log.info('chat', { prompt: request.messages })", 'log.warn(x, { words: part.text })']) {
      expect(callsIn(mutant).some((call) => WORDS.test(call))).toBe(true);
    }
  });

  test('is the only way to the terminal, but for what a command or a start says to its operator', () => {
    const printing = sources.filter(({ text }) =>
      /\bconsole\.(?:log|info|warn|error|debug|trace|table|dir)\b|\bstd(?:out|err)\.write\b/.test(
        withoutComments(text),
      ),
    );
    // The worker that tries a plugin sends what that prints out of the way.
    expect(printing.map(({ path }) => path).sort()).toEqual(['src/cli/plugin/trial-worker.ts', 'src/main.ts']);
  });
});

describe('the network', () => {
  // The chain's nodes are asked by a library (viem), whose addresses the policy states.
  test('is called by three files, which follow no redirect; no image, file or address of a request is fetched', () => {
    const calling = sources.filter(({ text }) =>
      /\bfetch\(|\bconnect\(|WebSocket\(|node:https?'/.test(withoutComments(text)),
    );
    const global = calling.filter(({ text }) => /(?<![.\w])fetch\((?!\w*\)?\s*\{)/.test(withoutComments(text)));
    expect(global.map(({ path }) => path)).toEqual(['src/payments/facilitator/remote.ts']);
    expect(global[0]?.text).toContain("redirect: 'manual'");
    const own = calling.filter(({ text }) => /#fetches\.fetch\(/.test(withoutComments(text)));
    expect(own.map(({ path }) => path)).toEqual(['src/upstream/connection/dial.ts']);
    const session = calling.filter(({ text }) => /\bsession\.fetch\(/.test(withoutComments(text)));
    expect(session.map(({ path }) => path)).toEqual(['src/outbound/outbound.ts']);
    expect(
      session[0]?.text.match(/session\.fetch\([^;]*;/g)?.every((call) => call.includes("redirect: 'manual'")),
    ).toBe(true);
    const calls = own[0]?.text.match(/#fetches\.fetch\([^;]*;/g) ?? [];
    expect(calls).toHaveLength(2);
    for (const call of calls) expect(call).toContain("redirect: 'manual'");
  });
});
