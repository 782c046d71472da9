import { Client, type ClientConfig, escapeIdentifier, escapeLiteral } from 'pg';
import { messageOf } from '../../core/thrown.ts';
import { StoreError } from '../store.ts';
import { type PostgresAddress, placeAt } from './address.ts';
import { failureOf, isReadOnly } from './fault.ts';

/**
 * The one file that knows the driver. A connection is one connection: once it is lost it stays so, and nothing of its transaction is
 * sent on another one. Statements go out at once, one behind the other, without waiting for answers.
 */

/** Bounds on waiting, ms. The server keeps the first three, so that they end what a stopped process has begun. */
export interface PostgresBounds {
  readonly statementMs: number;
  readonly lockMs: number;
  readonly idleInTransactionMs: number;
  readonly connectMs: number;
  /** Behind this the connection is given up: the server, or the way to it, says nothing. */
  readonly silenceMs: number;
}

/** A transaction ends within these long before a slot is free for another instance (`store/lease.ts`). */
export const USUAL_BOUNDS: PostgresBounds = {
  statementMs: 10_000,
  lockMs: 5_000,
  // No transaction of ours waits for anything but the loop: one that stands still is of a process that does.
  idleInTransactionMs: 2_000,
  connectMs: 5_000,
  silenceMs: 15_000,
};

/** A column's value, as it goes out and comes in. Numbers of 64 bits come as numbers: all that is stored is within 2^53. */
export type PostgresValue = string | number | bigint | Uint8Array | Float64Array | null;

export interface PostgresResult<Row> {
  readonly rows: Row[];
  /** The number of rows changed or selected. */
  readonly count: number;
  /** The statement as the server names it: `ROLLBACK` in answer to a COMMIT of a transaction that had failed. */
  readonly command: string;
}

/** Prepared statements of one connection at most; others are prepared anew each time. */
const PREPARED_MAX = 500;

const asNumber = (text: string): number => Number(text);
const PARSERS: Readonly<Record<number, (text: string) => unknown>> = {
  // A truth is a number, as in SQLite.
  16: (text) => (text === 't' ? 1 : 0),
  17: (text) => Uint8Array.fromHex(text.slice(2)),
  20: asNumber,
  21: asNumber,
  23: asNumber,
  700: asNumber,
  701: asNumber,
  1700: asNumber,
};
const asText = (text: string): string => text;
const types: ClientConfig['types'] = { getTypeParser: (oid: number) => PARSERS[oid] ?? asText };

function configOf(address: PostgresAddress, bounds: PostgresBounds): ClientConfig {
  const { host, port, database, user, password, authorities } = address;
  const { connectMs, silenceMs } = bounds;
  return {
    ...{ host, port, database, user, password },
    ssl: authorities === null ? false : { rejectUnauthorized: true, ...(authorities !== '' && { ca: authorities }) },
    application_name: 'signalbox',
    client_encoding: 'UTF8',
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    connectionTimeoutMillis: connectMs,
    query_timeout: silenceMs,
    pipeline: true,
    types,
  };
}

/** Begins a session. A pooler does not pass on what a connection states at its start, nor tell of the server's process. */
const beginningOf = ({ statementMs, lockMs, idleInTransactionMs }: PostgresBounds): string =>
  `SELECT set_config('statement_timeout', '${statementMs}', false), set_config('lock_timeout', '${lockMs}', false),
    set_config('idle_in_transaction_session_timeout', '${idleInTransactionMs}', false), pg_backend_pid() AS backend`;

/** A value as a statement writes it: PostgreSQL takes its type from where it stands, as that of a value beside the text. */
export function literalOf(value: PostgresValue): string {
  if (value === null) return 'NULL';
  if (typeof value === 'string') return escapeLiteral(value);
  if (!ArrayBuffer.isView(value)) return `'${value}'`;
  return escapeLiteral(`\\x${hexOf(value)}`);
}

/** An array as PostgreSQL reads it. */
export const arrayOf = (values: readonly (PostgresValue | boolean)[]): string => `{${values.map(elementOf).join(',')}}`;

/** What JSON escapes in another way than arrays. */
const ODD = /[^ -\ud7ff\ue000-\uffff]/;

function elementOf(value: PostgresValue | boolean): PostgresValue | boolean {
  if (value === null) return 'NULL';
  // Several times as fast as to replace: bodies of records are long.
  if (typeof value === 'string')
    return ODD.test(value) ? `"${value.replace(/["\\]/g, '\\$&')}"` : JSON.stringify(value);
  return ArrayBuffer.isView(value) ? `"\\\\x${hexOf(value)}"` : value;
}

const hexOf = ({ buffer, byteOffset, byteLength }: Uint8Array | Float64Array): string =>
  new Uint8Array(buffer, byteOffset, byteLength).toHex();

/** One connection, until it is closed or lost. */
export class Connection {
  readonly #client: Client;
  /** By their text. */
  readonly #names = new Map<string, string>();
  readonly #lost: (() => void)[] = [];
  #isLost = false;
  #backend: number | null = null;

  private constructor(client: Client) {
    this.#client = client;
    client.on('error', () => this.#lose());
    client.on('end', () => this.#lose());
  }

  /** Rejects with StoreError of one sentence. */
  static async open(address: PostgresAddress, bounds: PostgresBounds = USUAL_BOUNDS): Promise<Connection> {
    const client = new Client(configOf(address, bounds));
    const connection = new Connection(client);
    try {
      await client.connect();
      await connection.#begin(bounds);
      return connection;
    } catch (cause) {
      client.end().catch(() => {});
      throw cause instanceof StoreError ? cause : failureOf(`Cannot reach the database ${placeAt(address)}`, cause);
    }
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  /** The server's process that serves it. */
  get backend(): number | null {
    return this.#backend;
  }

  /** Whether a pooler is on the way, which states a process of its own. */
  get isPooled(): boolean {
    return this.#backend !== this.#client.processID;
  }

  /** Called once when it is lost. */
  onLost(listener: () => void): void {
    if (this.#isLost) listener();
    else this.#lost.push(listener);
  }

  /** Rejects with the error of the driver: see `fault.ts`. */
  async run<Row>(text: string, values: readonly PostgresValue[] = []): Promise<PostgresResult<Row>> {
    const name = this.#nameOf(text);
    const sent = this.#client.query<Row>({ text, values: [...values], ...(name && { name }) });
    const { rows, rowCount, command } = await sent.catch((cause: unknown) => this.#failed(cause));
    return { rows, count: rowCount ?? 0, command };
  }

  /** Statements in one text, without values, which are not kept prepared. */
  async script(text: string): Promise<PostgresResult<never>> {
    const { rows, rowCount, command } = await this.#client.query<never>(text);
    return { rows, count: rowCount ?? 0, command };
  }

  /** Hears the messages of a channel. */
  async listen(channel: string, heard: (message: string) => void): Promise<void> {
    this.#client.on('notification', (message) => {
      if (message.channel === channel) heard(message.payload ?? '');
    });
    await this.#client.query(`LISTEN ${escapeIdentifier(channel)}`);
  }

  /** Never rejects. Statements that are not answered yet are lost. */
  async close(): Promise<void> {
    await this.#client.end().catch((cause) => messageOf(cause));
  }

  /** The server's process that serves it now: another one where a pooler gives each transaction what is free. */
  async backendNow(): Promise<number | null> {
    const { rows } = await this.#client.query<{ backend: number }>('SELECT pg_backend_pid() AS backend');
    return rows[0]?.backend ?? null;
  }

  async #begin(bounds: PostgresBounds): Promise<void> {
    const text = beginningOf(bounds);
    // A pooler may answer at once, and have no connection of the server's to give.
    const { rows } = await this.#client.query<{ backend: number }>({ text, query_timeout: bounds.connectMs });
    this.#backend = rows[0]?.backend ?? null;
  }

  #failed(cause: unknown): never {
    if (isReadOnly(cause)) {
      this.#lose();
      void this.close();
    }
    throw cause;
  }

  #lose(): void {
    if (this.#isLost) return;
    this.#isLost = true;
    for (const tell of this.#lost) tell();
  }

  #nameOf(text: string): string | undefined {
    const known = this.#names.get(text);
    if (known !== undefined || this.#names.size >= PREPARED_MAX) return known;
    const name = `s${this.#names.size}`;
    this.#names.set(text, name);
    return name;
  }
}
