import { isDeepStrictEqual } from 'node:util';
import type { FundStanding } from '../../../src/core/accounting/fund.ts';
import { isShortage } from '../../../src/ledger/available-funds.ts';
import type { Hold } from '../../../src/ledger/hold.ts';
import { StoreError } from '../../../src/store/store.ts';
import { type Blocked, isBlocked, leftOf, type Pot, type Reservation, reservedBy } from './entries.ts';
import type { Asked, Play } from './play.ts';
import { callerOf } from './subject.ts';

export function expectEqual(what: string, got: unknown, expected: unknown): void {
  if (isDeepStrictEqual(got, expected)) return;
  throw new Error(`${what} is ${JSON.stringify(got)}, and should be ${JSON.stringify(expected)}`);
}

/** Compares everything that the ledger shows with the reference. */
export async function compare(play: Play): Promise<void> {
  const { subject, reference } = play;
  for (const asked of [...play.asked.values()]) compareAsked(play, asked);
  compareRaises(play);
  comparePaid(play);
  const living = reference.living();
  expectEqual('open', subject.ledger.open, living.length);
  const { charged, held, open, funds } = await subject.ledger.status();
  expectEqual('status.open', open, living.length);
  expectEqual('status.held', held, reference.held);
  expectEqual('status.charged', charged, reference.charged);
  expectEqual('funds', tableOf(funds.map(seen)), tableOf(reference.pots().map(expectedOf)));
  compareStanding(play);
  neverBeyond(play);
}

/** Compares what callers were answered, and when. */
function compareAsked({ reference, asked, counts }: Play, { ask, told }: Asked): void {
  const { id } = ask;
  const what = `request ${id}`;
  const made = reference.reservations.get(id);
  const answer = reference.answers.get(id);
  if ([...reference.lines.values()].some((line) => line.some((one) => one.id === id)) || made?.state === 'writing') {
    expectEqual(`${what}, which must wait,`, told, null);
    return;
  }
  if (told === null) throw new Error(`${what} was told nothing`);
  const earmark = reference.earmarks.get(id);
  if (earmark) {
    expectEqual(`the earmark of ${what}`, 'capture' in told && told.amount, earmark.amount);
    return;
  }
  if (made) {
    if (!('settle' in told)) throw new Error(`${what} got no hold but ${JSON.stringify(told)}`);
    compareHold(what, told, made);
    if (made.state === 'closed') asked.delete(id);
  } else {
    if (answer && isBlocked(answer)) compareShortage(what, told, answer);
    else if (!(told instanceof StoreError))
      throw new Error(`${what} could not be written and got ${JSON.stringify(told)}`);
    asked.delete(id);
    counts.refused++;
  }
}

function compareHold(what: string, { id, reserved, left }: Hold, made: Reservation): void {
  expectEqual(`ID of ${what}`, id, made.id);
  expectEqual(`what is left of ${what}`, left, leftOf(made));
  // For a closed hold, only the amount at its end is known.
  if (made.state === 'open') expectEqual(`reserved for ${what}`, reserved, reservedBy(made));
}

/** Compares why there is no money. The spent and held amounts at that moment are compared elsewhere. */
function compareShortage(what: string, told: Asked['told'], { why, pot, needed }: Blocked): void {
  if (told === null || told instanceof Error || !isShortage(told))
    throw new Error(`${what} must be refused, got ${told}`);
  const { kind, name, subject, ends } = pot;
  const renewsAt = Number.isFinite(ends) ? ends : null;
  const seen = { why: told.why, kind: told.kind, name: told.name, subject: told.subject, needed: told.needed };
  expectEqual(
    `the refusal of ${what}`,
    { ...seen, renewsAt: told.renewsAt },
    { why, kind, name, subject, needed, renewsAt },
  );
}

function compareRaises({ raised, reference }: Play): void {
  for (const [id, raise] of [...raised]) {
    const made = reference.reservations.get(id);
    if (made?.raising) {
      expectEqual(`the raise of ${id}, which is being written,`, raise.told, null);
      continue;
    }
    expectEqual(`the raise of ${id}`, raise.told, made?.state !== 'closed');
    raised.delete(id);
  }
}

/** A deposit must be answered only after it is on disk. */
function comparePaid(play: Play): void {
  for (const { entry, told } of play.paid) {
    const what = `the ${entry.kind} of ${entry.note}`;
    if (entry.coming && play.reference.entries.includes(entry)) expectEqual(what, told, null);
    else if (play.reference.entries.includes(entry)) expectEqual(what, told, 'booked');
    else if (!(told instanceof StoreError)) throw new Error(`${what} failed, and ${told} was told`);
  }
  play.paid = play.paid.filter(({ told }) => told === null);
}

function compareStanding({ subject, reference, chance }: Play): void {
  const who = chance.who();
  const windowsOnly = chance.yes(0.3);
  const pots = windowsOnly ? reference.windowsOf(who, reference.time) : reference.potsOf({ who, payer: null });
  const standing = subject.ledger.availableFunds(callerOf(who), who.model, undefined, windowsOnly);
  if (pots.length === 0) {
    expectEqual('standing', standing, null);
    return;
  }
  expectEqual('terms', standing!.terms, termsOf(pots, windowsOnly));
  expectEqual('room', standing!.room, Math.min(...pots.map(({ limit, spent, held }) => limit - spent - held)));
  const amount = chance.int(0, 200);
  const short =
    pots.find(({ kind, limit }) => kind === 'budget' && amount > limit) ??
    pots.find(({ limit, spent }) => spent + amount > limit);
  const told = standing!.shortFor(amount);
  expectEqual(
    'short',
    told && [told.why, told.name, told.subject, told.spent, told.held],
    short ? ['exhausted', short.name, short.subject, short.spent, short.held] : null,
  );
}

/** The terms for a decision, in their order. While a payment is in progress, no output is capped. */
function termsOf(pots: readonly Pot[], windowsOnly: boolean): object[] {
  const free = (of: readonly Pot[]) => Math.min(...of.map(({ limit, spent, held }) => limit - spent - held));
  const unspent = (of: readonly Pot[]) => Math.min(...of.map(({ limit, spent }) => limit - spent));
  const capping = (of: readonly Pot[]) => {
    if (of.length === 0 || windowsOnly) return {};
    const first = of.find((pot) => unspent([pot]) === unspent(of))!;
    const by = first.kind === 'balance' ? 'balance' : first.name;
    return { cap: { by, unspent: unspent(of) } };
  };
  const of = (...actions: Pot['action'][]) => pots.filter(({ action }) => actions.includes(action));
  const [caps, cheaper, either] = [of('cap'), of('downgrade'), of('cap', 'downgrade')];
  if (cheaper.length === 0) return [{ free: null, ...capping(caps) }];
  return [
    { free: free(cheaper), ...capping(caps) },
    ...(free(cheaper) === unspent(cheaper) ? [] : [{ free: unspent(cheaper), ...capping(caps) }]),
    ...(windowsOnly ? [] : [{ free: null, ...capping(either) }]),
  ];
}

/** The funds that have spending or holds, in a fixed order. */
const tableOf = (rows: readonly { name: string; spent: number; held: number; subject: string }[]) =>
  rows
    .filter(({ spent, held }) => spent !== 0 || held !== 0)
    .map((row) => JSON.stringify(row))
    .sort();

const seen = ({ title, limit, spent, held }: FundStanding) => {
  const { kind, name, subject, starts, ends } = title;
  return { kind, name, subject, starts, ends, limit, spent, held };
};
const expectedOf = ({ kind, name, subject, starts, ends, limit, spent, held }: Pot) => ({
  kind,
  name,
  subject,
  starts,
  ends,
  limit,
  spent,
  held,
});

/** Checks that no fund spends or holds more than it has. After a limit was lowered, nothing more may be taken. */
function neverBeyond(play: Play): void {
  const over = new Map<string, number>();
  for (const { key, limit, spent, held } of play.reference.pots()) {
    const excess = spent + held - limit;
    if (excess <= 0) continue;
    over.set(key, excess);
    if (excess > (play.over.get(key) ?? 0) && !play.limitsMoved)
      throw new Error(`${key} is beyond its limit: ${spent + held} of ${limit}`);
  }
  play.over = over;
}
