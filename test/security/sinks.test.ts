import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { migrate } from '../../src/store/sqlite/migrate.ts';
import { NEWS_TABLE } from '../../src/store/sqlite/news.ts';
import { ALL_TABLES } from '../../src/store/sqlite/open.ts';

describe('the store', () => {
  test('has these columns for texts and bytes, and only two of them contain text of requests', () => {
    const db = new Database(':memory:');
    // The table of news comes first, as in a store, because triggers of other tables write to it.
    migrate(db, [...new Set([NEWS_TABLE, ...ALL_TABLES])]);
    const tables = db.query<{ name: string }, []>(`SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name`);
    const columns = tables.all().flatMap(({ name }) =>
      db
        .query<{ name: string; type: string }, [string]>('SELECT name, type FROM pragma_table_info(?)')
        .all(name)
        .filter(({ type }) => type !== 'INTEGER' && type !== 'REAL')
        .map((column) => `${name}.${column.name}`),
    );
    const named = [
      // Keys: names that an operator wrote, and hashes of secrets.
      ...[
        'keys.id',
        'keys.name',
        'keys.hash',
        'keys.imported_hash',
        'keys.scopes',
        'keys.labels',
        'keys.models',
        'keys.not_models',
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
      // Teams and users: names and email addresses from an operator or a sign-in. The terms are figures and models.
      ...['id', 'name', 'origin', 'terms', 'member_defaults'].map((name) => `teams.${name}`),
      ...['id', 'issuer', 'sub', 'name', 'email', 'team', 'role', 'terms', 'maker'].map((name) => `users.${name}`),
      // The changes that operators made.
      ...['previous', 'hash', 'actor', 'action', 'subject_kind', 'subject', 'facts', 'request_id'].map(
        (name) => `trail.${name}`,
      ),
      ...['by_seal', 'from_seal', 'details_seal'].map((name) => `trail.${name}`),
      ...['slot', 'salt', 'words'].map((name) => `trail_words.${name}`),
      ...['adjustments.kind', 'adjustments.note', 'adjustments.name', 'journal.note'],
      // A chain and the address that pays for its transactions.
      'gas_nonces.key',
      // Names of models and funds, and figures.
      ...['accounts.selector', 'tariffs.model', 'tariffs.provider', 'tariffs.upstream'],
      ...[
        'tariffs.price',
        'funds.kind',
        'funds.name',
        'funds.subject',
        'funds.definition',
        'journal.kind',
        'journal.bill',
        'journal.funds',
      ],
      ...['checkpoint.open', 'checkpoint.usd_per_credit', 'checkpoint.budgets'],
      // Decisions: facts, figures, labels that operators gave to keys, and metadata that the policy lists. Revisions: the policy, in which
      // everything that looks like a secret is masked.
      ...['key_id', 'kind', 'operation', 'status', 'model', 'task', 'labels', 'revision', 'body', 'code'].map(
        (name) => `records.${name}`,
      ),
      ...['key_id', 'model', 'task', 'status', 'operation', 'summary', 'code'].map((name) => `record_index.${name}`),
      ...['record_labels.name', 'record_labels.value'],
      // Scores: names, figures, and a caller's label, which has no spaces.
      ...['key_id', 'model', 'task', 'label'].map((name) => `outcomes.${name}`),
      ...['learning_resets.model'],
      'migrations.room',
      ...['revisions.revision', 'revisions.source', 'revisions.models', 'revisions.surroundings', 'frames.figures'],
      // Answers that are stored for their callers: hashes, and data that only the caller's secret decrypts.
      ...[
        'idempotency.name',
        'idempotency.state',
        'idempotency.salt',
        'idempotency.verifier',
        'idempotency.body',
        'idempotency.answer',
      ],
    ];
    // Wallets, their payments and the decisions that they paid for; a hash with a secret.
    const payments = [
      ...['state', 'purpose', 'network', 'asset', 'pay_to', 'payer', 'nonce', 'amount', 'key_id', 'request_mark'],
      ...['quote', 'tx', 'error'],
    ].map((name) => `payments.${name}`);
    // The caller's names for a session and its agent. The names are plain and short, or hashes if they contain an address or a secret.
    named.push('accounts.session', 'accounts.agent', 'records.session', 'record_index.session');
    // IDs that Signalbox makes.
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
    // Names and conditions of budgets in the policy.
    named.push('budgets.name', 'budgets.definition');
    // Rules and webhooks, names of budgets, keys and providers, and figures; the reason why a webhook could not be reached.
    named.push('alert_marks.id', 'alert_marks.state', 'alert_messages.content', 'alert_messages.deliveries');
    // Hosts, versions and revisions; diagnostics of the policy, with secrets masked.
    named.push(
      ...['name', 'version', 'follows', 'revision', 'error', 'refusal', 'judged_revision'].map(
        (name) => `instance_reports.${name}`,
      ),
    );
    // Texts of the policy, which are refused if they contain a secret; the reason why a server refuses a policy.
    named.push(...['revision', 'source', 'plugins', 'state', 'reason'].map((name) => `pushed_policies.${name}`));
    // Names from the policy.
    named.push(...['provider', 'upstream', 'model'].map((name) => `broken_declarations.${name}`));
    // Logins: IDs and a hash, the address and the browser; a refresh token that only the cookie decrypts.
    named.push(
      ...['id', 'user', 'key', 'key_hash', 'hash', 'token', 'browser', 'address'].map((name) => `logins.${name}`),
    );
    // Workloads: claims of their issuer's tokens, and a name from the policy.
    named.push(...['id', 'issuer', 'sub', 'name'].map((name) => `subjects.${name}`));
    // Figures by IDs of keys, teams and users, labels of keys, names from the policy, statuses and tasks.
    named.push(...['traffic.duration', 'traffic.ttft', 'traffic_series.name']);
    named.push(
      ...['key_id', 'team_id', 'user_id', 'labels', 'model', 'provider'].map((name) => `traffic_waiting.${name}`),
    );
    // Threads that a service keeps: its ID of the answer, names of the policy and of tools, a hash.
    named.push(...['key_id', 'answer', 'model', 'provider', 'origin', 'add_ons'].map((name) => `threads.${name}`));
    // Conversations: keyed hashes, the ID of a key, and a word of the code.
    named.push(...['conversation', 'key_id', 'prompt', 'signal'].map((name) => `conversations.${name}`));
    // The cache: keyed hashes, IDs, and encrypted answers.
    named.push(...['name', 'key_id', 'user_id', 'answer'].map((name) => `cached_answers.${name}`));
    const words = ['contents.prompt', 'contents.answer'];
    expect(columns.sort()).toEqual([...named, ...words].sort());
  });
});
