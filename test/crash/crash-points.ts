/**
 * Loaded before `src/main.ts`. This file kills the process when the process reaches the point that `CRASH_AT` names, such as
 * `settle-before-commit:17`. `src/` contains no code for this: the points are calls between its real parts.
 */

import { ChunkWriter } from '../../src/dialects/openai-chat/chunks.ts';
import { LedgerHold } from '../../src/ledger/hold.ts';
import { Ledger } from '../../src/ledger/ledger.ts';
import { LedgerNote } from '../../src/server/ledger-note.ts';
import { GroupCommit } from '../../src/store/group-commit.ts';
import type { SqlWrite } from '../../src/store/sql/statement.ts';
import { crashPoint, watchCalls, watchStatements } from '../support/crash-point.ts';

/** How long the bytes before a point get to leave the process, ms. */
const BYTES_MS = 2;
/** The interval of checkpoints, ms. The interval is short here, so that a short load has some checkpoints. */
const CHECKPOINT_MS = Number(process.env.CHECKPOINT_MS ?? 0);
const CHECKPOINT_OF_SRC_MS = 10_000;

/** True once a request has arrived. Writes of the start do not count as points, except when it closes orphans. */
let loaded = false;

const { isLast, die, pass } = crashPoint('CRASH_AT', 2, (point) => loaded || /^(orphans|new-spool)/.test(point));

const kindOf = ({ statement, params }: SqlWrite): string | null =>
  statement.sql.startsWith('INSERT INTO journal') ? String(params[1]) : null;

/** How many policies the ledger has prepared. The first is the policy of the start. */
let policies = 0;
/** What the current transaction has written: the kinds of journal rows, and the names of other tables. */
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

function watchLedger(): void {
  const { commit } = GroupCommit.prototype;
  GroupCommit.prototype.commit = function (this: GroupCommit<SqlWrite>, writes: readonly SqlWrite[]) {
    if (writes.some((write) => kindOf(write) === 'reserve')) {
      loaded = true;
      pass('reserve-asked-for');
    }
    return commit.call(this, writes);
  };
  const { post, settle } = LedgerHold.prototype;
  LedgerHold.prototype.post = function (line) {
    const charged = post.call(this, line);
    pass('post-in-memory');
    return charged;
  };
  LedgerHold.prototype.settle = function (line, also) {
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

function watchChunks(): void {
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

/** Counts the writes to the spool. Each moment between two writes is before or after a note. */
function watchSpool(): void {
  const { note } = LedgerNote.prototype;
  LedgerNote.prototype.note = function (generation, entries) {
    const spool = entries === null && !loaded ? 'new-spool' : 'spool';
    const step = entries === null ? 'empty' : entries === 0 ? 'in-use' : 'counted';
    pass(`${spool}-${step}-before-note`);
    note.call(this, generation, entries);
    pass(`${spool}-${step}-after-note`);
  };
}

function hurryCheckpoints(): void {
  const { setInterval } = globalThis;
  const hurried = (run: () => void, ms?: number) =>
    setInterval(run, ms === CHECKPOINT_OF_SRC_MS && CHECKPOINT_MS > 0 ? CHECKPOINT_MS : ms);
  Object.defineProperty(globalThis, 'setInterval', { value: hurried });
}

watchStatements({
  begun() {
    written = new Set();
    pass('transaction-begun');
  },
  ran: note,
  commits() {
    const kinds = written;
    passCommit('before', kinds);
    return () => passCommit('after', kinds);
  },
});
watchLedger();
watchCalls(() => {
  if (isLast('upstream-called')) setTimeout(die, BYTES_MS);
});
watchChunks();
watchSpool();
hurryCheckpoints();
