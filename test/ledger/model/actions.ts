import { StoreError } from '../../../src/store/store.ts';
import { line } from '../support.ts';
import { waiving } from '../wallet-support.ts';
import { KEYS } from './chance.ts';
import { expectEqual } from './compare.ts';
import { type Ask, chargedTo, isBlocked } from './entries.ts';
import type { Asked, Play, Raised } from './play.ts';
import { capture, deposit, earmark, letGo } from './wallet-actions.ts';

export const ACTIONS = [
  'admit',
  'raise',
  'post',
  'settle',
  'release',
  'written',
  'replay',
  'stall',
  'recover',
  'fail',
  'crash',
  'restart',
  'tick',
  'time',
  'back',
  'reload',
  'grant',
  'correct',
  'refresh',
  'give up',
  'earmark',
  'capture',
  'let go',
  'deposit',
] as const;
export type Action = (typeof ACTIONS)[number];

/** How often each action is chosen, relative to all other actions. */
export const WEIGHTS: Readonly<Record<Action, number>> = {
  admit: 30,
  raise: 6,
  post: 5,
  settle: 16,
  release: 5,
  written: 3,
  replay: 2,
  stall: 3,
  recover: 5,
  fail: 2,
  crash: 1.5,
  restart: 0.7,
  tick: 4,
  time: 6,
  back: 2,
  reload: 4,
  grant: 3,
  correct: 3,
  refresh: 2,
  'give up': 4,
  earmark: 9,
  capture: 6,
  'let go': 2,
  deposit: 4,
};

export const actions: Readonly<Record<Action, (play: Play) => unknown>> = {
  admit,
  raise,
  post,
  settle: (play) => settle(play, true),
  release: (play) => settle(play, false),
  written,
  replay,
  stall: ({ subject }) => subject.gate.shut(),
  recover: ({ subject }) => subject.gate.open(),
  fail,
  crash,
  restart,
  tick,
  time,
  back,
  reload,
  grant,
  correct,
  refresh,
  'give up': giveUp,
  earmark,
  capture,
  'let go': letGo,
  deposit,
};

function admit(play: Play): void {
  const who = play.chance.who();
  ask(play, { who, payer: play.chance.payer(who), expected: null });
}

/** Reserves or earmarks money. */
export function ask(play: Play, by: Pick<Ask, 'who' | 'payer' | 'expected'>): void {
  const { chance, subject, reference, now, counts } = play;
  const amounts = Array.from({ length: chance.int(1, 3) }, () => chance.int(0, 120));
  const least = chance.yes(0.5) ? chance.int(0, amounts[0]!) : null;
  const ask: Ask = {
    ...by,
    id: play.nextId(),
    amounts,
    least,
    ample: least !== null && chance.yes(0.7) ? chance.int(least, amounts[0]! + 20) : null,
    limit: chance.yes(0.5) ? Math.max(...amounts) + chance.int(0, 60) : null,
    waits: chance.yes(0.6),
    expiresAt: now + chance.int(60_000, 600_000),
  };
  note(play, ask);
  const asked: Asked = { ask, told: null };
  play.asked.set(ask.id, asked);
  play.track(subject.take(ask), asked);
  const answer = reference.reserve(ask);
  if (answer === null) counts.waited++;
  else reference.answers.set(ask.id, answer);
  if (answer && isBlocked(answer)) note(play, `refused: ${answer.why} ${answer.pot.name}`);
}

async function raise(play: Play): Promise<void> {
  const { chance, reference, raised, subject } = play;
  const open = play.holds().filter(({ id }) => !raised.has(id));
  if (open.length === 0) return;
  const hold = chance.one(open);
  const by = chance.int(0, 80);
  const least = chance.yes(0.5) ? chance.int(0, by) : by;
  note(play, { id: hold.id, by, least });
  const raise: Raised = { id: hold.id, told: null };
  play.track(hold.raise([by], least), raise);
  const allowed = reference.raise(hold.id, by, least);
  if (allowed === null) raised.set(hold.id, raise);
  else {
    await subject.quiet();
    expectEqual(`the raise of ${hold.id}`, raise.told, allowed);
  }
}

async function post(play: Play): Promise<void> {
  const { chance, reference } = play;
  const open = play.holds();
  if (open.length === 0) return;
  const hold = chance.one(open);
  const cost = chance.cost(hold.left);
  note(play, { id: hold.id, cost: String(cost) });
  expectEqual(`what a post charged to ${hold.id}`, await hold.post(line(cost)), reference.post(hold.id, cost));
}

async function settle(play: Play, used: boolean): Promise<void> {
  const { chance, reference, subject } = play;
  const open = play.holds();
  if (open.length === 0) return;
  const hold = chance.one(open);
  const cost = used ? chance.cost(hold.left) : null;
  note(play, { id: hold.id, cost: String(cost) });
  // If nothing was charged, the fee of a payment is refunded.
  const waived = chance.yes(0.3) ? (chance.any(reference.kept) ?? null) : null;
  const told = await hold.settle(cost === null ? null : line(cost), () =>
    waived ? waiving(subject.ledger, waived.wallet, waived.fee, waived.note)() : [],
  );
  expectEqual(`the settlement of ${hold.id}`, told, reference.settle(hold.id, cost, waived));
  play.ended.push(hold);
}

/** An answer ends only after its cost is written. From then on, no crash may lose the cost. */
async function written({ subject, reference }: Play): Promise<void> {
  if (subject.gate.isShut) return;
  await subject.ledger.written();
  for (const entry of reference.entries) entry.promised = true;
}

/** Settles a hold that is already settled: the first settlement counts. */
async function replay({ chance, ended, reference }: Play): Promise<void> {
  if (ended.length === 0) return;
  const hold = chance.one(ended.slice(-10));
  const told = await hold.settle(chance.yes(0.5) ? line(chance.int(0, 100)) : null, () => []);
  expectEqual(`the second settlement of ${hold.id}`, told, reference.settle(hold.id, 1));
}

/** Makes all pending writes fail one after the other. Requests that take the money freed by a failure fail, too. */
async function fail(play: Play): Promise<void> {
  const { subject, reference, chance } = play;
  subject.gate.shut();
  for (let writes = subject.gate.failFirst(); writes; writes = subject.gate.failFirst()) {
    await subject.quiet();
    const [, kind, id] = writes[0]?.params ?? [];
    if (kind === 'reserve' || kind === 'raise' || kind === 'deposit' || kind === 'fee') {
      const { entry, before } = reference.failed();
      const first = before[0] ?? entry;
      expectEqual('what failed', [kind, id], [first.kind, first.of?.id ?? null]);
      if (kind === 'raise') {
        const raised = play.raised.get(entry.of!.id)!;
        play.raised.delete(raised.id);
        if (!(raised.told instanceof StoreError)) throw new Error(`a raise that failed was told ${raised.told}`);
      }
    }
  }
  if (chance.yes(0.5)) subject.gate.open();
}

async function crash(play: Play): Promise<void> {
  const { subject, reference, chance } = play;
  const file = play.newFile;
  const rows = subject.copyTo(file);
  const entries = reference.entries.map(({ kind, of, amount }) => ({ kind, reservation: of?.id ?? null, amount }));
  for (const [at, row] of rows.entries()) expectEqual(`row ${at}`, row, entries[at]);
  const lost = reference.entries.slice(rows.length).find(({ promised }) => promised);
  if (lost) throw new Error(`the ${lost.kind} of ${lost.of?.id} was promised, and is not on the disk`);
  await subject.end();
  if (chance.yes(0.3)) play.terms = chance.edit(play.terms);
  note(play, `${rows.length} of ${entries.length} rows`);
  await play.startAgain(file, rows.length);
}

/** Stops in order while requests are running that did not end in time. */
async function restart(play: Play): Promise<void> {
  const { subject, reference, chance } = play;
  subject.gate.open();
  await play.settleDown();
  await subject.ledger.close();
  await subject.gate.flush();
  const file = play.newFile;
  const rows = subject.copyTo(file);
  expectEqual('rows', rows.length, reference.entries.length);
  await subject.end();
  if (chance.yes(0.5)) play.terms = chance.edit(play.terms);
  await play.startAgain(file, rows.length);
}

/** Runs the work of every ten seconds: it closes holds that should have ended, and writes the sums. */
export function tick({ subject, reference, clock }: Play): void {
  const now = clock();
  // A hold that is not written yet must not reach its deadline here.
  if (reference.living().some(({ state, expiresAt }) => state === 'writing' && expiresAt <= now)) return;
  subject.tick().catch(() => {});
  reference.expire(now);
}

function time(play: Play): void {
  const { chance, terms, reference, subject } = play;
  if (play.reload?.preparedAt === null) return;
  const next = chance.later(play.now, terms);
  note(play, new Date(next).toISOString());
  // No request waits for hours, so requests that would wait beyond the end of a window are refused first.
  for (const ask of [...reference.lines.values()].flat()) {
    if (reference.potsOf(ask).every(({ ends }) => ends > next)) continue;
    if (![...reference.lines.values()].flat().includes(ask)) continue;
    subject.giveUp(ask.id);
    reference.giveUp(ask.id);
  }
  play.now = next;
  // A request for a decision takes an ID.
  play.nextId();
}

/** Sets the clock back a little. */
function back(play: Play): void {
  play.now -= play.chance.int(1, 5_000);
}

function reload(play: Play): void {
  const { chance, subject, reference, terms } = play;
  if (play.reload) return;
  const next = chance.edit(terms);
  note(play, next.budgets);
  const reload: NonNullable<Play['reload']> = {
    terms: next,
    preparedAt: subject.gate.isShut ? null : reference.time,
    swap: null,
  };
  play.reload = reload;
  subject.prepare(next).then(
    (swap) => {
      reload.swap = swap;
    },
    () => {
      reload.swap = 'refused';
    },
  );
}

function grant(play: Play): unknown {
  const { chance, subject } = play;
  for (let i = chance.int(1, 2); i > 0; i--) {
    const amount = chance.yes(0.2) ? -chance.int(1, 200) : chance.int(100, 1_500);
    const made = subject.adjust({ kind: 'grant', keyId: chance.one(KEYS).keyId, reservation: null, amount });
    note(play, made);
    if (made) play.adjustments.push(made);
  }
  return chance.yes(0.7) ? refresh(play) : null;
}

/** Refunds a part of what a hold was charged. */
function correct(play: Play): unknown {
  const { chance, subject, reference, adjustments } = play;
  const corrected = new Set(adjustments.map(({ reservation }) => reservation));
  const some = [...reference.reservations.values()].filter(
    (made) => made.state === 'closed' && chargedTo(made) > 0 && !corrected.has(made.id),
  );
  if (some.length === 0) return null;
  const made = chance.one(some);
  const { id, who } = made;
  const amount = -chance.int(1, chargedTo(made));
  const adjusted = subject.adjust({ kind: 'correct', keyId: who.keyId, reservation: id, amount });
  note(play, adjusted);
  if (adjusted) adjustments.push(adjusted);
  return chance.yes(0.7) ? refresh(play) : null;
}

async function refresh(play: Play): Promise<void> {
  const { subject, reference, adjustments } = play;
  // No request lasts for two windows. Only such a request could show that a window before the previous one gets no refund.
  const holders = [...reference.living(), ...reference.earmarks.values()];
  if (!holders.every(({ time }) => reference.reaches(time))) return;
  play.limitsMoved = true;
  await subject.ledger.refresh();
  reference.adopt(adjustments);
}

function giveUp(play: Play): void {
  const { reference, subject, chance } = play;
  const waiting = [...reference.lines.values()].flat();
  if (waiting.length === 0) return;
  const { id } = chance.one(waiting);
  note(play, id);
  subject.giveUp(id);
  reference.giveUp(id);
}

export function note(play: Play, what: unknown): void {
  play.trace[play.trace.length - 1] += ` ${typeof what === 'string' ? what : JSON.stringify(what)}`;
}
