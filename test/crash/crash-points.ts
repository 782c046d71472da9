/**
 * Preloaded before `src/main.ts`: kills the process at the passage of a point that `CRASH_AT` names, such as
 * `settle-before-commit:17`. Nothing in `src/` knows of it: it stands at the calls between the real parts.
 */
import { Database } from 'bun:sqlite';
import { writeSync } from 'node:fs';
import { ReservationHold } from '../../src/ledger/hold.ts';
import { Ledger } from '../../src/ledger/ledger.ts';
import { GroupCommit } from '../../src/store/sqlite/group-commit.ts';
import type { SqlWrite } from '../../src/store/sqlite/statement.ts';
import { ChunkWriter } from '../../src/surface/openai-chat/chunks.ts';
import { Dial } from '../../src/upstream/connection/dial.ts';

const [wanted = '', count = '1'] = (process.env.CRASH_AT ?? '').split(':');
let left = Number(count);

/** How long the bytes before a point get to leave the process, ms. */
const BYTES_MS = 2;
/** The pause between checkpoints is this long here, so that a short load has some. */
const CHECKPOINT_MS = Number(process.env.CHECKPOINT_MS ?? 0);
const CHECKPOINT_OF_SRC_MS = 10_000;

/** A request has come: what a start writes is no passage, but for its closing of orphans. */
let loaded = false;

/** True at the passage that is to be the last. */
function isLast(point: string): boolean {
  return point === wanted && (loaded || point.startsWith('orphans')) && --left === 0;
}

function die(): void {
  // The reader must be able to tell this death from every other.
  writeSync(2, `killed at ${wanted}\n`);
  process.kill(process.pid, 'SIGKILL');
}

function pass(point: string): void {
  if (isLast(point)) die();
}

const kindOf = ({ statement, params }: SqlWrite): string | null =>
  statement.sql.startsWith('INSERT INTO journal') ? String(params[1]) : null;

/** Policies that the ledger was prepared for: the first is the start's. */
let policies = 0;
/** What the transaction under way has written: kinds of the journal's rows, and tables of its own. */
let written = new Set<string>();

function note(sql: string, params: readonly unknown[]): void {
  if (sql.startsWith('INSERT INTO journal')) {
    written.add(String(params[1]));
    pass('transaction-half-written');
  } else if (sql.startsWith('UPDATE checkpoint SET through')) written.add('checkpoint');
  else if (sql.startsWith('UPDATE checkpoint SET usd_per_credit') && policies > 1) written.add('terms');
}

const COMMITS: Readonly<Record<string, string>> = {
  reserve: 'reserve',
  raise: 'raise',
  post: 'post',
  settle: 'settle',
  attach: 'attach',
  checkpoint: 'checkpoint',
  terms: 'terms',
  expire: 'orphans',
};

function passCommit(when: 'before' | 'after', kinds: ReadonlySet<string>): void {
  for (const [kind, name] of Object.entries(COMMITS)) if (kinds.has(kind)) pass(`${name}-${when}-commit`);
}

/** Stands before and behind every statement that the store runs. */
function watchStatements(): void {
  const prepare = Database.prototype.prepare;
  function watched(this: Database, ...args: Parameters<typeof prepare>): ReturnType<typeof prepare> {
    const statement = Reflect.apply(prepare, this, args);
    const [sql] = args;
    const run = statement.run.bind(statement);
    statement.run = (...params) => {
      if (sql === 'COMMIT') {
        const kinds = written;
        passCommit('before', kinds);
        const changes = run(...params);
        passCommit('after', kinds);
        return changes;
      }
      const changes = run(...params);
      if (sql === 'BEGIN IMMEDIATE') {
        written = new Set();
        pass('transaction-begun');
      } else note(sql, params);
      return changes;
    };
    return statement;
  }
  Object.defineProperty(Database.prototype, 'prepare', { value: watched });
}

function watchLedger(): void {
  const { commit } = GroupCommit.prototype;
  GroupCommit.prototype.commit = function (this: GroupCommit, writes: readonly SqlWrite[]) {
    if (writes.some((write) => kindOf(write) === 'reserve')) {
      loaded = true;
      pass('reserve-asked-for');
    }
    return commit.call(this, writes);
  };
  const { post, settle } = ReservationHold.prototype;
  ReservationHold.prototype.post = function (line) {
    const charged = post.call(this, line);
    pass('post-in-memory');
    return charged;
  };
  ReservationHold.prototype.settle = function (line, also) {
    pass('settle-asked-for');
    const settlement = settle.call(this, line, also);
    pass('settle-in-memory');
    return settlement;
  };
  const { prepare } = Ledger.prototype;
  Ledger.prototype.prepare = async function (terms) {
    const isReload = ++policies > 1;
    const swap = await prepare.call(this, terms);
    return () => {
      if (isReload) pass('reload-prepared');
      swap();
      if (isReload) pass('reload-swapped');
    };
  };
}

function watchSockets(): void {
  const { post } = Dial.prototype;
  Dial.prototype.post = function (...args) {
    const answer = post.apply(this, args);
    if (isLast('upstream-called')) setTimeout(die, BYTES_MS);
    return answer;
  };
  const { write } = ChunkWriter.prototype;
  const shown = new WeakSet<ChunkWriter>();
  ChunkWriter.prototype.write = function (parts) {
    const text = write.call(this, parts);
    if (shown.has(this)) pass('mid-stream');
    else if (isLast('first-content-sent')) setTimeout(die, BYTES_MS);
    shown.add(this);
    return text;
  };
}

function hurryCheckpoints(): void {
  const { setInterval } = globalThis;
  const hurried = (run: () => void, ms?: number) =>
    setInterval(run, ms === CHECKPOINT_OF_SRC_MS && CHECKPOINT_MS > 0 ? CHECKPOINT_MS : ms);
  Object.defineProperty(globalThis, 'setInterval', { value: hurried });
}

watchStatements();
watchLedger();
watchSockets();
hurryCheckpoints();
