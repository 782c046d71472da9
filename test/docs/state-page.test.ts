import { describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { NEWS_SUBJECTS } from '../../src/store/news.ts';
import { MAY_CHANGE } from '../support/module-state.ts';

/** The page of everything that outlives a request names what the code has, and nothing else. */
const ROOT = join(import.meta.dir, '../..');
const SRC = join(ROOT, 'src');
const OWNERS = ['process', 'instance', 'key', 'fund', 'store', 'leader'];

interface StateRow {
  readonly state: string;
  readonly where: readonly string[];
  readonly owner: string;
  readonly rest: readonly string[];
  readonly news: string;
}

const rows = readFileSync(join(ROOT, 'docs/state.md'), 'utf8')
  .split('\n')
  .filter((line) => /^\| (?!State |-)/.test(line))
  .map((line): StateRow => {
    const cells = line.slice(1, -1).split(' | ');
    const [state = '', where = '', owner = '', ...rest] = cells.map((cell) => cell.trim());
    const files = [...where.matchAll(/`([^`]+)`/g)].map(([, file = '']) => file);
    const [, news = ''] = /\bnews: (.+)$/.exec(rest[0] ?? '') ?? [];
    return { state, where: files, owner, rest, news };
  });

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => ({ path: relative(SRC, join(SRC, name)), text: readFileSync(join(SRC, name), 'utf8') }));

/** The rows that comments of a file name. */
const namedIn = (text: string): string[] =>
  [...text.matchAll(/(?:\/\*\*| \*) (?:[^\n]*? )?State: ([A-Za-z ]+)\.(?=\s)/g)].map(([, name = '']) => name);

/** Rooms and files whose objects last as long as a request, an answer, a call, a connection, a start or a command. */
const SHORT_LIVED = [
  'store/copy/',
  // Of a page in a browser, which ends with it.
  'console/',
  ...['cli/', 'conformance/', 'core/', 'accounting/', 'exchange/', 'importers/', 'money/', 'operate/', 'policy/'],
  ...['routing/', 'surface/', 'ledger/audit/', 'upstream/http1/'],
  ...['alerts/rules.ts', 'access/idempotency/run.ts', 'access/limits/quota.ts'],
  ...['http/body-reading.ts', 'http/held-requests.ts', 'http/stream.ts', 'http/surface-socket.ts'],
  ...[
    'ledger/count.ts',
    'ledger/hold.ts',
    'ledger/open-holds.ts',
    'payments/facilitator/chain-attempt.ts',
    'prompt/answer-mark.ts',
  ],
  ...['records/contents.ts', 'request/request-context.ts', 'request/service-count.ts'],
  ...[
    'store/postgres/connection.ts',
    'store/sqlite/books/batch.ts',
    'store/sqlite/books/replay.ts',
    'store/sql/records/list.ts',
    'store/sql/records/selection.ts',
    'store/sql/traffic/rows.ts',
    'store/traffic-sums.ts',
    'telemetry/tracing/request-trace.ts',
  ],
  ...['upstream/arrival.ts', 'upstream/completion.ts', 'upstream/connection/opening.ts'],
  ...['upstream/decoded-reply.ts', 'upstream/embeddings.ts'],
  ...['upstream/frames.ts', 'upstream/in-process-call.ts', 'upstream/piece-decoder.ts', 'upstream/read-text.ts'],
  ...['upstream/wire-call.ts', 'upstream/health/endpoint-attempt.ts'],
];
/** Files whose objects are fields of a row's. */
const PARTS: Readonly<Record<string, readonly string[]>> = {
  affinity: ['prompt/answer-table.ts'],
  connections: ['upstream/connection/dial.ts', 'upstream/connection/resolver.ts'],
  health: ['upstream/health/'],
  influence: ['learning/brier.ts', 'learning/influence.ts'],
  memories: ['learning/memory.ts'],
  metrics: ['request/observe/chat-metrics.ts'],
  'database readers': ['store/postgres/horizon.ts'],
  'database writes': ['store/postgres/dialect.ts', 'store/postgres/store.ts'],
  sessions: ['prompt/recent-by-key.ts'],
  slices: ['access/limits/slice.ts'],
};

/** The classes of a file that keep something: with a field that is set again, or a collection. */
function keepersIn(text: string): string[] {
  return [...text.matchAll(/^(?:export )?(?:abstract )?class (\w+)[\s\S]*?^}/gm)].flatMap(([body, name = '']) =>
    /^ {2}(?!(?:readonly|static|get|set|async|return|const|let)\b)(?:override )?#?\w+(?:: [^=;(]+)?(?: = [^\n]*)?;$/m.test(
      body,
    ) || /^ {2}readonly #?\w+(?:: [^=]+)? = (?:new (?:Map|Set|LinkedSet|WeakMap)\b|\[\])/m.test(body)
      ? [name]
      : [],
  );
}

describe('the page of state', () => {
  test('has rows with an owner, a loss and news that there are, each row once', () => {
    expect(rows.length).toBeGreaterThan(60);
    expect(new Set(rows.map(({ state }) => state)).size).toBe(rows.length);
    const odd = rows.filter(
      ({ owner, rest, news, where }) =>
        !OWNERS.includes(owner) ||
        rest.length !== 2 ||
        rest.some((cell) => cell.trim() === '') ||
        where.length === 0 ||
        !(news === '' || news.split(', ').every((one) => NEWS_SUBJECTS.some((subject) => subject === one))),
    );
    expect(odd).toEqual([]);
  });

  test('names files whose objects say the same', () => {
    const stated = rows.flatMap(({ state, where }) => where.map((path) => `${path}: ${state}`));
    const said = files.flatMap(({ path, text }) => [...new Set(namedIn(text))].map((state) => `${path}: ${state}`));
    expect(said.sort()).toEqual(stated.sort());
  });

  test('has every class that keeps something for longer than a request', () => {
    const parts = Object.values(PARTS).flat();
    expect(Object.keys(PARTS).filter((name) => !rows.some(({ state }) => state === name))).toEqual([]);
    expect([...SHORT_LIVED, ...parts].filter((path) => !existsSync(join(SRC, path)))).toEqual([]);
    const left = files
      .filter(({ path }) => ![...SHORT_LIVED, ...parts].some((one) => path.startsWith(one)))
      .filter(({ text }) => namedIn(text).length === 0)
      .flatMap(({ path, text }) => keepersIn(text).map((name) => `${path} ${name}`));
    expect(left).toEqual([]);
  });

  test('has every repository of a store, and what a process keeps in modules', () => {
    const tables = [
      ...(files.find(({ path }) => path === 'store/repositories.ts')?.text ?? '').matchAll(
        /^ {2}readonly \w+: (\w+);/gm,
      ),
    ];
    expect(tables.length).toBeGreaterThan(10);
    const isNamed = (table: string) =>
      files.some(({ text }) =>
        new RegExp(`State: [A-Za-z ]+\\.(?:\\n)? \\*/\\nexport interface ${table}\\b`).test(text),
      );
    expect(tables.map(([, table = '']) => table).filter((table) => !isNamed(table))).toEqual([]);
    const kept = MAY_CHANGE['of the process: rows of docs/state.md']?.map((one) => one.split(' ')[0]?.slice(4));
    expect(kept?.filter((path) => !rows.some(({ where }) => where.includes(path ?? '')))).toEqual([]);
  });
});

test('the rules see what they are to see', () => {
  expect(
    namedIn('/** A gate. State: the gate. */\n/**\n * A.\n * State: b.\n */\n/** The State: is. Left. */'),
  ).toEqual(['the gate', 'b', 'is']);
  expect(
    keepersIn(
      'class A {\n  #b = 1;\n}\nexport class C {\n  readonly #d = new Map();\n}\nclass E {\n  readonly f = 1;\n}',
    ),
  ).toEqual(['A', 'C']);
});
