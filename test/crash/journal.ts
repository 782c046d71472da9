import { Database } from 'bun:sqlite';
import { copyFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { tempFolder } from '../store/support.ts';

interface Row {
  readonly seq: number;
  readonly kind: string;
  readonly reservation: number | null;
  readonly amount: number;
  readonly funds: string | null;
  readonly agent_wallet: string | null;
  readonly key_id: string;
  readonly payer: string | null;
  readonly note: string | null;
}

interface FundRow {
  readonly id: number;
  readonly kind: 'budget' | 'balance';
  readonly name: string;
  readonly subject: string;
  readonly definition: string;
  readonly starts: number;
  readonly most: number;
  readonly opening: number;
  readonly after_seq: number;
}

/** What the store has added up, and up to which row. */
interface SumsRow {
  readonly through: number;
  /** The list of open reservations, as JSON. */
  readonly open: string;
  readonly spent: number;
}
const SELECT_SUMS = 'SELECT through, open, (SELECT coalesce(sum(microcredits), 0) FROM spend) AS spent FROM checkpoint';

/** A reservation, according to its rows. Amounts are microcredits. */
export interface Booked {
  readonly id: number;
  readonly wallet: string | null;
  /** The holder whose balance pays, if there is one. */
  readonly holder: string;
  reserved: number;
  /** What `post` and `settle` rows charged. */
  charged: number;
  /** What an `expire` row charged. */
  expired: number;
  /** The kinds of the rows that closed it. */
  readonly closings: string[];
  /** The funds that the reservation draws on. */
  funds: readonly Fund[];
}

interface Fund {
  readonly kind: 'budget' | 'balance';
  readonly name: string;
  /** For a balance: what was granted or paid in. */
  limit: number;
  spent: number;
  held: number;
}

/** What wallets have paid in, by the note of the payment. */
export interface Deposited {
  readonly wallet: string;
  paid: number;
  /** The fee that was kept, minus refunds. */
  fee: number;
}

/** The ledger of a data folder, read by independent code that uses nothing from `src/ledger`. */
export interface Journal {
  readonly reservations: ReadonlyMap<number, Booked>;
  /** The reservations without a closing row. */
  readonly open: readonly Booked[];
  /** The balances by key or wallet, for holders that were granted something or have paid. */
  readonly balances: ReadonlyMap<string, Readonly<Fund>>;
  readonly deposits: ReadonlyMap<string, Deposited>;
  /** All charges, including charges for orphans. */
  readonly charged: number;
  /** The last row that the store has added up. */
  readonly through: number;
  /** The number of the last row. */
  readonly last: number;
  /** Each law that a row breaks, with the number of the row. */
  readonly problems: readonly string[];
}

export const leftOf = ({ reserved, charged, expired }: Booked): number => reserved - charged - expired;

/** Reads a copy, so that nothing changes what a crash left, not even the recovery of the WAL. */
export function readCopy(data: string): Journal {
  using folder = tempFolder();
  for (const name of ['signalbox.db', 'signalbox.db-wal']) {
    if (existsSync(join(data, name))) copyFileSync(join(data, name), join(folder.path, name));
  }
  return readJournal(folder.file, { readwrite: true });
}

/** Reads the database while a server runs. */
export const readBeside = (data: string): Journal => readJournal(join(data, 'signalbox.db'), { readonly: true });

function readJournal(file: string, options: { readonly: true } | { readwrite: true }): Journal {
  const db = new Database(file, options);
  try {
    db.run('BEGIN');
    const [check] = db.query<{ integrity_check: string }, []>('PRAGMA integrity_check').all();
    const rows = db
      .query<Row, []>(
        'SELECT seq, kind, reservation, amount, funds, agent_wallet, key_id, payer, note FROM entries ORDER BY seq',
      )
      .all();
    const funds = db.query<FundRow, []>('SELECT * FROM funds ORDER BY after_seq, id').all();
    const lost = db
      .query<{ n: number }, []>('SELECT (SELECT count(*) FROM journal) - count(*) AS n FROM entries')
      .get();
    const [sums] = db.query<SumsRow, []>(SELECT_SUMS).all();
    const fold = new Fold(funds);
    if (check?.integrity_check !== 'ok') fold.problems.push(`integrity_check: ${check?.integrity_check}`);
    if (lost?.n !== 0) fold.problems.push(`${lost?.n} rows name an account that does not exist`);
    const through = sums?.through ?? 0;
    for (const row of rows) if (row.seq <= through) fold.add(row);
    if (sums) fold.checkSums(sums);
    for (const row of rows) if (row.seq > through) fold.add(row);
    return fold;
  } finally {
    db.close();
  }
}

/** The fields of an open reservation in a checkpoint that are checked here. */
interface OpenRow {
  readonly reservation: number;
  readonly amount: number;
  readonly charged: number;
}
const shortRow = ({ reservation, amount, charged }: OpenRow): string => `${reservation}: ${charged}/${amount}`;

class Fold implements Journal {
  readonly reservations = new Map<number, Booked>();
  readonly balances = new Map<string, Fund>();
  readonly deposits = new Map<string, Deposited>();
  readonly problems: string[] = [];
  charged = 0;
  through = 0;
  last = 0;
  readonly #rows: FundRow[];
  /** The funds by what they are, because a fund may have several row numbers. */
  readonly #byTitle = new Map<string, Fund>();
  readonly #byId = new Map<number, Fund>();

  constructor(funds: readonly FundRow[]) {
    this.#rows = [...funds];
  }

  get open(): Booked[] {
    return [...this.reservations.values()].filter(({ closings }) => closings.length === 0);
  }

  add(row: Row): void {
    const { seq, kind, reservation, amount } = row;
    this.last = seq;
    while (this.#rows[0] && this.#rows[0].after_seq < seq) this.#open(this.#rows.shift()!);
    if (kind === 'overrun')
      this.#problem(seq, 'an overrun, although the upstreams of this test never bill more than was reserved');
    if (reservation === null) this.#pay(row);
    if (kind === 'overrun' || reservation === null) return;
    if (amount < 0) this.#problem(seq, `${kind} of ${amount}`);
    const booked = this.reservations.get(reservation);
    if (kind === 'reserve') this.#reserve(row, reservation);
    else if (!booked) this.#problem(seq, `${kind} of reservation ${reservation}, which was never made`);
    else if (booked.closings.length > 0)
      this.#problem(seq, `${kind} of ${reservation} after ${booked.closings.join()}`);
    else if (kind === 'raise') this.#hold(row, booked, amount);
    else if (kind === 'attach') this.#attach(row, booked);
    else this.#charge(row, booked);
  }

  /** Compares the sums. The caller compares the sums after the last row that the store has added up. */
  checkSums({ through, open, spent }: SumsRow): void {
    this.through = through;
    if (spent !== this.charged)
      this.#problem(through, `the sums have ${spent}, but the rows up to here have ${this.charged}`);
    const kept = (JSON.parse(open) as OpenRow[]).map(shortRow).sort();
    const here = this.open.map(({ id, reserved, charged }) => shortRow({ reservation: id, amount: reserved, charged }));
    if (kept.join() !== here.sort().join())
      this.#problem(through, `${kept.join()} are stored as open, but ${here.join()} are open`);
  }

  /** Handles rows that change only a balance. */
  #pay({ seq, kind, amount, key_id: holder, note }: Row): void {
    this.#balanceOf(holder).limit += amount;
    if (kind === 'grant') return;
    const of = this.deposits.get(note ?? '') ?? { wallet: holder, paid: 0, fee: 0 };
    this.deposits.set(note ?? '', of);
    if (of.wallet !== holder) this.#problem(seq, `${kind} of ${note} for ${holder}, but ${of.wallet} paid it`);
    if (kind === 'deposit') of.paid += amount;
    else of.fee -= amount;
    const isRight = kind === 'deposit' ? amount > 0 : of.fee >= 0 && of.fee <= of.paid;
    if (!isRight)
      this.#problem(seq, `${kind} of ${amount} for ${note}, of which ${of.paid} were paid and ${of.fee} kept`);
  }

  #balanceOf(holder: string): Fund {
    const known = this.balances.get(holder) ?? { kind: 'balance', name: holder, limit: 0, spent: 0, held: 0 };
    this.balances.set(holder, known);
    return known;
  }

  #open({ id, kind, name, subject, definition, starts, most, opening, after_seq }: FundRow): void {
    const title = JSON.stringify([kind, name, subject, definition, starts]);
    let fund = kind === 'balance' ? this.#balanceOf(name) : this.#byTitle.get(title);
    if (fund && fund.spent !== opening) {
      this.#problem(after_seq, `fund ${title} has spent ${fund.spent}, but is opened again with ${opening}`);
    }
    // Every budget in these tests is total and applies to all requests, so a budget without a subject counts everything.
    if (!fund && subject === '' && opening !== this.charged) {
      this.#problem(after_seq, `fund ${title} is opened with ${opening}, but ${this.charged} are spent`);
    }
    fund ??= { kind, name, limit: most, spent: opening, held: 0 };
    if (kind === 'budget') fund.limit = most;
    this.#byTitle.set(title, fund);
    this.#byId.set(id, fund);
  }

  #reserve(row: Row, id: number): void {
    if (this.reservations.has(id)) this.#problem(row.seq, `a second reserve of ${id}`);
    const booked: Booked = {
      id,
      wallet: row.agent_wallet,
      holder: row.payer ?? row.key_id,
      reserved: 0,
      charged: 0,
      expired: 0,
      closings: [],
      funds: this.#named(row),
    };
    this.reservations.set(id, booked);
    this.#hold(row, booked, row.amount);
  }

  #hold({ seq }: Row, booked: Booked, amount: number): void {
    booked.reserved += amount;
    for (const fund of booked.funds) {
      fund.held += amount;
      const { name, limit, spent, held } = fund;
      if (spent + held > limit) this.#problem(seq, `${name}: ${spent} spent + ${held} held > ${limit}`);
    }
  }

  #attach(row: Row, booked: Booked): void {
    const left = leftOf(booked);
    for (const fund of booked.funds) fund.held -= left;
    booked.funds = this.#named(row);
    for (const fund of booked.funds) fund.held += left;
  }

  #charge({ seq, kind, amount }: Row, booked: Booked): void {
    const { closings, id, funds } = booked;
    const before = leftOf(booked);
    if (amount > before) this.#problem(seq, `${kind} of ${amount} for ${id}, but only ${before} are left`);
    if (kind === 'expire' && amount > 0 && booked.holder.startsWith('0x'))
      this.#problem(seq, `${booked.holder} was charged ${amount} for a hold that a crash left open`);
    if (kind === 'expire') booked.expired += amount;
    else booked.charged += amount;
    this.charged += amount;
    if (kind !== 'post') closings.push(kind);
    for (const fund of funds) {
      fund.spent += amount;
      fund.held -= kind === 'post' ? amount : before;
    }
  }

  #named(row: Row): Fund[] {
    const { seq, funds } = row;
    if (funds === null) return [];
    return funds.split(' ').flatMap((id) => {
      const fund = this.#byId.get(Number(id));
      if (!fund) this.#problem(seq, `fund ${id} has no row`);
      if (fund?.kind === 'balance' && fund.name !== (row.payer ?? row.key_id))
        this.#problem(seq, `the balance of ${fund.name} is drawn on by ${row.payer ?? row.key_id}`);
      return fund ? [fund] : [];
    });
  }

  #problem(seq: number, what: string): void {
    this.problems.push(`row ${seq}: ${what}`);
  }
}
